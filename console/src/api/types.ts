// The entities of the wire protocol in their JSON form; what the documentation of package wire says about them holds here.
// Times are epoch milliseconds.

export interface Me {
  account: string;
  signer?: string;
  owner: boolean;
  scopes: string[];
  via: "cookie" | "token";
  server: { version: string; accounts: "open" | "invite"; publicUrl: string; protocol: number };
}

export interface Agent {
  id: string;
  account: string;
  definition: AgentDefinition;
  stateDir: string;
  status: string;
  createdAt: number;
  updatedAt: number;
  accessRole?: string;
  activity?: AgentActivity;
}

export interface AgentActivity {
  at: number;
  kind: string;
  messageAt: number;
  messageFrom: string;
  sessionId: string;
  busy: boolean;
}

export interface AgentDefinition {
  name: string;
  systemPrompt: PromptBlock[] | string;
  modelProvider: string;
  model: string;
  reasoningLevel?: string;
  thoroughness?: string;
  enabledModels?: ModelChoice[];
  tools?: string[];
  mcpServers?: string[];
  signingKey?: string;
  signingKeys?: string[];
  metadata?: Record<string, unknown>;
}

export interface ModelChoice {
  provider: string;
  model: string;
}

export interface PromptBlock {
  block: { id: string; type: string; text?: string; [key: string]: unknown };
  children?: PromptBlock[];
}

export type SessionStatus = "idle" | "streaming" | "stopped" | "error";

export interface Session {
  id: string;
  account: string;
  agentId: string;
  title?: string;
  status: SessionStatus;
  createdAt: number;
  updatedAt: number;
  parentSessionId?: string;
  runId?: string;
  plan?: Plan;
  childSessionCount?: number;
  modelOverride?: { provider: string; model: string; reasoningLevel?: string };
  description?: string;
  activity?: { messageAt: number; messageFrom: string };
}

export interface SessionEvent {
  id: string;
  sessionId: string;
  seq: number;
  event: LogEvent;
  createdAt: number;
}

export type Actor = "" | "user" | "agent" | "system" | "trigger";

export interface EventMeta {
  accountId?: string;
  signerId?: string;
  model?: string;
  provider?: string;
  usage?: Usage;
  durationMs?: number;
  reasoningLevel?: string;
}

export interface MessageEvent {
  type: "message";
  role: "user" | "assistant" | "system";
  content: string;
  contextLines?: string[];
  attachments?: AttachmentRef[];
  clientMessageId?: string;
  actor?: Actor;
  meta?: EventMeta;
}

export interface ToolCallEvent {
  type: "tool_call";
  id: string;
  name: string;
  input: unknown;
  actor?: Actor;
  meta?: EventMeta;
}

export interface ToolResultEvent {
  type: "tool_result";
  toolCallId: string;
  name: string;
  output?: unknown;
  error?: string;
  actor?: Actor;
  meta?: EventMeta;
}

export interface ErrorEvent {
  type: "error";
  message: string;
  actor?: Actor;
}

export type LogEvent = MessageEvent | ToolCallEvent | ToolResultEvent | ErrorEvent;

export interface AttachmentRef {
  id: string;
  name: string;
  mimeType?: string;
  size: number;
}

export interface Usage {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  total: number;
}

export interface RunUsage extends Usage {
  children?: Usage & { runs: number };
}

export interface RunActivity {
  phase: string;
  toolName?: string;
  toolCallId?: string;
  detail?: string;
  outputTail?: string;
}

export type RunStatus = "queued" | "claimed" | "running" | "waiting" | "succeeded" | "failed" | "canceled";

export interface Run {
  id: string;
  account: string;
  rootRunId: string;
  parentRunId?: string;
  depth: number;
  kind: string;
  agentId?: string;
  sessionId?: string;
  origin: string;
  title: string;
  childRunCount?: number;
  status: RunStatus;
  plan?: Plan;
  error?: { code: string; message: string };
  unmetObligations?: { kind: string; steps?: string[] }[];
  usage?: RunUsage;
  createdAt: number;
  startedAt?: number;
  finishedAt?: number;
  updatedAt: number;
}

export interface Plan {
  title?: string;
  steps: PlanStep[];
  ownerRunId?: string;
  settledAt?: number;
}

export interface PlanStep {
  id: string;
  label: string;
  status: "pending" | "running" | "done" | "failed" | "skipped";
  resolvedBy?: string;
}

export interface PartialFrame {
  partialId: string;
  patch: { textDelta?: string; done?: boolean; usage?: Usage; activity?: RunActivity };
}

export interface AccountHint {
  reason: string;
  agentId?: string;
  sessionId?: string;
  activity?: AgentActivity;
  session?: Session;
}

export interface MemoryEntry {
  path: string;
  type: string;
  size: number;
  updatedAt: number;
  mimeType?: string;
  entryCount?: number;
}

export interface MemoryFile {
  path: string;
  size: number;
  updatedAt: number;
  mimeType?: string;
  encoding: string;
  content?: string;
  data?: string;
}

export interface Tool {
  name: string;
  kind: string;
  summary: string;
  description: string;
  input: unknown;
  output?: unknown;
  cid: string;
  enabled: boolean;
  granted: boolean;
  createdAt: number;
  updatedAt: number;
}

export interface Provider {
  id: string;
  name: string;
  type: string;
  hasSecrets: boolean;
  createdAt: number;
  updatedAt: number;
}

export interface Model {
  id: string;
  name: string;
  contextWindow?: number;
  price?: { input: number; output: number; cacheRead: number; cacheWrite: number };
}

export interface Secret {
  id: string;
  name: string;
  metadata?: Record<string, unknown>;
  hasValue: boolean;
  createdAt: number;
  updatedAt: number;
}

export interface Token {
  id: string;
  name: string;
  scopes: string[];
  createdAt: number;
  expiresAt?: number;
  lastUsedAt?: number;
}

export interface SignIn {
  id: string;
  createdAt: number;
  lastSeenAt?: number;
  userAgent?: string;
  current?: boolean;
}

export interface LinkedKey {
  key?: string;
  id: string;
  name: string;
  createdAt: number;
}

export interface Passkey {
  id: string;
  name: string;
  createdAt: number;
  lastUsedAt?: number;
}
