// The log as lines of a transcript: a pure function from events to rows, so that it is tested without a page.
import type { ErrorEvent, MessageEvent, SessionEvent, ToolCallEvent, ToolResultEvent, ToolSpawnEvent } from "../api/types.ts";
import { dayName } from "../ui/format.ts";
import type { Pending } from "./store.ts";

export interface Call {
  id: string;
  call: ToolCallEvent;
  at: number;
  result: ToolResultEvent | undefined;
  finishedAt: number | undefined;
  /** What it has started. */
  children: readonly ToolSpawnEvent[];
}

export type Row =
  | { kind: "day"; key: string; label: string }
  | { kind: "message"; key: string; message: MessageEvent; at: number; seq: number }
  | { kind: "calls"; key: string; calls: readonly Call[]; byUser: boolean }
  | { kind: "error"; key: string; error: ErrorEvent; at: number }
  | { kind: "pending"; key: string; pending: Pending };

const sameCalls = (a: readonly Call[], b: readonly Call[]): boolean =>
  a.length === b.length && a.every((call, i) => call.call === b[i]?.call && call.result === b[i]?.result && call.children.length === b[i]?.children.length);

/** Builds rows and gives back the same object for a row that did not change, so that only changed rows are rendered again. */
export class RowBuilder {
  private known = new Map<string, Row>();

  build(events: readonly SessionEvent[], pending: readonly Pending[], now: number = Date.now()): Row[] {
    const rows: Row[] = [];
    const open = new Map<string, Call>();
    let day = "";
    let group: { kind: "calls"; key: string; calls: Call[]; byUser: boolean } | undefined;
    for (const event of events) {
      const today = new Date(event.createdAt).toDateString();
      if (today !== day) {
        day = today;
        group = undefined;
        rows.push({ kind: "day", key: `day-${event.seq}`, label: dayName(event.createdAt, now) });
      }
      const payload = event.event;
      switch (payload.type) {
        case "message":
          group = undefined;
          rows.push({ kind: "message", key: rowKey(payload, event), message: payload, at: event.createdAt, seq: event.seq });
          break;
        case "tool_call": {
          const call: Call = { id: payload.id, call: payload, at: event.createdAt, result: undefined, finishedAt: undefined, children: [] };
          open.set(payload.id, call);
          const byUser = payload.actor === "user";
          if (group?.byUser === byUser) {
            group.calls.push(call);
          } else {
            group = { kind: "calls", key: `calls-${event.seq}`, calls: [call], byUser };
            rows.push(group);
          }
          break;
        }
        case "tool_result": {
          const call = open.get(payload.toolCallId);
          if (call) {
            call.result = payload;
            call.finishedAt = event.createdAt;
          }
          break;
        }
        case "tool_spawn": {
          const call = open.get(payload.toolCallId);
          if (call) call.children = [...call.children, payload];
          break;
        }
        case "error":
          group = undefined;
          rows.push({ kind: "error", key: `error-${event.seq}`, error: payload, at: event.createdAt });
          break;
      }
    }
    for (const entry of pending) rows.push({ kind: "pending", key: entry.key, pending: entry });
    return this.reuse(rows);
  }

  private reuse(rows: Row[]): Row[] {
    const next = new Map<string, Row>();
    for (const [i, row] of rows.entries()) {
      const before = this.known.get(row.key);
      const same = before !== undefined && unchanged(before, row);
      if (same) rows[i] = before;
      next.set(row.key, same ? before : row);
    }
    this.known = next;
    return rows;
  }
}

/** A message that was pending keeps its key, so that it stays in its place when it arrives in the log. */
const rowKey = (message: MessageEvent, event: SessionEvent): string => message.clientMessageId || `event-${event.seq}`;

function unchanged(a: Row, b: Row): boolean {
  switch (a.kind) {
    case "day":
      return b.kind === "day" && a.label === b.label;
    case "message":
      return b.kind === "message" && a.message === b.message;
    case "calls":
      return b.kind === "calls" && sameCalls(a.calls, b.calls);
    case "error":
      return b.kind === "error" && a.error === b.error;
    case "pending":
      return b.kind === "pending" && a.pending === b.pending;
  }
}
