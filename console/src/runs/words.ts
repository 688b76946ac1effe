// Where a run stands, in words.
import type { Run, RunStatus } from "../api/types.ts";
import { duration, moment, ticking, time } from "../ui/format.ts";

export const statusLook: Record<RunStatus, { label: string; look: "" | "live" | "ok" | "bad" | "warn" }> = {
  queued: { label: "queued", look: "" },
  claimed: { label: "starting", look: "live" },
  running: { label: "running", look: "live" },
  waiting: { label: "waiting", look: "warn" },
  succeeded: { label: "succeeded", look: "ok" },
  failed: { label: "failed", look: "bad" },
  canceled: { label: "canceled", look: "" },
};

export const isLive = (run: Pick<Run, "status">): boolean =>
  run.status === "queued" || run.status === "claimed" || run.status === "running" || run.status === "waiting";

/** How long a run has worked, or has been working. */
export function elapsed(run: Run, now: number): number | undefined {
  if (run.startedAt === undefined || run.startedAt === 0) return undefined;
  return Math.max((run.finishedAt || now) - run.startedAt, 0);
}

export function standing(run: Run, now: number): string {
  const took = elapsed(run, now);
  switch (run.status) {
    case "queued":
      return `Waiting for a worker since ${time(run.createdAt)}.`;
    case "claimed":
      return "A worker has taken it and begins.";
    case "running":
      return `Working since ${time(run.startedAt || run.createdAt)}${took === undefined ? "" : `, ${ticking(took)} so far`}.`;
    case "waiting":
      return `Waiting since ${time(run.updatedAt)}${waitWords(run.wait)}.`;
    case "succeeded":
      return took === undefined ? "Succeeded." : `Succeeded after ${duration(took)}.`;
    case "failed":
      return `Failed${took === undefined ? "" : ` after ${duration(took)}`}: ${run.error?.message || "no reason was recorded."}`;
    case "canceled":
      return `Canceled${took === undefined ? " before it began." : ` after ${duration(took)}.`}`;
  }
}

/** What a run waits for, as the end of a sentence. */
function waitWords(wait: Run["wait"]): string {
  switch (wait?.reason) {
    case "children":
      return wait.pendingChildren === 1 ? " for a child" : ` for ${wait.pendingChildren ?? "its"} children`;
    case "timer":
      return wait.wakeAt ? ` until ${moment(wait.wakeAt)}` : "";
    case "event":
      return wait.label ? `: ${wait.label}` : " for a signal";
    case "budget-pause":
      return wait.label ? `: ${wait.label}` : ": it has used what it may use";
  }
  return "";
}

/** What began a run, in words. */
export function originWords(origin: string): string {
  return { user: "a message", retry: "a retry", trigger: "a trigger", delegate: "another run" }[origin] ?? origin;
}
