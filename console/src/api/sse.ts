// Server-sent events over the window's tunnel or fetch: unlike EventSource it sees refusals, resumes from a position that the caller owns, and can be
// let go while the page is hidden.
import { ApiError, refusal } from "./client.ts";
import { openStream } from "./tunnel.ts";

export interface StreamMessage {
  event: string;
  id: string;
  data: string;
}

/** Cuts a stream of text into messages. Feed it chunks of any size. */
export class EventParser {
  private rest = "";
  private event = "";
  private id = "";
  private data: string[] = [];
  private readonly emit: (message: StreamMessage) => void;

  constructor(emit: (message: StreamMessage) => void) {
    this.emit = emit;
  }

  push(chunk: string): void {
    const text = this.rest + chunk;
    // A lone CR at the end may be half of CRLF.
    const usable = text.endsWith("\r") ? text.length - 1 : text.length;
    const lines = text.slice(0, usable).split(/\r\n|\n|\r/);
    this.rest = (lines.pop() ?? "") + text.slice(usable);
    for (const line of lines) this.line(line);
  }

  private line(line: string): void {
    if (line === "") {
      if (this.data.length > 0) this.emit({ event: this.event || "message", id: this.id, data: this.data.join("\n") });
      this.event = "";
      this.data = [];
      return;
    }
    if (line.startsWith(":")) return;
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") this.event = value;
    else if (field === "data") this.data.push(value);
    else if (field === "id") this.id = value;
  }
}

/** connecting: the first attempt runs; live: messages arrive; reconnecting: the server is away; paused: the page is hidden. */
export type StreamState = "connecting" | "live" | "reconnecting" | "paused" | "ended";

export interface StreamOptions {
  /** Asked before every attempt, so that a resumed stream continues where the last one stopped. */
  url: () => string;
  onMessage: (message: StreamMessage) => void;
  onState: (state: StreamState) => void;
  /** A refusal that waiting does not mend: no access, gone. The stream has ended. */
  onRefused: (error: ApiError) => void;
}

const away = new Set<EventStream>();
const watchers = new Set<() => void>();

/** Tells whether any stream has lost the server, for useSyncExternalStore. */
export const connection = {
  subscribe: (watcher: () => void): (() => void) => {
    watchers.add(watcher);
    return () => watchers.delete(watcher);
  },
  isAway: (): boolean => away.size > 0,
};

const firstPause = 250;
const longestPause = 5_000;
/** The server sends at least a comment every 15 s; a silence this long means that the connection is dead. */
const silence = 40_000;
/** A hidden page gives its connection back: nobody looks at it, and the server has less to do. */
const hiddenGrace = 5_000;

/** Follows a stream until close is called. */
export class EventStream {
  private attempt: AbortController | undefined;
  private timer: number | undefined;
  private hidden: number | undefined;
  private pause = firstPause;
  private state: StreamState = "connecting";
  private readonly options: StreamOptions;

  constructor(options: StreamOptions) {
    this.options = options;
    document.addEventListener("visibilitychange", this.visibility);
    addEventListener("online", this.online);
    // A tab that was opened behind another begins when it is looked at.
    if (document.visibilityState === "hidden") this.state = "paused";
    else void this.connect();
  }

  close(): void {
    this.enter("ended");
    document.removeEventListener("visibilitychange", this.visibility);
    removeEventListener("online", this.online);
    clearTimeout(this.timer);
    clearTimeout(this.hidden);
    this.attempt?.abort();
  }

  private readonly online = (): void => {
    if (this.state === "reconnecting") this.retry(0);
  };

  private readonly visibility = (): void => {
    clearTimeout(this.hidden);
    if (document.visibilityState === "hidden") {
      this.hidden = window.setTimeout(() => {
        if (this.state === "ended") return;
        this.enter("paused");
        clearTimeout(this.timer);
        this.attempt?.abort();
      }, hiddenGrace);
    } else if (this.state === "paused") {
      this.enter("connecting");
      void this.connect();
    } else if (this.state === "reconnecting") {
      this.retry(0);
    }
  };

  private enter(state: StreamState): void {
    if (this.state === state || this.state === "ended") return;
    this.state = state;
    if (state === "reconnecting") away.add(this);
    else away.delete(this);
    for (const watcher of watchers) watcher();
    this.options.onState(state);
  }

  /** Asked after something was awaited, when the state may be another one. */
  private is(state: StreamState): boolean {
    return this.state === state;
  }

  private retry(after: number): void {
    clearTimeout(this.timer);
    this.enter("reconnecting");
    this.timer = window.setTimeout(() => void this.connect(), after);
  }

  private async connect(): Promise<void> {
    if (this.is("ended")) return;
    this.attempt?.abort();
    const attempt = new AbortController();
    this.attempt = attempt;
    try {
      const response = await openStream(this.options.url(), attempt.signal);
      if (!response.ok || response.body === null) {
        if (response.status >= 400 && response.status < 500 && response.status !== 429) {
          const error = await refusal(response);
          this.close();
          this.options.onRefused(error);
          return;
        }
        throw new Error(`status ${response.status}`);
      }
      this.enter("live");
      await this.read(response.body, attempt);
    } catch {
      // Why it broke does not matter: it is tried again from the position the caller holds.
    }
    if (attempt.signal.aborted && this.attempt !== attempt) return;
    if (this.is("ended") || this.is("paused")) return;
    this.retry(this.pause);
    this.pause = Math.min(this.pause * 2, longestPause);
  }

  private async read(body: ReadableStream<Uint8Array>, attempt: AbortController): Promise<void> {
    const parser = new EventParser((message) => {
      this.pause = firstPause;
      if (message.event === "end" && (JSON.parse(message.data) as { reason: string }).reason === "deleted") {
        this.close();
        this.options.onRefused(new ApiError("It was deleted.", { code: "not_found", status: 404 }));
        return;
      }
      this.options.onMessage(message);
    });
    const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
    let watchdog = 0;
    try {
      for (;;) {
        clearTimeout(watchdog);
        watchdog = window.setTimeout(() => attempt.abort(), silence);
        const { done, value } = await reader.read();
        if (done || attempt.signal.aborted) return;
        parser.push(value);
      }
    } finally {
      clearTimeout(watchdog);
    }
  }
}
