// The files of a memory as the rows of a tree.
import type { MemoryEntry } from "../api/types.ts";

export type TreeRow =
  | { kind: "folder"; path: string; name: string; depth: number; files: number; open: boolean }
  | { kind: "file"; path: string; name: string; depth: number; size: number };

export const isFile = (entry: MemoryEntry): boolean => entry.type !== "folder" && entry.type !== "directory" && entry.type !== "dir";

const parents = (path: string): string[] => path.split("/").slice(0, -1).map((_, i, parts) => parts.slice(0, i + 1).join("/"));

/** Folders before files, both by name; what lies in a closed folder is left out. Empty folders are shown as well. */
export function treeOf(entries: readonly MemoryEntry[], closed: ReadonlySet<string>): TreeRow[] {
  const folders = new Map<string, number>();
  for (const entry of entries) {
    if (!isFile(entry)) folders.set(entry.path, folders.get(entry.path) ?? 0);
    for (const parent of parents(entry.path)) folders.set(parent, (folders.get(parent) ?? 0) + (isFile(entry) ? 1 : 0));
  }
  const level = (inside: string): TreeRow[] => {
    const prefix = inside === "" ? "" : `${inside}/`;
    const here = (path: string): boolean => path.startsWith(prefix) && path !== inside && !path.slice(prefix.length).includes("/");
    const depth = inside === "" ? 0 : inside.split("/").length;
    const rows: TreeRow[] = [];
    for (const path of [...folders.keys()].filter(here).sort()) {
      const open = !closed.has(path);
      rows.push({ kind: "folder", path, name: path.slice(prefix.length), depth, files: folders.get(path) ?? 0, open });
      if (open) rows.push(...level(path));
    }
    for (const entry of entries.filter((candidate) => isFile(candidate) && here(candidate.path)).sort((a, b) => (a.path < b.path ? -1 : 1))) {
      rows.push({ kind: "file", path: entry.path, name: entry.path.slice(prefix.length), depth, size: entry.size });
    }
    return rows;
  };
  return level("");
}

/** A path as it is stored: people write it with or without the address in front. */
export const pathOf = (typed: string): string => typed.trim().replace(/^(~\/memory)?\/+/, "").replace(/\/+$/, "");
