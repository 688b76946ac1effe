import { describe, expect, it } from "vitest";
import { rank } from "./match.ts";
import { returnPath } from "./session.ts";
import { codeOf } from "./sign-in-page.tsx";

describe("rank", () => {
  const names = ["Run nightly report", "Assistant", "Research assistant", "Settings: providers"];
  const find = (query: string): string[] => rank(query, names, (name) => name);
  it("keeps everything in its order without a query", () => expect(find(" ")).toEqual(names));
  it("prefers the start of a name", () => expect(find("assist")).toEqual(["Assistant", "Research assistant"]));
  it("wants every word", () => expect(find("night run")).toEqual(["Run nightly report"]));
  it("finds nothing that is not there", () => expect(find("zebra")).toEqual([]));
});

describe("returnPath", () => {
  it.each([
    ["/runs?status=failed", "/runs?status=failed"],
    ["//example.org/", "/"],
    ["https://example.org/", "/"],
    ["/sign-in?back=/", "/"],
    ["", "/"],
  ])("%s leads to %s", (path, to) => expect(returnPath(path)).toBe(to));
});

describe("codeOf", () => {
  it.each([
    ["ABC-123", "ABC-123"],
    ["  http://localhost:3050/sign-in#ABC-123\n", "ABC-123"],
    ["#ABC-123", "ABC-123"],
  ])("%s holds %s", (text, code) => expect(codeOf(text)).toBe(code));
});
