import { describe, expect, it } from "vitest";
import type { LogEvent, SessionEvent } from "../api/types.ts";
import { RowBuilder } from "./rows.ts";
import { summary, wording } from "./words.ts";

const day = Date.UTC(2026, 0, 5, 12);
const log = (...events: LogEvent[]): SessionEvent[] =>
  events.map((event, i) => ({ id: `e${i + 1}`, sessionId: "s", seq: i + 1, event, createdAt: day + i * 1_000 }));
const said = (role: "user" | "assistant", content: string, clientMessageId?: string): LogEvent => ({
  type: "message", role, content, ...(clientMessageId ? { clientMessageId } : {}),
});
const called = (id: string, name = "read", actor?: "user"): LogEvent => ({
  type: "tool_call", id, name, input: { address: `~/memory/${id}` }, ...(actor ? { actor } : {}),
});
const answered = (id: string, error?: string): LogEvent => ({ type: "tool_result", toolCallId: id, name: "read", ...(error ? { error } : { output: {} }) });

describe("RowBuilder", () => {
  it("begins every day with its name", () => {
    const events = log(said("user", "a"), said("assistant", "b"));
    events.push({ id: "e3", sessionId: "s", seq: 3, event: said("user", "c"), createdAt: day + 86_400_000 });
    expect(new RowBuilder().build(events, [], day).map((row) => row.kind)).toEqual(["day", "message", "message", "day", "message"]);
  });

  it("gathers consecutive calls, with the results that belong to them", () => {
    const rows = new RowBuilder().build(log(called("1"), called("2"), answered("2", "gone"), answered("1"), said("assistant", "x"), called("3")), []);
    const groups = rows.filter((row) => row.kind === "calls");
    expect(groups.map((group) => group.calls.map((call) => [call.id, call.result?.error, call.finishedAt !== undefined]))).toEqual([
      [["1", undefined, true], ["2", "gone", true]],
      [["3", undefined, false]],
    ]);
  });

  it("hangs what a call has started on its line, and renders the line anew", () => {
    const builder = new RowBuilder();
    const before = builder.build(log(called("1", "delegate")), []);
    const events = log(called("1", "delegate"), { type: "tool_spawn", toolCallId: "1", name: "delegate", runId: "r", sessionId: "s2", title: "Read" });
    const after = builder.build(events, []);
    expect(after.flatMap((row) => (row.kind === "calls" ? row.calls.map((call) => call.children.map((child) => [child.runId, child.title])) : []))).toEqual([[["r", "Read"]]]);
    expect(after[1]).not.toBe(before[1]);
  });

  it("keeps a person's own calls apart from the agent's", () => {
    const rows = new RowBuilder().build(log(called("1"), called("2", "read", "user"), called("3")), []);
    expect(rows.filter((row) => row.kind === "calls").map((row) => row.byUser)).toEqual([false, true, false]);
  });

  it("gives back the same row while nothing of it has changed", () => {
    const builder = new RowBuilder();
    const events = log(said("user", "a"), called("1"));
    const before = builder.build(events, []);
    const after = builder.build([...events, { id: "e3", sessionId: "s", seq: 3, event: answered("1"), createdAt: day + 9_000 }], []);
    expect(after[1]).toBe(before[1]);
    expect(after[2]).not.toBe(before[2]);
  });

  it("keeps the place of a sent message when it arrives in the log", () => {
    const builder = new RowBuilder();
    const pending = builder.build([], [{ key: "k1", text: "hello", files: [] }]);
    const logged = builder.build(log(said("user", "hello", "k1")), []);
    expect(pending.at(-1)?.key).toBe(logged.at(-1)?.key);
  });

  it("skips a result whose call it never saw", () => {
    expect(new RowBuilder().build(log(answered("9")), []).map((row) => row.kind)).toEqual(["day"]);
  });
});

describe("words", () => {
  it("says what a call did", () => {
    const call = (name: string, input: unknown) => wording({ type: "tool_call", id: "1", name, input });
    expect(call("read", { address: "~/memory/plan.md" })).toMatchObject({ verb: "Read", object: "~/memory/plan.md" });
    expect(call("write", { address: "~/memory/a", options: { delete: true } })).toMatchObject({ verb: "Deleted" });
    expect(call("search_web", null)).toMatchObject({ verb: "Used", object: "search_web" });
  });

  it("sums up a group", () => {
    const rows = new RowBuilder().build(log(called("1"), called("2"), called("3", "write"), called("4")), []);
    const group = rows.find((row) => row.kind === "calls");
    expect(group && summary(group.calls)).toBe("4 steps: read 3, wrote 1");
  });
});
