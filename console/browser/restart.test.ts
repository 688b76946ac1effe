// The server is killed while two browsers and a terminal watch a turn; what they show in the end is the same, and it is what the
// log says.
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { shoot } from "./checks.ts";
import { Rig, startModel } from "./rig.ts";

const rig = new Rig();
let model: Awaited<ReturnType<typeof startModel>>;

beforeAll(async () => {
  model = await startModel([
    { match: { user: "long" }, repeat: true, delayMillis: 10, steps: [{ text: "word ", times: 250 }, { text: "\n\nThe very end." }] },
  ]);
  await rig.start();
});
afterEach(() => rig.clean());
afterAll(async () => {
  await rig.stop();
  await model.stop();
});

const said = (page: Page): Promise<string[]> => page.getByRole("log").locator(".bubble").allInnerTexts();

it("two browsers and a terminal show the same after a kill -9 in the middle of an answer", async () => {
  rig.expected = ["ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_CONNECTION_RESET", "ERR_EMPTY_RESPONSE", "ERR_SOCKET_NOT_CONNECTED"];
  const agent = await rig.server.scriptedAgent(model.url);
  const session = await rig.server.session(agent, "Watched");
  const pages = [await rig.page(`/sessions/${session}`), await rig.guest(`/sessions/${session}`)] as const;
  for (const page of pages) await page.getByText("Say something to Scripted").waitFor();
  const terminal = rig.server.terminal(session, "a long answer");
  await expect.poll(terminal.output, { timeout: 20_000 }).toContain("word word");
  for (const page of pages) await page.getByRole("log").getByText("word word").waitFor();

  await rig.server.kill();
  for (const page of pages) await page.getByRole("banner").getByText("Reconnecting…").first().waitFor();
  await shoot(pages[0], "session-reconnecting");
  // What is written meanwhile waits, with its text, for the server.
  await pages[1].getByLabel("Message", { exact: true }).fill("are you there?");
  await pages[1].keyboard.press("Enter");
  await pages[1].getByRole("alert").getByText("Your text is still here.").waitFor();

  await rig.server.start();
  for (const page of pages) await page.getByRole("log").getByText("The very end.").waitFor({ timeout: 30_000 });
  for (const page of pages) await page.getByText("Reconnecting…").first().waitFor({ state: "detached" });
  for (const page of pages) await page.getByRole("region", { name: "Run in progress" }).waitFor({ state: "detached" });

  expect(await terminal.ended).toBe(0);

  const { events } = await rig.server.api<{ events: { seq: number; event: { type: string; content?: string } }[] }>("GET", `/sessions/${session}`);
  const durable = events.filter((entry) => entry.event.type === "message").map((entry) => entry.event.content?.replace(/\s+/g, " ").trim());
  expect(durable).toHaveLength(2);
  // Between what was printed before the kill and what came afterwards the terminal says why it waited.
  const printed = terminal.output().split("\n").slice(1).join("\n");
  expect(printed).toContain("(the connection is lost; waiting for the server)");
  expect(printed.replace(/\((the connection is lost|connected again).*\)/g, "").replace(/\s+/g, " ").trim()).toBe(durable[1]);
  for (const page of pages) expect((await said(page)).map((text) => text.replace(/\s+/g, " ").trim())).toEqual(durable);
  expect(await pages[1].getByLabel("Message", { exact: true }).inputValue()).toBe("are you there?");
});
