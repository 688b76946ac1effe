// Every page in its three other states and in every look.
import type { Locator, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { broken, hold, inspect, shoot } from "./checks.ts";
import { Rig, startModel } from "./rig.ts";

const rig = new Rig();
let model: Awaited<ReturnType<typeof startModel>>;
const ids = { agent: "", session: "", run: "", careful: "", asking: "" };

beforeAll(async () => {
  model = await startModel([
    {
      match: { user: "report" },
      steps: [
        { text: "I read my notes first." },
        ...["tea", "plan", "people", "log"].map((name) => ({ call: { name: "read", arguments: JSON.stringify({ address: `~/memory/${name}.md` }) } })),
      ],
      usage: { Input: 4200, Output: 90 },
    },
    { match: { user: "tidy" }, steps: [{ text: "I look for a tool." }, { call: { name: "call", arguments: '{"tool":"search_tools","input":{"query":"tidy the notes","limit":3}}' } }] },
    { repeat: true, steps: [{ text: "## Report\n\n| what | how many |\n|---|---|\n| notes | 4 |\n\nDone, see `report.md`.\n\n```\ncode\n```" }] },
  ]);
  await rig.start();
  ids.agent = await rig.server.scriptedAgent(model.url, "Reporter");
  await rig.server.api("PUT", `/agents/${ids.agent}/memory/notes/tea.md`, { content: "# Tea\n\nGreen, not black.\n" });
  ids.session = await rig.server.session(ids.agent, "Weekly report");
  await rig.server.say(ids.session, "please write the report");
  ids.run = (await rig.server.api<{ runs: { id: string }[] }>("GET", "/runs")).runs[0]?.id ?? "";
  ids.careful = await rig.server.scriptedAgent(model.url, "Careful");
  await rig.server.askFirst(ids.careful, "search_tools");
  ids.asking = await rig.server.session(ids.careful, "Tidy up");
  await rig.server.say(ids.asking, "please tidy up");
  await rig.server.api("PUT", "/secrets/mail-password", { value: "hidden" });
  await rig.server.api("POST", "/tokens", { name: "nightly job", scopes: ["read"] });
  await rig.server.api("POST", "/keys", { name: "Laptop", key: "z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK" });
});
afterEach(() => rig.clean());
afterAll(async () => {
  await rig.stop();
  await model.stop();
});

interface Place {
  name: string;
  path: () => string;
  /** The request whose answer the page waits for. */
  api: string;
  loading: string;
  ready: (page: Page) => Locator;
}

const text = (words: string | RegExp) => (page: Page) => page.locator("main").getByText(words);

const places: readonly Place[] = [
  { name: "conversations", path: () => "/", api: "**/api/v1/sessions?*", loading: "Loading the conversations", ready: text("Weekly report") },
  { name: "session", path: () => `/sessions/${ids.session}`, api: "**/api/v1/sessions/*?*", loading: "Loading the conversation", ready: text("Done, see") },
  { name: "agents", path: () => "/agents", api: "**/api/v1/agents?*", loading: "Loading the agents", ready: text("scripted/scripted-1") },
  { name: "new-agent", path: () => "/agents/new", api: "**/api/v1/agents?*", loading: "Loading the form", ready: (page) => page.getByLabel("Name") },
  { name: "agent-build", path: () => `/agents/${ids.agent}`, api: "**/api/v1/agents/*", loading: "Loading the agent", ready: (page) => page.getByLabel("Instructions", { exact: true }) },
  { name: "agent-tools", path: () => `/agents/${ids.agent}/tools`, api: "**/api/v1/agents/*/tools", loading: "Loading the tools", ready: text("search_tools") },
  { name: "agent-memory", path: () => `/agents/${ids.agent}/memory`, api: "**/api/v1/agents/*/memory", loading: "Loading the memory", ready: (page) => page.getByRole("button", { name: /tea.md/ }) },
  { name: "memory-file", path: () => `/agents/${ids.agent}/memory?file=notes%2Ftea.md`, api: "**/memory/notes/tea.md", loading: "Loading the file", ready: text("Green, not black.") },
  { name: "agent-runs", path: () => `/agents/${ids.agent}/runs`, api: "**/api/v1/runs?*", loading: "Loading the runs", ready: text("please write the report") },
  { name: "agent-sessions", path: () => `/agents/${ids.agent}/sessions`, api: "**/api/v1/sessions?*", loading: "Loading the conversations", ready: text("Weekly report") },
  { name: "agent-sharing", path: () => `/agents/${ids.agent}/sharing`, api: "**/api/v1/agents/*/collaborators", loading: "Loading who works with the agent", ready: text("owner") },
  { name: "runs", path: () => "/runs", api: "**/api/v1/runs?*", loading: "Loading the runs", ready: text("please write the report") },
  { name: "run", path: () => `/runs/${ids.run}`, api: `**/api/v1/runs/*`, loading: "Loading the run", ready: text(/Succeeded after/) },
  { name: "approvals", path: () => "/approvals", api: "**/api/v1/approvals?*", loading: "Loading the approvals", ready: text("tidy the notes") },
  { name: "session-asking", path: () => `/sessions/${ids.asking}`, api: "**/api/v1/sessions/*?*", loading: "Loading the conversation", ready: text("tidy the notes") },
  { name: "providers", path: () => "/settings/providers", api: "**/api/v1/providers", loading: "Loading the providers", ready: text("OpenAI-compatible") },
  { name: "secrets", path: () => "/settings/secrets", api: "**/api/v1/secrets", loading: "Loading the secrets", ready: text("mail-password") },
  { name: "tokens", path: () => "/settings/tokens", api: "**/api/v1/tokens?*", loading: "Loading the tokens", ready: text("nightly job") },
  { name: "keys", path: () => "/settings/keys", api: "**/api/v1/keys?*", loading: "Loading the keys", ready: text("Laptop") },
  { name: "signers", path: () => "/settings/signers", api: "**/api/v1/signers?*", loading: "Loading the signers", ready: text("No signers") },
  { name: "mcp-servers", path: () => "/settings/mcp-servers", api: "**/api/v1/mcp-servers", loading: "Loading the MCP servers", ready: text("No MCP servers yet") },
  { name: "sign-ins", path: () => "/settings/sign-ins", api: "**/api/v1/sign-ins?*", loading: "Loading the sign-ins", ready: text("this one") },
  { name: "passkeys", path: () => "/settings/passkeys", api: "**/api/v1/passkeys?*", loading: "Loading the passkeys", ready: text("No passkeys yet") },
  { name: "about", path: () => "/settings/about", api: "**/licences.json", loading: "Loading the licences", ready: text("@tanstack/react-query") },
];

describe.each(places)("$name", ({ name, path, api, loading, ready }) => {
  it("keeps its place while it loads", async () => {
    const page = await rig.page("/settings/appearance");
    const release = await hold(page, api);
    await page.goto(path());
    await page.getByRole("status", { name: loading, exact: true }).first().waitFor();
    expect(await ready(page).count()).toBe(0);
    await shoot(page, `${name}-loading`);
    release();
    await ready(page).first().waitFor();
  });

  it("says what failed, and tries again", async () => {
    rig.expected = ["status of 500"];
    const page = await rig.page("/settings/appearance");
    const mend = await broken(page, api);
    await page.goto(path());
    const alert = page.getByRole("alert").filter({ hasText: "did not load" }).first();
    await alert.waitFor();
    const words = await alert.innerText();
    if (name !== "about") expect(words).toContain("The disk is full. The server's log has more under req-42.");
    await shoot(page, `${name}-error`);
    await mend();
    await alert.getByRole("button", { name: "Try again" }).click();
    await ready(page).first().waitFor();
  });

  it("looks right in light and dark, wide and narrow", () => inspect(rig, name, path(), ready));
});

const more: readonly Omit<Place, "api" | "loading">[] = [
  { name: "appearance", path: () => "/settings/appearance", ready: text("How this page looks in this browser.") },
  { name: "nowhere", path: () => "/no/such/page", ready: (page) => page.getByText("There is nothing here") },
  { name: "no-session", path: () => "/sessions/01a22c2c-0000-7000-8000-000000000000", ready: text("There is no such conversation") },
  { name: "no-agent", path: () => "/agents/01a22c2c-0000-7000-8000-000000000000", ready: text("There is no such agent") },
  { name: "no-run", path: () => "/runs/01a22c2c-0000-7000-8000-000000000000", ready: text("There is no such run") },
];

it.each(more)("$name looks right in light and dark, wide and narrow", async ({ name, path, ready }) => {
  rig.expected = ["status of 404"];
  await inspect(rig, name, path(), ready);
});
