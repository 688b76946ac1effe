// Every operation that the page uses, as a plain function, and the queries whose answers it keeps.
import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { address, request, segment, tagged } from "./client.ts";
import type {
  Agent, AgentFields, AgentShown, Approval, Invite, LinkedKey, McpServer, McpServerConfig, Me, MemoryEntry, MemoryFile, Model, Passkey, Provider, ProviderConfig, ProviderType, Run, Secret, Session, SessionEvent, Sharing, Signer,
  SignIn, Token, Tool, ToolFields, Trigger, TriggerFields, TriggerShown,
} from "./types.ts";

interface Page {
  nextCursor?: string;
}

/** Reads a list to its end, page by page. */
async function everyPage<T, K extends string>(path: string, list: K, signal: AbortSignal): Promise<T[]> {
  const all: T[] = [];
  for (let cursor: string | undefined = ""; cursor !== undefined; ) {
    const page: Record<K, T[]> & Page = await request<Record<K, T[]> & Page>(path, { query: { limit: 200, cursor }, signal });
    all.push(...page[list]);
    cursor = page.nextCursor;
  }
  return all;
}

/** What is being deleted is not asked for again, whatever says in the meantime that it has changed. */
const leaving = new Set<string>();
const stays = (id: string) => (): boolean => !leaving.has(id);

async function leave(id: string, path: string): Promise<void> {
  leaving.add(id);
  try {
    await request<void>(path, { method: "DELETE" });
  } catch (refused) {
    leaving.delete(id);
    throw refused;
  }
}

export const queries = {
  me: () => queryOptions({ queryKey: ["me"], queryFn: ({ signal }) => request<Me>("/me", { signal }), staleTime: 60_000 }),

  agents: () =>
    queryOptions({
      queryKey: ["agents"],
      queryFn: ({ signal }) => everyPage<Agent, "agents">("/agents", "agents", signal),
    }),
  agent: (agentId: string) =>
    queryOptions({
      queryKey: ["agents", agentId],
      queryFn: ({ signal }) => request<AgentShown>(`/agents/${segment(agentId)}`, { signal }),
      enabled: stays(agentId),
    }),
  tools: (agentId: string) =>
    queryOptions({
      queryKey: ["agents", agentId, "tools"],
      queryFn: async ({ signal }) => (await request<{ tools: Tool[] }>(`/agents/${segment(agentId)}/tools`, { signal })).tools,
    }),
  collaborators: (agentId: string) =>
    queryOptions({
      queryKey: ["agents", agentId, "collaborators"],
      queryFn: ({ signal }) => request<Sharing>(`/agents/${segment(agentId)}/collaborators`, { signal }),
    }),
  invites: () =>
    queryOptions({
      queryKey: ["agents", "invites"],
      queryFn: async ({ signal }) => (await request<{ invites: Invite[] }>("/invites", { signal })).invites,
    }),
  memory: (agentId: string) =>
    queryOptions({
      queryKey: ["agents", agentId, "memory"],
      queryFn: ({ signal }) =>
        request<{ entries: MemoryEntry[]; totalBytes: number; truncated?: boolean }>(`/agents/${segment(agentId)}/memory`, { signal }),
    }),
  memoryFile: (agentId: string, path: string) =>
    queryOptions({
      queryKey: ["agents", agentId, "memory", path],
      queryFn: async ({ signal }): Promise<TaggedFile> => {
        const { body, tag } = await tagged<{ file: MemoryFile }>(memoryPath(agentId, path), { signal });
        return { ...body.file, tag };
      },
    }),

  sessions: (filter: { agentId?: string; parentSessionId?: string } = {}) =>
    infiniteQueryOptions({
      queryKey: ["sessions", filter],
      queryFn: ({ pageParam, signal }) =>
        request<{ sessions: Session[]; agents: Agent[] } & Page>("/sessions", {
          query: { ...filter, limit: 50, cursor: pageParam },
          signal,
        }),
      initialPageParam: "",
      getNextPageParam: (last) => last.nextCursor,
    }),

  runs: (filter: { sessionId?: string; agentId?: string; rootRunId?: string; status?: string } = {}) =>
    infiniteQueryOptions({
      queryKey: ["runs", filter],
      queryFn: ({ pageParam, signal }) =>
        request<{ runs: Run[] } & Page>("/runs", { query: { ...filter, limit: 50, cursor: pageParam }, signal }),
      initialPageParam: "",
      getNextPageParam: (last) => last.nextCursor,
    }),
  approvals: (filter: { sessionId?: string; status?: "pending" } = {}) =>
    infiniteQueryOptions({
      queryKey: ["approvals", filter],
      queryFn: ({ pageParam, signal }) =>
        request<{ approvals: Approval[] } & Page>("/approvals", { query: { ...filter, limit: 50, cursor: pageParam }, signal }),
      initialPageParam: "",
      getNextPageParam: (last) => last.nextCursor,
    }),
  /** The newest run of a conversation, null when it has none. */
  latestRun: (sessionId: string) =>
    queryOptions({
      queryKey: ["runs", { sessionId }, "latest"],
      queryFn: async ({ signal }) => (await request<{ runs: Run[] }>("/runs", { query: { sessionId, limit: 1 }, signal })).runs[0] ?? null,
      enabled: stays(sessionId),
    }),
  run: (runId: string) =>
    queryOptions({
      queryKey: ["runs", runId],
      queryFn: async ({ signal }) => (await request<{ run: Run }>(`/runs/${segment(runId)}`, { signal })).run,
    }),

  triggers: (agentId: string) =>
    queryOptions({
      queryKey: ["triggers", { agentId }],
      queryFn: async ({ signal }) => (await request<{ triggers: Trigger[] }>(`/agents/${segment(agentId)}/triggers`, { signal })).triggers,
    }),
  trigger: (triggerId: string) =>
    queryOptions({
      queryKey: ["triggers", triggerId],
      queryFn: ({ signal }) => request<TriggerShown>(`/triggers/${segment(triggerId)}`, { signal }),
      enabled: stays(triggerId),
    }),
  providers: () =>
    queryOptions({
      queryKey: ["providers"],
      queryFn: async ({ signal }) => (await request<{ providers: Provider[] }>("/providers", { signal })).providers,
    }),
  providerTypes: () =>
    queryOptions({
      queryKey: ["provider-types"],
      queryFn: async ({ signal }) => (await request<{ types: ProviderType[] }>("/provider-types", { signal })).types,
      staleTime: Infinity,
    }),
  models: (provider: string) =>
    queryOptions({
      queryKey: ["providers", provider, "models"],
      queryFn: async ({ signal }) =>
        (await request<{ models: Model[] }>(`/providers/${segment(provider)}/models`, { signal })).models,
      staleTime: 5 * 60_000,
      retry: false,
      enabled: provider !== "",
    }),

  mcpServers: () =>
    queryOptions({
      queryKey: ["mcp-servers"],
      queryFn: async ({ signal }) => (await request<{ servers: McpServer[] }>("/mcp-servers", { signal })).servers,
    }),
  secrets: () =>
    queryOptions({
      queryKey: ["secrets"],
      queryFn: async ({ signal }) => (await request<{ secrets: Secret[] }>("/secrets", { signal })).secrets,
    }),
  tokens: () =>
    queryOptions({
      queryKey: ["tokens"],
      queryFn: ({ signal }) => everyPage<Token, "tokens">("/tokens", "tokens", signal),
    }),
  signIns: () =>
    queryOptions({
      queryKey: ["sign-ins"],
      queryFn: ({ signal }) => everyPage<SignIn, "signIns">("/sign-ins", "signIns", signal),
    }),
  keys: () =>
    queryOptions({
      queryKey: ["keys"],
      queryFn: ({ signal }) => everyPage<LinkedKey, "keys">("/keys", "keys", signal),
    }),
  signers: () =>
    queryOptions({
      queryKey: ["signers"],
      queryFn: ({ signal }) => everyPage<Signer, "signers">("/signers", "signers", signal),
    }),
  passkeys: () =>
    queryOptions({
      queryKey: ["passkeys"],
      queryFn: ({ signal }) => everyPage<Passkey, "passkeys">("/passkeys", "passkeys", signal),
    }),
};

/** A file with the tag of its state. */
export type TaggedFile = MemoryFile & { tag: string | undefined };

const memoryPath = (agentId: string, path: string): string =>
  `/agents/${segment(agentId)}/memory/${path.split("/").map(segment).join("/")}`;

export const signIn = (code: string) => request<void>("/sign-in", { method: "POST", body: { code } });
export const signOut = () => request<void>("/sign-out", { method: "POST" });

export const createAgent = (definition: AgentFields) =>
  request<{ agentId: string }>("/agents", { method: "POST", body: { definition } });
export const updateAgent = (agentId: string, definition: AgentFields) =>
  request<{ agent: Agent }>(`/agents/${segment(agentId)}`, { method: "PUT", body: { definition } });
export const deleteAgent = (agentId: string) => leave(agentId, `/agents/${segment(agentId)}`);

/** Without `previous` a new tool. `tag` is the state that the change is meant for. */
export const saveTool = (agentId: string, tool: ToolFields, previous?: string, tag?: string) =>
  request<{ tool: Tool }>(`/agents/${segment(agentId)}/tools`, {
    method: "POST",
    body: { tool, ...(previous === undefined ? {} : { previousName: previous }) },
    ...(tag === undefined ? {} : { headers: { "If-Match": tag } }),
  });
export const deleteTool = (agentId: string, name: string) => request<void>(`/agents/${segment(agentId)}/tools/${segment(name)}`, { method: "DELETE" });

/** `tag` is the state that the change is meant for: one that was changed meanwhile is refused. */
export const writeMemory = (agentId: string, path: string, body: { content: string } | { data: string }, tag?: string) =>
  request<{ entry: MemoryEntry }>(memoryPath(agentId, path), { method: "PUT", body, ...(tag === undefined ? {} : { headers: { "If-Match": tag } }) });
export const deleteMemory = (agentId: string, path: string, tag?: string) =>
  request<void>(memoryPath(agentId, path), { method: "DELETE", ...(tag === undefined ? {} : { headers: { "If-Match": tag } }) });

export const createSession = (agentId: string, body: { title?: string } = {}) =>
  request<{ sessionId: string }>(`/agents/${segment(agentId)}/sessions`, { method: "POST", body });
export const updateSession = (sessionId: string, body: { title?: string; modelOverride?: Session["modelOverride"] | null }) =>
  request<{ session: Session }>(`/sessions/${segment(sessionId)}`, { method: "PATCH", body });
export const deleteSession = (sessionId: string) => leave(sessionId, `/sessions/${segment(sessionId)}`);

export interface SessionPage {
  session: Session;
  events: SessionEvent[];
  contextWindow?: number;
  hasMoreBefore?: boolean;
}

export const getSession = (
  sessionId: string,
  query: { afterSeq?: number; beforeSeq?: number; limit?: number },
  signal?: AbortSignal,
) => request<SessionPage>(`/sessions/${segment(sessionId)}`, signal ? { query, signal } : { query });

/** Events of the first request: some screens full. Older ones come when the reader scrolls up. */
export const sessionPageSize = 120;

let ahead: { sessionId: string; page: Promise<SessionPage> } | undefined;

/** Asks for a conversation while the code that shows it is still loading. */
export function prefetchSession(sessionId: string): void {
  const page = getSession(sessionId, { limit: sessionPageSize });
  // Whoever opens it sees the error; a link that was only pointed at shows none.
  page.catch(() => undefined);
  ahead = { sessionId, page };
}

/** The newest events of a conversation, those that were asked for ahead when there are any. */
export function openSession(sessionId: string): Promise<SessionPage> {
  const page = ahead?.sessionId === sessionId ? ahead.page : getSession(sessionId, { limit: sessionPageSize });
  ahead = undefined;
  return page;
}

export type ContentPart = { type: "text"; text: string; clientMessageId?: string } | { type: "attachment"; id: string };

/** Answers as soon as the message is durable; the turn is followed on the stream. */
export const sendMessage = (sessionId: string, content: ContentPart[], key: string) =>
  request<{ sessionId: string; runId: string; seq: number }>(`/sessions/${segment(sessionId)}/messages`, {
    method: "POST",
    body: { content, clientMessageId: key },
    headers: { Prefer: "respond-async" },
    idempotencyKey: key,
  });
export const stopSession = (sessionId: string) =>
  request<{ stopped: boolean }>(`/sessions/${segment(sessionId)}/stop`, { method: "POST" });
export const retrySession = (sessionId: string) =>
  request<unknown>(`/sessions/${segment(sessionId)}/retry`, { method: "POST", headers: { Prefer: "respond-async" } });
/** Uses a verb as the person. A call that fails is an answer with its error. */
export const invoke = (sessionId: string, verb: "read" | "write" | "call", input: Record<string, unknown>) =>
  request<{ output?: unknown; error?: string }>(`/sessions/${segment(sessionId)}/invoke`, { method: "POST", body: { verb, input } });
export const upload = (sessionId: string, file: File) =>
  request<{ attachment: { id: string; name: string; size: number; mimeType?: string } }>(
    `/sessions/${segment(sessionId)}/attachments`,
    { method: "POST", raw: file, query: { name: file.name } },
  );
export const attachmentAddress = (sessionId: string, attachmentId: string) =>
  address(`/sessions/${segment(sessionId)}/attachments/${segment(attachmentId)}`);
export const sessionStream = (sessionId: string, afterSeq: number) => address(`/sessions/${segment(sessionId)}/stream`, { afterSeq });
export const runStream = (runId: string) => address(`/runs/${segment(runId)}/stream`);

export const createTrigger = (agentId: string, trigger: TriggerFields) =>
  request<{ trigger: Trigger }>(`/agents/${segment(agentId)}/triggers`, { method: "POST", body: { trigger } });
/** Checks a trigger without keeping it. */
export const previewTrigger = (agentId: string, trigger: TriggerFields) =>
  request<{ nextFires: number[] }>(`/agents/${segment(agentId)}/trigger-preview`, { method: "POST", body: { trigger } });
/** Refused when the trigger was changed after `updatedAt`. */
export const switchTrigger = (triggerId: string, enabled: boolean, updatedAt: number) =>
  request<{ trigger: Trigger }>(`/triggers/${segment(triggerId)}`, { method: "PATCH", body: { patch: { enabled }, expectedUpdatedAt: updatedAt } });
export const fireTrigger = (triggerId: string) => request<unknown>(`/triggers/${segment(triggerId)}/run`, { method: "POST" });
export const deleteTrigger = (triggerId: string) => leave(triggerId, `/triggers/${segment(triggerId)}`);

export const decideApproval = (approvalId: string, approve: boolean, note: string) =>
  request<{ approval: Approval }>(`/approvals/${segment(approvalId)}/decide`, { method: "POST", body: note ? { approve, note } : { approve } });
export const signalRun = (runId: string, signal: string, payload: unknown) =>
  request<{ delivered: boolean }>(`/runs/${segment(runId)}/signal`, { method: "POST", body: { signal, payload } });
export const cancelRun = (runId: string) => request<{ canceled: boolean }>(`/runs/${segment(runId)}/cancel`, { method: "POST" });

export const setProvider = (name: string, provider: ProviderConfig) =>
  request<{ provider: Provider }>(`/providers/${segment(name)}`, { method: "PUT", body: { provider } });
export const deleteProvider = (name: string) => request<void>(`/providers/${segment(name)}`, { method: "DELETE" });

export const setMcpServer = (name: string, config: McpServerConfig) =>
  request<{ server: McpServer }>(`/mcp-servers/${segment(name)}`, { method: "PUT", body: { config } });
export const refreshMcpServer = (name: string) => request<{ server: McpServer }>(`/mcp-servers/${segment(name)}/refresh`, { method: "POST" });
export const loginMcpServer = (name: string) =>
  request<{ authUrl: string; expiresAt: number }>(`/mcp-servers/${segment(name)}/login`, { method: "POST" });
export const deleteMcpServer = (name: string) => request<void>(`/mcp-servers/${segment(name)}`, { method: "DELETE" });

export const setSecret = (name: string, value: string) =>
  request<{ secret: Secret }>(`/secrets/${segment(name)}`, { method: "PUT", body: { value } });
export const deleteSecret = (name: string) => request<void>(`/secrets/${segment(name)}`, { method: "DELETE" });

export const createToken = (body: { name: string; scopes: string[]; expiresAt?: number }) =>
  request<{ token: string; info: Token }>("/tokens", { method: "POST", body });
export const deleteToken = (tokenId: string) => request<void>(`/tokens/${segment(tokenId)}`, { method: "DELETE" });
export const deleteSignIn = (signInId: string) => request<void>(`/sign-ins/${segment(signInId)}`, { method: "DELETE" });
export const addKey = (key: string, name: string) => request<unknown>("/keys", { method: "POST", body: { key, name } });
export const deleteKey = (keyId: string) => request<void>(`/keys/${segment(keyId)}`, { method: "DELETE" });
const collaboratorPath = (agentId: string, accountId: string): string => `/agents/${segment(agentId)}/collaborators/${segment(accountId)}`;

export const inviteCollaborator = (agentId: string, accountId: string, role: "reader" | "writer") =>
  request<void>(collaboratorPath(agentId, accountId), { method: "PUT", body: { role } });
export const removeCollaborator = (agentId: string, accountId: string) => request<void>(collaboratorPath(agentId, accountId), { method: "DELETE" });
export const acceptInvite = (agentId: string) => request<void>(`/invites/${segment(agentId)}/accept`, { method: "POST" });
export const declineInvite = (agentId: string) => request<void>(`/invites/${segment(agentId)}`, { method: "DELETE" });

export type PublicAccess = "off" | "read" | "chat";

/** Chat needs reading, and goes with it. */
export async function setPublicAccess(agentId: string, access: PublicAccess): Promise<void> {
  const path = `/agents/${segment(agentId)}`;
  await request<void>(`${path}/public-read`, { method: "PUT", body: { publicRead: access !== "off" } });
  if (access !== "off") await request<void>(`${path}/public-chat`, { method: "PUT", body: { publicChat: access === "chat" } });
}

export const revokeSigner = (signerId: string) => request<void>(`/signers/${segment(signerId)}`, { method: "DELETE" });
export const deletePasskey = (passkeyId: string) => request<void>(`/passkeys/${segment(passkeyId)}`, { method: "DELETE" });

/** Makes a link that signs in one browser, once. */
export const createSignIn = () => request<{ code: string; url: string; expiresAt: number }>("/sign-ins", { method: "POST" });
