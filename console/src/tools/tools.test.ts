import { describe, expect, it } from "vitest";
import type { Tool } from "../api/types.ts";
import { draftOf, emptyDraft, groups, originOf, readDraft, stateOf, tagOf } from "./tools.ts";

const tool = (fields: Partial<Tool>): Tool => ({
  name: "t", kind: "builtin", summary: "", description: "d", input: { type: "object" }, cid: "bafy", enabled: true, granted: true, effect: "pure", createdAt: 0, updatedAt: 0,
  ...fields,
});

describe("groups", () => {
  const all = [
    tool({ name: "search" }),
    tool({ name: "hub__list", kind: "mcp", server: "hub", summary: "Lists issues." }),
    tool({ name: "desk__mail", kind: "mcp", server: "desk" }),
    tool({ name: "count", kind: "lambda" }),
  ];
  it("puts what was written here first and names the servers", () =>
    expect(groups(all, "").map((group) => [group.label, group.tools.map((entry) => entry.name)])).toEqual([
      ["Of this agent", ["count"]],
      ["Of the server", ["search"]],
      ["From desk", ["desk__mail"]],
      ["From hub", ["hub__list"]],
    ]));
  it("finds by name, summary and server, and leaves out groups without a hit", () => {
    expect(groups(all, "issues").map((group) => group.label)).toEqual(["From hub"]);
    expect(groups(all, "mcp desk").map((group) => group.label)).toEqual(["From desk"]);
    expect(groups(all, "nothing of this kind")).toEqual([]);
  });
});

it("says whether a tool is in use, and whose it is", () => {
  expect(stateOf(tool({}))).toEqual({ label: "in use", look: "ok" });
  expect(stateOf(tool({ granted: false })).label).toBe("not granted");
  expect(stateOf(tool({ granted: false, enabled: false })).label).toBe("switched off");
  expect(originOf(tool({ kind: "lambda", author: "agent" }))).toBe("written by the agent");
  expect(originOf(tool({ kind: "lambda" }))).toBe("written before authors were kept");
  expect(originOf(tool({ kind: "mcp", server: "hub" }))).toBe("offered by the MCP server hub");
  expect(tagOf(tool({ enabled: false }))).toBe('"bafy-false"');
});

describe("readDraft", () => {
  it("gives back what was there", () => {
    const before = tool({ name: "count", kind: "lambda", source: "x", runtime: "python", output: { type: "object" }, summary: "Counts." });
    expect(readDraft(draftOf(before), true)).toEqual({
      problems: {},
      fields: { name: "count", summary: "Counts.", description: "d", input: { type: "object" }, output: { type: "object" }, source: "x", runtime: "python", enabled: true },
    });
  });
  it.each([
    [{ name: "Count" }, "name"],
    [{ description: " " }, "description"],
    [{ source: "" }, "source"],
    [{ input: "{" }, "input"],
    [{ output: "nope" }, "output"],
  ] as const)("refuses %j", (change, field) => {
    const { fields, problems } = readDraft({ ...emptyDraft, name: "count", description: "d", ...change }, undefined);
    expect(fields).toBeUndefined();
    expect(Object.keys(problems)).toEqual([field]);
  });
});
