// A JSON Schema in words for people. What is not understood stays visible as JSON beside it.

export interface SchemaField {
  name: string;
  /** Such as "text" or "list of whole numbers". */
  type: string;
  required: boolean;
  description: string;
  /** Bounds, the default, the values that are allowed. */
  notes: readonly string[];
  fields: readonly SchemaField[];
}

type Schema = Record<string, unknown>;

const isSchema = (value: unknown): value is Schema => typeof value === "object" && value !== null && !Array.isArray(value);
const asText = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

/** The deepest level that is shown; a schema may refer to itself. */
const deepest = 4;

/** Follows a reference within the schema; others stay what they are. */
export function resolve(schema: unknown, root: unknown): Schema {
  let at = schema;
  for (let hops = 0; hops < 8 && isSchema(at) && typeof at.$ref === "string"; hops++) {
    const ref = at.$ref;
    if (!ref.startsWith("#/")) break;
    let target: unknown = root;
    for (const step of ref.slice(2).split("/")) {
      const key = step.replaceAll("~1", "/").replaceAll("~0", "~");
      target = typeof target === "object" && target !== null && Object.hasOwn(target, key) ? (target as Schema)[key] : undefined;
    }
    if (target === undefined) break;
    at = target;
  }
  return isSchema(at) ? at : {};
}

const names: Record<string, [one: string, many: string]> = {
  string: ["text", "texts"],
  integer: ["whole number", "whole numbers"],
  number: ["number", "numbers"],
  boolean: ["yes or no", "yes or no"],
  object: ["object", "objects"],
  array: ["list", "lists"],
  null: ["nothing", "nothing"],
};

/** The kinds of value that a schema takes, without "null" beside another one. */
export function typesOf(schema: Schema): string[] {
  const given = (Array.isArray(schema.type) ? schema.type : [schema.type]).filter((type): type is string => typeof type === "string");
  if (given.length > 1) return given.filter((type) => type !== "null");
  if (given.length === 1) return given;
  if (isSchema(schema.properties)) return ["object"];
  if (schema.items !== undefined) return ["array"];
  return [];
}

export function typeWords(schema: unknown, root: unknown, many = false, depth = 0): string {
  const at = resolve(schema, root);
  if (Array.isArray(at.enum) || at.const !== undefined) return many ? "choices" : "choice";
  const variants = [at.oneOf, at.anyOf].find(Array.isArray);
  if (variants && depth < deepest) {
    const words = variants.map((variant) => typeWords(variant, root, many, depth + 1)).filter((word) => word !== "nothing");
    return [...new Set(words)].join(" or ");
  }
  const types = typesOf(at);
  if (types.length === 0) return "anything";
  return types
    .map((type) => {
      if (type === "array" && depth < deepest) return `${many ? "lists" : "list"} of ${typeWords(at.items ?? {}, root, true, depth + 1)}`;
      return names[type]?.[many ? 1 : 0] ?? type;
    })
    .join(" or ");
}

function notes(at: Schema): string[] {
  const out: string[] = [];
  const say = (words: string, value: unknown): void => {
    if (value !== undefined) out.push(`${words} ${asText(value)}`);
  };
  if (Array.isArray(at.enum)) out.push(`one of ${at.enum.map(asText).join(", ")}`);
  say("always", at.const);
  say("at least", at.minimum);
  say("at most", at.maximum);
  say("above", at.exclusiveMinimum);
  say("below", at.exclusiveMaximum);
  if (at.minLength !== undefined) out.push(`at least ${asText(at.minLength)} characters`);
  if (at.maxLength !== undefined) out.push(`at most ${asText(at.maxLength)} characters`);
  if (at.minItems !== undefined) out.push(`at least ${asText(at.minItems)} entries`);
  if (at.maxItems !== undefined) out.push(`at most ${asText(at.maxItems)} entries`);
  say("as", at.format);
  say("like", at.pattern);
  say("otherwise", at.default);
  return out;
}

/** The fields of an object, or of the objects in a list; empty when nothing is said about them. */
export function fieldsOf(schema: unknown, root: unknown = schema, depth = 0): SchemaField[] {
  let at = resolve(schema, root);
  if (typesOf(at)[0] === "array") at = resolve(at.items, root);
  if (!isSchema(at.properties) || depth >= deepest) return [];
  const required = new Set(Array.isArray(at.required) ? at.required : []);
  return Object.entries(at.properties).map(([name, property]) => {
    const inner = resolve(property, root);
    // What stands beside a reference says more about this place than its target does.
    const said = isSchema(property) && typeof property.description === "string" ? property.description : inner.description;
    return {
      name,
      type: typeWords(property, root),
      required: required.has(name),
      description: typeof said === "string" ? said : "",
      notes: notes(inner),
      fields: fieldsOf(inner, root, depth + 1),
    };
  });
}

export interface Control {
  name: string;
  kind: "line" | "text" | "number" | "choice" | "flag" | "lines" | "json";
  required: boolean;
  help: string;
  /** The values of a choice. */
  choices: readonly unknown[];
  /** A number without a fraction. */
  whole: boolean;
}

const longNames = /^(content|text|body|message|source|brief|prompt|markdown|description)$/;

function controlOf(field: SchemaField, at: Schema): Control {
  const types = typesOf(at);
  const only = types.length === 1 ? types[0] : "";
  const base = { name: field.name, required: field.required, help: [field.description, ...field.notes].filter(Boolean).join(" · "), choices: [] as unknown[], whole: only === "integer" };
  if (Array.isArray(at.enum)) return { ...base, kind: "choice", choices: at.enum };
  switch (only) {
    case "string":
      return { ...base, kind: longNames.test(field.name) || (typeof at.maxLength === "number" && at.maxLength >= 1_000) ? "text" : "line" };
    case "integer":
    case "number":
      return { ...base, kind: "number" };
    case "boolean":
      return { ...base, kind: "flag" };
    case "array":
      return { ...base, kind: typesOf(resolve(at.items, at))[0] === "string" && !Array.isArray(resolve(at.items, at).enum) ? "lines" : "json" };
    default:
      return { ...base, kind: "json" };
  }
}

/** A form for the fields of an object; nothing when the schema is one that only JSON can follow. */
export function controlsOf(schema: unknown): Control[] | undefined {
  const at = resolve(schema, schema);
  if (at.oneOf !== undefined || at.anyOf !== undefined || at.allOf !== undefined || !isSchema(at.properties)) return undefined;
  const properties = at.properties;
  return fieldsOf(at, schema).map((field) => controlOf(field, resolve(properties[field.name], schema)));
}

/** What was typed, by the name of the control. */
export type Typed = Record<string, string>;

/** The object that the typed values mean, or what is wrong with them, by control. Fields without a value are left out. */
export function inputOf(controls: readonly Control[], typed: Typed): { input: Record<string, unknown>; problems: Record<string, string> } {
  const input: Record<string, unknown> = {};
  const problems: Record<string, string> = {};
  for (const control of controls) {
    const text = typed[control.name] ?? "";
    if (text.trim() === "") {
      if (control.required && control.kind === "lines") input[control.name] = [];
      else if (control.required) problems[control.name] = "This is needed.";
      continue;
    }
    switch (control.kind) {
      case "line":
      case "text":
        input[control.name] = text;
        break;
      case "number": {
        const value = Number(text);
        if (!Number.isFinite(value)) problems[control.name] = "This is no number.";
        else if (control.whole && !Number.isInteger(value)) problems[control.name] = "This has to be a whole number.";
        else input[control.name] = value;
        break;
      }
      case "flag":
        input[control.name] = text === "yes";
        break;
      case "choice":
        input[control.name] = control.choices.find((choice) => asText(choice) === text);
        break;
      case "lines":
        input[control.name] = text.split("\n").map((line) => line.trim()).filter(Boolean);
        break;
      case "json":
        try {
          input[control.name] = JSON.parse(text);
        } catch {
          problems[control.name] = "This is no JSON. A text needs quotes: \"like this\".";
        }
    }
  }
  return { input, problems };
}

/** The typed values that mean an object, as far as the controls have room for it. */
export function typedOf(controls: readonly Control[], input: Record<string, unknown>): Typed {
  const typed: Typed = {};
  for (const { name, kind } of controls) {
    const value = input[name];
    if (value === undefined) continue;
    if (kind === "flag") typed[name] = value === true ? "yes" : "no";
    else if (kind === "lines" && Array.isArray(value)) typed[name] = value.join("\n");
    else if (kind === "json") typed[name] = JSON.stringify(value, null, 2);
    else typed[name] = asText(value);
  }
  return typed;
}

export const choiceText = asText;
