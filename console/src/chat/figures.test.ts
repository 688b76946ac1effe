import { describe, expect, it } from "vitest";
import type { SessionEvent, Usage } from "../api/types.ts";
import { contextUsed, level } from "./gauge.tsx";
import { titleOf } from "./new-page.tsx";
import { cost } from "./cost.ts";

const usage: Usage = { input: 1_000_000, output: 500_000, cacheRead: 2_000_000, cacheWrite: 100_000, total: 3_600_000 };

describe("titleOf", () => {
  it.each([
    ["hello", "hello"],
    ["  first line\nsecond", "first line"],
    ["word ".repeat(30), `${"word ".repeat(11).trim()}…`],
    ["x".repeat(80), `${"x".repeat(59)}…`],
  ])("%s", (text, title) => expect(titleOf(text)).toBe(title));
});

describe("gauge", () => {
  it.each([[0.69, "ok"], [0.7, "warn"], [0.849, "warn"], [0.85, "bad"], [1, "bad"]] as const)("a context that is %d full is %s", (share, name) =>
    expect(level(share)).toBe(name));

  it("counts what the newest answer read and wrote", () => {
    const events: SessionEvent[] = [
      { id: "1", sessionId: "s", seq: 1, createdAt: 0, event: { type: "message", role: "assistant", content: "", meta: { usage } } },
      { id: "2", sessionId: "s", seq: 2, createdAt: 0, event: { type: "message", role: "user", content: "" } },
    ];
    expect(contextUsed(events)).toBe(3_600_000);
    expect(contextUsed([])).toBeUndefined();
  });
});

describe("cost", () => {
  it("prices every kind of token", () => expect(cost(usage, { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 })).toBeCloseTo(3 + 7.5 + 0.6 + 0.375));
  it("is unknown without a price", () => expect(cost(usage, undefined)).toBeUndefined());
});
