// Cuts Markdown into pieces that can be rendered one by one. While an answer streams only the last piece changes, so everything
// before it stays on screen untouched; the finished answer is cut the same way, so nothing moves when it arrives.

const fence = /^ {0,3}(`{3,}|~{3,})/;
const listItem = /^ {0,3}([-*+]|\d{1,9}[.)])\s/;
const definition = /^ {0,3}\[[^\]]+\]:/m;

export function splitMarkdown(text: string): string[] {
  // A definition is used from anywhere in the text: such a text stays in one piece.
  if (definition.test(text)) return [text];
  const pieces: string[] = [];
  let current: string[] = [];
  let closing: string | undefined;
  let blank = false;
  const lines = text.split("\n");
  for (const line of lines) {
    const mark = fence.exec(line)?.[1];
    if (closing === undefined && blank && current.length > 0 && !continues(current, line)) {
      pieces.push(current.join("\n"));
      current = [];
    }
    if (mark !== undefined) {
      if (closing === undefined) closing = mark;
      else if (mark.startsWith(closing) && line.trim() === mark) closing = undefined;
    }
    blank = line.trim() === "";
    if (current.length > 0 || !blank) current.push(line);
  }
  if (current.length > 0) pieces.push(current.join("\n"));
  return pieces;
}

/** A list goes on over blank lines when the next line is another item or is indented. */
function continues(current: readonly string[], line: string): boolean {
  if (line.trim() === "") return true;
  return listItem.test(current[0] ?? "") && (listItem.test(line) || /^\s/.test(line));
}
