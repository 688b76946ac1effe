// The triggers of an agent: what they wait for, what they did, and the buttons that apply to them.
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { accessible, broken, hold, inspect, shoot } from "./checks.ts";
import { Rig, startModel } from "./rig.ts";

const rig = new Rig();
let model: Awaited<ReturnType<typeof startModel>>;
let agent: string;
let morning: string;
let orders: string;

beforeAll(async () => {
  model = await startModel([{ repeat: true, steps: [{ text: "Nothing is new." }] }]);
  await rig.start();
  agent = await rig.server.scriptedAgent(model.url, "Clerk");
  const make = async (trigger: object): Promise<string> => (await rig.server.api<{ trigger: { id: string } }>("POST", `/agents/${agent}/triggers`, { trigger })).trigger.id;
  morning = await make({
    name: "Morning", prompt: "Sum up what is new.",
    source: { type: "schedule", schedule: { kind: "cron", cron: "0 7 * * 1-5", timezone: "Europe/Berlin" } },
  });
  orders = await make({ name: "Orders", prompt: "File the order.", source: { type: "webhook", signed: true } });
});
afterEach(() => rig.clean());
afterAll(async () => {
  await rig.stop();
  await model.stop();
});

const tab = (id?: string): string => `/agents/${agent}/triggers${id === undefined ? "" : `?trigger=${id}`}`;

it("fires when somebody says so, and tells what came of it", async () => {
  const page = await rig.page(tab());
  await page.getByText("Choose a trigger").waitFor();
  await page.keyboard.press("j");
  await page.getByRole("button", { name: /Morning/ }).press("Enter");
  const trigger = page.getByRole("region", { name: "Trigger", exact: true });
  await trigger.getByText("begins a conversation").waitFor();
  await trigger.getByText("It has not fired yet.").waitFor();
  await trigger.getByRole("button", { name: "Fire now" }).click();
  await trigger.getByRole("region", { name: "Newest firings" }).getByRole("link", { name: "Conversation" }).click();
  await page.getByRole("log").getByText("Nothing is new.").waitFor();
});

it("is switched off and on, and says when it was changed meanwhile", async () => {
  const page = await rig.page(tab(morning));
  const trigger = page.getByRole("region", { name: "Trigger", exact: true });
  await trigger.getByRole("button", { name: "Switch off" }).click();
  await trigger.getByText("not while it is off").waitFor();
  expect((await rig.server.api<{ trigger: { enabled: boolean } }>("GET", `/triggers/${morning}`)).trigger.enabled).toBe(false);
  await trigger.getByRole("button", { name: "Switch on" }).click();
  await trigger.getByRole("button", { name: "Switch off" }).waitFor();
  rig.expected = ["status of 409", "status of 412"];
  await page.route(`**/triggers/${morning}`, async (route) => {
    await rig.server.api("PATCH", `/triggers/${morning}`, { patch: { name: "Early" } });
    await route.continue();
  }, { times: 1 });
  await trigger.getByRole("button", { name: "Switch off" }).click();
  await page.getByText("It was changed meanwhile").waitFor();
  await trigger.getByRole("heading", { name: "Early" }).waitFor();
  expect((await rig.server.api<{ trigger: { enabled: boolean } }>("GET", `/triggers/${morning}`)).trigger.enabled).toBe(true);
});

it("shows the address and the secret of a webhook only to who asks", async () => {
  const page = await rig.page(tab(orders));
  const secrets = page.getByRole("region", { name: "Secrets" });
  await secrets.getByRole("button", { name: "Show address and secrets" }).waitFor();
  expect(await page.content()).not.toContain("whsec_");
  await secrets.getByRole("button", { name: "Show address and secrets" }).click();
  await secrets.getByText(/^whsec_/).waitFor();
  await secrets.getByText(/\/agents\/api\/webhooks\//).waitFor();
  await accessible(page);
  await shoot(page, "trigger-webhook");
});

it("is made in a form, which checks it first and says what is wrong", async () => {
  const page = await rig.page(tab());
  await page.getByRole("link", { name: "New trigger" }).click();
  const form = page.getByRole("form", { name: "New trigger" });
  await form.getByRole("button", { name: "Make the trigger" }).click();
  await form.getByText("Give the trigger a name.").waitFor();
  await form.getByText("Say what the agent is to do.").waitFor();
  await accessible(page);
  await shoot(page, "trigger-form");
  await form.getByLabel("Name").fill("Weekly");
  await form.getByLabel("Prompt").fill("Write the report.");
  await form.getByLabel("Fires").selectOption("By a cron expression");
  await form.getByLabel("Cron expression").fill("61 * * * *");
  rig.expected = ["status of 400", "status of 422"];
  await form.getByRole("button", { name: "Check only" }).click();
  await form.getByRole("alert").waitFor();
  await form.getByLabel("Cron expression").fill("0 9 * * 1");
  await form.getByLabel("Time zone").fill("Europe/Berlin");
  await form.getByRole("button", { name: "Check only" }).click();
  await form.getByText(/It would fire at/).waitFor();
  const names = async (): Promise<string[]> => (await rig.server.api<{ triggers: { name: string }[] }>("GET", `/agents/${agent}/triggers`)).triggers.map(({ name }) => name);
  expect(await names()).not.toContain("Weekly");
  await page.getByRole("button", { name: /Orders/ }).click();
  await page.getByRole("dialog", { name: "Leave without saving?" }).getByRole("button", { name: "Stay here" }).click();
  await form.getByRole("button", { name: "Make the trigger" }).click();
  await page.getByRole("heading", { name: "Weekly" }).waitFor();
  expect(await names()).toContain("Weekly");
});

it("is deleted after asking", async () => {
  const { trigger: gone } = await rig.server.api<{ trigger: { id: string } }>("POST", `/agents/${agent}/triggers`, {
    trigger: { name: "Gone", prompt: "x", source: { type: "run-completed", status: "failed" } },
  });
  const page = await rig.page(tab(gone.id));
  await page.getByRole("button", { name: "Delete the trigger" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete the trigger" }).click();
  await page.getByText("Choose a trigger").waitFor();
  await expect.poll(() => page.getByRole("button", { name: /Gone/ }).count()).toBe(0);
});

it("keeps its place while it loads, says what failed, and what it is for when there are none", async () => {
  const page = await rig.page("/settings/appearance");
  const release = await hold(page, "**/api/v1/agents/*/triggers");
  await page.goto(tab());
  await page.getByRole("status", { name: "Loading the triggers" }).waitFor();
  release();
  await page.getByRole("button", { name: /Orders/ }).waitFor();
  await page.unrouteAll();
  rig.expected = ["status of 500"];
  const mend = await broken(page, "**/api/v1/agents/*/triggers");
  await page.reload();
  const alert = page.getByRole("alert").filter({ hasText: "The triggers did not load" });
  await alert.waitFor();
  await mend();
  await alert.getByRole("button", { name: "Try again" }).click();
  await page.getByRole("button", { name: /Orders/ }).waitFor();
  const idle = await rig.server.scriptedAgent(model.url, "Idle");
  await page.goto(`/agents/${idle}/triggers`);
  await page.getByText("Nothing starts this agent by itself").waitFor();
  await accessible(page);
  await shoot(page, "triggers-empty");
});

it("has a form that looks right in light and dark, wide and narrow", () =>
  inspect(rig, "trigger-form", `${tab()}?make=new`, (page) => page.getByRole("form", { name: "New trigger" })));

it("looks right in light and dark, wide and narrow", () =>
  inspect(rig, "trigger", tab(morning), (page) => page.getByRole("region", { name: "Newest firings" })));
