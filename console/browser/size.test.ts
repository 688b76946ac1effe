// The weight of a first visit: everything that the browser fetches to show a conversation, compressed as the server sends it.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, it } from "vitest";

const dist = join(import.meta.dirname, "..", "dist");
const limit = 250 * 1024;

/** A file of the bundle and everything that it imports at once. */
function withImports(name: string, found: Set<string>): void {
  if (found.has(name)) return;
  found.add(name);
  if (!name.endsWith(".js")) return;
  const source = readFileSync(join(dist, name), "utf8");
  for (const match of source.matchAll(/(?:from|import)\s*["']\.\/([^"']+)["']/g)) withImports(`assets/${match[1]}`, found);
}

it("a first visit weighs at most 250 KiB compressed", () => {
  const page = readFileSync(join(dist, "index.html"), "utf8");
  const files = new Set<string>(["index.html"]);
  for (const match of page.matchAll(/(?:src|href)="\/([^"]+)"/g)) withImports(match[1] ?? "", files);
  const assets = readdirSync(join(dist, "assets"));
  for (const route of ["session-page-", "new-page-"]) {
    const chunks = assets.filter((name) => name.startsWith(route));
    expect(chunks.length).toBeGreaterThan(0);
    for (const chunk of chunks) withImports(`assets/${chunk}`, files);
  }
  const weights = [...files].map((name) => gzipSync(readFileSync(join(dist, name)), { level: 9 }).length);
  const total = weights.reduce((a, b) => a + b, 0);
  console.log(`first visit: ${(total / 1024).toFixed(0)} KiB compressed in ${files.size} files`);
  expect(total).toBeLessThanOrEqual(limit);
});
