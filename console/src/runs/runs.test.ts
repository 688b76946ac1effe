import { describe, expect, it } from "vitest";
import type { Run } from "../api/types.ts";
import { time } from "../ui/format.ts";
import { inTreeOrder, valueOf } from "./run-page.tsx";
import { elapsed, standing } from "./words.ts";

const run = (fields: Partial<Run>): Run => ({
  id: "r", account: "a", rootRunId: "r", depth: 0, kind: "agent", origin: "message", title: "", status: "running", createdAt: 1_000, updatedAt: 1_000, ...fields,
});

describe("standing", () => {
  it.each([
    [run({ status: "succeeded", startedAt: 2_000, finishedAt: 14_000 }), "Succeeded after 12 s."],
    [run({ status: "failed", startedAt: 2_000, finishedAt: 3_000, error: { code: "provider-error", message: "The key is wrong." } }), "Failed after 1.0 s: The key is wrong."],
    [run({ status: "canceled" }), "Canceled before it began."],
    [run({ status: "waiting", updatedAt: 0, wait: { reason: "event", label: "Approve pay" } }), `Waiting since ${time(0)}: Approve pay.`],
    [run({ status: "waiting", updatedAt: 0, wait: { reason: "children", pendingChildren: 2 } }), `Waiting since ${time(0)} for 2 children.`],
    [run({ status: "claimed" }), "A worker has taken it and begins."],
  ])("%#", (entry, words) => expect(standing(entry, 20_000)).toBe(words));
  it("measures a run that goes on until now", () => expect(elapsed(run({ startedAt: 2_000 }), 5_000)).toBe(3_000));
});

describe("valueOf", () => {
  it.each([["yes", "yes"], ["3", 3], ['{"ok":true}', { ok: true }], ['"3"', "3"], ["", ""]])("%s", (text, value) => expect(valueOf(text)).toEqual(value));
});

describe("inTreeOrder", () => {
  it("puts children under their parents, and keeps runs whose parent is not there", () => {
    const ids = inTreeOrder([
      run({ id: "c2", parentRunId: "r", createdAt: 5 }),
      run({ id: "g", parentRunId: "c1", createdAt: 6 }),
      run({ id: "r", createdAt: 1 }),
      run({ id: "c1", parentRunId: "r", createdAt: 4 }),
      run({ id: "lost", parentRunId: "elsewhere", createdAt: 9 }),
    ]).map((entry) => entry.id);
    expect(ids).toEqual(["r", "c1", "g", "c2", "lost"]);
  });
});
