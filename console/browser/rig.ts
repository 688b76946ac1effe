// What the tests stand on: the real server on a free port with an empty folder, a scripted model behind it, and Chromium.
import { spawn, type ChildProcess } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { createInterface } from "node:readline";
import { chromium, type Browser, type BrowserContext, type Page } from "playwright-core";

const root = join(import.meta.dirname, "..", "..");
const loam = join(root, "bin", "loam");

/** The system's Chromium, by the names that .ci/need knows. */
const executable =
  process.env.LOAM_CHROMIUM ??
  (process.env.PATH ?? "")
    .split(delimiter)
    .flatMap((folder) => ["chromium", "chromium-browser", "google-chrome"].map((name) => join(folder, name)))
    .find(existsSync) ??
  "chromium";

/** Runs a program until stop, and resolves with the first line that `ready` recognises. */
async function launch<T>(program: string, args: string[], ready: (line: string) => T | undefined, env = process.env) {
  const child = spawn(program, args, { env, stdio: ["ignore", "pipe", "pipe"] });
  const lines: string[] = [];
  const value = await new Promise<T>((resolve, reject) => {
    const read = (line: string): void => {
      lines.push(line);
      const found = ready(line);
      if (found !== undefined) resolve(found);
    };
    createInterface({ input: child.stdout }).on("line", read);
    createInterface({ input: child.stderr }).on("line", read);
    child.once("error", reject);
    child.once("exit", (code) => reject(new Error(`${program} ended with ${code}:\n${lines.join("\n")}`)));
  });
  return { child, value, lines };
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = new Promise((resolve) => child.once("exit", resolve));
  child.kill(signal);
  await exited;
}

/** A provider's answers, in the format of internal/model/scripted. */
export interface Turn {
  match?: { user?: string; result?: string; nth?: number; model?: string };
  repeat?: boolean;
  delayMillis?: number;
  steps?: object[];
  usage?: object;
  status?: number;
  errorMessage?: string;
}

export async function startModel(turns: Turn[]) {
  const folder = mkdtempSync(join(tmpdir(), "loam-model-"));
  const script = join(folder, "script.json");
  writeFileSync(script, JSON.stringify({ models: ["scripted-1", "scripted-2"], turns }));
  const { child, value } = await launch(join(root, ".cache", "bin", "scriptedmodel"), ["-script", script], (line) =>
    line.startsWith("http") ? line : undefined,
  );
  return {
    url: value,
    stop: async () => {
      await end(child, "SIGINT");
      rmSync(folder, { recursive: true });
    },
  };
}

/** A server whose first agent runs on the tutor. It keeps its port and its data over kill and start. */
export class Server {
  private readonly folder = mkdtempSync(join(tmpdir(), "loam-console-"));
  private child: ChildProcess | undefined;
  private token = "";
  private listen = "127.0.0.1:0";
  url = "";
  /** The link that the first start printed. */
  link = "";

  async start(): Promise<this> {
    const env: NodeJS.ProcessEnv = { PATH: process.env.PATH, LOAM_TUTOR_PACE: "0s" };
    const first = this.url === "";
    let url = "";
    const { child, value } = await launch(
      loam,
      ["serve", "--data", this.folder, "--listen", this.listen],
      (line) => {
        url ||= /msg=ready.* url=(\S+)/.exec(line)?.[1] ?? "";
        const link = /^Sign in, once, .*: (\S+)$/.exec(line)?.[1];
        return first ? link : url || undefined;
      },
      env,
    );
    this.child = child;
    if (first) {
      this.link = value;
      this.url = new URL(value).origin;
      this.listen = new URL(url).host;
    }
    return this;
  }

  /** Ends the process as a power cut would. */
  async kill(): Promise<void> {
    if (this.child) await end(this.child, "SIGKILL");
  }

  async stop(): Promise<void> {
    if (this.child) await end(this.child, "SIGTERM");
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Runs a command of the command line against this server and returns what it prints. */
  command(...args: string[]): Promise<string> {
    return this.run(loam, ...args, "--data", this.folder);
  }

  /** Lets a new key act for the owner, as a desktop client does, and returns its principal. */
  delegate(label: string): Promise<string> {
    return this.run(join(root, ".cache", "bin", "delegate"), "-data", this.folder, "-url", this.url, "-label", label);
  }

  private async run(program: string, ...args: string[]): Promise<string> {
    const child = spawn(program, args, { stdio: ["ignore", "pipe", "inherit"] });
    let out = "";
    child.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()));
    const code = await new Promise((resolve) => child.once("close", resolve));
    if (code !== 0) throw new Error(`${program} ${args.join(" ")} ended with ${code}`);
    return out.trim();
  }

  /** Says something in a terminal, with `loam chat`, which stays until the turn has ended. */
  terminal(sessionId: string, text: string): { output: () => string; ended: Promise<number | null> } {
    const child = spawn(loam, ["chat", "--session", sessionId, "--data", this.folder], { stdio: ["pipe", "pipe", "pipe"] });
    let out = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (out += chunk.toString()));
    child.stdin.end(`${text}\n`);
    return { output: () => out, ended: new Promise((resolve) => child.once("close", resolve)) };
  }

  /** A call of the REST API as the owner, to set a scene. */
  async api<T>(method: string, path: string, body?: unknown): Promise<T> {
    this.token ||= await this.command("tokens", "create", "tests", "--scopes", "read,write,admin");
    const response = await fetch(`${this.url}/api/v1${path}`, {
      method,
      headers: { Authorization: `Bearer ${this.token}`, "Content-Type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as T;
  }

  /** Connects a scripted model and makes an agent that runs on it. */
  async scriptedAgent(modelUrl: string, name = "Scripted"): Promise<string> {
    await this.api("PUT", "/providers/scripted", { provider: { type: "custom", baseUrl: `${modelUrl}/v1` } });
    const { agentId } = await this.api<{ agentId: string }>("POST", "/agents", {
      definition: { name, systemPrompt: "Follow the script.", modelProvider: "scripted", model: "scripted-1" },
    });
    return agentId;
  }

  /** Has an agent ask before it calls a tool. */
  async askFirst(agentId: string, tool: string): Promise<void> {
    const { agent, systemPromptMarkdown } = await this.api<{ agent: { definition: Record<string, unknown> }; systemPromptMarkdown: string }>("GET", `/agents/${agentId}`);
    await this.api("PUT", `/agents/${agentId}`, { definition: { ...agent.definition, systemPrompt: systemPromptMarkdown, toolApproval: { tools: { [tool]: "required" } } } });
  }

  async session(agentId: string, title?: string): Promise<string> {
    const body = title === undefined ? {} : { title };
    return (await this.api<{ sessionId: string }>("POST", `/agents/${agentId}/sessions`, body)).sessionId;
  }

  /** Says something and waits for the end of the turn. */
  async say(sessionId: string, text: string): Promise<void> {
    await this.api("POST", `/sessions/${sessionId}/messages`, { content: [{ type: "text", text }] });
  }
}

/** Opens pages that are signed in, and remembers what went wrong in any of them. */
export class Rig {
  readonly server = new Server();
  /** What a test breaks on purpose: complaints that contain one of these are none. */
  expected: string[] = [];
  private readonly problems: string[] = [];
  private browser: Browser | undefined;
  /** The browser of most tests. It is kept, since beginning a new one takes longer than most tests. */
  private home: BrowserContext | undefined;
  private guests: BrowserContext[] = [];

  async start(): Promise<this> {
    await this.server.start();
    this.browser = await chromium.launch({ executablePath: executable, args: ["--no-sandbox", "--disable-gpu"] });
    return this;
  }

  async stop(): Promise<void> {
    await this.browser?.close();
    await this.server.stop();
  }

  /** Closes what a test has opened, and fails it when a browser complained. */
  async clean(): Promise<void> {
    for (const context of this.guests.splice(0)) await context.close();
    for (const page of this.home?.pages() ?? []) {
      await page.evaluate(() => localStorage.clear()).catch(() => undefined); // the page may be gone already
      await page.close();
    }
    const bad = this.problems.splice(0).filter((problem) => !this.expected.some((part) => problem.includes(part)));
    this.expected = [];
    if (bad.length > 0) throw new Error(`the browser complained:\n${bad.join("\n")}`);
  }

  /** A page that the owner is signed in with. */
  async page(path: string): Promise<Page> {
    this.home ??= await this.signedIn();
    const page = await this.watched(this.home);
    await page.goto(path);
    return page;
  }

  /** A page of another browser of the owner. */
  async guest(path: string): Promise<Page> {
    const context = await this.signedIn();
    this.guests.push(context);
    const page = await this.watched(context);
    await page.goto(path);
    return page;
  }

  /** A page of a browser that nobody is signed in with. */
  async stranger(): Promise<Page> {
    const context = await this.context();
    this.guests.push(context);
    return this.watched(context);
  }

  private context(): Promise<BrowserContext> {
    if (!this.browser) throw new Error("start first");
    return this.browser.newContext({
      viewport: { width: 1280, height: 800 },
      colorScheme: "light",
      reducedMotion: "reduce",
      baseURL: this.server.url,
      permissions: ["clipboard-read", "clipboard-write"],
    });
  }

  /** Signs in as people do. */
  private async signedIn(): Promise<BrowserContext> {
    const context = await this.context();
    const page = await context.newPage();
    await page.goto(await this.server.command("link"));
    await page.getByRole("navigation", { name: "Main" }).waitFor();
    await page.close();
    return context;
  }

  private async watched(context: BrowserContext): Promise<Page> {
    const page = await context.newPage();
    page.setDefaultTimeout(20_000);
    page.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning") this.problems.push(`${message.text()} (${message.location().url})`);
    });
    page.on("pageerror", (error) => this.problems.push(String(error)));
    return page;
  }
}
