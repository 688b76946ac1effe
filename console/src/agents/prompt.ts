// Instructions as Markdown, for servers' answers that carry them as blocks only.
import type { PromptBlock } from "../api/types.ts";

/** The plain text of a block tree: headings, paragraphs and code keep their form; marks inside a line are left out. */
export function promptText(prompt: readonly PromptBlock[] | string | undefined): string {
  if (prompt === undefined) return "";
  if (typeof prompt === "string") return prompt;
  return lines(prompt, 1).join("\n\n");
}

function lines(nodes: readonly PromptBlock[], level: number): string[] {
  return nodes.flatMap(({ block, children = [] }) => {
    const text = typeof block.text === "string" ? block.text : "";
    switch (block.type) {
      case "Heading":
        return [`${"#".repeat(level)} ${text}`, ...lines(children, level + 1)];
      case "Code":
        return [`\`\`\`\n${text}\n\`\`\``, ...lines(children, level)];
      default:
        return [...(text === "" ? [] : [text]), ...lines(children, level)];
    }
  });
}
