// An agent that has handed work on: it is seen to wait, and its child is a link away.
import { afterAll, afterEach, beforeAll, it } from "vitest";
import { accessible, fits, looks, shoot } from "./checks.ts";
import { Rig, startModel } from "./rig.ts";

const rig = new Rig();
let model: Awaited<ReturnType<typeof startModel>>;

beforeAll(async () => {
  model = await startModel([
    { match: { user: "Count the apples" }, repeat: true, steps: [{ text: "One, two" }, { waitMillis: 120_000 }] },
    { repeat: true, steps: [{ call: { name: "delegate", arguments: '{"title":"Apples","brief":"Count the apples."}' } }] },
  ]);
  await rig.start();
});
afterEach(() => rig.clean());
afterAll(async () => {
  await rig.stop();
  await model.stop();
});

it("is seen to wait for its child, whose run and conversation are linked from the call", async () => {
  const agent = await rig.server.scriptedAgent(model.url, "Parent");
  const session = await rig.server.session(agent, "The orchard");
  const page = await rig.page(`/sessions/${session}`);
  await page.getByRole("textbox", { name: "Message" }).fill("how many?");
  await page.keyboard.press("Enter");
  const waits = page.getByRole("region", { name: "Run that waits" });
  await waits.getByText(/Waiting since .* for a child/).waitFor();
  const children = page.getByRole("list", { name: "Started by this call" });
  await children.getByRole("link", { name: "Apples" }).waitFor();
  for (const at of looks) {
    await page.setViewportSize(at);
    await page.emulateMedia({ colorScheme: at.theme });
    await accessible(page);
    await fits(page);
    await shoot(page, `session-child-${at.name}`);
  }
  await page.setViewportSize(looks[0]);
  await children.getByRole("link", { name: "Apples" }).click();
  const panel = page.getByRole("complementary", { name: "Details" });
  await panel.getByText(/^Working since/).waitFor();
  await panel.getByRole("link", { name: "The orchard" }).or(panel.getByRole("link", { name: "how many?" })).waitFor();
  await page.keyboard.press("Escape");
  await children.getByRole("link", { name: "its conversation" }).click();
  await page.getByRole("log").getByText("Count the apples.").waitFor();
  await page.goBack();
  await waits.getByRole("button", { name: "Stop" }).click();
  await page.getByRole("region", { name: "The last run was stopped" }).waitFor();
});
