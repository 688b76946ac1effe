// What a person can do in a conversation by hand: the verbs of the agent, and its tools through `call`.
import type { Tool } from "../api/types.ts";

export interface Action {
  /** The verb that is used. */
  verb: "read" | "write" | "call";
  name: string;
  summary: string;
  /** The contract of what is typed. */
  schema: unknown;
  /** The input of the verb for what was typed. */
  input: (typed: Record<string, unknown>) => Record<string, unknown>;
}

const same = (typed: Record<string, unknown>): Record<string, unknown> => typed;

/** The verbs as the server describes them to models (docs/space.md has their addresses). */
const verbs: readonly Action[] = [
  {
    verb: "read", name: "read", summary: "Read anything that has an address: memory, a page, a document, a conversation.", input: same,
    schema: {
      type: "object", required: ["address"],
      properties: {
        address: { type: "string", description: "Such as ~/memory/, ~/tools/, ~/self, thread:, https://…" },
        format: { enum: ["markdown", "json"] },
        options: { type: "object", description: "Options of the address" },
      },
    },
  },
  {
    verb: "write", name: "write", summary: "Write, replace or delete what has an address.", input: same,
    schema: {
      type: "object", required: ["address"],
      properties: {
        address: { type: "string", description: "Such as ~/memory/notes.md or ~/tools/count" },
        content: { type: "string", description: "All of the new content" },
        options: { type: "object", description: 'Options of the address, such as {"delete": true}' },
        dryRun: { type: "boolean", description: "Check only, where the address supports it" },
      },
    },
  },
];

/** The verbs, then the tools that the agent holds. */
export function actionsOf(tools: readonly Tool[]): Action[] {
  const held = tools.filter((tool) => tool.enabled && tool.granted);
  return [
    ...verbs,
    ...held.map((tool): Action => ({
      verb: "call", name: tool.name, summary: tool.summary, schema: tool.input, input: (typed) => ({ tool: tool.name, input: typed }),
    })),
  ];
}
