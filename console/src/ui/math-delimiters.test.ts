import { describe, expect, it } from "vitest";
import { mathDelimiters, mayHoldMath } from "./math-delimiters.ts";
import { mathML } from "./math.ts";

describe("mathDelimiters", () => {
  it.each([
    ["one dollar on each side", "so $x^2$ it is", "so $$x^2$$ it is"],
    ["brackets", "a \\(x\\) b", "a $$x$$ b"],
    ["a block of brackets", "a\n\\[\nx + y\n\\]\nb", "a\n\n$$\nx + y\n$$\n\nb"],
    ["two dollars in a line of its own", "$$x$$", "\n$$\nx\n$$\n"],
    ["two dollars in a text", "a $$x$$ b", "a $$x$$ b"],
    ["a block of dollars", "$$\nx\n$$", "\n$$\nx\n$$\n"],
    ["money is no formula", "between $5 and $10", "between $5 and $10"],
    ["money before a digit", "from $a to b$5", "from $a to b$5"],
    ["an escaped dollar stays", "\\$x$ and \\$y", "\\$x$ and \\$y"],
    ["code stays", "`$x$` and ``\\(y\\)``", "`$x$` and ``\\(y\\)``"],
    ["a fence stays", "```sh\necho $a $b\n```\n\n$c$", "```sh\necho $a $b\n```\n\n$$c$$"],
    ["an open fence stays", "```sh\necho $a $b", "```sh\necho $a $b"],
    ["a formula does not go over lines with one dollar", "$a\nb$", "$a\nb$"],
  ])("%s", (_, text, want) => expect(mathDelimiters(text)).toBe(want));

  it("is not asked for a text without any", () => {
    expect(mayHoldMath("a (b) [c]")).toBe(false);
    expect(mayHoldMath("\\(a\\)")).toBe(true);
  });

  it("takes no time over a text that is made to be slow", () => {
    const begun = performance.now();
    for (const text of ["$".repeat(20_000), "`".repeat(20_000), "\\(".repeat(10_000), "$a".repeat(10_000), "~~~\n".repeat(5_000)]) mathDelimiters(text);
    expect(performance.now() - begun).toBeLessThan(5_000);
  });
});

describe("mathML", () => {
  it("is MathML without styles", () => {
    const ml = mathML("\\frac{a}{b} \\color{red}{x} \\sqrt[3]{\\text{<b>}}", true) ?? "";
    expect(ml).toContain("<mfrac>");
    expect(ml).toContain("&lt;b&gt;");
    expect(ml).not.toMatch(/ style=|<b>|<script/);
  });
  it.each(["\\frac{a", "\\href{javascript:alert(1)}{x}", "\\includegraphics{x.png}", "x".repeat(10_001)])("of %s is refused or harmless", (tex) => {
    expect(mathML(tex, false) ?? "").not.toMatch(/<[^>]*(href|src)=/);
  });
});
