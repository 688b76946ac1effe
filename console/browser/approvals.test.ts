// Calls that wait for a person: in the list, in the conversation, and in the form of an agent.
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { accessible, shoot } from "./checks.ts";
import { Rig, startModel } from "./rig.ts";

const rig = new Rig();
let model: Awaited<ReturnType<typeof startModel>>;
let agent: string;
const look = { call: { name: "call", arguments: '{"tool":"search_tools","input":{"query":"paint the fence"}}' } };

beforeAll(async () => {
  model = await startModel([
    { match: { result: "refused" }, repeat: true, steps: [{ text: "Then I leave it." }] },
    { match: { result: "No tool fits" }, repeat: true, steps: [{ text: "There is none." }] },
    { match: { user: "both" }, repeat: true, steps: [look, { call: { name: "call", arguments: '{"tool":"search_tools","input":{"query":"mow"}}' } }] },
    { repeat: true, steps: [{ text: "I look." }, look] },
  ]);
  await rig.start();
  agent = await rig.server.scriptedAgent(model.url, "Careful");
  await rig.server.askFirst(agent, "search_tools");
});
afterEach(() => rig.clean());
afterAll(async () => {
  await rig.stop();
  await model.stop();
});

it("is approved in the conversation, which then goes on", async () => {
  const session = await rig.server.session(agent, "Fence");
  const page = await rig.page(`/sessions/${session}`);
  await page.getByRole("textbox", { name: /Message/ }).fill("paint it");
  await page.keyboard.press("Enter");
  const card = page.getByRole("article", { name: "Careful wants to call search_tools" });
  await card.getByText("paint the fence").waitFor();
  await page.getByRole("link", { name: /Approvals/ }).getByText("1").waitFor();
  await page.getByRole("region", { name: "Run that waits" }).getByText("waits for you").waitFor();
  // Whoever waits for a person is not at work.
  const agents = await rig.page("/agents");
  const entry = agents.getByRole("link", { name: /Careful/ });
  await entry.getByText("waits for you").waitFor();
  expect(await entry.getByText("working").count()).toBe(0);
  await accessible(page);
  await shoot(page, "approval-in-session");
  await card.getByRole("button", { name: "Approve" }).click();
  await page.getByRole("log").getByText("There is none.").waitFor();
  await card.waitFor({ state: "detached" });
});

it("is rejected from the list with a reason that the agent is told", async () => {
  const session = await rig.server.session(agent, "Fence again");
  await rig.server.say(session, "paint it");
  const page = await rig.page("/agents");
  await page.getByRole("heading", { name: "Agents" }).waitFor();
  await page.keyboard.press("g");
  await page.keyboard.press("w");
  const card = page.getByRole("article", { name: "Careful wants to call search_tools" });
  await card.getByRole("button", { name: "Reject" }).click();
  await accessible(page);
  await shoot(page, "approval-reject");
  await card.getByLabel("Why not").fill("It was painted yesterday.");
  await page.keyboard.press("Enter");
  await page.getByText("Nothing waits for you").waitFor();
  await page.getByRole("button", { name: "All" }).click();
  await page.getByText("It was painted yesterday.").waitFor();
  await accessible(page);
  await shoot(page, "approvals-all");
  await page.getByRole("article").filter({ hasText: "It was painted yesterday." }).getByRole("link", { name: "Conversation" }).click();
  await page.getByRole("log").getByText("Then I leave it.").waitFor();
});

it("says when somebody else was quicker, and shows two calls one above the other", async () => {
  const session = await rig.server.session(agent, "Both");
  await rig.server.say(session, "both");
  const page = await rig.page(`/sessions/${session}`);
  const cards = page.getByRole("article", { name: "Careful wants to call search_tools" });
  await cards.nth(1).waitFor();
  expect(await cards.count()).toBe(2);
  await shoot(page, "approval-two");
  const { approvals } = await rig.server.api<{ approvals: { id: string }[] }>("GET", `/approvals?sessionId=${session}&status=pending`);
  rig.expected = ["status of 409"];
  await page.route("**/decide", async (route) => {
    for (const { id } of approvals) await rig.server.api("POST", `/approvals/${id}/decide`, { approve: true });
    await route.continue();
  }, { times: 1 });
  await cards.first().getByRole("button", { name: "Approve" }).click();
  await page.getByText(/decided before: approved/).waitFor();
  await page.getByRole("log").getByText("There is none.").waitFor();
});

it("is asked for by the form of an agent, which keeps what is said of single tools", async () => {
  const page = await rig.page(`/agents/${agent}`);
  await page.getByLabel("Approvals", { exact: true }).selectOption("Ask me before every tool that acts on the world");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved. The next turn uses it.").waitFor();
  const { agent: now } = await rig.server.api<{ agent: { definition: { toolApproval: unknown } } }>("GET", `/agents/${agent}`);
  expect(now.definition.toolApproval).toEqual({ default: "required", tools: { search_tools: "required" } });
  await accessible(page);
});
