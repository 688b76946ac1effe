// Short messages at the edge. Errors stay until they are dismissed, the rest leaves by itself.
import { useSyncExternalStore } from "react";
import { Icon } from "./icon.tsx";

interface Toast {
  id: number;
  text: string;
  bad: boolean;
}

let toasts: readonly Toast[] = [];
let next = 1;
const listeners = new Set<() => void>();

function publish(list: readonly Toast[]): void {
  toasts = list;
  for (const listener of listeners) listener();
}

const dismiss = (id: number): void => publish(toasts.filter((toast) => toast.id !== id));

export function toast(text: string, options: { bad?: boolean } = {}): void {
  const entry = { id: next++, text, bad: options.bad ?? false };
  publish([...toasts.slice(-3), entry]);
  if (!entry.bad) setTimeout(() => dismiss(entry.id), 4_000);
}

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

export function Toasts() {
  const list = useSyncExternalStore(subscribe, () => toasts);
  return (
    <div className="toasts" role="region" aria-label="Messages" aria-live="polite">
      {list.map((entry) => (
        <div key={entry.id} className={entry.bad ? "toast bad" : "toast"}>
          <span className="grow">{entry.text}</span>
          <button type="button" className="button quiet icon small" aria-label="Dismiss" onClick={() => dismiss(entry.id)}>
            <Icon name="close" size={14} />
          </button>
        </div>
      ))}
    </div>
  );
}
