// The account's stream: it says that something changed, and the lists that show it are asked again.
import { useQueryClient, type QueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { address } from "../api/client.ts";
import { EventStream } from "../api/sse.ts";
import type { AccountHint } from "../api/types.ts";

/** Which lists a hint makes old. Hints are gathered first, so that a busy agent causes one request a second. */
function apply(client: QueryClient, hint: AccountHint): void {
  const stale = (key: readonly unknown[]): void => void client.invalidateQueries({ queryKey: key });
  const reason = hint.reason;
  if (reason.startsWith("session")) stale(["sessions"]);
  if (reason.startsWith("agent")) stale(["agents"]);
  if (reason.startsWith("run") || reason.startsWith("session")) stale(["runs"]);
  if (reason.startsWith("run")) stale(["approvals"]);
  if (reason.includes("trigger") || reason.startsWith("run")) stale(["triggers"]);
  if (reason.startsWith("memory") && hint.agentId) stale(["agents", hint.agentId, "memory"]);
  if (reason.includes("provider")) stale(["providers"]);
  if (reason.includes("secret")) stale(["secrets"]);
}

const gather = 1_000;

/** Follows the account while the frame is shown. */
export function useHints(): void {
  const client = useQueryClient();
  useEffect(() => {
    let waiting: AccountHint[] = [];
    let timer = 0;
    const flush = (): void => {
      timer = 0;
      const hints = new Map(waiting.map((hint) => [`${hint.reason} ${hint.agentId}`, hint]));
      waiting = [];
      for (const hint of hints.values()) apply(client, hint);
    };
    let lost = false;
    const stream = new EventStream({
      url: () => address("/stream"),
      onMessage: (message) => {
        if (message.event === "hint") waiting.push(JSON.parse(message.data) as AccountHint);
        else if (message.event === "run") waiting.push({ reason: "run" });
        else return;
        timer ||= window.setTimeout(flush, gather);
      },
      onState: (state) => {
        if (state === "reconnecting" || state === "paused") lost = true;
        // What was missed meanwhile is unknown: everything on screen is asked again.
        if (state === "live" && lost) {
          lost = false;
          void client.invalidateQueries();
        }
      },
      onRefused: () => undefined,
    });
    return () => {
      clearTimeout(timer);
      stream.close();
    };
  }, [client]);
}
