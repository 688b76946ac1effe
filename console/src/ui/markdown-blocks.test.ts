import { describe, expect, it } from "vitest";
import { splitMarkdown } from "./markdown-blocks.ts";

describe("splitMarkdown", () => {
  it.each([
    ["paragraphs are pieces", "one\n\ntwo\n\n\nthree", ["one\n", "two\n\n", "three"]],
    ["a fence is one piece, blank lines and all", "a\n\n```js\nx\n\n\ny\n```\n\nb", ["a\n", "```js\nx\n\n\ny\n```\n", "b"]],
    ["an open fence holds what follows", "a\n\n```\nx\n\ny", ["a\n", "```\nx\n\ny"]],
    ["a longer fence is not closed by a shorter one", "````\n```\n\n```\n````\n\nb", ["````\n```\n\n```\n````\n", "b"]],
    ["a list goes on over blank lines", "1. a\n\n2. b\n\n   more\n\nend", ["1. a\n\n2. b\n\n   more\n", "end"]],
    ["a text with definitions stays whole", "see [x]\n\n[x]: https://example.org", ["see [x]\n\n[x]: https://example.org"]],
    ["nothing is nothing", "", []],
    ["blank lines at the start are dropped", "\n\na", ["a"]],
  ])("%s", (_, text, pieces) => expect(splitMarkdown(text)).toEqual(pieces));

  it("leaves finished pieces alone while a text grows", () => {
    const text = "# Title\n\nA paragraph.\n\n- one\n- two\n\n```\ncode\n\nmore\n```\n\nEnd of it.";
    let before: string[] = [];
    for (let length = 1; length <= text.length; length++) {
      const pieces = splitMarkdown(text.slice(0, length));
      // All but the last two are settled: the last grows, the one before may lose or gain its trailing blank line.
      expect(pieces.slice(0, Math.max(before.length - 2, 0))).toEqual(before.slice(0, Math.max(before.length - 2, 0)));
      before = pieces;
    }
  });
});
