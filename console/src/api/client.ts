// The one way from the page to the server: same-origin requests with the session cookie, problem+json turned into ApiError.

/** What the server refused, in its own words. `code` is the server's taxonomy; "offline" means that it could not be reached. */
export class ApiError extends Error {
  readonly code: string;
  readonly status: number;
  readonly details: unknown;
  readonly requestId: string | undefined;

  constructor(message: string, options: { code: string; status: number; details?: unknown; requestId?: string | undefined }) {
    super(message);
    this.name = "ApiError";
    this.code = options.code;
    this.status = options.status;
    this.details = options.details;
    this.requestId = options.requestId;
  }
}

export interface RequestOptions {
  method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  query?: Record<string, string | number | boolean | undefined>;
  body?: unknown;
  /** Sent as it is, with its own content type; used for uploads. */
  raw?: Blob;
  headers?: Record<string, string>;
  /** Repeating a mutation with the same key gives the first answer again. One is made up when it is left out. */
  idempotencyKey?: string;
  signal?: AbortSignal;
}

type Listener = () => void;
const signedOut = new Set<Listener>();

/** Calls back whenever the server says that nobody is signed in. Returns the function that ends that. */
export function onSignedOut(listener: Listener): Listener {
  signedOut.add(listener);
  return () => signedOut.delete(listener);
}

export function announceSignedOut(): void {
  for (const listener of signedOut) listener();
}

/** Sends a request below /api/v1 and returns the decoded answer; an empty answer is undefined. */
export async function request<T>(path: string, options: RequestOptions = {}): Promise<T> {
  return (await tagged<T>(path, options)).body;
}

/** A request whose answer has a tag, which a later change can be meant for (If-Match). */
export async function tagged<T>(path: string, options: RequestOptions = {}): Promise<{ body: T; tag: string | undefined }> {
  const method = options.method ?? "GET";
  const headers: Record<string, string> = { Accept: "application/json", ...options.headers };
  let body: BodyInit | null = null;
  if (options.raw !== undefined) {
    body = options.raw;
    headers["Content-Type"] = options.raw.type || "application/octet-stream";
  } else if (options.body !== undefined) {
    body = JSON.stringify(options.body);
    headers["Content-Type"] = "application/json";
  }
  if (method !== "GET") headers["Idempotency-Key"] = options.idempotencyKey ?? newKey();
  let response: Response;
  try {
    response = await fetch(address(path, options.query), { method, headers, body, signal: options.signal ?? null });
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new ApiError("The server cannot be reached. It may be restarting.", { code: "offline", status: 0 });
  }
  if (!response.ok) throw await refusal(response);
  const text = await response.text();
  return { body: (text === "" ? undefined : JSON.parse(text)) as T, tag: response.headers.get("ETag") ?? undefined };
}

/** The address of an operation, for links and streams. */
export function address(path: string, query: RequestOptions["query"] = {}): string {
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined && value !== "");
  const search = new URLSearchParams(pairs.map(([name, value]) => [name, String(value)]));
  return `/api/v1${path}${pairs.length > 0 ? `?${search}` : ""}`;
}

/** Turns an answer that is not a success into its error, and announces it when it means that nobody is signed in. */
export async function refusal(response: Response): Promise<ApiError> {
  let problem: { title?: string; detail?: string; code?: string; details?: unknown } = {};
  try {
    problem = (await response.json()) as typeof problem;
  } catch {
    // Not from Loam, such as a proxy's own page: the status says what there is to say.
  }
  const error = new ApiError(problem.detail || problem.title || `The server answered ${response.status}.`, {
    code: problem.code ?? (response.status === 401 ? "unauthenticated" : "internal_error"),
    status: response.status,
    details: problem.details,
    requestId: response.headers.get("X-Request-Id") ?? undefined,
  });
  if (error.code === "unauthenticated") announceSignedOut();
  return error;
}

/** A random key. crypto.randomUUID is missing on addresses that are not secure, so it is made from random bytes. */
export function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Encodes one segment of a path. */
export const segment = encodeURIComponent;
