// What a tool takes or returns: its fields as a list, and the schema itself behind a button.
import { useState } from "react";
import { fieldsOf, typeWords, type SchemaField } from "./schema.ts";

export function SchemaView({ label, schema, none }: { label: string; schema: unknown; none: string }) {
  const [raw, setRaw] = useState(false);
  const fields = fieldsOf(schema);
  const type = typeWords(schema, schema);
  return (
    <section className="schema" aria-label={label}>
      <div className="data-head">
        <h3>{label}</h3>
        <button type="button" className="button quiet small" aria-pressed={raw} onClick={() => setRaw(!raw)}>
          {raw ? "Fields" : "Schema"}
        </button>
      </div>
      {raw ? (
        <pre className="data-raw" tabIndex={0} aria-label={`${label} as JSON Schema`}>
          {JSON.stringify(schema, null, 2)}
        </pre>
      ) : fields.length > 0 ? (
        <Fields fields={fields} />
      ) : (
        <p className="muted small">{type === "object" || type === "anything" ? none : type}</p>
      )}
    </section>
  );
}

function Fields({ fields }: { fields: readonly SchemaField[] }) {
  return (
    <ul className="plain schema-fields">
      {fields.map((field) => (
        <li key={field.name}>
          <div className="row wrap">
            <code>{field.name}</code>
            <span className="muted small">{field.type}</span>
            {field.required && <span className="chip accent">required</span>}
            {field.notes.length > 0 && <span className="muted small">{field.notes.join(", ")}</span>}
          </div>
          {field.description && <p className="small">{field.description}</p>}
          {field.fields.length > 0 && <Fields fields={field.fields} />}
        </li>
      ))}
    </ul>
  );
}
