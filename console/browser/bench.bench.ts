// How fast the page is: `make bench-console` measures it and writes the numbers into docs/benchmarks.md. Nothing here is a test.
import { readFileSync, writeFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, it } from "vitest";
import { Rig, startModel } from "./rig.ts";

const document_ = join(import.meta.dirname, "..", "..", "docs", "benchmarks.md");
const begin = "<!-- numbers of the page: written by make bench-console -->";
const end = "<!-- end of numbers of the page -->";

const rig = new Rig();
let model: Awaited<ReturnType<typeof startModel>>;
beforeAll(async () => {
  const calls = Array.from({ length: 30 }, (_, i) => ({ call: { name: "read", arguments: JSON.stringify({ address: `~/memory/n${i}.md` }) } }));
  model = await startModel([
    { match: { user: "work" }, repeat: true, steps: [{ text: "I read the notes, **one by one**." }, ...calls] },
    { match: { user: "stream" }, repeat: true, delayMillis: 20, steps: [{ text: "word ", times: 3_000 }] },
    { repeat: true, steps: [{ text: "## Result\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nAnd `code`, a [link](https://example.org), and\n\n```\nmore\n```" }] },
  ]);
  await rig.start();
}, 600_000);
afterAll(async () => {
  await rig.stop();
  await model.stop();
});

const median = (values: number[]): number => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;
const p95 = (values: number[]): number => [...values].sort((a, b) => a - b)[Math.floor(values.length * 0.95)] ?? NaN;

/** Milliseconds from the start of the navigation to the frame that shows what the selector names. */
async function firstPaint(page: Page, path: string, selector: string): Promise<number> {
  await page.addInitScript((selector) => {
    new MutationObserver((_, observer) => {
      if (!document.querySelector(selector)) return;
      observer.disconnect();
      requestAnimationFrame(() => setTimeout(() => ((globalThis as { painted?: number }).painted = performance.now())));
    }).observe(document, { childList: true, subtree: true });
  }, selector);
  await page.goto(path);
  await page.waitForFunction(() => (globalThis as { painted?: number }).painted !== undefined);
  return page.evaluate(() => (globalThis as { painted?: number }).painted ?? NaN);
}

/** Milliseconds from each key press to the frame that shows it. */
async function typing(page: Page, text: string): Promise<number[]> {
  await page.getByLabel("Message", { exact: true }).focus();
  await page.evaluate(() => {
    const times: number[] = [];
    Object.assign(globalThis, { times });
    document.addEventListener("keydown", (event) => requestAnimationFrame(() => setTimeout(() => times.push(performance.now() - event.timeStamp))), true);
  });
  for (const key of text) await page.keyboard.press(key);
  await page.waitForFunction((count) => (globalThis as { times?: number[] }).times?.length === count, text.length);
  return page.evaluate(() => (globalThis as { times?: number[] }).times ?? []);
}

it("measures the page", { timeout: 900_000 }, async () => {
  const load = loadavg()[0]?.toFixed(1);
  const agent = await rig.server.scriptedAgent(model.url);
  const session = await rig.server.session(agent, "Long");
  let events = 0;
  while (events < 5_000) {
    await rig.server.say(session, "work on it");
    events += 63;
  }
  const paints: number[] = [];
  // What any page of it costs on this machine now: the frame with one setting.
  const probes: number[] = [];
  for (let i = 0; i < 5; i++) {
    const page = await (i === 0 ? rig.guest("/settings/appearance") : rig.page("/settings/appearance"));
    paints.push(await firstPaint(page, `/sessions/${session}`, ".transcript-row .bubble"));
    await page.close();
    if (i === 0) continue;
    const plain = await rig.page("/settings/about");
    probes.push(await firstPaint(plain, "/settings/appearance", ".settings-row"));
    await plain.close();
  }
  const page = await rig.page(`/sessions/${session}`);
  await page.locator(".transcript-row .bubble").first().waitFor();
  const text = "the quick brown fox jumps over the lazy dog ".repeat(3);
  const idle = await typing(page, text);
  await page.getByLabel("Message", { exact: true }).fill("stream please");
  await page.keyboard.press("Enter");
  await page.getByRole("log").getByText("word word word").waitFor();
  const busy = await typing(page, text);
  const ms = (value: number): string => `${Math.round(value)} ms`;
  const met = (value: number, goal: number): string => (value <= goal ? "met" : "**missed**");
  const [cold, ...warm] = paints as [number, ...number[]];
  const rows = [
    [`A conversation of ${events.toLocaleString("en")} events opens: first paint, nothing cached`, ms(cold), "at most 1,000 ms", met(cold, 1_000)],
    ["The same with the page's files cached, median of 4", ms(median(warm)), "at most 1,000 ms", met(median(warm), 1_000)],
    ["Probe: the page with one setting opens, files cached, median of 4", ms(median(probes)), "", ""],
    ["Typing there: key to frame, median", ms(median(idle)), "at most 50 ms", met(median(idle), 50)],
    ["Typing there: key to frame, 95th percentile", ms(p95(idle)), "", ""],
    ["Typing while an answer streams: median", ms(median(busy)), "at most 50 ms", met(median(busy), 50)],
    ["Typing while an answer streams: 95th percentile", ms(p95(busy)), "", ""],
  ];
  const table = [
    `Taken ${new Date().toISOString().slice(0, 16).replace("T", " ")} UTC on ${cpus()[0]?.model ?? "an unknown processor"}, ${cpus().length} CPUs, headless Chromium; the machine's load was ${load} before.`,
    "",
    "| what | measured | goal | |",
    "|---|---|---|---|",
    ...rows.map((row) => `| ${row.join(" | ")} |`),
  ].join("\n");
  console.log(table);
  const text_ = readFileSync(document_, "utf8");
  const [before, after] = [text_.indexOf(begin), text_.indexOf(end)];
  if (before < 0 || after < before) throw new Error(`docs/benchmarks.md lacks ${begin}`);
  writeFileSync(document_, `${text_.slice(0, before + begin.length)}\n\n${table}\n\n${text_.slice(after)}`);
});
