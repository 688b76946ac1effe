import { describe, expect, it } from "vitest";
import { controlsOf, fieldsOf, inputOf, typedOf, typeWords } from "./schema.ts";

describe("typeWords", () => {
  it.each([
    [{ type: "string" }, "text"],
    [{ type: ["integer", "null"] }, "whole number"],
    [{ type: "array", items: { type: "string" } }, "list of texts"],
    [{ type: "array", items: { type: "array", items: { type: "number" } } }, "list of lists of numbers"],
    [{ enum: ["a", "b"] }, "choice"],
    [{ anyOf: [{ type: "string" }, { type: "null" }, { type: "boolean" }] }, "text or yes or no"],
    [{ properties: {} }, "object"],
    [{}, "anything"],
    [true, "anything"],
  ])("%j", (schema, words) => expect(typeWords(schema, schema)).toBe(words));
});

describe("fieldsOf", () => {
  it("tells what is needed, what bounds there are and what lies inside", () => {
    const fields = fieldsOf({
      type: "object",
      required: ["to"],
      properties: {
        to: { type: "string", description: "Who gets it.", maxLength: 40 },
        limit: { type: "integer", minimum: 1, default: 5 },
        parts: { type: "array", items: { type: "object", required: ["id"], properties: { id: { type: "string" } } } },
      },
    });
    expect(fields.map(({ name, required }) => [name, required])).toEqual([["to", true], ["limit", false], ["parts", false]]);
    expect(fields[0]).toMatchObject({ type: "text", description: "Who gets it.", notes: ["at most 40 characters"] });
    expect(fields[1]?.notes).toEqual(["at least 1", "otherwise 5"]);
    expect(fields[2]).toMatchObject({ type: "list of objects", fields: [{ name: "id", required: true }] });
  });

  it("follows references, and does not follow a circle for ever", () => {
    const schema = {
      type: "object",
      properties: { node: { $ref: "#/$defs/node", description: "The root." }, odd: { $ref: "elsewhere.json" }, gone: { $ref: "#/$defs/none" } },
      $defs: { node: { type: "object", properties: { next: { $ref: "#/$defs/node" } } } },
    };
    const [node, odd, gone] = fieldsOf(schema);
    expect(node).toMatchObject({ type: "object", description: "The root." });
    expect(odd?.type).toBe("anything");
    expect(gone?.type).toBe("anything");
    let depth = 0;
    for (let at = node; at; at = at.fields[0]) depth++;
    expect(depth).toBeLessThan(8);
  });

  it("is empty where nothing is said", () => {
    expect(fieldsOf({ type: "object" })).toEqual([]);
    expect(fieldsOf(undefined)).toEqual([]);
    expect(fieldsOf({ type: "string" })).toEqual([]);
  });
});

describe("a form", () => {
  const schema = {
    type: "object",
    required: ["to", "count", "tags"],
    properties: {
      to: { type: "string", description: "Who gets it." },
      text: { type: "string" },
      count: { type: "integer", minimum: 1 },
      ratio: { type: "number" },
      loud: { type: "boolean" },
      tone: { enum: ["kind", 2] },
      tags: { type: "array", items: { type: "string" } },
      more: { type: "object" },
    },
  };
  const controls = controlsOf(schema) ?? [];

  it("has a control for each field", () =>
    expect(controls.map((control) => control.kind)).toEqual(["line", "text", "number", "number", "flag", "choice", "lines", "json"]));

  it("means an object, and back", () => {
    const typed = { to: "Ann", count: "3", ratio: "0.5", loud: "no", tone: "2", tags: " a \n\nb", more: '{"x":1}' };
    const { input, problems } = inputOf(controls, typed);
    expect(problems).toEqual({});
    expect(input).toEqual({ to: "Ann", count: 3, ratio: 0.5, loud: false, tone: 2, tags: ["a", "b"], more: { x: 1 } });
    expect(inputOf(controls, typedOf(controls, input)).input).toEqual(input);
  });

  it("leaves out what was not said, and says what is wrong", () => {
    const { input, problems } = inputOf(controls, { count: "1.5", ratio: "much", more: "text" });
    expect(input).toEqual({ tags: [] });
    expect(Object.keys(problems).sort()).toEqual(["count", "more", "ratio", "to"]);
  });

  it.each([[{ type: "object" }], [{ oneOf: [] }], [{ type: "object", properties: {}, anyOf: [] }], [undefined], [{ type: "string" }]])("leaves %j to JSON", (other) =>
    expect(controlsOf(other)).toBeUndefined());
});
