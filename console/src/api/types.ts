// The server's entities under the names that the page uses. Fields come from the server's OpenAPI document; what stands here in
// full is what the document leaves open: the values of states, and the payloads of events.
import type * as schema from "./schema.gen.ts";

type Narrow<T, U> = Omit<T, keyof U> & U;

export type Me = schema.CallerInfo;
export type Agent = schema.AgentInfo;
export type AgentShown = schema.AgentShown;
export type AgentDefinition = schema.AgentDefinition;
/** What is sent: instructions may be Markdown. */
export type AgentFields = schema.DefinitionFields;
export type PromptBlock = schema.PromptBlock;
export type MemoryEntry = schema.MemoryEntry;
export type MemoryFile = schema.MemoryFile;
export type Collaborator = schema.CollaboratorInfo;
export type Sharing = schema.ListAgentCollaboratorsResponse;
export type Invite = schema.InviteInfo;
export type Tool = schema.ToolInfo;
export type ToolFields = schema.ToolInput;
export type Provider = schema.ProviderInfo;
export type ProviderConfig = schema.ProviderConfig;
export type Secret = schema.SecretInfo;
export type McpServer = schema.McpServer;
export type McpServerConfig = schema.McpServerConfig;
export type Token = schema.TokenInfo;
export type SignIn = schema.SignInInfo;
export type LinkedKey = schema.KeyInfo;
export type Signer = schema.SignerInfo;
export type ProviderType = schema.ProviderTypeInfo;
export type Passkey = schema.PasskeyInfo;
export type Usage = schema.Usage;
export type RunUsage = schema.RunUsage;
export type RunActivity = schema.RunActivity;
export type AccountHint = schema.AccountHint;

export type SessionStatus = "idle" | "streaming" | "stopped" | "error";
export type PlanStep = Narrow<schema.PlanStep, { status: "pending" | "running" | "done" | "failed" | "skipped" }>;
export type Plan = Narrow<schema.RunPlan, { steps: PlanStep[] }>;
export type Session = Narrow<schema.SessionInfo, { status: SessionStatus; plan?: Plan }>;

export type RunStatus = "queued" | "claimed" | "running" | "waiting" | "succeeded" | "failed" | "canceled";
export type Run = Narrow<schema.RunInfo, { status: RunStatus; plan?: Plan }>;

export type Trigger = schema.TriggerInfo;
export type TriggerFields = schema.TriggerInput;
export type Firing = Narrow<schema.TriggerFiring, { status: "created" | "running" | "succeeded" | "delivered" | "no-listener" | "escalated" | "error" }>;
export type TriggerShown = Narrow<schema.GetAgentTriggerResponse, { firings: Firing[] }>;

export type Approval = Narrow<schema.ApprovalInfo, { status: "pending" | "approved" | "rejected" | "canceled" }>;

export type Model = schema.ModelShown;

export type SessionEvent = Narrow<schema.SessionEvent, { event: LogEvent }>;
export type PartialFrame = Required<Pick<schema.Frame, "partialId" | "patch">>;

type Actor = "" | "user" | "agent" | "system" | "trigger";

interface EventMeta {
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
  attachments?: { id: string; name: string; mimeType?: string; size: number }[];
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

/** Which child a call has started. A child that runs a script has no session. */
export interface ToolSpawnEvent {
  type: "tool_spawn";
  toolCallId: string;
  name: string;
  runId: string;
  sessionId?: string;
  title: string;
  actor?: Actor;
}

export interface ErrorEvent {
  type: "error";
  message: string;
  actor?: Actor;
}

export type LogEvent = MessageEvent | ToolCallEvent | ToolResultEvent | ToolSpawnEvent | ErrorEvent;
