// The ways in which formulas stand in texts of models: $x$, $$x$$, \(x\) and \[x\]. All become $$, which Markdown's math knows; a
// dollar that is money stays a dollar, and code stays code.

/** Code, formulas by their delimiters, and escaped dollars. What is not one of them is left alone. */
const tokens =
  /(?<code>(?:^|\n) {0,3}(?<fence>`{3,}|~{3,})[\s\S]*?(?:\n {0,3}\k<fence>[`~]*(?=\n|$)|$)|(?<ticks>`+)[^`][\s\S]*?\k<ticks>(?!`))|\\\[(?<square>[\s\S]+?)\\\]|\\\((?<round>[^\n]+?)\\\)|\$\$(?<double>[\s\S]+?)\$\$|(?<escaped>\\\$)|\$(?<single>(?=[^\s$])(?:\\.|[^$\n\\])*?(?:\\.|[^$\s\\]))\$(?!\d)/g;

/** Whether a text may hold a formula, so that what renders them is worth loading. */
export const mayHoldMath = (text: string): boolean => text.includes("$") || text.includes("\\(") || text.includes("\\[");

const block = (tex: string): string => `\n$$\n${tex.trim()}\n$$\n`;

export function mathDelimiters(text: string): string {
  return text.replace(tokens, (whole: string, ...rest: unknown[]) => {
    const groups = rest.at(-1) as Record<string, string | undefined>;
    const at = rest.at(-3) as number;
    if (groups.square !== undefined) return block(groups.square);
    if (groups.double !== undefined) return alone(text, at, whole.length) ? block(groups.double) : `$$${groups.double}$$`;
    const inline = groups.round ?? groups.single;
    return inline === undefined ? whole : `$$${inline}$$`;
  });
}

/** Whether nothing else stands on the lines of a piece of a text. */
function alone(text: string, from: number, length: number): boolean {
  const before = text.slice(text.lastIndexOf("\n", from - 1) + 1, from);
  const end = text.indexOf("\n", from + length);
  return (before + text.slice(from + length, end < 0 ? undefined : end)).trim() === "";
}
