// One conversation as the page holds it: a dense piece of its log, what is being said right now, and whether the server is there.
//
// The log on the server is the truth. Events are taken in the order of their seq only: one that is already here is dropped, and a
// gap is fetched before anything after it is shown. So a page that was away, even while the server was killed, shows in the end
// what every other page shows.
import { ApiError } from "../api/client.ts";
import { getSession, openSession, sessionPageSize, sessionStream, type SessionPage } from "../api/operations.ts";
import { EventStream, type StreamMessage, type StreamState } from "../api/sse.ts";
import type { PartialFrame, RunActivity, Session, SessionEvent, Usage } from "../api/types.ts";

/** A message that was sent from here and is not in the log yet. */
export interface Pending {
  key: string;
  text: string;
  files: { name: string; size: number }[];
}

export interface SessionState {
  session: Session | undefined;
  events: readonly SessionEvent[];
  pending: readonly Pending[];
  hasMoreBefore: boolean;
  loadingBefore: boolean;
  contextWindow: number | undefined;
  connection: StreamState;
  /** Why the conversation cannot be shown at all. */
  error: ApiError | undefined;
}

/** What the agent says and does at this moment. Nothing of it is durable. */
export interface Live {
  text: string;
  /** The page joined in the middle: the beginning of the text is not known here. */
  cut: boolean;
  activity: RunActivity | undefined;
  usage: Usage | undefined;
}

const nothing: Live = { text: "", cut: false, activity: undefined, usage: undefined };

export class SessionStore {
  private state: SessionState = {
    session: undefined, events: [], pending: [], hasMoreBefore: false, loadingBefore: false, contextWindow: undefined,
    connection: "connecting", error: undefined,
  };
  private live: Live = nothing;
  private listeners = new Set<() => void>();
  private liveListeners = new Set<() => void>();
  private frame = 0;
  private stream: EventStream | undefined;
  /** Grows with every open and close: an answer that belongs to an earlier one is dropped. */
  private turn = 0;
  private filling = false;
  /** The highest seq that was seen, on screen or not. */
  private newest = 0;
  /** The stream broke: what is on screen stays there until something newer is known. */
  private stale = false;
  /** A delta before the phase "responding" belongs to a text whose beginning was not seen. */
  private responding = false;
  readonly sessionId: string;

  constructor(sessionId: string) {
    this.sessionId = sessionId;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };
  readonly snapshot = (): SessionState => this.state;
  readonly subscribeLive = (listener: () => void): (() => void) => {
    this.liveListeners.add(listener);
    return () => this.liveListeners.delete(listener);
  };
  readonly liveSnapshot = (): Live => this.live;

  /** Loads the newest events, then follows. */
  async open(): Promise<void> {
    this.close();
    const turn = this.turn;
    this.set({ error: undefined, connection: "connecting" });
    try {
      const page = await openSession(this.sessionId);
      if (turn !== this.turn) return;
      this.take(page);
      this.follow();
    } catch (error) {
      if (turn === this.turn) this.set({ error: asApiError(error), connection: "ended" });
    }
  }

  close(): void {
    this.turn++;
    this.stream?.close();
    this.stream = undefined;
    cancelAnimationFrame(this.frame);
    this.frame = 0;
  }

  async loadBefore(): Promise<void> {
    const first = this.state.events[0];
    if (!first || !this.state.hasMoreBefore || this.state.loadingBefore) return;
    this.set({ loadingBefore: true });
    try {
      const page = await getSession(this.sessionId, { beforeSeq: first.seq, limit: sessionPageSize });
      const older = page.events.filter((event) => event.seq < (this.state.events[0]?.seq ?? 0));
      this.set({ events: [...older, ...this.state.events], hasMoreBefore: page.hasMoreBefore ?? false });
    } catch {
      // The reader scrolls again, or the connection says that it is away.
    } finally {
      this.set({ loadingBefore: false });
    }
  }

  addPending(pending: Pending): void {
    this.set({ pending: [...this.state.pending, pending] });
    // A second attempt may follow a first one that arrived although its answer did not.
    this.settle(this.state.events);
  }

  dropPending(key: string): void {
    this.set({ pending: this.state.pending.filter((entry) => entry.key !== key) });
  }

  /** The session as an answer of another request has it. */
  setSession(session: Session): void {
    this.set({ session });
  }

  private take(page: SessionPage): void {
    this.set({
      session: page.session, events: page.events, contextWindow: page.contextWindow, hasMoreBefore: page.hasMoreBefore ?? false, error: undefined,
    });
    this.settle(page.events);
  }

  private lastSeq(): number {
    return this.state.events.at(-1)?.seq ?? 0;
  }

  private follow(): void {
    this.stream = new EventStream({
      url: () => sessionStream(this.sessionId, this.lastSeq()),
      onMessage: (message) => this.receive(message),
      onState: (connection) => {
        this.set({ connection });
        if (connection === "reconnecting" || connection === "paused") this.stale = true;
      },
      onRefused: (error) => this.set({ error, connection: "ended" }),
    });
  }

  private receive(message: StreamMessage): void {
    switch (message.event) {
      case "event":
        this.append(JSON.parse(message.data) as SessionEvent);
        break;
      case "partial":
        this.speak(JSON.parse(message.data) as PartialFrame);
        break;
      case "session":
        this.change(JSON.parse(message.data) as Session);
        break;
    }
  }

  private change(session: Session): void {
    this.set({ session });
    if (session.status !== "streaming") this.forgetLive();
  }

  private append(event: SessionEvent): void {
    const last = this.lastSeq();
    this.newest = Math.max(this.newest, event.seq);
    if (event.seq <= last || this.filling) return;
    if (event.seq > last + 1 && last > 0) {
      void this.fill();
      return;
    }
    this.add([event]);
  }

  /** Fetches what lies between the last event here and the newest, events that arrive meanwhile among them. */
  private async fill(): Promise<void> {
    this.filling = true;
    try {
      for (let found = true; found && this.newest > this.lastSeq(); ) {
        const page = await getSession(this.sessionId, { afterSeq: this.lastSeq() });
        const events = page.events.filter((event) => event.seq > this.lastSeq());
        found = events.length > 0;
        this.add(events);
      }
    } catch {
      // The next event, or the stream that resumes, finds the gap again.
    } finally {
      this.filling = false;
    }
  }

  private add(events: readonly SessionEvent[]): void {
    if (events.length === 0) return;
    this.set({ events: [...this.state.events, ...events] });
    this.settle(events);
    // What was being said is an event now; a later text of the same turn begins anew.
    if (events.some((event) => !isUserMessage(event))) this.setLive({ ...this.live, text: "", cut: false });
  }

  /** Takes away pending messages that are in the log. */
  private settle(events: readonly SessionEvent[]): void {
    if (this.state.pending.length === 0) return;
    const arrived = new Set(events.map((event) => (event.event.type === "message" ? event.event.clientMessageId : undefined)));
    this.set({ pending: this.state.pending.filter((entry) => !arrived.has(entry.key)) });
  }

  private speak({ patch }: PartialFrame): void {
    let { text, cut } = this.live;
    if (this.stale) {
      this.stale = false;
      this.responding = false;
      text = "";
      cut = false;
    }
    if (patch.activity) this.responding = patch.activity.phase === "responding";
    if (patch.textDelta) {
      if (text === "" && !this.responding) cut = true;
      this.responding = true;
      text += patch.textDelta;
    }
    if (patch.done) this.responding = false;
    this.setLive({ text, cut, activity: patch.activity ?? this.live.activity, usage: patch.usage ?? this.live.usage });
  }

  private forgetLive(): void {
    this.stale = false;
    this.responding = false;
    this.setLive(nothing);
  }

  private set(change: Partial<SessionState>): void {
    this.state = { ...this.state, ...change };
    for (const listener of this.listeners) listener();
  }

  /** Deltas may come by the hundred a second; they are shown once a frame. */
  private setLive(live: Live): void {
    this.live = live;
    if (this.frame !== 0) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      for (const listener of this.liveListeners) listener();
    });
  }
}

const isUserMessage = (event: SessionEvent): boolean => event.event.type === "message" && event.event.role === "user";

function asApiError(error: unknown): ApiError {
  return error instanceof ApiError ? error : new ApiError(String(error), { code: "internal_error", status: 0 });
}
