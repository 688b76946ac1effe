import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { accessible, fits, looks, shoot } from "./checks.ts";
import { Rig } from "./rig.ts";

const rig = new Rig();
beforeAll(() => rig.start());
afterEach(() => rig.clean());
afterAll(() => rig.stop());

it("the link that the first start prints signs in, once, and leaves no code in the address", async () => {
  const page = await rig.stranger();
  await page.goto(rig.server.link);
  await page.getByRole("heading", { name: "What shall we work on?" }).waitFor();
  expect(page.url()).toBe(`${rig.server.url}/`);
  rig.expected = ["status of 401", "HTTP Authentication failed"];
  const second = await rig.stranger();
  await second.goto(rig.server.link);
  await second.getByRole("alert").getByText(/was used already/).waitFor();
  expect(second.url()).toBe(`${rig.server.url}/sign-in`);
});

it("a pasted link or code signs in, and leads back to where one wanted to go", async () => {
  rig.expected = ["status of 401", "HTTP Authentication failed"];
  const page = await rig.stranger();
  await page.goto("/runs?status=failed");
  await page.getByRole("heading", { name: "Sign in to Loam" }).waitFor();
  await page.getByLabel("Link or code").fill("not a code");
  await page.keyboard.press("Enter");
  await page.getByRole("alert").waitFor();
  await accessible(page);
  await page.getByLabel("Link or code").fill(await rig.server.command("link"));
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.getByRole("heading", { name: "Runs" }).waitFor();
  expect(new URL(page.url()).search).toBe("?status=failed");
});

it("looks right in light and dark, wide and narrow", async () => {
  const page = await rig.stranger();
  await page.goto("/sign-in");
  for (const look of looks) {
    await page.setViewportSize(look);
    await page.emulateMedia({ colorScheme: look.theme });
    await page.getByRole("button", { name: "Use a passkey" }).waitFor();
    await accessible(page);
    await fits(page);
    await shoot(page, `sign-in-${look.name}`);
  }
});

it("signing out ends the session on the server, in every tab", async () => {
  rig.expected = ["status of 401", "HTTP Authentication failed"];
  const page = await rig.stranger();
  await page.goto(await rig.server.command("link"));
  await page.getByRole("button", { name: "Account" }).click();
  const cookies = await page.context().cookies();
  const other = await page.context().newPage();
  await other.goto("/agents");
  await other.getByRole("link", { name: /Assistant/ }).waitFor();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "Sign in to Loam" }).waitFor();
  await other.getByRole("heading", { name: "Sign in to Loam" }).waitFor();
  await page.context().addCookies(cookies);
  await page.goto("/agents");
  await page.getByRole("heading", { name: "Sign in to Loam" }).waitFor();
});

it("a passkey is added, signs in, and is removed", async () => {
  const page = await rig.stranger();
  const devices = await page.context().newCDPSession(page);
  await devices.send("WebAuthn.enable");
  await devices.send("WebAuthn.addVirtualAuthenticator", {
    options: { protocol: "ctap2", transport: "internal", hasResidentKey: true, hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true },
  });
  await page.goto(await rig.server.command("link"));
  await page.getByRole("navigation", { name: "Main" }).waitFor();
  await page.goto("/settings/passkeys");
  await page.getByText("No passkeys yet").waitFor();
  await page.getByRole("button", { name: "Add a passkey" }).click();
  await page.getByLabel("Name").fill("Test key");
  await accessible(page);
  await page.getByRole("button", { name: "Continue" }).click();
  const row = page.getByRole("listitem").filter({ hasText: "Test key" });
  await row.waitFor();
  await page.getByRole("button", { name: "Account" }).click();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("button", { name: "Use a passkey" }).click();
  await page.getByRole("heading", { name: "What shall we work on?" }).waitFor();
  await page.goto("/settings/passkeys");
  await row.getByRole("button", { name: "Remove Test key" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Remove the passkey" }).click();
  await page.getByText("No passkeys yet").waitFor();
});

it("the settings list the browsers that are signed in, end them, and make a link for another one", async () => {
  rig.expected = ["status of 401", "HTTP Authentication failed"];
  const page = await rig.page("/settings/sign-ins");
  const here = page.getByRole("listitem").filter({ hasText: "this one" });
  await here.waitFor();
  await page.getByRole("button", { name: "Another device" }).click();
  const link = page.getByLabel("The link");
  await link.getByText("#").waitFor();
  const other = await rig.stranger();
  await other.goto(await link.innerText());
  await other.getByRole("heading", { name: "What shall we work on?" }).waitFor();
  await accessible(page);
  await page.getByRole("button", { name: "Done" }).click();
  await page.reload();
  await here.waitFor();
  await accessible(page);
  await shoot(page, "sign-ins");
  const others = page.getByRole("listitem").filter({ hasNotText: "this one" }).filter({ hasText: "signed in with a link" });
  for (let left = await others.count(); left > 0; left--) {
    await others.first().getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Sign out" }).click();
    await expect.poll(() => others.count()).toBe(left - 1);
  }
  await other.getByRole("heading", { name: "Sign in to Loam" }).waitFor();
});
