// The session page: what is said, what is done, and what a person does about it.
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { accessible, fits, looks, shoot } from "./checks.ts";
import { Rig, startModel } from "./rig.ts";

const rig = new Rig();
let model: Awaited<ReturnType<typeof startModel>>;
let agent = "";

const read = (name: string): object => ({ call: { name: "read", arguments: JSON.stringify({ address: `~/memory/${name}.md` }) } });
const plan = (...states: string[]): object => ({
  call: {
    name: "plan",
    arguments: JSON.stringify({ title: "Move house", steps: states.map((status, i) => ({ id: `s${i}`, label: `Step ${i + 1}`, status })) }),
  },
});
/** The model is silent for longer than any test takes: the run lives until somebody ends it. */
const silence = { waitMillis: 120_000 };

beforeAll(async () => {
  model = await startModel([
    { match: { user: "stream" }, repeat: true, steps: [{ text: "First **part**.\n\n" }, { text: "Second part, still go" }, silence] },
    { match: { user: "gadgets" }, steps: [{ text: "Looking." }, read("tea"), { call: { name: "write", arguments: '{"address":"~/memory/new.md","content":"x"}' } }] },
    { match: { user: "beside" }, steps: [{ call: { name: "write", arguments: '{"address":"~/memory/new.md","content":"x"}' } }] },
    { match: { user: "many" }, steps: [...["a", "b", "c", "d", "e"].map(read)] },
    { match: { user: "plan" }, steps: [plan("done", "running", "pending")] },
    { match: { result: '{"ok":true}' }, steps: [silence] },
    { match: { user: "break" }, status: 401, errorMessage: "Incorrect API key provided." },
    {
      match: { user: "formula" },
      steps: [{ text: "Euler: $e^{i\\pi} + 1 = 0$, for $5.\n\n$$\n\\sum_{k=1}^n k = \\frac{n(n+1)}{2}\n$$\n\n```python\ndef tea():\n    return \"green\"  # always\n```" }],
    },
    { match: { user: "big" }, steps: [{ text: "Read it all." }], usage: { Input: 110_000, Output: 500 } },
    { match: { user: "half" }, steps: [{ text: "Read most." }], usage: { Input: 95_000, Output: 500 } },
    {
      match: { user: "afresh" },
      steps: [{ call: { name: "continue_session", arguments: JSON.stringify({
        reason: "topic_change", title: "The other shore", description: "Goes on.", handoff: { purpose: "Cross the river", currentRequest: "Cross" },
      }) } }],
    },
    { repeat: true, steps: [{ text: "An ordinary answer." }] },
  ]);
  await rig.start();
  agent = await rig.server.scriptedAgent(model.url);
});
afterEach(() => rig.clean());
afterAll(async () => {
  await rig.stop();
  await model.stop();
});

const log = (page: Page) => page.getByRole("log");
const message = (page: Page) => page.getByLabel("Message", { exact: true });

async function say(page: Page, text: string): Promise<void> {
  await message(page).fill(text);
  await message(page).press("Enter");
}

async function opened(title?: string): Promise<{ page: Page; session: string }> {
  const session = await rig.server.session(agent, title);
  return { page: await rig.page(`/sessions/${session}`), session };
}

describe("a conversation", () => {
  it("begins on the first page, with the chosen agent", async () => {
    const page = await rig.page("/");
    await page.getByLabel("With").selectOption({ label: "Scripted" });
    await say(page, "hello there");
    await page.waitForURL(/\/sessions\//);
    await log(page).getByText("An ordinary answer.").waitFor();
    expect(await log(page).getByText("hello there").count()).toBe(1);
  });

  it("is empty in words before anything is said", async () => {
    const { page } = await opened();
    await page.getByText("Say something to Scripted").waitFor();
    await accessible(page);
    await shoot(page, "session-empty");
  });

  it("shows an answer while it is written, with the run above the composer, and stops it", async () => {
    const { page, session } = await opened();
    await say(page, "stream something");
    await log(page).getByText("Second part, still go").waitFor();
    expect(await log(page).locator("strong", { hasText: "part" }).count()).toBe(1);
    const card = page.getByRole("region", { name: "Run in progress" });
    await card.getByText("Writing").waitFor();
    await card.getByText(/^\d/).first().waitFor();
    await accessible(page);
    await shoot(page, "session-streaming");
    await card.getByRole("button", { name: "Stop" }).click();
    await page.getByRole("region", { name: "The last run was stopped" }).waitFor();
    await card.waitFor({ state: "detached" });
    const { runs } = await rig.server.api<{ runs: { status: string }[] }>("GET", `/runs?sessionId=${session}`);
    expect(runs.map((run) => run.status)).toEqual(["canceled"]);
    expect(await log(page).getByText("Second part, still go").count()).toBe(1);
  });

  it("says that a turn failed and why, and tries again", async () => {
    const { page } = await opened();
    await say(page, "break it");
    const card = page.getByRole("region", { name: "The last run failed" });
    await card.getByText("Incorrect API key provided.").waitFor();
    await accessible(page);
    await shoot(page, "session-failed");
    await card.getByRole("button", { name: "Retry" }).click();
    await log(page).getByText("An ordinary answer.").waitFor();
    await card.waitFor({ state: "detached" });
  });

  it("can be renamed and deleted", async () => {
    const { page, session } = await opened("Old name");
    await page.getByRole("button", { name: "Rename" }).click();
    await page.getByLabel("Title of the conversation").fill("New name");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "New name" }).waitFor();
    await page.getByRole("link", { name: /New name/ }).waitFor();
    await page.getByRole("button", { name: "Delete the conversation" }).click();
    const dialog = page.getByRole("dialog");
    await accessible(page);
    await dialog.getByRole("button", { name: "Delete the conversation" }).click();
    await page.getByRole("heading", { name: "What shall we work on?" }).waitFor();
    await expect(rig.server.api("GET", `/sessions/${session}`)).rejects.toThrow("404");
  });
});

it("formulas and code are drawn as what they are", async () => {
  const { page } = await opened();
  await say(page, "a formula please");
  await log(page).locator(".formula.display math mfrac").waitFor();
  await expect.poll(() => log(page).locator(".formula math").count()).toBe(2);
  expect(await log(page).getByText("for $5.").count()).toBe(1);
  await log(page).locator(".hljs-keyword", { hasText: "def" }).waitFor();
  expect(await log(page).getByLabel("Code in python").innerText()).toBe('def tea():\n    return "green"  # always\n');
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    await accessible(page);
    await shoot(page, `session-formula-${colorScheme}`);
  }
});

it("stays live in more windows than a browser opens connections", async () => {
  const session = await rig.server.session(agent, "Watched by eight");
  const pages: Page[] = [];
  for (let i = 0; i < 8; i++) {
    const page = await rig.page(`/sessions/${session}`);
    await page.getByText("Say something to Scripted").waitFor();
    pages.push(page);
  }
  await rig.server.say(session, "hello all");
  for (const page of pages) await log(page).getByText("An ordinary answer.").waitFor();
  // Each has one socket, and connections are left for everything else.
  await say(pages[7] as Page, "hello again");
  for (const page of pages) await expect.poll(() => log(page).getByText("hello again").count()).toBe(1);
});

it("follows without sockets where none can be opened", async () => {
  rig.expected = ["WebSocket"];
  const page = await rig.page("/settings/appearance");
  await page.addInitScript(() => {
    const opened: string[] = [];
    Object.assign(globalThis, { opened });
    globalThis.WebSocket = class extends WebSocket {
      constructor(url: string | URL) {
        opened.push(String(url));
        super(String(url).replace("/tunnel", "/nothing"));
      }
    };
  });
  const session = await rig.server.session(agent, "Behind a proxy");
  await page.goto(`/sessions/${session}`);
  await page.getByText("Say something to Scripted").waitFor();
  await rig.server.say(session, "hello");
  await log(page).getByText("An ordinary answer.").waitFor();
  await rig.server.say(session, "once more");
  await log(page).getByText("once more").waitFor();
  expect(await page.evaluate(() => (globalThis as unknown as { opened: string[] }).opened.length)).toBeGreaterThan(0);
});

describe("the model of a conversation", () => {
  it("is chosen for this conversation alone, and given back", async () => {
    const { page, session } = await opened();
    const button = page.getByRole("button", { name: /^Model: scripted-1/ });
    await button.click();
    const dialog = page.getByRole("dialog", { name: "Model of this conversation" });
    await dialog.getByLabel("Model", { exact: true }).fill("scripted-2");
    await accessible(page);
    await shoot(page, "session-model");
    await dialog.getByRole("button", { name: "Use it here" }).click();
    await page.getByRole("button", { name: /^Model: scripted-2/ }).getByText("here only").waitFor();
    await say(page, "who are you?");
    await log(page).getByText("An ordinary answer.").waitFor();
    const { runs } = await rig.server.api<{ runs: { model: string }[] }>("GET", `/runs?sessionId=${session}`);
    expect(runs[0]?.model).toBe("scripted-2");
    await page.getByRole("button", { name: /^Model: scripted-2/ }).click();
    await dialog.getByRole("button", { name: "Back to the agent’s model" }).click();
    await button.waitFor();
    expect((await rig.server.api<{ session: { modelOverride?: object } }>("GET", `/sessions/${session}`)).session.modelOverride).toBeUndefined();
  });

  it("that does not exist is refused in words", async () => {
    rig.expected = ["status of 4"];
    const { page } = await opened();
    await page.route("**/api/v1/sessions/*", (route) =>
      route.request().method() === "PATCH"
        ? route.fulfill({ status: 400, contentType: "application/problem+json", body: JSON.stringify({ status: 400, detail: "No such model.", code: "validation_failed" }) })
        : route.continue(),
    );
    await page.getByRole("button", { name: /^Model: scripted-1/ }).click();
    await page.getByRole("button", { name: "Use it here" }).click();
    await page.getByRole("alert").getByText("No such model.").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
  });
});

describe("the panel of details", () => {
  it("shows a call beside the conversation, at an address of its own", async () => {
    const { page } = await opened();
    await say(page, "beside the talk");
    await log(page).getByText("An ordinary answer.").waitFor();
    await log(page).getByRole("button", { name: /Wrote ~\/memory\/new.md/ }).click();
    await log(page).getByRole("link", { name: "Open beside" }).click();
    const panel = page.getByRole("complementary", { name: "Details" });
    await panel.getByRole("heading", { name: "Wrote ~/memory/new.md" }).waitFor();
    await page.reload();
    await panel.getByRole("region", { name: "Input of write" }).waitFor();
    for (const look of looks) {
      await page.setViewportSize(look);
      await page.emulateMedia({ colorScheme: look.theme });
      await accessible(page);
      await fits(page);
      await shoot(page, `session-panel-${look.name}`);
      // What is written is never under the panel.
      const [low, high] = await Promise.all([panel.boundingBox(), message(page).boundingBox()]);
      expect((low?.y ?? 0) + (low?.height ?? 0)).toBeLessThanOrEqual(high?.y ?? 0);
    }
    await page.keyboard.press("Escape");
    await panel.waitFor({ state: "detached" });
    expect(new URL(page.url()).search).toBe("");
  });

  it("shows the run that works", async () => {
    const { page } = await opened();
    await say(page, "stream something");
    await page.getByRole("region", { name: "Run in progress" }).getByRole("link", { name: "Run" }).click();
    const panel = page.getByRole("complementary", { name: "Details" });
    await panel.getByText("scripted/scripted-1").waitFor();
    await panel.getByRole("region", { name: "Timeline" }).waitFor();
    await accessible(page);
    await shoot(page, "session-panel-run");
    await page.getByRole("button", { name: "Stop" }).click();
    await panel.getByText(/Canceled after/).waitFor();
    await panel.getByRole("link", { name: "Close the details" }).click();
    await panel.waitFor({ state: "detached" });
  });

  it("says when what it should show is not there", async () => {
    rig.expected = ["status of 404"];
    const { page, session } = await opened();
    await page.goto(`/sessions/${session}?call=none`);
    await page.getByText("This call is not on the page").waitFor();
    await accessible(page);
    await page.goto(`/sessions/${session}?run=none`);
    await page.getByRole("alert").getByText("The run did not load").waitFor();
    await accessible(page);
  });
});

it("a conversation that is deleted elsewhere says so", async () => {
  rig.expected = ["status of 404"];
  const { page, session } = await opened("Doomed");
  await page.getByRole("heading", { level: 1, name: "Doomed" }).waitFor();
  await page.getByText("Say something to Scripted").waitFor();
  // The stream stands once it has said what the past was.
  await rig.server.say(session, "hello");
  await log(page).getByText("An ordinary answer.").waitFor();
  await rig.server.api("DELETE", `/sessions/${session}`);
  await page.getByText("There is no such conversation").waitFor();
});

describe("tool calls", () => {
  it("are one line each, which opens to the data and to the JSON behind it", async () => {
    const { page } = await opened();
    await say(page, "use gadgets");
    await log(page).getByText("An ordinary answer.").waitFor();
    const line = log(page).getByRole("button", { name: /Wrote ~\/memory\/new.md/ });
    await line.click();
    const input = page.getByRole("region", { name: "Input of write" });
    await input.getByText("~/memory/new.md").waitFor();
    await input.getByRole("button", { name: "JSON" }).click();
    expect(JSON.parse(await input.getByLabel("Input of write as JSON").innerText())).toEqual({ address: "~/memory/new.md", content: "x" });
    const failed = log(page).getByRole("button", { name: /Read ~\/memory\/tea.md/ });
    await failed.getByText("failed").waitFor();
    await failed.click();
    await page.getByRole("region", { name: "Error" }).waitFor();
    await accessible(page);
    await shoot(page, "session-tools");
    await line.click();
    expect(await line.getAttribute("aria-expanded")).toBe("false");
  });

  it("fold into a group when they are many", async () => {
    const { page } = await opened();
    await say(page, "do many things");
    await log(page).getByText("An ordinary answer.").waitFor();
    const group = log(page).getByRole("button", { name: /5 steps: read 5/ });
    expect(await log(page).getByRole("button", { name: /^Read/ }).count()).toBe(0);
    await group.click();
    await expect.poll(() => log(page).getByRole("button", { name: /^Read/ }).count()).toBe(5);
  });
});

it("a plan stands above the composer with its steps", async () => {
  const { page } = await opened();
  await say(page, "make a plan");
  const card = page.getByRole("region", { name: "Plan", exact: true });
  await card.getByText("1 of 3").waitFor();
  await card.getByRole("button").click();
  expect(await card.getByRole("listitem").allInnerTexts()).toEqual(["Step 1\ndone", "Step 2\nin progress", "Step 3\nto do"]);
  await accessible(page);
  await shoot(page, "session-plan");
  await page.getByRole("button", { name: "Stop" }).click();
  await page.getByRole("region", { name: "The last run was stopped" }).waitFor();
});

describe("the composer", () => {
  it("sends on Enter, breaks the line on Shift+Enter, and is focused by /", async () => {
    const { page } = await opened();
    await page.getByText("Say something to Scripted").waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("one");
    await page.keyboard.press("Shift+Enter");
    await page.keyboard.type("two");
    expect(await message(page).inputValue()).toBe("one\ntwo");
    await page.keyboard.press("Enter");
    await log(page).getByText("An ordinary answer.").waitFor();
    expect(await message(page).inputValue()).toBe("");
  });

  it("keeps the text of a message that was not sent, and sends it once", async () => {
    rig.expected = ["ERR_FAILED"];
    const { page, session } = await opened();
    await page.route("**/messages", (route) => route.abort());
    await say(page, "do not lose this");
    await page.getByRole("alert").getByText("Your text is still here.").waitFor();
    expect(await message(page).inputValue()).toBe("do not lose this");
    await accessible(page);
    await shoot(page, "session-not-sent");
    await page.unroute("**/messages");
    // The request arrives, its answer does not: the second attempt must not double the message.
    await page.route("**/messages", async (route) => {
      await route.fetch();
      await route.abort();
    });
    await message(page).press("Enter");
    await page.getByRole("alert").waitFor();
    await page.unroute("**/messages");
    await message(page).press("Enter");
    await log(page).getByText("An ordinary answer.").waitFor();
    const { events } = await rig.server.api<{ events: { event: { role?: string } }[] }>("GET", `/sessions/${session}`);
    expect(events.filter((entry) => entry.event.role === "user")).toHaveLength(1);
    expect(await log(page).getByText("do not lose this").count()).toBe(1);
  });

  it("keeps a draft over a reload", async () => {
    const { page } = await opened();
    await message(page).fill("a thought");
    await page.reload();
    await expect.poll(() => message(page).inputValue()).toBe("a thought");
  });

  it("attaches files that are chosen, dropped or pasted", async () => {
    const { page, session } = await opened();
    await page.locator("input[type=file]").setInputFiles({ name: "chosen.txt", mimeType: "text/plain", buffer: Buffer.from("one") });
    for (const [kind, name] of [["drop", "dropped.txt"], ["paste", "pasted.txt"]] as const) {
      await message(page).evaluate(
        (element, { kind, name }) => {
          const data = new DataTransfer();
          data.items.add(new File(["two"], name, { type: "text/plain" }));
          const init = { bubbles: true, cancelable: true };
          element.dispatchEvent(kind === "drop" ? new DragEvent("drop", { ...init, dataTransfer: data }) : new ClipboardEvent("paste", { ...init, clipboardData: data }));
        },
        { kind, name },
      );
    }
    await page.getByText("pasted.txt").waitFor();
    await page.getByRole("button", { name: "Remove dropped.txt" }).click();
    await say(page, "with files");
    await log(page).getByText("An ordinary answer.").waitFor();
    const link = log(page).getByRole("link", { name: /chosen.txt/ });
    const [download] = await Promise.all([page.waitForEvent("download"), link.click()]);
    expect(download.suggestedFilename()).toBe("chosen.txt");
    const { events } = await rig.server.api<{ events: { event: { attachments?: { name: string }[] } }[] }>("GET", `/sessions/${session}`);
    expect(events[0]?.event.attachments?.map((file) => file.name)).toEqual(["chosen.txt", "pasted.txt"]);
  });

  it("asks for a word when there are only files", async () => {
    const { page } = await opened();
    await page.locator("input[type=file]").setInputFiles({ name: "alone.txt", mimeType: "text/plain", buffer: Buffer.from("one") });
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByRole("alert").getByText("Write a word about the file").waitFor();
    await accessible(page);
    await say(page, "look");
    await log(page).getByText("An ordinary answer.").waitFor();
    expect(await page.getByRole("alert").count()).toBe(0);
    await log(page).getByRole("link", { name: /alone.txt/ }).waitFor();
  });

  it.each([
    ["half of it", /Context \d+ %, filling up/],
    ["big text", /Context \d+ %, nearly full/],
  ])("shows how full the context is after %s", async (text, words) => {
    const { page } = await opened();
    await say(page, text);
    await page.getByRole("img", { name: words }).waitFor();
    await accessible(page);
  });
});

describe("a long conversation", () => {
  let session = "";
  beforeAll(async () => {
    session = await rig.server.session(agent, "Long");
    for (let i = 0; i < 70; i++) await rig.server.say(session, `question ${i}`);
  });

  it("opens at its end, keeps few rows, and loads older ones where the reader is", async () => {
    const page = await rig.page(`/sessions/${session}`);
    await log(page).getByText("question 69", { exact: true }).waitFor();
    expect(await log(page).getAttribute("data-at-end")).toBe("true");
    expect(await page.locator(".transcript-row").count()).toBeLessThan(60);
    for (;;) {
      await log(page).evaluate((box) => (box.scrollTop = 0));
      if (await log(page).getByText("question 0", { exact: true }).isVisible()) break;
      await page.waitForFunction(() => (document.querySelector(".transcript")?.scrollTop ?? 0) > 0 || document.querySelector(".transcript")?.textContent?.includes("question 0"));
    }
    await page.getByRole("button", { name: "To the end" }).click();
    await log(page).getByText("question 69", { exact: true }).waitFor();
  });

  it("stays where the reader is when something arrives, and says so", async () => {
    const page = await rig.page(`/sessions/${session}`);
    await log(page).getByText("question 69", { exact: true }).waitFor();
    await log(page).evaluate((box) => (box.scrollTop -= 900));
    await page.getByRole("button", { name: "To the end" }).waitFor();
    const place = await log(page).evaluate((box) => box.scrollTop);
    await rig.server.say(session, "news");
    const pill = page.getByRole("button", { name: "New messages" });
    await pill.waitFor();
    expect(Math.abs((await log(page).evaluate((box) => box.scrollTop)) - place)).toBeLessThan(2);
    await shoot(page, "session-news");
    await pill.click();
    await log(page).getByText("news", { exact: true }).waitFor();
    await expect.poll(() => log(page).getAttribute("data-at-end")).toBe("true");
  });
});

it("leads to the conversation in which the agent goes on, and back", async () => {
  const session = await rig.server.session(agent, "This shore");
  await rig.server.say(session, "begin afresh");
  const page = await rig.page(`/sessions/${session}`);
  await page.getByRole("link", { name: "The other shore" }).last().click();
  await page.getByRole("heading", { name: "The other shore" }).waitFor();
  await page.getByRole("log").getByText("An ordinary answer.").waitFor();
  await accessible(page);
  await shoot(page, "continued");
  await page.getByText("Goes on with This shore").getByRole("link").click();
  await page.getByRole("heading", { name: "This shore" }).waitFor();
});
