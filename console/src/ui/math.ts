// Formulas as MathML, which the browser draws itself: no fonts and no inline styles. Loaded when a text first holds one.
import katex from "katex";
import remarkMath from "remark-math";
import type { PluggableList } from "unified";

/** A single dollar is money here; src/ui/math-delimiters.ts has found those that are not. */
export const mathPlugins: PluggableList = [[remarkMath, { singleDollarTextMath: false }]];

/** A formula longer than this is shown as it was written. */
const longest = 10_000;

/** MathML of a formula; undefined when it is none. What it names is escaped, and it can load nothing. */
export function mathML(tex: string, display: boolean): string | undefined {
  if (tex.length > longest) return undefined;
  try {
    return katex.renderToString(tex, { output: "mathml", displayMode: display, throwOnError: true, strict: "ignore", trust: false, maxSize: 20, maxExpand: 500 });
  } catch {
    return undefined;
  }
}
