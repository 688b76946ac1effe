// What holds for every page: nothing that axe finds, nothing wider than the window, and a picture to look at.
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { Locator, Page } from "playwright-core";
import { expect } from "vitest";
import type { Rig } from "./rig.ts";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
export const shots = join(import.meta.dirname, "..", "..", ".cache", "console-shots");
mkdirSync(shots, { recursive: true });

interface Violation {
  id: string;
  help: string;
  nodes: { html: string; failureSummary: string }[];
}

/** Fails with what axe finds: WCAG A and AA, contrast among them, and axe's own good practices. */
export async function accessible(page: Page): Promise<void> {
  // Through the debugger, so that the page's content policy stays in force.
  await page.evaluate(axe);
  const violations = await page.evaluate(async () => {
    const { axe: runner } = globalThis as unknown as { axe: { run: (options: object) => Promise<{ violations: Violation[] }> } };
    return (await runner.run({ runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] })).violations;
  });
  const words = violations.map(({ id, help, nodes }) => `${id}: ${help}\n${nodes.map((node) => `  ${node.html}\n  ${node.failureSummary}`).join("\n")}`);
  expect(words.join("\n\n"), "what axe finds").toBe("");
}

/** Nothing sticks out of the window sideways. */
export async function fits(page: Page): Promise<void> {
  const [wide, window] = await page.evaluate(() => {
    const boxes = [document.documentElement, ...document.querySelectorAll("main, .page, .session, .chat-main")];
    return [Math.max(...boxes.map((box) => Math.max(box.scrollWidth, box.getBoundingClientRect().right))), innerWidth] as const;
  });
  expect(wide, "width in px").toBeLessThanOrEqual(window);
}

/** Everything that can be used is reached with Tab, and shows that it has the focus. */
export async function reachable(page: Page): Promise<void> {
  const names = await page.evaluate(() => {
    const usable = [...document.querySelectorAll<HTMLElement>("main :is(a[href], button, input, select, textarea, summary, [tabindex='0'])")].filter(
      (element) => element.checkVisibility() && !(element as HTMLButtonElement).disabled,
    );
    const reached = new Map<Element, boolean>();
    Object.assign(globalThis, { usable, reached });
    document.addEventListener("focusin", ({ target }) => {
      // Two fields show it by the border of their frame.
      const framed = (target as Element).closest(".composer, .list-filter") !== null;
      reached.set(target as Element, framed || getComputedStyle(target as Element).outlineStyle !== "none");
    });
    (document.activeElement as HTMLElement | null)?.blur();
    return usable.map((element) => element.outerHTML.slice(0, 120));
  });
  const missing = (): Promise<number[]> =>
    page.evaluate(() => {
      const { usable, reached } = globalThis as unknown as { usable: HTMLElement[]; reached: Map<Element, boolean> };
      return usable.flatMap((element, i) => (element.isConnected && reached.get(element) !== true ? [i] : []));
    });
  let left = await missing();
  for (let presses = 0; left.length > 0 && presses < 200; presses += 10) {
    for (let i = 0; i < 10; i++) await page.keyboard.press("Tab");
    left = await missing();
  }
  expect(left.map((i) => names[i]), "what Tab does not reach, or shows no focus").toEqual([]);
}

export const shoot = (page: Page, name: string): Promise<Buffer> => page.screenshot({ path: join(shots, `${name}.png`) });

export const looks = [
  { name: "light", theme: "light", width: 1280, height: 800 },
  { name: "dark", theme: "dark", width: 1280, height: 800 },
  { name: "light-narrow", theme: "light", width: 390, height: 844 },
  { name: "dark-narrow", theme: "dark", width: 390, height: 844 },
] as const;

/** Shows a page in every look and applies all checks. */
export async function inspect(rig: Rig, name: string, path: string, ready: (page: Page) => Locator): Promise<void> {
  const page = await rig.page(path);
  for (const look of looks) {
    await page.setViewportSize(look);
    await page.emulateMedia({ colorScheme: look.theme });
    await ready(page).first().waitFor();
    await accessible(page);
    await fits(page);
    await shoot(page, `${name}-${look.name}`);
    if (look.theme === "light") await reachable(page);
  }
}

/** Holds back answers of the API until release is called. */
export async function hold(page: Page, api: string): Promise<() => void> {
  let release = (): void => undefined;
  const gate = new Promise<void>((resolve) => (release = resolve));
  await page.route(api, async (route) => {
    await gate;
    await route.continue();
  });
  return () => release();
}

/** Lets the API answer as a server that is broken. */
export async function broken(page: Page, api: string): Promise<() => Promise<void>> {
  await page.route(api, (route) =>
    route.fulfill({
      status: 500,
      contentType: "application/problem+json",
      headers: { "X-Request-Id": "req-42" },
      body: JSON.stringify({ type: "about:blank", title: "Internal error", status: 500, detail: "The disk is full.", code: "internal_error" }),
    }),
  );
  return () => page.unroute(api);
}
