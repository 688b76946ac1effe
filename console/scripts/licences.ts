// Collects the licences of what stands in the bundle, so that the page can show them: a Vite plugin that writes licences.json.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Plugin } from "vite";

export interface Notice {
  name: string;
  version: string;
  licence: string;
  text: string;
}

/** The folder of the package that a module belongs to, or undefined for our own. */
export function packageFolder(module: string): string | undefined {
  return /^(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(module.replace(/^\0/, ""))?.[1];
}

function notice(folder: string): Notice {
  const about = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { name: string; version: string; license?: string };
  const file = readdirSync(folder).find((name) => /^licen[cs]e/i.test(name));
  if (!about.license) throw new Error(`${about.name} names no licence`);
  return { name: about.name, version: about.version, licence: about.license, text: file ? readFileSync(join(folder, file), "utf8").trim() : "" };
}

export function licences(): Plugin {
  return {
    name: "loam-licences",
    apply: "build",
    generateBundle(_, bundle) {
      const folders = new Set<string>();
      for (const chunk of Object.values(bundle)) {
        if (chunk.type !== "chunk") continue;
        for (const module of chunk.moduleIds) {
          const folder = packageFolder(module);
          if (folder) folders.add(folder);
        }
      }
      const notices = [...folders].map(notice).sort((a, b) => (a.name < b.name ? -1 : 1));
      this.emitFile({ type: "asset", fileName: "licences.json", source: JSON.stringify(notices) });
    },
  };
}
