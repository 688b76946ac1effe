// What a real server never sends: events twice, out of order, with a gap, and answers that join in the middle.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { prefetchSession } from "../api/operations.ts";
import type { SessionEvent } from "../api/types.ts";
import { SessionStore } from "./store.ts";

const event = (seq: number, role: "user" | "assistant" = "assistant", clientMessageId?: string): SessionEvent => ({
  id: `e${seq}`, sessionId: "s", seq, createdAt: seq, event: { type: "message", role, content: `text ${seq}`, ...(clientMessageId ? { clientMessageId } : {}) },
});
const session = { id: "s", account: "a", agentId: "g", status: "streaming", createdAt: 0, updatedAt: 0 };

/** A server whose log and stream the test holds in its hands. */
class FakeServer {
  log: SessionEvent[] = [];
  /** Addresses of the streams that were opened. */
  opened: string[] = [];
  /** Called when an answer was made and is not sent yet. */
  onRead: (() => void) | undefined;
  private stream: ReadableStreamDefaultController<Uint8Array> | undefined;

  readonly fetch = async (address: string): Promise<Response> => {
    const url = new URL(address, "http://localhost");
    if (url.pathname.endsWith("/stream")) {
      this.opened.push(url.search);
      return new Response(new ReadableStream({ start: (controller) => void (this.stream = controller) }));
    }
    const after = Number(url.searchParams.get("afterSeq") ?? 0);
    const before = Number(url.searchParams.get("beforeSeq") ?? Infinity);
    const limit = Number(url.searchParams.get("limit") ?? 1_000);
    const all = this.log.filter((entry) => entry.seq > after && entry.seq < before);
    const answer = Response.json({ session, events: all.slice(-limit), hasMoreBefore: all.length > limit });
    this.onRead?.();
    await new Promise((resolve) => setTimeout(resolve, 5));
    return answer;
  };

  send(name: string, data: unknown): void {
    this.stream?.enqueue(new TextEncoder().encode(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`));
  }

  drop(): void {
    this.stream?.error(new Error("connection lost"));
  }
}

const seqs = (store: SessionStore): number[] => store.snapshot().events.map((entry) => entry.seq);
const partial = (patch: object): object => ({ partialId: "p", patch });
let server: FakeServer;
let store: SessionStore;

beforeEach(async () => {
  vi.stubGlobal("document", Object.assign(new EventTarget(), { visibilityState: "visible" }));
  vi.stubGlobal("window", globalThis);
  vi.stubGlobal("addEventListener", () => undefined);
  vi.stubGlobal("removeEventListener", () => undefined);
  vi.stubGlobal("requestAnimationFrame", (run: () => void) => (run(), 0));
  vi.stubGlobal("cancelAnimationFrame", () => undefined);
  server = new FakeServer();
  server.log = [event(1, "user"), event(2)];
  vi.stubGlobal("fetch", server.fetch);
  store = new SessionStore("s");
  await store.open();
  await vi.waitFor(() => expect(store.snapshot().connection).toBe("live"));
});
afterEach(() => {
  store.close();
  vi.unstubAllGlobals();
});

describe("the log", () => {
  it("is followed from the last event that was loaded", () => expect([seqs(store), server.opened]).toEqual([[1, 2], ["?afterSeq=2"]]));

  it("takes an event that comes twice once", async () => {
    server.send("event", event(3));
    server.send("event", event(3));
    server.send("event", event(2));
    server.send("event", event(4));
    await vi.waitFor(() => expect(seqs(store)).toEqual([1, 2, 3, 4]));
  });

  it("fetches what lies in a gap before it shows what comes after", async () => {
    server.log.push(event(3), event(4), event(5));
    server.send("event", event(5));
    await vi.waitFor(() => expect(seqs(store)).toEqual([1, 2, 3, 4, 5]));
  });

  it("does not lose what arrives while a gap is filled", async () => {
    server.log.push(event(3), event(4));
    server.send("event", event(4));
    // The answer to the request for 3 and 4 is made before 5 exists.
    server.onRead = () => {
      server.onRead = undefined;
      server.log.push(event(5));
      server.send("event", event(5));
    };
    await vi.waitFor(() => expect(seqs(store)).toEqual([1, 2, 3, 4, 5]));
  });

  it("goes on after a lost connection where it was", async () => {
    server.send("event", event(3));
    await vi.waitFor(() => expect(seqs(store)).toEqual([1, 2, 3]));
    server.drop();
    await vi.waitFor(() => expect(server.opened).toEqual(["?afterSeq=2", "?afterSeq=3"]));
  });
});

describe("pending messages", () => {
  it("leave when they are in the log, also when they arrived before they were known here", async () => {
    store.addPending({ key: "k1", text: "a", files: [] });
    server.send("event", event(3, "user", "k1"));
    await vi.waitFor(() => expect(store.snapshot().pending).toEqual([]));
    store.addPending({ key: "k1", text: "a", files: [] });
    expect(store.snapshot().pending).toEqual([]);
  });
});

describe("an answer in progress", () => {
  const said = (): [string, boolean] => [store.liveSnapshot().text, store.liveSnapshot().cut];

  it("grows, and is empty again when its event is there", async () => {
    server.send("partial", partial({ activity: { phase: "responding" } }));
    server.send("partial", partial({ textDelta: "Hello" }));
    server.send("partial", partial({ textDelta: " you" }));
    await vi.waitFor(() => expect(said()).toEqual(["Hello you", false]));
    server.send("partial", partial({ done: true }));
    server.send("event", event(3));
    await vi.waitFor(() => expect(said()).toEqual(["", false]));
  });

  it("says that its beginning is not known when the page came in the middle", async () => {
    server.send("partial", partial({ textDelta: "the end of it" }));
    await vi.waitFor(() => expect(said()).toEqual(["the end of it", true]));
  });

  it("stays on screen while the server is away, and begins anew with what comes after", async () => {
    server.send("partial", partial({ activity: { phase: "responding" } }));
    server.send("partial", partial({ textDelta: "Half" }));
    await vi.waitFor(() => expect(said()).toEqual(["Half", false]));
    server.drop();
    await vi.waitFor(() => expect(server.opened).toHaveLength(2));
    expect(said()).toEqual(["Half", false]);
    server.send("partial", partial({ activity: { phase: "responding" } }));
    server.send("partial", partial({ textDelta: "All" }));
    await vi.waitFor(() => expect(said()).toEqual(["All", false]));
  });

  it("gives its connection back while the page is hidden, and goes on when it is looked at again", async () => {
    vi.useFakeTimers();
    Object.assign(document, { visibilityState: "hidden" });
    document.dispatchEvent(new Event("visibilitychange"));
    vi.advanceTimersByTime(5_000);
    vi.useRealTimers();
    expect(store.snapshot().connection).toBe("paused");
    Object.assign(document, { visibilityState: "visible" });
    document.dispatchEvent(new Event("visibilitychange"));
    await vi.waitFor(() => expect([store.snapshot().connection, server.opened]).toEqual(["live", ["?afterSeq=2", "?afterSeq=2"]]));
  });

  it("is over when the session has nothing to do", async () => {
    server.send("partial", partial({ activity: { phase: "thinking" } }));
    await vi.waitFor(() => expect(store.liveSnapshot().activity?.phase).toBe("thinking"));
    server.send("session", { ...session, status: "idle" });
    await vi.waitFor(() => expect(store.liveSnapshot().activity).toBeUndefined());
  });
});

it("takes what was asked for ahead, once, and follows from there", async () => {
  store.close();
  prefetchSession("s");
  server.log.push(event(3));
  store = new SessionStore("s");
  await store.open();
  expect(seqs(store)).toEqual([1, 2]);
  await vi.waitFor(() => expect(server.opened.at(-1)).toBe("?afterSeq=2"));
  await store.open();
  expect(seqs(store)).toEqual([1, 2, 3]);
});

it("older events come before those that are here", async () => {
  store.close();
  server.log = Array.from({ length: 300 }, (_, i) => event(i + 1));
  store = new SessionStore("s");
  await store.open();
  expect([seqs(store)[0], seqs(store).length, store.snapshot().hasMoreBefore]).toEqual([181, 120, true]);
  await store.loadBefore();
  await store.loadBefore();
  expect([seqs(store)[0], seqs(store).length, store.snapshot().hasMoreBefore]).toEqual([1, 300, false]);
});
