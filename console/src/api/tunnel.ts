// One WebSocket for all event streams of a window. A browser opens six connections to a server of HTTP/1.1 for all windows together;
// sockets are not among them, so that any number of windows stays live. Where no socket can be opened, as behind a proxy that
// passes none, streams are plain requests.

interface Told {
  id: number;
  status?: number;
  type?: string;
  data?: string;
  end?: boolean;
}

interface Stream {
  begin: (status: number, type: string) => void;
  data: (text: string) => void;
  end: () => void;
  fail: () => void;
}

const base = "/api/v1";
/** How long plain requests are used after a socket could not be opened although the server was there. */
const rest = 5 * 60_000;

let socket: Promise<WebSocket> | undefined;
let withoutUntil = 0;
let last = 0;
const streams = new Map<number, Stream>();

function connect(): Promise<WebSocket> {
  socket ??= new Promise((resolve, reject) => {
    const opening = new WebSocket(`${location.origin.replace(/^http/, "ws")}${base}/tunnel`);
    opening.onopen = () => resolve(opening);
    opening.onmessage = (event) => receive(JSON.parse(event.data as string) as Told);
    opening.onclose = () => {
      socket = undefined;
      reject(new Error("no socket"));
      for (const [id, stream] of [...streams]) {
        streams.delete(id);
        stream.fail();
      }
    };
  });
  return socket;
}

function receive(told: Told): void {
  const stream = streams.get(told.id);
  if (!stream) return;
  if (told.status !== undefined) stream.begin(told.status, told.type ?? "");
  if (told.data !== undefined) stream.data(told.data);
  if (told.end) {
    streams.delete(told.id);
    stream.end();
    release();
  }
}

/** Gives the socket back when nothing needs it. */
function release(): void {
  if (streams.size === 0) void socket?.then((open) => streams.size === 0 && open.close()).catch(() => undefined);
}

/** Asks for an event stream as fetch does. */
export async function openStream(url: string, signal: AbortSignal): Promise<Response> {
  const plain = (): Promise<Response> => fetch(url, { headers: { Accept: "text/event-stream" }, signal });
  if (Date.now() < withoutUntil) return plain();
  let open: WebSocket;
  try {
    open = await connect();
  } catch {
    const response = await plain();
    if (response.ok) withoutUntil = Date.now() + rest;
    return response;
  }
  signal.throwIfAborted();
  return carried(open, url, signal);
}

function carried(open: WebSocket, url: string, signal: AbortSignal): Promise<Response> {
  const id = ++last;
  const encoder = new TextEncoder();
  return new Promise((resolve, reject) => {
    let body: ReadableStreamDefaultController<Uint8Array> | undefined;
    const broken = (): void => {
      const error = new Error("the stream broke");
      body?.error(error);
      reject(error);
    };
    streams.set(id, {
      begin: (status, type) => {
        const stream = new ReadableStream<Uint8Array>({ start: (controller) => void (body = controller) });
        resolve(new Response(stream, { status, headers: { "Content-Type": type } }));
      },
      data: (text) => body?.enqueue(encoder.encode(text)),
      end: () => (body ? body.close() : broken()),
      fail: broken,
    });
    signal.addEventListener(
      "abort",
      () => {
        if (!streams.delete(id)) return;
        if (open.readyState === WebSocket.OPEN) open.send(JSON.stringify({ close: id }));
        broken();
        release();
      },
      { once: true },
    );
    if (open.readyState === WebSocket.OPEN) open.send(JSON.stringify({ open: id, path: url.slice(base.length) }));
    else if (streams.delete(id)) broken();
  });
}
