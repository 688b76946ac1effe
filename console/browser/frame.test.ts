// The frame: keyboard, palette, themes, what an empty server shows, and what is remembered.
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { accessible, shoot } from "./checks.ts";
import { Rig } from "./rig.ts";

const rig = new Rig();
beforeAll(() => rig.start());
afterEach(() => rig.clean());
afterAll(() => rig.stop());

it("the palette finds what there is and runs what one chooses", async () => {
  const page = await rig.page("/");
  await page.getByRole("heading", { name: "What shall we work on?" }).waitFor();
  await page.keyboard.press("Control+k");
  const field = page.getByRole("combobox", { name: "Find or run" });
  await field.waitFor();
  const found = page.getByRole("listbox", { name: "Found" });
  await found.getByRole("option", { name: /Assistant/ }).waitFor();
  await accessible(page);
  await shoot(page, "palette");
  await field.fill("assis");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "Assistant" }).waitFor();
  await page.keyboard.press("Control+k");
  await field.fill("token");
  await found.getByRole("option", { name: /API tokens/ }).click();
  await page.getByRole("heading", { level: 1, name: "API tokens" }).waitFor();
  await page.keyboard.press("Control+k");
  await field.fill("theme dark");
  await page.keyboard.press("Enter");
  expect(await page.locator("html").getAttribute("data-theme")).toBe("dark");
  await page.keyboard.press("Control+k");
  await field.fill("zebra");
  await page.getByText("Nothing is called “zebra”.").waitFor();
  await page.keyboard.press("Escape");
  await field.waitFor({ state: "detached" });
});

it("everything is reached from the keyboard", async () => {
  const page = await rig.page("/");
  await page.getByText("No conversations yet").waitFor();
  await page.keyboard.press("g");
  await page.keyboard.press("a");
  await page.getByRole("heading", { level: 1, name: "Agents" }).waitFor();
  await page.getByRole("link", { name: /Assistant/ }).waitFor();
  await page.keyboard.press("j");
  expect(await page.evaluate(() => document.activeElement?.textContent)).toContain("Assistant");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "Assistant" }).waitFor();
  await page.keyboard.press("?");
  const keys = page.getByRole("dialog", { name: "Keyboard" });
  await keys.waitFor();
  await accessible(page);
  await shoot(page, "keys");
  await page.keyboard.press("Escape");
  await keys.waitFor({ state: "detached" });
  await page.keyboard.press("g");
  await page.keyboard.press("r");
  await page.getByText("No runs yet").waitFor();
  // The way with Tab begins with a link over the navigation.
  await page.keyboard.press("g");
  await page.keyboard.press("c");
  await page.getByText("No conversations yet").waitFor();
  await page.locator("body").press("Tab");
  expect(await page.evaluate(() => document.activeElement?.textContent)).toBe("Skip to the content");
});

it("the side bar and the theme are remembered", async () => {
  const page = await rig.page("/settings/appearance");
  await page.getByRole("button", { name: "Fold the side bar" }).click();
  await page.getByRole("group", { name: "Theme" }).getByRole("button", { name: "Dark" }).click();
  await page.reload();
  await page.getByRole("button", { name: "Unfold the side bar" }).waitFor();
  expect(await page.locator("html").getAttribute("data-theme")).toBe("dark");
  await accessible(page);
  await shoot(page, "rail-narrow");
  await page.keyboard.press("[");
  await page.getByRole("button", { name: "Fold the side bar" }).waitFor();
});

it.each([
  ["/", "No conversations yet"],
  ["/runs", "No runs yet"],
  ["/settings/mcp-servers", "No MCP servers yet"],
  ["/settings/secrets", "No secrets yet"],
  ["/settings/tokens", "No tokens yet"],
  ["/settings/keys", "No linked keys"],
  ["/settings/signers", "No signers"],
  ["/settings/passkeys", "No passkeys yet"],
])("%s of a new server says what it is for", async (path, words) => {
  const page = await rig.page(path);
  await page.getByText(words).waitFor();
  await accessible(page);
  await shoot(page, `empty${path.replaceAll("/", "-")}`);
});

it("without an agent everything leads to making one", async () => {
  const { agents } = await rig.server.api<{ agents: { id: string }[] }>("GET", "/agents");
  for (const agent of agents) await rig.server.api("DELETE", `/agents/${agent.id}`);
  const page = await rig.page("/agents");
  await page.getByText("No agents yet").waitFor();
  await accessible(page);
  await shoot(page, "empty-agents");
  await page.goto("/");
  await page.getByText("Make an agent first").waitFor();
  await accessible(page);
  await page.getByRole("link", { name: "New agent" }).click();
  await page.getByRole("heading", { level: 1, name: "New agent" }).waitFor();
});

it("the page asks nobody but its server, and its server allows nothing else", async () => {
  const page = await rig.stranger();
  const hosts = new Set<string>();
  page.on("request", (request) => hosts.add(new URL(request.url()).host));
  const response = await page.goto("/sign-in");
  await page.getByRole("heading", { name: "Sign in to Loam" }).waitFor();
  expect([...hosts]).toEqual([new URL(rig.server.url).host]);
  const policy = response?.headers()["content-security-policy"] ?? "";
  expect(policy).toContain("script-src 'self';");
  expect(policy).not.toContain("unsafe");
});
