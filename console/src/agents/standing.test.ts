import { expect, it } from "vitest";
import { standingOf } from "./standing.tsx";

const activity = (busy: boolean) => ({ at: 0, busy, kind: "", messageAt: 0, messageFrom: "", sessionId: "" });

it.each([
  [true, ["a"], "waits"],
  [false, ["a"], "waits"],
  [true, ["b"], "works"],
  [false, [], "rests"],
] as const)("busy %j with questions of %j: %s", (busy, asking, standing) =>
  expect(standingOf({ id: "a", activity: activity(busy) }, asking.map((agentId) => ({ agentId })))).toBe(standing));
