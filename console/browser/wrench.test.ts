// A person acts in a conversation by hand: verbs and tools from the palette, on the same log as the agent.
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import type { Page } from "playwright-core";
import { accessible, fits, looks, shoot } from "./checks.ts";
import { Rig, startModel } from "./rig.ts";

const rig = new Rig();
let model: Awaited<ReturnType<typeof startModel>>;
let agent: string;

beforeAll(async () => {
  model = await startModel([{ match: { user: "wait" }, repeat: true, steps: [{ text: "Hm" }, { waitMillis: 120_000 }] }, { repeat: true, steps: [{ text: "Hello." }] }]);
  await rig.start();
  agent = await rig.server.scriptedAgent(model.url, "Helper");
});
afterEach(() => rig.clean());
afterAll(async () => {
  await rig.stop();
  await model.stop();
});

async function choose(page: Page, name: string): Promise<void> {
  await page.getByLabel("Find a verb or tool").fill(name);
  await page.getByRole("option", { selected: true }).getByText(name, { exact: true }).waitFor();
  await page.keyboard.press("Enter");
}

it("writes as the person, from the keyboard alone, and the conversation says so", async () => {
  const session = await rig.server.session(agent, "By hand");
  const page = await rig.page(`/sessions/${session}`);
  await page.getByRole("button", { name: "Use a verb or tool" }).waitFor();
  await page.keyboard.press("u");
  await page.getByRole("dialog", { name: "Use a verb or tool" }).waitFor();
  await page.getByRole("option", { name: /search_tools/ }).waitFor();
  for (const at of looks) {
    await page.setViewportSize(at);
    await page.emulateMedia({ colorScheme: at.theme });
    await accessible(page);
    await fits(page);
    await shoot(page, `wrench-${at.name}`);
  }
  await choose(page, "write");
  const form = page.getByRole("form", { name: "Use write" });
  await page.keyboard.press("Control+Enter");
  await form.getByText("This is needed.").waitFor();
  await form.getByLabel("address").fill("~/memory/by-hand.md");
  await form.getByLabel("content").fill("# By hand");
  await accessible(page);
  await shoot(page, "wrench-form-narrow");
  await page.keyboard.press("Control+Enter");
  await form.waitFor({ state: "detached" });
  const line = page.getByRole("log").getByRole("button", { name: /You.*Wrote.*~\/memory\/by-hand.md.*done/ });
  await line.waitFor();
  const { file } = await rig.server.api<{ file: { content: string } }>("GET", `/agents/${agent}/memory/by-hand.md`);
  expect(file.content).toBe("# By hand");
});

it("calls a tool with a form made of its contract, or with JSON", async () => {
  const session = await rig.server.session(agent, "A tool");
  const page = await rig.page(`/sessions/${session}`);
  await page.getByRole("button", { name: "Use a verb or tool" }).click();
  await choose(page, "search_tools");
  const form = page.getByRole("form", { name: "Use search_tools" });
  await form.getByRole("button", { name: "Use it" }).click();
  await form.getByText("This is needed.").first().waitFor();
  await form.getByLabel("query").fill("weather");
  await form.getByRole("button", { name: "As JSON" }).click();
  expect(JSON.parse(await form.getByLabel("Input").inputValue())).toEqual({ query: "weather" });
  await form.getByLabel("Input").fill('{"query": "rain", ');
  await form.getByRole("button", { name: "As a form" }).click();
  await form.getByText("This is no JSON").waitFor();
  await form.getByLabel("Input").fill('{"query": "rain"}');
  await form.getByRole("button", { name: "As a form" }).click();
  expect(await form.getByLabel("query").inputValue()).toBe("rain");
  await form.getByRole("button", { name: "Use it" }).click();
  const line = page.getByRole("log").getByRole("button", { name: /You.*Called.*search_tools.*done/ });
  await line.click();
  await page.getByRole("log").getByText(/No tool fits/).first().waitFor();
});

it("says what failed, and keeps what was filled in", async () => {
  const session = await rig.server.session(agent, "Fails");
  const page = await rig.page(`/sessions/${session}`);
  await page.getByRole("button", { name: "Use a verb or tool" }).click();
  await choose(page, "read");
  const form = page.getByRole("form", { name: "Use read" });
  await form.getByLabel("address").fill("run:nowhere");
  await form.getByRole("button", { name: "Use it" }).click();
  await form.getByRole("alert").getByText("It failed, and the conversation says so").waitFor();
  expect(await form.getByLabel("address").inputValue()).toBe("run:nowhere");
  await page.getByRole("log").getByRole("button", { name: /You.*Read.*run:nowhere.*failed/ }).waitFor();
});

it("says calmly that the agent is in the middle of something", async () => {
  const session = await rig.server.session(agent, "Busy");
  const page = await rig.page(`/sessions/${session}`);
  await page.getByRole("textbox", { name: "Message" }).fill("wait");
  await page.keyboard.press("Enter");
  await page.getByRole("log").getByText("Hm").waitFor();
  await page.getByRole("button", { name: "Use a verb or tool" }).click();
  await choose(page, "read");
  const form = page.getByRole("form", { name: "Use read" });
  await form.getByLabel("address").fill("~/self");
  await form.getByText("The agent is at work in this conversation").waitFor();
  rig.expected = ["status of 409"];
  await form.getByRole("button", { name: "Use it" }).click();
  await form.getByText("What you filled in stays here.").waitFor();
  await accessible(page);
  await shoot(page, "wrench-busy");
  await form.getByRole("button", { name: "Back" }).click();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Stop" }).click();
  await page.getByRole("region", { name: "The last run was stopped" }).waitFor();
});
