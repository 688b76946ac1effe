// A form made of a contract.
import { Field } from "./field.tsx";
import { choiceText, type Control, type Typed } from "./schema.ts";

export function SchemaForm({ controls, typed, problems, set }: {
  controls: readonly Control[];
  typed: Typed;
  problems: Record<string, string>;
  set: (name: string, value: string) => void;
}) {
  return controls.map((control, i) => (
    <Field
      key={control.name}
      label={control.required ? control.name : `${control.name} (optional)`}
      help={[control.help, hints[control.kind]].filter(Boolean).join(" · ")}
      problem={problems[control.name]}
    >
      <Input control={control} value={typed[control.name] ?? ""} set={(value) => set(control.name, value)} first={i === 0} />
    </Field>
  ));
}

const hints: Partial<Record<Control["kind"], string>> = { lines: "One on each line.", json: "As JSON." };

function Input({ control, value, set, first, ...described }: { control: Control; value: string; set: (value: string) => void; first: boolean; id?: string }) {
  const shared = { ...described, value, autoFocus: first };
  switch (control.kind) {
    case "line":
      return <input {...shared} className="input" autoComplete="off" spellCheck={false} onChange={(event) => set(event.target.value)} />;
    case "number":
      return <input {...shared} className="input" inputMode="decimal" autoComplete="off" onChange={(event) => set(event.target.value)} />;
    case "flag":
    case "choice": {
      const options = control.kind === "flag" ? ["yes", "no"] : control.choices.map(choiceText);
      return (
        <select {...shared} className="input" onChange={(event) => set(event.target.value)}>
          <option value="">{control.required ? "Choose…" : "Not said"}</option>
          {options.map((option) => (
            <option key={option} value={option}>
              {option}
            </option>
          ))}
        </select>
      );
    }
    default:
      return (
        <textarea {...shared} className={control.kind === "text" ? "input" : "input mono"} rows={control.kind === "text" ? 5 : 3} onChange={(event) => set(event.target.value)} />
      );
  }
}
