// Makes TypeScript of the schemas of the server's OpenAPI document.

interface Schema {
  $ref?: string;
  type?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  additionalProperties?: Schema | boolean;
  enum?: unknown[];
  description?: string;
}

interface Document {
  components: { schemas: Record<string, Schema> };
}

/** The declarations of all schemas, in order of name. */
export function declarations(document: Document): string {
  const parts = Object.entries(document.components.schemas)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, schema]) => declaration(name, schema));
  return ["// Code generated from the server's OpenAPI document by `npm run generate`. DO NOT EDIT.", ...parts, ""].join("\n\n");
}

function declaration(name: string, schema: Schema): string {
  if (schema.type !== "object" || !schema.properties) return `export type ${name} = ${typeOf(schema)};`;
  const required = new Set(schema.required);
  const fields = Object.entries(schema.properties).map(
    ([field, type]) => `  ${/^[A-Za-z_$][\w$]*$/.test(field) ? field : JSON.stringify(field)}${required.has(field) ? "" : "?"}: ${typeOf(type)};`,
  );
  return [`export interface ${name} {`, ...fields, "}"].join("\n");
}

function typeOf(schema: Schema): string {
  if (schema.$ref) return schema.$ref.replace(/^.*\//, "");
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  switch (schema.type) {
    case undefined:
      return "unknown";
    case "string":
    case "boolean":
    case "null":
      return schema.type;
    case "integer":
    case "number":
      return "number";
    case "array": {
      const item = typeOf(schema.items ?? {});
      return item.includes(" ") ? `(${item})[]` : `${item}[]`;
    }
    case "object": {
      const values = schema.additionalProperties;
      return `Record<string, ${typeof values === "object" ? typeOf(values) : "unknown"}>`;
    }
  }
  throw new Error(`the schema's type ${JSON.stringify(schema.type)} has no TypeScript yet: teach it to scripts/api-types.ts`);
}
