// The main job of the pages around the conversation: agents, memory, runs, providers, secrets, tokens, keys.
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { accessible, shoot } from "./checks.ts";
import { Rig, startModel } from "./rig.ts";

const rig = new Rig();
let model: Awaited<ReturnType<typeof startModel>>;
beforeAll(async () => {
  model = await startModel([
    { match: { user: "wait" }, repeat: true, steps: [{ text: "Hm" }, { waitMillis: 120_000 }] },
    { repeat: true, steps: [{ text: "Done." }] },
  ]);
  await rig.start();
});
afterEach(() => rig.clean());
afterAll(async () => {
  await rig.stop();
  await model.stop();
});

describe("MCP servers", () => {
  it("are connected in a form, say what is wrong with them, and are deleted", async () => {
    const page = await rig.page("/settings/mcp-servers");
    await page.getByRole("button", { name: "Connect a server" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name").fill("box");
    await dialog.getByLabel("Address").fill("http://127.0.0.1:9/mcp");
    await dialog.getByLabel("Key").fill("hush-hush");
    await accessible(page);
    await shoot(page, "mcp-server-form");
    await dialog.getByRole("button", { name: "Connect" }).click();
    const row = page.getByRole("listitem").filter({ hasText: "box" });
    await row.getByText("does not answer").waitFor();
    await row.getByText("127.0.0.1:9 cannot be reached").waitFor();
    await row.getByText("key stored").waitFor();
    await row.getByRole("button", { name: "Ask again" }).click();
    await row.getByText("Ask again").waitFor();
    expect(await page.content()).not.toContain("hush-hush");
    await accessible(page);
    await shoot(page, "mcp-servers");
    await row.getByRole("button", { name: "Delete box" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete the server" }).click();
    await page.getByText("No MCP servers yet").waitFor();
  });
});

it("an agent uses the MCP servers that are chosen in its form, and leaves those that are gone", async () => {
  const agent = await rig.server.scriptedAgent(model.url, "Connected");
  await rig.server.api("PUT", "/mcp-servers/desk", { config: { url: "http://127.0.0.1:9/mcp" } });
  const chosen = async (): Promise<unknown> => (await rig.server.api<{ agent: { definition: { mcpServers?: string[] } } }>("GET", `/agents/${agent}`)).agent.definition.mcpServers ?? [];
  const page = await rig.page(`/agents/${agent}`);
  const servers = page.getByRole("group", { name: "MCP servers" });
  await servers.getByText("does not answer").waitFor();
  await servers.getByRole("checkbox", { name: /desk/ }).check();
  await accessible(page);
  await shoot(page, "agent-mcp-servers");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved. The next turn uses it.").waitFor();
  expect(await chosen()).toEqual(["desk"]);
  await rig.server.api("DELETE", "/mcp-servers/desk");
  await page.reload();
  await servers.getByText("is not connected any more").waitFor();
  await servers.getByRole("checkbox", { name: /desk/ }).click();
  await page.getByRole("button", { name: "Save" }).click();
  await expect.poll(chosen).toEqual([]);
});

describe("sharing", () => {
  it("invites, shows who has not accepted, opens the agent to everybody, and removes", async () => {
    const agent = await rig.server.scriptedAgent(model.url, "Shared");
    const page = await rig.page(`/agents/${agent}/sharing`);
    await page.getByRole("button", { name: "Invite" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Account").fill("z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK");
    await dialog.getByRole("button", { name: "Changes and chats" }).click();
    await accessible(page);
    await dialog.getByRole("button", { name: "Invite" }).click();
    const row = page.getByRole("listitem").filter({ hasText: "z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK" });
    await row.getByText("writer").waitFor();
    await row.getByText("has not accepted yet").waitFor();
    const open = page.getByRole("button", { name: "Read", exact: true });
    await open.click();
    await page.getByRole("button", { name: "Read", exact: true, pressed: true }).waitFor();
    await accessible(page);
    await row.getByRole("button", { name: /^Remove/ }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Remove the account" }).click();
    await row.waitFor({ state: "detached" });
  });
});

describe("providers", () => {
  it("are connected in a form, tested with a button, and removed", async () => {
    const page = await rig.page("/settings/providers");
    await page.getByRole("button", { name: "Connect a provider" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Connect" }).click();
    await dialog.getByText("OpenAI needs an API key.").waitFor();
    await accessible(page);
    await shoot(page, "provider-form");
    await dialog.getByLabel("Kind").selectOption({ label: "OpenAI-compatible" });
    await dialog.getByLabel("Name").fill("mine");
    await dialog.getByLabel("Address").fill(`${model.url}/v1`);
    await dialog.getByLabel("API key, if it wants one").fill("sk-test");
    await dialog.getByRole("button", { name: "Connect" }).click();
    const row = page.getByRole("listitem").filter({ hasText: "mine" });
    await row.getByText("Works: 2 models").waitFor();
    await row.getByText("key stored").waitFor();
    await row.getByRole("button", { name: "Test" }).click();
    await row.getByText("Works: 2 models").waitFor();
    await page.reload();
    await row.getByText(/Answered/).waitFor();
    await row.getByRole("button", { name: "Disconnect mine" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Disconnect" }).click();
    await row.waitFor({ state: "detached" });
  });

  it("that do not work say why", async () => {
    rig.expected = ["status of 50", "status of 4"];
    await rig.server.api("PUT", "/providers/nowhere", { provider: { type: "custom", baseUrl: "http://127.0.0.1:9/v1" } });
    const page = await rig.page("/settings/providers");
    const row = page.getByRole("listitem").filter({ hasText: "nowhere" });
    await row.getByRole("button", { name: "Test" }).click();
    await row.locator(".status.bad").waitFor();
    expect((await row.locator(".status.bad").innerText()).length).toBeGreaterThan(20);
    await accessible(page);
    // Whoever comes later reads it too.
    await page.reload();
    await row.getByText(/^Failed/).waitFor();
    expect(await row.innerText()).toContain("cannot be reached");
    await accessible(page);
    await shoot(page, "provider-broken");
    await rig.server.api("DELETE", "/providers/nowhere");
  });
});

describe("agents", () => {
  it("are made, changed, talked to and deleted", async () => {
    await rig.server.api("PUT", "/providers/scripted", { provider: { type: "custom", baseUrl: `${model.url}/v1` } });
    const page = await rig.page("/agents");
    await page.getByRole("link", { name: "New agent" }).click();
    await page.getByRole("button", { name: "Make the agent" }).click();
    await page.getByText("Give the agent a name.").waitFor();
    await accessible(page);
    await shoot(page, "agent-problems");
    await page.getByLabel("Name").fill("Librarian");
    await page.getByLabel("Provider", { exact: true }).selectOption("scripted");
    await page.getByLabel("Model", { exact: true }).fill("scripted-2");
    await page.getByLabel("Instructions", { exact: true }).fill("# Library\n\nFind **books**.\n\n- politely");
    await page.getByRole("button", { name: "Preview" }).click();
    await page.locator(".instructions-preview strong", { hasText: "books" }).waitFor();
    await accessible(page);
    await page.getByRole("button", { name: "Make the agent" }).click();
    await page.getByRole("heading", { level: 1, name: "Librarian" }).waitFor();
    const id = new URL(page.url()).pathname.split("/")[2];

    const instructions = page.getByLabel("Instructions", { exact: true });
    expect(await instructions.inputValue()).toContain("Library");
    expect(await page.getByRole("button", { name: "Save" }).isDisabled()).toBe(true);
    await instructions.fill("Find books and maps.");
    await page.getByText("Not saved yet").waitFor();
    await instructions.press("Control+Enter");
    await page.getByText("Saved. The next turn uses it.").waitFor();
    const { agent } = await rig.server.api<{ agent: { definition: { model: string; tools: string[] } } }>("GET", `/agents/${id}`);
    expect(agent.definition).toMatchObject({ model: "scripted-2", tools: [] });

    await page.getByRole("link", { name: "Chat", exact: true }).last().click();
    await page.getByLabel("Message", { exact: true }).fill("hello");
    await page.keyboard.press("Enter");
    await page.getByRole("log").getByText("Done.").waitFor();
    await page.getByRole("link", { name: "Librarian", exact: true }).click();
    await page.getByRole("link", { name: "Sessions" }).click();
    await page.getByRole("link", { name: /Untitled conversation|hello/ }).first().waitFor();
    await page.getByRole("link", { name: "Runs", exact: true }).last().click();
    await page.getByRole("link", { name: "hello" }).waitFor();

    await page.getByRole("link", { name: "Build" }).click();
    await page.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete the agent" }).click();
    await page.getByRole("heading", { level: 1, name: "Agents" }).waitFor();
    await expect.poll(() => page.getByRole("link", { name: /Librarian/ }).count()).toBe(0);
  });

  it("have a memory that people read, edit and delete", async () => {
    const { agents } = await rig.server.api<{ agents: { id: string; definition: { name: string } }[] }>("GET", "/agents");
    const id = agents.find((agent) => agent.definition.name === "Assistant")?.id;
    const page = await rig.page(`/agents/${id}/memory`);
    await page.getByText("Nothing remembered yet").waitFor();
    await accessible(page);
    await shoot(page, "memory-empty");
    await page.getByRole("button", { name: "New file" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.getByText("Give the file a path").waitFor();
    await dialog.getByLabel("Path").fill("notes/tea.md");
    await dialog.getByLabel("Content").fill("# Tea\n\nGreen.");
    await dialog.getByRole("button", { name: "Save" }).click();
    const file = page.getByRole("region", { name: "File" });
    await file.getByRole("heading", { name: "Tea", exact: true }).waitFor();
    await file.getByRole("button", { name: "Edit" }).click();
    await file.getByLabel("Content of the file").fill("# Tea\n\nOolong.");
    await file.getByRole("button", { name: "Save" }).click();
    await file.locator(".prose").getByText("Oolong.").waitFor();
    // Somebody else was quicker: nothing is overwritten, and what was typed stays.
    await file.getByRole("button", { name: "Edit" }).click();
    await file.getByLabel("Content of the file").fill("# Tea\n\nMine.");
    await rig.server.api("PUT", `/agents/${id}/memory/notes/tea.md`, { content: "# Tea\n\nTheirs." });
    rig.expected = ["status of 412"];
    await file.getByRole("button", { name: "Save" }).click();
    await file.getByText("The file was changed while you wrote").waitFor();
    await accessible(page);
    await shoot(page, "memory-conflict");
    await page.getByRole("link", { name: "Tools" }).click();
    await page.getByRole("dialog", { name: "Leave without saving?" }).getByRole("button", { name: "Stay here" }).click();
    expect(await file.getByLabel("Content of the file").inputValue()).toContain("Mine.");
    await file.getByRole("button", { name: "Take what is there now" }).click();
    expect(await file.getByLabel("Content of the file").inputValue()).toContain("Theirs.");
    await file.getByLabel("Content of the file").fill("# Tea\n\nOolong.");
    await file.getByRole("button", { name: "Save" }).click();
    await file.locator(".prose").getByText("Oolong.").waitFor();
    const { file: stored } = await rig.server.api<{ file: { content: string } }>("GET", `/agents/${id}/memory/notes/tea.md`);
    expect(stored.content).toBe("# Tea\n\nOolong.");
    const [download] = await Promise.all([page.waitForEvent("download"), file.getByRole("button", { name: "Download the file" }).click()]);
    expect(download.suggestedFilename()).toBe("tea.md");
    await page.getByRole("button", { name: "New file" }).click();
    await dialog.getByLabel("Path").fill("~/memory/notes/tea.md");
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.getByText("There is a file of this name.").waitFor();
    await page.keyboard.press("Escape");
    await file.getByRole("button", { name: "Rename or move the file" }).click();
    await dialog.getByLabel("New path").fill("drinks/hot/tea.md");
    await accessible(page);
    await dialog.getByRole("button", { name: "Rename" }).click();
    await file.getByRole("heading", { name: "drinks/hot/tea.md" }).waitFor();
    expect((await rig.server.api<{ entries: { path: string; type: string }[] }>("GET", `/agents/${id}/memory`)).entries.map((entry) => entry.path)).toContain("drinks/hot/tea.md");
    const list = page.getByRole("navigation", { name: "Files of the memory" });
    await list.getByRole("button", { name: /^hot\// }).click();
    await list.getByRole("button", { name: /^hot\//, expanded: false }).waitFor();
    expect(await list.getByRole("button", { name: /tea.md/ }).count()).toBe(0);
    await shoot(page, "memory-tree");
    await list.getByRole("button", { name: /^hot\// }).click();
    await file.getByRole("button", { name: "Delete the file" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete the file" }).click();
    await expect.poll(() => list.getByRole("button", { name: /tea.md/ }).count()).toBe(0);
  });
});

it("runs are filtered, shown while they live, and canceled", async () => {
  const agent = await rig.server.scriptedAgent(model.url, "Waiter");
  const session = await rig.server.session(agent);
  await rig.server.say(session, "quick one");
  const page = await rig.page("/runs");
  await page.getByRole("link", { name: "quick one" }).waitFor();
  const chat = await rig.page(`/sessions/${session}`);
  await chat.getByLabel("Message", { exact: true }).fill("wait for me");
  await chat.keyboard.press("Enter");
  await chat.getByRole("log").getByText("Hm").waitFor();
  // The table learns of it by itself.
  await page.getByRole("link", { name: "wait for me" }).waitFor();
  await page.getByLabel("State").selectOption("running");
  await expect.poll(() => page.getByRole("link", { name: "quick one" }).count()).toBe(0);
  await page.getByRole("link", { name: "wait for me" }).click();
  await page.getByText(/^Working since/).waitFor();
  await accessible(page);
  await shoot(page, "run-live");
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByText(/^Canceled after/).waitFor();
  await page.goto("/runs?status=queued");
  await page.getByText("No run fits").waitFor();
  await accessible(page);
  await page.getByRole("button", { name: "Show all runs" }).click();
  await page.getByRole("link", { name: "quick one" }).waitFor();
});

describe("settings", () => {
  it("store, replace and delete a secret without ever showing it", async () => {
    const page = await rig.page("/settings/secrets");
    await page.getByRole("button", { name: "Store a secret" }).click();
    await page.getByLabel("Name").fill("mail");
    await page.getByLabel("Value").fill("correct horse");
    await accessible(page);
    await page.getByRole("dialog").getByRole("button", { name: "Store", exact: true }).click();
    const row = page.getByRole("listitem").filter({ hasText: "mail" });
    await row.waitFor();
    expect(await page.content()).not.toContain("correct horse");
    await row.getByRole("button", { name: "Delete mail" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete the secret" }).click();
    await row.waitFor({ state: "detached" });
  });

  it("make a token that works, and revoke it", async () => {
    const page = await rig.page("/settings/tokens");
    await page.getByRole("button", { name: "New token" }).click();
    await page.getByLabel("Name").fill("job");
    await accessible(page);
    await shoot(page, "token-form");
    await page.getByRole("button", { name: "Make the token" }).click();
    const token = await page.getByLabel("The token").innerText();
    await page.getByRole("button", { name: "Copy" }).click();
    await page.getByRole("button", { name: "Copied" }).waitFor();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(token);
    const call = async (): Promise<number> =>
      (await fetch(`${rig.server.url}/api/v1/agents`, { headers: { Authorization: `Bearer ${token}` } })).status;
    expect(await call()).toBe(200);
    await page.getByRole("button", { name: "Done" }).click();
    const row = page.getByRole("listitem").filter({ hasText: "job" });
    await row.getByText("write").waitFor();
    await row.getByRole("button", { name: "Revoke job" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Revoke the token" }).click();
    await row.waitFor({ state: "detached" });
    expect(await call()).toBe(401);
  });

  it("link a key and unlink it", async () => {
    const page = await rig.page("/settings/keys");
    await page.getByText("No linked keys").waitFor();
    await accessible(page);
    await shoot(page, "keys-empty");
    await page.getByRole("button", { name: "Link a key" }).click();
    rig.expected = ["status of 4"];
    await page.getByRole("textbox", { name: "Key" }).fill("not a key");
    await page.getByRole("dialog").getByRole("button", { name: "Link", exact: true }).click();
    await page.getByRole("alert").waitFor();
    await page.getByRole("textbox", { name: "Key" }).fill("z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK");
    await page.getByLabel("Name").fill("Laptop");
    await page.getByRole("dialog").getByRole("button", { name: "Link", exact: true }).click();
    const row = page.getByRole("listitem").filter({ hasText: "Laptop" });
    await row.getByRole("button", { name: "Unlink Laptop" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Unlink the key" }).click();
    await page.getByText("No linked keys").waitFor();
  });

  it("show who acts by a capability, and revoke it", async () => {
    await rig.server.delegate("Desktop");
    const page = await rig.page("/settings/appearance");
    await page.goto("/settings/signers");
    const row = page.getByRole("listitem").filter({ hasText: "Desktop" });
    await row.getByRole("button", { name: "Revoke Desktop" }).click();
    await accessible(page);
    await page.getByRole("dialog").getByRole("button", { name: "Revoke the signer" }).click();
    await row.getByText("revoked").waitFor();
    expect(await row.getByRole("button").count()).toBe(0);
    await accessible(page);
    await shoot(page, "signers");
  });
});
