// What a trigger does, in words.
import type { Firing, Trigger } from "../api/types.ts";
import { moment } from "../ui/format.ts";

type Look = "" | "live" | "ok" | "bad" | "warn";

export function stateOf(trigger: Trigger): { label: string; look: Look } {
  if (trigger.mergedInto) return { label: "merged into another one", look: "" };
  if (!trigger.enabled) return { label: "switched off", look: "" };
  return trigger.lastError ? { label: "failed last", look: "bad" } : { label: "on", look: "ok" };
}

/** When it fires next, as far as anybody knows. */
export function nextOf(trigger: Trigger): string {
  if (!trigger.enabled) return "not while it is off";
  if (trigger.nextFireAt) return moment(trigger.nextFireAt);
  return trigger.source.type === "schedule" ? "never again" : "when it happens";
}

export function doesOf(trigger: Trigger): string {
  const then = trigger.continuation;
  switch (then?.kind) {
    case "wake":
      return `gives the signal “${then.signal ?? ""}” to ${then.runId ? "a run" : "every run that waits for it"}`;
    case "tool":
      return `calls the tool ${then.tool ?? ""}`;
    case "script":
      return "runs a script";
    case "webhook":
      return `sends a webhook to ${then.url ?? ""}`;
    default:
      return then?.sessionId ? "goes on in a conversation" : "begins a conversation";
  }
}

export const firingLook: Record<Firing["status"], Look> = {
  created: "ok", running: "live", succeeded: "ok", delivered: "ok", "no-listener": "warn", escalated: "warn", error: "bad",
};
