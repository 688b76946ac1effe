import { expect, it } from "vitest";
import { emptyDraft, readDraft, type Draft } from "./draft.ts";

const full: Draft = { ...emptyDraft("Europe/Berlin"), name: "T", prompt: "Do it." };

it.each<[Partial<Draft>, object]>([
  [{ source: "interval", every: "2", unit: "days" }, { type: "schedule", schedule: { kind: "interval", every: 2, unit: "days" } }],
  [{ days: [5, 1] }, { type: "schedule", schedule: { kind: "weekly", daysOfWeek: [1, 5], timeOfDay: "07:00", timezone: "Europe/Berlin" } }],
  [{ source: "once", at: "2030-01-02T03:04" }, { type: "schedule", schedule: { kind: "once", runAt: new Date(2030, 0, 2, 3, 4).getTime() } }],
  [{ source: "cron", cron: "@daily" }, { type: "schedule", schedule: { kind: "cron", cron: "@daily", timezone: "Europe/Berlin" } }],
  [{ source: "webhook" }, { type: "webhook", signed: true }],
  [{ source: "run-completed", status: "failed" }, { type: "run-completed", status: "failed" }],
])("reads the source of %j", (change, source) => expect(readDraft({ ...full, ...change }).fields?.source).toEqual(source));

it.each<[Partial<Draft>, object | undefined]>([
  [{}, undefined],
  [{ then: "tool", tool: " pay " }, { kind: "tool", tool: "pay" }],
  [{ then: "wake", signal: "go" }, { kind: "wake", signal: "go" }],
  [{ then: "webhook", url: "https://x" }, { kind: "webhook", url: "https://x" }],
])("reads what %j does", (change, continuation) => expect(readDraft({ ...full, ...change }).fields?.continuation).toEqual(continuation));

it.each<[Partial<Draft>, string]>([
  [{ name: " " }, "name"], [{ prompt: "" }, "prompt"], [{ days: [] }, "days"], [{ source: "interval", every: "0.5" }, "every"], [{ source: "once" }, "at"],
  [{ source: "cron", cron: "" }, "cron"], [{ then: "tool" }, "tool"], [{ then: "wake" }, "signal"], [{ then: "webhook" }, "url"],
])("refuses %j", (change, field) => {
  const { fields, problems } = readDraft({ ...full, ...change });
  expect(fields).toBeUndefined();
  expect(Object.keys(problems)).toEqual([field]);
});
