// Code generated from the server's OpenAPI document by `npm run generate`. DO NOT EDIT.

export interface AccountHint {
  activity?: AgentActivity;
  agentId?: string;
  reason: string;
  session?: SessionInfo;
  sessionId?: string;
}

export interface AgentActivity {
  at: number;
  busy: boolean;
  kind: string;
  messageAt: number;
  messageFrom: string;
  sessionId: string;
}

export interface AgentDefinition {
  enabledModels?: ModelChoice[];
  mcpServers?: string[];
  metadata?: Record<string, unknown>;
  model: string;
  modelProvider: string;
  name: string;
  reasoningLevel?: string;
  signingKey?: string;
  signingKeys?: string[];
  systemPrompt: PromptBlock[];
  thoroughness?: string;
  toolApproval?: ToolApproval;
  tools?: string[];
}

export interface AgentInfo {
  accessRole?: string;
  account: string;
  activity?: AgentActivity;
  createdAt: number;
  definition: AgentDefinition;
  id: string;
  publicChat?: boolean;
  publicRead?: boolean;
  stateDir: string;
  status: string;
  updatedAt: number;
}

export interface AgentRequest {
  agentId: string;
}

export interface AgentResponse {
  agent: AgentInfo;
}

export interface AgentShown {
  agent: AgentInfo;
  sessionCount: number;
  sessions?: SessionInfo[];
  systemPromptMarkdown: string;
}

export interface AgentTriggerResponse {
  signingSecret?: string;
  trigger: TriggerInfo;
  webhookSecret?: string;
  webhookUrl?: string;
}

export interface AppendFileUploadChunkResponse {
  received: number;
  uploadId: string;
}

export interface ApprovalInfo {
  account: string;
  agentId: string;
  arguments: unknown;
  call: string;
  createdAt: number;
  decidedAt?: number;
  decidedBy?: string;
  id: string;
  inDoubt?: boolean;
  note?: string;
  rootRunId: string;
  runId: string;
  sessionId?: string;
  status: string;
  tool: string;
}

export interface ApprovalResponse {
  approval: ApprovalInfo;
}

export interface AttachmentInfo {
  createdAt: number;
  id: string;
  mimeType?: string;
  name: string;
  sessionId: string;
  size: number;
}

export interface AttachmentResponse {
  attachment: AttachmentInfo;
}

export interface BeginFileUploadResponse {
  maxChunkBytes: number;
  uploadId: string;
}

export interface CallerInfo {
  account: string;
  owner: boolean;
  scopes: string[];
  server: ServerInfo;
  signer?: string;
  via: string;
}

export interface CancelRunResponse {
  canceled: boolean;
  runId: string;
}

export interface CaughtUp {
  lastSeq: number;
}

export interface ChildUsage {
  cacheRead: number;
  cacheWrite: number;
  input: number;
  output: number;
  runs: number;
  total: number;
}

export interface CollaboratorInfo {
  accountId: string;
  createdAt: number;
  role: string;
  status: string;
  updatedAt: number;
}

export interface CollaboratorRequest {
  accountId: string;
  agentId: string;
}

export interface CollaboratorResponse {
  collaborator: CollaboratorInfo;
}

export interface CommitFileUploadResponse {
  attachment?: AttachmentInfo;
  entry?: MemoryEntry;
}

export interface CreateAgentResponse {
  agentId: string;
}

export interface CreateSessionResponse {
  sessionId: string;
}

export interface CreateSignInLinkResponse {
  code: string;
  expiresAt: number;
  url: string;
}

export interface CreateTokenResponse {
  info: TokenInfo;
  token: string;
}

export interface DefinitionFields {
  enabledModels?: ModelChoice[];
  mcpServers?: string[];
  metadata?: Record<string, unknown>;
  model: string;
  modelProvider: string;
  name: string;
  reasoningLevel?: string;
  signingKey?: string;
  signingKeys?: string[];
  systemPrompt: unknown;
  thoroughness?: string;
  toolApproval?: ToolApproval;
  tools?: string[];
}

export interface DeleteAgentMemoryFileResponse {
  agentId: string;
  deleted: boolean;
  path: string;
}

export interface DeleteAgentToolResponse {
  agentId: string;
  deleted: boolean;
  name: string;
}

export interface DeleteSessionResponse {
  agentId: string;
  sessionId: string;
}

export interface Done {
  lastSeq: number;
  status: string;
}

export interface DownloadAgentMemoryFileResponse {
  agentId: string;
  contentType?: string;
  entry: MemoryEntry;
  finalUrl: string;
}

export interface End {
  reason: string;
}

export interface FileUploadRequest {
  uploadId: string;
}

export interface FileUploadTarget {
  agentId?: string;
  kind: string;
  mimeType?: string;
  name?: string;
  path?: string;
  sessionId?: string;
}

export interface FindRunsResponse {
  nextCursor?: string;
  runs: RunInfo[];
}

export interface Frame {
  _: string;
  accountId?: string;
  at?: number;
  code?: string;
  connectedAt?: number;
  createdAt?: number;
  entry?: Record<string, unknown>;
  event?: SessionEvent;
  key?: string;
  message?: string;
  partialId?: string;
  patch?: PartialPatch;
  runId?: string;
  seq?: number;
  seqs?: Record<string, number>;
  value?: unknown;
}

export interface GetAgentResponse {
  agent: AgentInfo;
  sessionCount: number;
  sessions?: SessionInfo[];
}

export interface GetAgentTriggerResponse {
  firings: TriggerFiring[];
  sessions: SessionInfo[];
  signingSecret?: string;
  trigger: TriggerInfo;
  webhookSecret?: string;
  webhookUrl?: string;
}

export interface GetSessionResponse {
  contextWindow?: number;
  events: SessionEvent[];
  hasMoreBefore?: boolean;
  session: SessionInfo;
  systemPromptMarkdown: string;
  triggerContext?: SessionTriggerContext;
}

export interface IdentityIcon {
  data: string;
  fileName?: string;
  mimeType?: string;
}

export interface InviteInfo {
  agentId: string;
  agentName: string;
  createdAt: number;
  ownerAccountId: string;
  role: string;
  updatedAt: number;
}

export interface InvokeSessionToolResponse {
  error?: string;
  output?: unknown;
  resultEventId: string;
  sessionId: string;
}

export interface KeyInfo {
  createdAt: number;
  key: string;
  name: string;
}

export interface KeyRequest {
  keyId: string;
}

export interface KeyResponse {
  key: KeyInfo;
}

export interface ListAgentCollaboratorsResponse {
  agentId: string;
  collaborators: CollaboratorInfo[];
  publicChat: boolean;
  publicRead: boolean;
}

export interface ListAgentInvitesResponse {
  invites: InviteInfo[];
}

export interface ListAgentMemoryDirResponse {
  agentId: string;
  entries: MemoryEntry[];
  path: string;
  totalBytes: number;
  totals: MemoryTotals;
  truncated?: boolean;
}

export interface ListAgentMemoryResponse {
  agentId: string;
  entries: MemoryEntry[];
  totalBytes: number;
  truncated?: boolean;
}

export interface ListAgentToolsResponse {
  agentId: string;
  tools: ToolInfo[];
}

export interface ListAgentTriggersResponse {
  triggers: TriggerInfo[];
}

export interface ListAgentsResponse {
  agents: AgentInfo[];
  nextCursor?: string;
}

export interface ListApprovalsResponse {
  approvals: ApprovalInfo[];
  nextCursor?: string;
}

export interface ListKeysResponse {
  keys: KeyInfo[];
  nextCursor?: string;
}

export interface ListMcpServersResponse {
  servers: McpServer[];
}

export interface ListModelProvidersResponse {
  providers: ProviderInfo[];
}

export interface ListPasskeysResponse {
  nextCursor?: string;
  passkeys: PasskeyInfo[];
}

export interface ListProviderTypesResponse {
  types: ProviderTypeInfo[];
}

export interface ListSignInsResponse {
  nextCursor?: string;
  signIns: SignInInfo[];
}

export interface ListSignersResponse {
  nextCursor?: string;
  signers: SignerInfo[];
}

export interface ListSigningIdentitiesResponse {
  identities: SigningIdentity[];
}

export interface ListTokensResponse {
  nextCursor?: string;
  tokens: TokenInfo[];
}

export interface McpLoginResponse {
  authUrl: string;
  expiresAt: number;
}

export interface McpServer {
  auth?: string;
  command?: string[];
  createdAt: number;
  hasSecrets: boolean;
  headerNames: string[];
  id: string;
  name: string;
  secretHeaderNames: string[];
  signedIn?: boolean;
  status: McpStatus;
  tools: McpTool[];
  transport: string;
  updatedAt: number;
  url: string;
}

export interface McpServerConfig {
  auth?: string;
  command?: string[];
  headers?: Record<string, string>;
  secretRefs?: Record<string, string>;
  transport?: string;
  url?: string;
}

export interface McpServerResponse {
  server: McpServer;
}

export interface McpStatus {
  checkedAt?: number;
  error?: string;
  state: string;
}

export interface McpTool {
  description?: string;
  inputSchema?: unknown;
  name: string;
  toolName: string;
}

export interface MemoryEntry {
  entryCount?: number;
  mimeType?: string;
  path: string;
  size: number;
  type: string;
  updatedAt: number;
}

export interface MemoryFile {
  content?: string;
  data?: string;
  encoding: string;
  mimeType?: string;
  path: string;
  size: number;
  updatedAt: number;
}

export interface MemoryTotals {
  bytes: number;
  files: number;
  truncated: boolean;
}

export interface MessagePart {
  blocks?: PromptBlock[];
  clientMessageId?: string;
  id?: string;
  lines?: string[];
  text?: string;
  type: string;
}

export interface ModelChoice {
  model: string;
  provider: string;
}

export interface ModelOverride {
  model: string;
  provider: string;
  reasoningLevel?: string;
}

export interface ModelShown {
  contextWindow?: number;
  id: string;
  name: string;
  price?: Price;
}

export interface ModelsShown {
  models: ModelShown[];
}

export interface NameResponse {
  name: string;
}

export interface PartialPatch {
  activity?: RunActivity;
  done?: boolean;
  textDelta?: string;
  usage?: Usage;
}

export interface PasskeyChallenge {
  challengeId: string;
  publicKey: Record<string, unknown>;
}

export interface PasskeyInfo {
  createdAt: number;
  id: string;
  lastUsedAt?: number;
  name: string;
}

export interface PasskeyRequest {
  passkeyId: string;
}

export interface PasskeyResponse {
  passkey: PasskeyInfo;
}

export interface PlanStep {
  id: string;
  label: string;
  resolvedBy?: string;
  status: string;
}

export interface PreviewAgentTriggerResponse {
  nextFires: number[];
  trigger: TriggerInfo;
}

export interface Price {
  cacheRead: number;
  cacheWrite: number;
  input: number;
  output: number;
}

export interface Problem {
  code: string;
  detail: string;
  details?: Record<string, unknown>;
  status: number;
  title: string;
  type: string;
}

export interface PromptBlock {
  block: Record<string, unknown>;
  children?: PromptBlock[];
}

export interface ProviderConfig {
  authMode?: string;
  baseUrl?: string;
  modelDefaults?: Record<string, unknown>;
  secretRefs?: Record<string, string>;
  type: string;
}

export interface ProviderInfo {
  authMode?: string;
  authStatus?: string;
  createdAt: number;
  hasSecrets: boolean;
  id: string;
  lastError?: string;
  lastErrorAt?: number;
  lastSuccessAt?: number;
  name: string;
  type: string;
  updatedAt: number;
}

export interface ProviderOAuthRequest {
  loginId: string;
}

export interface ProviderOAuthStatusResponse {
  error?: string;
  loginId: string;
  secretName?: string;
  status: string;
}

export interface ProviderResponse {
  provider: ProviderInfo;
}

export interface ProviderTypeInfo {
  baseUrl?: string;
  customUrl: boolean;
  label: string;
  name: string;
  needsKey: boolean;
  takesKey: boolean;
}

export interface ReadAgentMemoryFileResponse {
  agentId: string;
  file: MemoryFile;
}

export interface RunActivity {
  detail?: string;
  outputTail?: string;
  phase: string;
  toolCallId?: string;
  toolName?: string;
}

export interface RunAgentTriggerResponse {
  firing: TriggerFiring;
}

export interface RunError {
  callSeq?: number;
  code: string;
  detail?: unknown;
  message: string;
  stack?: string;
  tool?: string;
}

export interface RunInfo {
  account: string;
  agentId?: string;
  childRunCount?: number;
  continuedFromRunId?: string;
  createdAt: number;
  depth: number;
  error?: RunError;
  finishedAt?: number;
  id: string;
  kind: string;
  model?: string;
  origin: string;
  parentRunId?: string;
  parentToolCallId?: string;
  plan?: RunPlan;
  planStepId?: string;
  provider?: string;
  rootRunId: string;
  sessionId?: string;
  sourceText?: string;
  startedAt?: number;
  status: string;
  stepLabel?: string;
  title: string;
  unmetObligations?: UnmetObligation[];
  updatedAt: number;
  usage?: RunUsage;
  wait?: RunWait;
}

export interface RunJournalEntry {
  createdAt: number;
  entry: Record<string, unknown>;
  runId: string;
  seq: number;
}

export interface RunJournalResponse {
  entries: RunJournalEntry[];
  runId: string;
}

export interface RunPlan {
  ownerRunId?: string;
  settledAt?: number;
  steps: PlanStep[];
  title?: string;
}

export interface RunResponse {
  run: RunInfo;
}

export interface RunUsage {
  cacheRead: number;
  cacheWrite: number;
  children?: ChildUsage;
  input: number;
  output: number;
  total: number;
}

export interface RunWait {
  answerWith?: string;
  label?: string;
  pendingChildren?: number;
  reason: string;
  waitId?: string;
  wakeAt?: number;
}

export interface SaveAgentToolResponse {
  agentId: string;
  tool: ToolInfo;
}

export interface SecretInfo {
  createdAt: number;
  hasValue: boolean;
  id: string;
  metadata?: Record<string, unknown>;
  name: string;
  updatedAt: number;
}

export interface SecretResponse {
  secret: SecretInfo;
}

export interface SecretsResponse {
  secrets: SecretInfo[];
}

export interface ServerInfo {
  accounts: string;
  protocol: number;
  publicUrl: string;
  version: string;
}

export interface SessionActivity {
  messageAt: number;
  messageFrom: string;
}

export interface SessionContinuationLink {
  continuationId: string;
  createdAt: number;
  reason: string;
  sessionId: string;
  title?: string;
}

export interface SessionEvent {
  createdAt: number;
  event: Record<string, unknown>;
  id: string;
  seq: number;
  sessionId: string;
  truncated?: boolean;
}

export interface SessionEventResponse {
  event: SessionEvent;
}

export interface SessionInfo {
  account: string;
  activity?: SessionActivity;
  agentId: string;
  childSessionCount?: number;
  continuedFrom?: SessionContinuationLink;
  continuedTo?: SessionContinuationLink;
  createdAt: number;
  description?: string;
  id: string;
  modelOverride?: ModelOverride;
  parentSessionId?: string;
  plan?: RunPlan;
  runId?: string;
  startedByTrigger?: SessionTrigger;
  status: string;
  thoroughness?: string;
  title?: string;
  updatedAt: number;
}

export interface SessionResponse {
  session: SessionInfo;
}

export interface SessionTrigger {
  activityKey: string;
  activitySummary: string;
  firedAt: number;
  firingId: string;
  matchedConditions?: TriggerCondition[];
  source: TriggerSource;
  triggerId: string;
  triggerName: string;
}

export interface SessionTriggerContext {
  activity: Record<string, unknown>;
  activityKey: string;
  activitySummary: string;
  error?: string;
  firedAt: number;
  firingId: string;
  matchedConditions?: TriggerCondition[];
  prompt: string;
  promptBlocks?: PromptBlock[];
  source: TriggerSource;
  status: string;
  triggerId: string;
  triggerName: string;
}

export interface SessionsPage {
  agents: AgentInfo[];
  nextCursor?: string;
  sessions: SessionInfo[];
}

export interface SignInInfo {
  createdAt: number;
  current?: boolean;
  expiresAt: number;
  id: string;
  lastUsedAt?: number;
  method: string;
  userAgent: string;
}

export interface SignInRequest {
  signInId: string;
}

export interface SignalRunResponse {
  delivered: boolean;
  runId: string;
}

export interface SignerInfo {
  capability: string;
  createdAt: number;
  label?: string;
  revokedAt?: number;
  role: string;
  signerId: string;
}

export interface SignerRequest {
  signerId: string;
}

export interface SigningIdentity {
  accountId?: string;
  createdAt: number;
  icon?: string;
  id: string;
  label?: string;
  name: string;
  serverUrl?: string;
  updatedAt: number;
}

export interface SigningIdentityResponse {
  identity: SigningIdentity;
}

export interface StartProviderOAuthResponse {
  authUrl: string;
  expiresAt: number;
  loginId: string;
}

export interface StartScriptResponse {
  runId: string;
}

export interface StopSessionResponse {
  sessionId: string;
  stopped: boolean;
}

export type SubmitProviderOAuthCodeResponse = Record<string, unknown>;

export interface TokenInfo {
  createdAt: number;
  expiresAt?: number;
  id: string;
  lastUsedAt?: number;
  name: string;
  scopes: string[];
}

export interface TokenRequest {
  tokenId: string;
}

export interface ToolApproval {
  default?: string;
  tools?: Record<string, string>;
}

export interface ToolInfo {
  author?: string;
  cid: string;
  createdAt: number;
  description: string;
  effect: string;
  enabled: boolean;
  granted: boolean;
  input: unknown;
  kind: string;
  name: string;
  output?: unknown;
  remoteName?: string;
  runtime?: string;
  server?: string;
  source?: string;
  summary: string;
  updatedAt: number;
}

export interface ToolInput {
  description: string;
  enabled?: boolean;
  input?: unknown;
  name: string;
  output?: unknown;
  runtime?: string;
  source: string;
  summary?: string;
}

export interface TriggerCondition {
  id: string;
  source: TriggerSource;
}

export interface TriggerContinuation {
  input?: unknown;
  kind: string;
  onFailure?: string;
  payload?: unknown;
  runId?: string;
  script?: string;
  sessionId?: string;
  signal?: string;
  tool?: string;
  url?: string;
}

export interface TriggerFiring {
  activityKey: string;
  activitySummary: string;
  createdAt: number;
  error?: string;
  id: string;
  matchedConditions?: TriggerCondition[];
  runId?: string;
  sessionId?: string;
  status: string;
}

export interface TriggerInfo {
  account: string;
  agentId: string;
  continuation?: TriggerContinuation;
  createdAt: number;
  enabled: boolean;
  id: string;
  lastCheckedAt?: number;
  lastError?: string;
  lastFiredAt?: number;
  mergedInto?: string;
  name: string;
  nextFireAt?: number;
  notice?: string;
  prompt: PromptBlock[];
  source: TriggerSource;
  updatedAt: number;
  when?: string;
}

export interface TriggerInput {
  continuation?: TriggerContinuation;
  enabled?: boolean;
  name: string;
  prompt?: unknown;
  signingSecret?: string;
  source: TriggerSource;
}

export interface TriggerPatch {
  continuation?: TriggerContinuation;
  enabled?: boolean;
  name?: string;
  prompt?: unknown;
  rotateSecrets?: boolean;
  signingSecret?: string;
  source?: TriggerSource;
}

export interface TriggerRequest {
  triggerId: string;
}

export interface TriggerSchedule {
  cron?: string;
  daysOfWeek?: number[];
  every?: number;
  kind: string;
  runAt?: number;
  timeOfDay?: string;
  timezone?: string;
  unit?: string;
}

export interface TriggerSource {
  agentId?: string;
  author?: string;
  conditions?: TriggerCondition[];
  documentAuthors?: string[];
  eventTypes?: string[];
  mentionedAccount?: string;
  mentionedAccounts?: string[];
  repliedToAccounts?: string[];
  resource?: string;
  resourcePrefix?: string;
  schedule?: TriggerSchedule;
  signed?: boolean;
  status?: string;
  titleMatch?: string;
  type: string;
}

export interface TurnAnswer {
  assistantEventId?: string;
  continuedToSessionId?: string;
  runId?: string;
  seq?: number;
  sessionId: string;
  text?: string;
}

export interface UnmetObligation {
  kind: string;
  steps?: string[];
}

export interface Usage {
  cacheRead: number;
  cacheWrite: number;
  input: number;
  output: number;
  total: number;
}

export interface WriteAgentMemoryFileResponse {
  agentId: string;
  entry: MemoryEntry;
}

