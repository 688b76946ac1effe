// Keyboard shortcuts of the whole page, in one table that the list of keys shows.
import { useEffect, useRef } from "react";

export const shortcuts = [
  { keys: ["Ctrl K"], does: "Open the command palette" },
  { keys: ["/"], does: "Write a message" },
  { keys: ["u"], does: "Use a verb or tool in a conversation yourself" },
  { keys: ["j", "k"], does: "Move through a list" },
  { keys: ["Enter"], does: "Open what is focused; send a message" },
  { keys: ["Shift Enter"], does: "Begin a new line in a message" },
  { keys: ["Esc"], does: "Close what is open; leave a field" },
  { keys: ["g", "c"], does: "Go to Chat" },
  { keys: ["g", "a"], does: "Go to Agents" },
  { keys: ["g", "r"], does: "Go to Runs" },
  { keys: ["g", "w"], does: "Go to Approvals, which wait for you" },
  { keys: ["g", "s"], does: "Go to Settings" },
  { keys: ["["], does: "Fold or unfold the side bar" },
  { keys: ["?"], does: "Show this list" },
] as const;

const typing = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

/** Moves the focus among the elements that carry data-item, in document order. */
function move(step: number): void {
  const items = Array.from(document.querySelectorAll<HTMLElement>("[data-item]")).filter((item) => item.offsetParent !== null);
  if (items.length === 0) return;
  const current = items.findIndex((item) => item === document.activeElement);
  const next = current < 0 ? (step > 0 ? 0 : items.length - 1) : Math.min(Math.max(current + step, 0), items.length - 1);
  items[next]?.focus();
  items[next]?.scrollIntoView({ block: "nearest" });
}

export interface Actions {
  palette: () => void;
  keys: () => void;
  rail: () => void;
  go: (to: "/" | "/agents" | "/runs" | "/approvals" | "/settings") => void;
}

/** Listens on the document. Keys without a modifier do nothing while somebody types or a dialog is open. */
export function useShortcuts(actions: Actions): void {
  const latest = useRef(actions);
  latest.current = actions;
  useEffect(() => {
    let leader = 0;
    const onKey = (event: KeyboardEvent): void => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
        event.preventDefault();
        latest.current.palette();
        return;
      }
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      if (typing(event.target)) {
        if (event.key === "Escape") (event.target as HTMLElement).blur();
        return;
      }
      if (document.querySelector("dialog[open]")) return;
      const led = Date.now() - leader < 1_000;
      leader = 0;
      if (led) {
        const to = ({ c: "/", a: "/agents", r: "/runs", w: "/approvals", s: "/settings" } as const)[event.key];
        if (to) {
          event.preventDefault();
          latest.current.go(to);
          return;
        }
      }
      switch (event.key) {
        case "g":
          leader = Date.now();
          return;
        case "?":
          latest.current.keys();
          break;
        case "[":
          latest.current.rail();
          break;
        case "j":
          move(1);
          break;
        case "k":
          move(-1);
          break;
        case "u":
          document.querySelector<HTMLElement>("[data-wrench]")?.click();
          break;
        case "/":
          document.querySelector<HTMLElement>("[data-composer]")?.focus();
          break;
        default:
          return;
      }
      event.preventDefault();
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);
}
