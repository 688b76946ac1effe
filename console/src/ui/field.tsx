// Labelled form controls: the help and the problem of a field are announced with it.
import { cloneElement, useId, type ReactElement, type ReactNode } from "react";

interface ControlProps {
  id?: string;
  "aria-describedby"?: string | undefined;
  "aria-invalid"?: boolean;
}

export function Field({ label, help, problem, children }: {
  label: string;
  help?: ReactNode;
  problem?: string | undefined;
  children: ReactElement<ControlProps>;
}) {
  const id = useId();
  const described = [help ? `${id}-help` : "", problem ? `${id}-problem` : ""].filter(Boolean).join(" ");
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {cloneElement(children, { id, "aria-describedby": described || undefined, "aria-invalid": problem !== undefined })}
      {help && (
        <div className="help" id={`${id}-help`}>
          {help}
        </div>
      )}
      {problem && (
        <div className="problem" id={`${id}-problem`} role="alert">
          {problem}
        </div>
      )}
    </div>
  );
}

export function Segmented<T extends string>({ label, value, options, onChange }: {
  label: string;
  value: T;
  options: readonly { value: T; label: string }[];
  onChange: (value: T) => void;
}) {
  return (
    <div className="segmented" role="group" aria-label={label}>
      {options.map((option) => (
        <button key={option.value} type="button" aria-pressed={option.value === value} onClick={() => onChange(option.value)}>
          {option.label}
        </button>
      ))}
    </div>
  );
}
