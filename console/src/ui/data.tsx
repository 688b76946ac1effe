// Structured data for people, with the JSON behind it.
import { useState } from "react";
import { count } from "./format.ts";

/** Longer texts and lists are cut until somebody asks for the rest: a page stays quick whatever a tool returned. */
const longText = 1_200;
const longList = 30;

function Text({ value }: { value: string }) {
  const [all, setAll] = useState(false);
  const cut = !all && value.length > longText;
  return (
    <span className="data-text">
      {cut ? `${value.slice(0, longText)}…` : value}
      {cut && (
        <button type="button" className="button quiet small" onClick={() => setAll(true)}>
          Show all {count(value.length)} characters
        </button>
      )}
    </span>
  );
}

function Value({ value, depth }: { value: unknown; depth: number }) {
  const [all, setAll] = useState(false);
  if (value === null || value === undefined) return <span className="muted">nothing</span>;
  if (typeof value === "string") return value === "" ? <span className="muted">empty</span> : <Text value={value} />;
  if (typeof value !== "object") return <span>{String(value)}</span>;
  const entries: [string, unknown][] = Array.isArray(value) ? value.map((item, i) => [String(i + 1), item]) : Object.entries(value);
  if (entries.length === 0) return <span className="muted">empty</span>;
  if (depth > 5) return <code>{JSON.stringify(value)}</code>;
  const list = all ? entries : entries.slice(0, longList);
  return (
    <dl className="data">
      {list.map(([name, item]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            <Value value={item} depth={depth + 1} />
          </dd>
        </div>
      ))}
      {list.length < entries.length && (
        <button type="button" className="button quiet small" onClick={() => setAll(true)}>
          Show all {count(entries.length)}
        </button>
      )}
    </dl>
  );
}

/** `inside` says that something around it has a name already, so that it is no landmark of its own. */
export function Data({ label, value, inside = false }: { label: string; value: unknown; inside?: boolean }) {
  const [raw, setRaw] = useState(false);
  const Block = inside ? "div" : "section";
  return (
    <Block className="data-block" {...(inside ? {} : { "aria-label": label })}>
      <div className="data-head">
        <span>{label}</span>
        <button type="button" className="button quiet small" aria-pressed={raw} onClick={() => setRaw(!raw)}>
          {raw ? "Structured" : "JSON"}
        </button>
      </div>
      {raw ? (
        <pre className="data-raw" tabIndex={0} aria-label={`${label} as JSON`}>
          {JSON.stringify(value, null, 2)}
        </pre>
      ) : (
        <Value value={value} depth={0} />
      )}
    </Block>
  );
}
