// The tools of an agent as a person looks for them: in groups, with what there is to know about each in words.
import type { Tool, ToolFields } from "../api/types.ts";
import { rank } from "../frame/match.ts";

export interface ToolGroup {
  label: string;
  tools: readonly Tool[];
}

/** Authored tools first, then those of the server, then one group for each MCP server. Groups without a hit are left out. */
export function groups(tools: readonly Tool[], query: string): ToolGroup[] {
  const found = rank(query, tools, (tool) => `${tool.name} ${tool.summary} ${tool.kind} ${tool.server ?? ""}`);
  const out = new Map<string, Tool[]>([
    ["Of this agent", []],
    ["Of the server", []],
  ]);
  const servers = [...new Set(found.map((tool) => (tool.kind === "mcp" ? (tool.server ?? "") : "")))].filter(Boolean).sort();
  for (const server of servers) out.set(`From ${server}`, []);
  for (const tool of found) {
    const label = tool.kind === "lambda" ? "Of this agent" : tool.kind === "mcp" ? `From ${tool.server ?? ""}` : "Of the server";
    out.get(label)?.push(tool);
  }
  return Array.from(out, ([label, list]) => ({ label, tools: list })).filter((group) => group.tools.length > 0);
}

/** Whether the agent can use it now, in words. */
export function stateOf(tool: Tool): { label: string; look: "ok" | "warn" | "" } {
  if (!tool.enabled) return { label: "switched off", look: "" };
  return tool.granted ? { label: "in use", look: "ok" } : { label: "not granted", look: "warn" };
}

export function originOf(tool: Tool): string {
  switch (tool.kind) {
    case "lambda":
      return { agent: "written by the agent", person: "written by a person" }[tool.author ?? ""] ?? "written before authors were kept";
    case "mcp":
      return `offered by the MCP server ${tool.server ?? ""}`;
    default:
      return "built into the server";
  }
}

export const effectOf = (tool: Tool): string =>
  ({
    pure: "only reads; it may be repeated at will",
    idempotent: "changes something; repeating it makes no difference",
    "side-effecting": "acts on the world; a crash never repeats it by itself",
  })[tool.effect] ?? tool.effect;

/** What a change of a tool has to be meant for: the tag that the server gives to its present state. */
export const tagOf = (tool: Tool): string => `"${tool.cid}-${tool.enabled}"`;

/** A tool as it is sent when it is saved. */
export const fieldsOfTool = (tool: Tool): ToolFields => ({
  name: tool.name,
  summary: tool.summary,
  description: tool.description,
  input: tool.input,
  ...(tool.output === undefined ? {} : { output: tool.output }),
  source: tool.source ?? "",
  ...(tool.runtime === undefined ? {} : { runtime: tool.runtime }),
  enabled: tool.enabled,
});

export interface ToolDraft {
  name: string;
  summary: string;
  description: string;
  runtime: string;
  source: string;
  /** JSON as it was typed; empty is no schema. */
  input: string;
  output: string;
}

export const emptyDraft: ToolDraft = {
  name: "",
  summary: "",
  description: "",
  runtime: "typescript",
  source: "export default async function (input) {\n  return { };\n}\n",
  input: JSON.stringify({ type: "object", properties: {} }, null, 2),
  output: "",
};

export const draftOf = (tool: Tool): ToolDraft => ({
  name: tool.name,
  summary: tool.summary,
  description: tool.description,
  runtime: tool.runtime ?? "typescript",
  source: tool.source ?? "",
  input: JSON.stringify(tool.input, null, 2),
  output: tool.output === undefined ? "" : JSON.stringify(tool.output, null, 2),
});

/** The fields to save, or what is wrong with the draft by field. */
export function readDraft(draft: ToolDraft, enabled: boolean | undefined): { fields?: ToolFields; problems: Partial<Record<keyof ToolDraft, string>> } {
  const problems: Partial<Record<keyof ToolDraft, string>> = {};
  if (!/^[a-z][a-z0-9_-]{1,63}$/.test(draft.name.trim())) {
    problems.name = "2 to 64 lower-case letters, digits, - and _, beginning with a letter.";
  }
  if (draft.description.trim() === "") problems.description = "Say what the tool does and when to use it: this is all that the agent knows of it.";
  if (draft.source.trim() === "") problems.source = "A tool needs its program.";
  const schema = (field: "input" | "output"): unknown => {
    if (draft[field].trim() === "") return undefined;
    try {
      return JSON.parse(draft[field]) as unknown;
    } catch (error) {
      problems[field] = `This is no JSON: ${error instanceof Error ? error.message : String(error)}`;
      return undefined;
    }
  };
  const input = schema("input");
  const output = schema("output");
  if (Object.keys(problems).length > 0) return { problems };
  const fields: ToolFields = {
    name: draft.name.trim(),
    description: draft.description.trim(),
    source: draft.source,
    runtime: draft.runtime,
    ...(draft.summary.trim() === "" ? {} : { summary: draft.summary.trim() }),
    ...(input === undefined ? {} : { input }),
    ...(output === undefined ? {} : { output }),
    ...(enabled === undefined ? {} : { enabled }),
  };
  return { fields, problems };
}
