// Takes the pictures of the README: `make shots`. They show the real server after real work.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, it } from "vitest";
import { Rig, startModel } from "./rig.ts";

const images = join(import.meta.dirname, "..", "..", "docs", "images");
const rig = new Rig();
let model: Awaited<ReturnType<typeof startModel>>;

const read = (path: string): object => ({ call: { name: "read", arguments: JSON.stringify({ address: `~/memory/${path}` }) } });
const steps = (...states: string[]): object[] =>
  ["Read last week's notes", "Compare with the plan", "Write the summary", "Send it to the team"].map((label, i) => ({ id: `s${i}`, label, status: states[i] }));

beforeAll(async () => {
  model = await startModel([
    {
      match: { user: "summary" },
      steps: [
        { text: "I start with last week's notes and the plan." },
        read("notes/week-47.md"), read("notes/week-48.md"), read("plan.md"), read("people.md"),
        { call: { name: "plan", arguments: JSON.stringify({ title: "Weekly summary", steps: steps("done", "done", "running", "pending") }) } },
      ],
      usage: { Input: 18_400, Output: 320 },
    },
    {
      match: { result: "week-47" },
      steps: [
        {
          text:
            "Here is where the **garden project** stands:\n\n| bed | planted | state |\n|---|---|---|\n| north | 12 Nov | growing |\n| south | 19 Nov | needs water |\n| herbs | 26 Nov | on plan |\n\n" +
            "1. The *south bed* is two days behind; the forecast says no rain until Thursday.\n2. Seeds for spring are ordered.\n\nI keep the details in `~/memory/notes/week-48.md`",
        },
        { waitMillis: 120_000 },
      ],
    },
  ]);
  await rig.start();
  mkdirSync(images, { recursive: true });
});
afterAll(async () => {
  await rig.stop();
  await model.stop();
});

it("takes the pictures", { timeout: 120_000 }, async () => {
  const agent = await rig.server.scriptedAgent(model.url, "Gardener");
  for (const [path, content] of Object.entries({ "notes/week-47.md": "week-47", "notes/week-48.md": "week-48", "plan.md": "plan", "people.md": "people" })) {
    await rig.server.api("PUT", `/agents/${agent}/memory/${path}`, { content });
  }
  const { agents } = await rig.server.api<{ agents: { id: string; definition: { name: string } }[] }>("GET", "/agents");
  const tutor = agents.find((entry) => entry.definition.name === "Assistant")?.id ?? "";
  for (const [title, text] of [["Green tea", "remember that I like green tea"], ["What do you know?", "what do you remember?"], ["A first look", "hello"]] as const) {
    await rig.server.say(await rig.server.session(tutor, title), text);
  }
  const session = await rig.server.session(agent, "Weekly summary");
  const page = await rig.page(`/sessions/${session}`);
  await page.getByLabel("Message", { exact: true }).fill("Please write the summary of this week.");
  await page.keyboard.press("Enter");
  await page.getByRole("log").getByText("Seeds for spring").waitFor();
  await page.getByRole("region", { name: "Plan", exact: true }).waitFor();
  for (const theme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme: theme });
    await page.screenshot({ path: join(images, `session-${theme}.png`) });
  }
  await page.getByRole("button", { name: "Stop" }).click();
  await page.getByRole("region", { name: "The last run was stopped" }).waitFor();
});
