import { expect, it } from "vitest";
import type { Trigger } from "../api/types.ts";
import { moment } from "../ui/format.ts";
import { doesOf, nextOf, stateOf } from "./words.ts";

const trigger = (fields: Partial<Trigger>): Trigger => ({
  id: "t", account: "a", agentId: "g", name: "T", prompt: [], enabled: true, source: { type: "schedule" }, createdAt: 0, updatedAt: 0, ...fields,
});

it("says whether it is on, and what went wrong", () => {
  expect(stateOf(trigger({})).label).toBe("on");
  expect(stateOf(trigger({ lastError: "x" })).label).toBe("failed last");
  expect(stateOf(trigger({ enabled: false, lastError: "x" })).label).toBe("switched off");
  expect(stateOf(trigger({ enabled: false, mergedInto: "o" })).label).toBe("merged into another one");
});

it("says when it fires next", () => {
  expect(nextOf(trigger({ nextFireAt: 5_000 }))).toBe(moment(5_000));
  expect(nextOf(trigger({}))).toBe("never again");
  expect(nextOf(trigger({ source: { type: "webhook" } }))).toBe("when it happens");
  expect(nextOf(trigger({ enabled: false, nextFireAt: 5_000 }))).toBe("not while it is off");
});

it.each([
  [undefined, "begins a conversation"],
  [{ kind: "newThread", sessionId: "s" }, "goes on in a conversation"],
  [{ kind: "wake", signal: "go" }, "gives the signal “go” to every run that waits for it"],
  [{ kind: "tool", tool: "pay" }, "calls the tool pay"],
  [{ kind: "script", script: "x" }, "runs a script"],
  [{ kind: "webhook", url: "https://x" }, "sends a webhook to https://x"],
])("%j", (continuation, words) => expect(doesOf(trigger(continuation ? { continuation } : {}))).toBe(words));
