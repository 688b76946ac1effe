// The tools of an agent: found, read, written, changed, switched off and deleted, by a person and by the agent.
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { accessible, inspect, shoot } from "./checks.ts";
import { Rig, startModel } from "./rig.ts";

const rig = new Rig();
let model: Awaited<ReturnType<typeof startModel>>;
let agent: string;

const document = (description: string) => ({
  description,
  source: 'export default async function (input: { text: string }) {\n  return { words: input.text.split(" ").length };\n}\n',
  input: { type: "object", required: ["text"], properties: { text: { type: "string", description: "The text to look at.", maxLength: 2000 } } },
  output: { type: "object", properties: { words: { type: "integer" } } },
});
const write = { call: { name: "write", arguments: JSON.stringify({ address: "~/tools/count_words", content: JSON.stringify(document("Counts the words of a text.")) }) } };

beforeAll(async () => {
  model = await startModel([{ match: { user: "make a tool" }, repeat: true, steps: [write] }, { repeat: true, steps: [{ text: "It is there." }] }]);
  await rig.start();
  agent = await rig.server.scriptedAgent(model.url, "Maker");
  await rig.server.api("POST", `/agents/${agent}/tools`, { tool: { ...document("Shouts."), name: "shout" } });
});
afterEach(() => rig.clean());
afterAll(async () => {
  await rig.stop();
  await model.stop();
});

it("appear when the agent writes them, with their contract, program, address and author", async () => {
  const page = await rig.page(`/agents/${agent}/tools`);
  await page.getByRole("button", { name: "search_tools" }).waitFor();
  await rig.server.say(await rig.server.session(agent), "make a tool");
  // The list learns of it by itself.
  await page.getByRole("button", { name: /count_words/ }).click();
  const tool = page.getByRole("region", { name: "Tool", exact: true });
  await tool.getByText("written by the agent").waitFor();
  await tool.getByText("not granted").waitFor();
  await tool.getByText("acts on the world").waitFor();
  const takes = tool.getByRole("region", { name: "Takes" });
  await takes.getByText("The text to look at.").waitFor();
  await takes.getByText("required").waitFor();
  await takes.getByText("at most 2000 characters").waitFor();
  await takes.getByRole("button", { name: "Schema" }).click();
  await takes.getByText('"maxLength": 2000').waitFor();
  await tool.getByRole("region", { name: "Program" }).getByText("input.text.split").waitFor();
  const { tools } = await rig.server.api<{ tools: { name: string; cid: string }[] }>("GET", `/agents/${agent}/tools`);
  await tool.getByRole("button", { name: "Copy the address" }).click();
  await tool.getByRole("button", { name: "Copied" }).waitFor();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(tools.find((entry) => entry.name === "count_words")?.cid);
  // Its address leads back to it.
  await page.reload();
  await tool.getByRole("heading", { name: "count_words" }).waitFor();
});

it("are found by typing and opened from the keyboard", async () => {
  const page = await rig.page(`/agents/${agent}/tools`);
  await page.getByLabel("Find a tool").fill("no such tool");
  await page.getByText("No tool fits “no such tool”.").waitFor();
  await page.getByLabel("Find a tool").fill("shout");
  await expect.poll(() => page.getByRole("button", { name: "search_tools" }).count()).toBe(0);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "shout" }).waitFor();
  expect(new URL(page.url()).searchParams.get("tool")).toBe("shout");
  await page.getByLabel("Find a tool").fill("");
  await page.keyboard.press("Escape");
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await page.keyboard.press("k");
  await page.keyboard.press("Enter");
  await expect.poll(() => new URL(page.url()).searchParams.get("tool")).toBe("count_words");
});

it("are written, refused when they are wrong, and not lost by a wrong click", async () => {
  const page = await rig.page(`/agents/${agent}/tools`);
  await page.getByRole("button", { name: "New tool" }).click();
  const form = page.getByRole("form", { name: "New tool" });
  await form.getByRole("button", { name: "Save" }).click();
  await form.getByText("2 to 64 lower-case letters").waitFor();
  await form.getByText("Say what the tool does").waitFor();
  await accessible(page);
  await shoot(page, "tool-form");
  await form.getByLabel("Name").fill("greet");
  await form.getByLabel("Description").fill("Greets somebody.");
  await form.getByLabel("Takes").fill('{"type": "object", ');
  await form.getByRole("button", { name: "Save" }).click();
  await form.getByText("This is no JSON").waitFor();
  await page.getByRole("button", { name: /shout/ }).click();
  const dialog = page.getByRole("dialog", { name: "Leave without saving?" });
  await accessible(page);
  await dialog.getByRole("button", { name: "Stay here" }).click();
  expect(await form.getByLabel("Name").inputValue()).toBe("greet");
  await form.getByLabel("Takes").fill('{"type": "object", "properties": {"name": {"type": "string"}}}');
  await form.getByRole("button", { name: "Save" }).click();
  await page.getByRole("heading", { name: "greet" }).waitFor();
  await page.getByText("written by a person").waitFor();
});

it("are changed, renamed, switched off and deleted by a person", async () => {
  await rig.server.api("POST", `/agents/${agent}/tools`, { tool: { ...document("Whispers."), name: "whisper" } });
  const page = await rig.page(`/agents/${agent}/tools?tool=whisper`);
  const tool = page.getByRole("region", { name: "Tool", exact: true });
  await tool.getByRole("button", { name: "Edit" }).click();
  await tool.getByLabel("Name").fill("murmur");
  await tool.getByLabel("Description").fill("Murmurs quietly.");
  await tool.getByLabel("Line").fill("");
  await page.keyboard.press("Control+Enter");
  await tool.getByRole("heading", { name: "murmur" }).waitFor();
  await page.getByRole("button", { name: /murmur.*Murmurs quietly/ }).waitFor();
  await tool.getByRole("button", { name: "Switch off" }).click();
  await tool.getByText("switched off").waitFor();
  await tool.getByRole("button", { name: "Switch on" }).click();
  await tool.getByText("not granted").waitFor();
  await tool.getByRole("button", { name: "Delete the tool" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete the tool" }).click();
  await page.getByText("Choose a tool").waitFor();
  await expect.poll(() => page.getByRole("button", { name: /murmur/ }).count()).toBe(0);
});

it("say calmly that somebody else was quicker", async () => {
  const page = await rig.page(`/agents/${agent}/tools?tool=shout`);
  const tool = page.getByRole("region", { name: "Tool", exact: true });
  await tool.getByRole("button", { name: "Edit" }).click();
  await tool.getByLabel("Description").fill("Mine.");
  await rig.server.api("POST", `/agents/${agent}/tools`, { tool: { ...document("Theirs."), name: "shout" }, previousName: "shout" });
  rig.expected = ["status of 412"];
  await tool.getByRole("button", { name: "Save" }).click();
  await tool.getByText("The tool was changed meanwhile").waitFor();
  expect(await tool.getByLabel("Description").inputValue()).toBe("Mine.");
  await shoot(page, "tool-stale");
  await tool.getByRole("button", { name: "Cancel" }).click();
  await tool.getByText("Theirs.").first().waitFor();
});

it("look right in light and dark, wide and narrow", async () => {
  await inspect(rig, "agent-tool", `/agents/${agent}/tools?tool=shout`, (page) => page.getByRole("region", { name: "Program" }).getByText("input.text"));
});
