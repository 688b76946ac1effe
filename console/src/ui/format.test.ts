import { describe, expect, it } from "vitest";
import { ago, bytes, dollars, duration, plural, short, ticking } from "./format.ts";

describe("figures", () => {
  it.each([[0, "0"], [950, "950"], [1_000, "1k"], [1_234, "1.2k"], [34_400, "34k"], [999_499, "999k"], [1_250_000, "1.3M"]])("short(%d) is %s", (value, text) =>
    expect(short(value)).toBe(text));
  it.each([[0, "0 B"], [1_023, "1023 B"], [1_536, "1.5 KiB"], [52_428_800, "50 MiB"]])("bytes(%d) is %s", (value, text) => expect(bytes(value)).toBe(text));
  it.each([[400, "0.4 s"], [12_300, "12 s"], [187_000, "3:07"], [3_729_000, "1:02:09"], [0.4, "<1 ms"], [-5, "<1 ms"], [42, "42 ms"]])("duration(%d) is %s", (value, text) =>
    expect(duration(value)).toBe(text));
  it.each([[76, "0 s"], [5_999, "5 s"], [61_200, "1:01"]])("ticking(%d) is %s", (value, text) => expect(ticking(value)).toBe(text));
  it.each([[0, "$0"], [0.00234, "$0.0023"], [0.5, "$0.50"], [12.345, "$12.35"]])("dollars(%d) is %s", (value, text) => expect(dollars(value)).toBe(text));
  it("counts in words", () => expect([plural(1, "file"), plural(2_000, "file")]).toEqual(["1 file", "2,000 files"]));
});

describe("ago", () => {
  const now = new Date(2026, 5, 10, 18).getTime();
  it.each([[10_000, "just now"], [5 * 60_000, "5 min ago"], [3 * 3_600_000, "3 h ago"], [14 * 3_600_000, "04:00"], [80 * 3_600_000, "7 Jun"]])("%d ms is %s", (past, text) =>
    expect(ago(now - past, now)).toBe(text));
});
