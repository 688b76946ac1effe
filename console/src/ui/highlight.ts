// Colours for code, by its language. Loaded when a text first holds code that names one.
import { common, createLowlight } from "lowlight";
import { createElement, type ReactNode } from "react";

const lowlight = createLowlight(common);

/** Longer code stays plain: it is coloured anew whenever it grows. */
const longest = 20_000;

interface Piece {
  type: string;
  value?: string;
  properties?: { className?: unknown };
  children?: Piece[];
}

const nodes = (pieces: readonly Piece[]): ReactNode[] =>
  pieces.map((piece, i) =>
    piece.type === "text"
      ? piece.value
      : createElement("span", { key: i, className: (piece.properties?.className as string[] | undefined)?.join(" ") }, nodes(piece.children ?? [])),
  );

/** The code in coloured pieces; undefined when nobody knows the language. */
export function highlight(code: string, language: string): ReactNode[] | undefined {
  if (code.length > longest || !lowlight.registered(language)) return undefined;
  return nodes(lowlight.highlight(language, code).children as Piece[]);
}
