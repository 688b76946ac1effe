import { expect, it } from "vitest";
import type { MemoryEntry } from "../api/types.ts";
import { pathOf, treeOf } from "./tree.ts";

const file = (path: string): MemoryEntry => ({ path, type: "file", size: 1, updatedAt: 0 });
const folder = (path: string): MemoryEntry => ({ path, type: "directory", size: 0, updatedAt: 0 });
const lines = (entries: MemoryEntry[], ...closed: string[]): string[] =>
  treeOf(entries, new Set(closed)).map((row) => `${"  ".repeat(row.depth)}${row.name}${row.kind === "folder" ? `/ ${row.files}` : ""}`);

it("shows folders before files, with how many files lie in them", () =>
  expect(lines([file("b.md"), file("notes/2026/a.md"), file("notes/z.md"), folder("empty"), folder("notes")])).toEqual([
    "empty/ 0", "notes/ 2", "  2026/ 1", "    a.md", "  z.md", "b.md",
  ]));

it("leaves out what lies in a closed folder", () =>
  expect(lines([file("notes/2026/a.md"), file("notes/z.md"), file("notesalike.md")], "notes")).toEqual(["notes/ 2", "notesalike.md"]));

it.each([["~/memory/a.md", "a.md"], ["/a/b.md", "a/b.md"], [" a.md ", "a.md"], ["a/", "a"], ["~/memory/", ""]])("reads %j as %j", (typed, path) => expect(pathOf(typed)).toBe(path));
