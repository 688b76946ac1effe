// What this browser remembers about how the page looks. public/theme.js reads the same names before the first paint.
import { useSyncExternalStore } from "react";

export type Theme = "system" | "light" | "dark";

const listeners = new Set<() => void>();

function remember(name: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(name);
    else localStorage.setItem(name, value);
  } catch {
    // Storage may be blocked: then it holds for this page only.
  }
  for (const listener of listeners) listener();
}

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

const theme = (): Theme => (document.documentElement.dataset.theme as Theme | undefined) ?? "system";

export function setTheme(value: Theme): void {
  if (value === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = value;
  remember("loam.theme", value === "system" ? null : value);
}

export const useTheme = (): Theme => useSyncExternalStore(subscribe, theme);

const narrow = (): boolean => document.documentElement.dataset.rail === "narrow";

export function setRailNarrow(value: boolean): void {
  if (value) document.documentElement.dataset.rail = "narrow";
  else delete document.documentElement.dataset.rail;
  remember("loam.rail", value ? "narrow" : null);
}

export const useRailNarrow = (): boolean => useSyncExternalStore(subscribe, narrow);
