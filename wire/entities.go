package wire

import "encoding/json"

// AgentInfo is an agent as its readers see it (spec §4).
type AgentInfo struct {
	ID         string          `json:"id"`
	Account    string          `json:"account"`
	Definition AgentDefinition `json:"definition"`
	StateDir   string          `json:"stateDir"`
	Status     string          `json:"status"`
	CreatedAt  int64           `json:"createdAt"`
	UpdatedAt  int64           `json:"updatedAt"`
	// AccessRole is the caller's role: owner, writer, reader or chatter.
	AccessRole string         `json:"accessRole,omitempty"`
	PublicRead bool           `json:"publicRead,omitempty"`
	PublicChat bool           `json:"publicChat,omitempty"`
	Activity   *AgentActivity `json:"activity,omitempty"`
}

// AgentActivity is the newest event and message over all sessions of an agent, and whether any run of it is live.
type AgentActivity struct {
	At          int64  `json:"at"`
	Kind        string `json:"kind"`
	MessageAt   int64  `json:"messageAt"`
	MessageFrom string `json:"messageFrom"`
	SessionID   string `json:"sessionId"`
	Busy        bool   `json:"busy"`
}

// AgentDefinition is the wire's view of an agent's spec. Unknown keys are dropped when it is saved.
type AgentDefinition struct {
	Name string `json:"name"`
	// SystemPrompt is always a block array once stored; text is accepted and parsed as Markdown into blocks.
	SystemPrompt   PromptBlocks   `json:"systemPrompt"`
	ModelProvider  string         `json:"modelProvider"`
	Model          string         `json:"model"`
	ReasoningLevel string         `json:"reasoningLevel,omitempty"`
	Thoroughness   string         `json:"thoroughness,omitempty"`
	EnabledModels  []ModelChoice  `json:"enabledModels,omitempty"`
	Tools          *[]string      `json:"tools,omitempty"`
	McpServers     []string       `json:"mcpServers,omitempty"`
	SigningKey     string         `json:"signingKey,omitempty"`
	SigningKeys    []string       `json:"signingKeys,omitempty"`
	Metadata       map[string]any `json:"metadata,omitempty"`
	// ToolApproval says which calls a person has to approve first. It is Loam's own: a replacement without it keeps what
	// was set, and an empty one takes it away.
	ToolApproval *ToolApproval `json:"toolApproval,omitempty"`
}

// ToolApproval says when a person is asked before an agent calls a tool: "required" or "never".
type ToolApproval struct {
	// Default is for every tool that acts on the world; never when it is empty.
	Default string `json:"default,omitempty"`
	// Tools is for tools by their names, whatever they do. It wins over Default.
	Tools map[string]string `json:"tools,omitempty"`
}

// ModelChoice names a model of a configured provider.
type ModelChoice struct {
	Provider string `json:"provider"`
	Model    string `json:"model"`
}

// PromptBlocks is a prompt as a tree of hypermedia blocks.
type PromptBlocks []PromptBlock

// PromptBlock is one node of a prompt: a block (id and type are non-empty text, further keys are free) and its children.
type PromptBlock struct {
	Block    map[string]any `json:"block"`
	Children []PromptBlock  `json:"children,omitempty"`
}

// SessionInfo is a conversation without its events (spec §4).
type SessionInfo struct {
	ID      string `json:"id"`
	Account string `json:"account"`
	AgentID string `json:"agentId"`
	Title   string `json:"title,omitempty"`
	// Status mirrors the session's runs: idle, streaming, stopped or error.
	Status            string         `json:"status"`
	CreatedAt         int64          `json:"createdAt"`
	UpdatedAt         int64          `json:"updatedAt"`
	ParentSessionID   string         `json:"parentSessionId,omitempty"`
	RunID             string         `json:"runId,omitempty"`
	Plan              *RunPlan       `json:"plan,omitempty"`
	ChildSessionCount int64          `json:"childSessionCount,omitempty"`
	ModelOverride     *ModelOverride `json:"modelOverride,omitempty"`
	Description       string         `json:"description,omitempty"`
	// Thoroughness is the session's own, quick, normal or deep; absent when it is its agent's.
	Thoroughness string           `json:"thoroughness,omitempty"`
	Activity     *SessionActivity `json:"activity,omitempty"`
	// StartedByTrigger is the firing that the session began with.
	StartedByTrigger *SessionTrigger `json:"startedByTrigger,omitempty"`
	// ContinuedFrom is the session whose work this one goes on with, ContinuedTo the one in which it goes on.
	ContinuedFrom *SessionContinuationLink `json:"continuedFrom,omitempty"`
	ContinuedTo   *SessionContinuationLink `json:"continuedTo,omitempty"`
}

// SessionContinuationLink names the session on the other side of a continuation, with the title that it had then. Reason is
// context_pressure, topic_change, phase_change, refocus, user_request, other, or what the agent wrote.
type SessionContinuationLink struct {
	ContinuationID string `json:"continuationId"`
	SessionID      string `json:"sessionId"`
	Title          string `json:"title,omitempty"`
	Reason         string `json:"reason"`
	CreatedAt      int64  `json:"createdAt"`
}

// SessionActivity is the time and the sender (user or agent) of a session's latest message.
type SessionActivity struct {
	MessageAt   int64  `json:"messageAt"`
	MessageFrom string `json:"messageFrom"`
}

// ModelOverride is the model a session uses instead of its agent's. Without a reasoning level reasoning is off.
type ModelOverride struct {
	Provider       string `json:"provider"`
	Model          string `json:"model"`
	ReasoningLevel string `json:"reasoningLevel,omitempty"`
}

// SessionListCursor continues a list of sessions, newest first, after the row it names.
type SessionListCursor struct {
	UpdatedBefore int64  `json:"updatedBefore"`
	IDBefore      string `json:"idBefore"`
}

// SessionEvent is one durable entry of a session's log.
type SessionEvent struct {
	ID        string  `json:"id"`
	SessionID string  `json:"sessionId"`
	Seq       int64   `json:"seq"`
	Event     Payload `json:"event"`
	CreatedAt int64   `json:"createdAt"`
	// Truncated says that Event holds the beginnings of what is large in it; GetSessionEvent has it whole.
	Truncated bool `json:"truncated,omitempty"`
}

// Payload is a JSON object that is kept as it was written. In CBOR it is the same object as a map.
type Payload json.RawMessage

// MarshalJSON returns the object itself.
func (p Payload) MarshalJSON() ([]byte, error) { return json.RawMessage(p).MarshalJSON() }

// UnmarshalJSON keeps a copy of the object.
func (p *Payload) UnmarshalJSON(b []byte) error { return (*json.RawMessage)(p).UnmarshalJSON(b) }

// EventMeta is the provenance of an event, stamped once when it is appended.
type EventMeta struct {
	AccountID string `json:"accountId,omitempty"`
	SignerID  string `json:"signerId,omitempty"`
	Model     string `json:"model,omitempty"`
	// Provider is the type of the provider (openai, custom, …), not its configured name.
	Provider string `json:"provider,omitempty"`
	Usage    *Usage `json:"usage,omitempty"`
	// DurationMs is how long the model took for this answer, or a tool for its call.
	DurationMs int64 `json:"durationMs,omitempty"`
	// ReasoningLevel is the level that was asked for: off when reasoning was switched off, default when the request named none.
	ReasoningLevel string    `json:"reasoningLevel,omitempty"`
	Turn           *TurnMeta `json:"turn,omitempty"`
	// ContinuedFrom is the message of another session that this one is a copy of.
	ContinuedFrom *ContinuedFrom `json:"continuedFrom,omitempty"`
}

// ContinuedFrom names the message that a session which continues another one was begun with.
type ContinuedFrom struct {
	SessionID string `json:"sessionId"`
	EventID   string `json:"eventId"`
	Seq       int64  `json:"seq"`
}

// TurnMeta is where an answer of a model stands in its turn. Times are in milliseconds.
type TurnMeta struct {
	// Index counts the answers of a turn, from 0; after a crash or a wait it begins anew.
	Index int64 `json:"index"`
	// TTFTMs is the time from the request to the first piece of the answer, and TurnMs from the beginning of the turn to the answer's end.
	TTFTMs int64 `json:"ttftMs"`
	TurnMs int64 `json:"turnMs"`
}

// MessageEvent is something that was said. Actor is empty for what a user or an agent said in the ordinary way.
type MessageEvent struct {
	Type            string          `json:"type"`
	Role            string          `json:"role"`
	Content         string          `json:"content"`
	RawMarkdown     string          `json:"rawMarkdown,omitempty"`
	Blocks          json.RawMessage `json:"blocks,omitempty"`
	ContextLines    []string        `json:"contextLines,omitempty"`
	Attachments     []AttachmentRef `json:"attachments,omitempty"`
	ClientMessageID string          `json:"clientMessageId,omitempty"`
	Actor           string          `json:"actor,omitempty"`
	Meta            *EventMeta      `json:"meta,omitempty"`
}

// AttachmentRef names a session attachment inside a message.
type AttachmentRef struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	MimeType string `json:"mimeType,omitempty"`
	Size     int64  `json:"size"`
}

// ToolCallEvent is a call that was started.
type ToolCallEvent struct {
	Type  string          `json:"type"`
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
	Actor string          `json:"actor,omitempty"`
	Meta  *EventMeta      `json:"meta,omitempty"`
}

// ToolResultEvent answers a call with an output or an error.
type ToolResultEvent struct {
	Type       string          `json:"type"`
	ToolCallID string          `json:"toolCallId"`
	Name       string          `json:"name"`
	Output     json.RawMessage `json:"output,omitempty"`
	Error      string          `json:"error,omitempty"`
	Actor      string          `json:"actor,omitempty"`
	Meta       *EventMeta      `json:"meta,omitempty"`
}

// ToolSpawnEvent says which child a call has started, for which its turn waits. A child that runs a script has no session.
type ToolSpawnEvent struct {
	Type       string `json:"type"`
	ToolCallID string `json:"toolCallId"`
	Name       string `json:"name"`
	RunID      string `json:"runId"`
	SessionID  string `json:"sessionId,omitempty"`
	Title      string `json:"title"`
	Actor      string `json:"actor,omitempty"`
}

// ErrorEvent says that a turn failed.
type ErrorEvent struct {
	Type    string `json:"type"`
	Message string `json:"message"`
	Actor   string `json:"actor,omitempty"`
}

// MemoryEntry is a file or folder of an agent's memory.
type MemoryEntry struct {
	Path       string `json:"path"`
	Type       string `json:"type"`
	Size       int64  `json:"size"`
	UpdatedAt  int64  `json:"updatedAt"`
	MimeType   string `json:"mimeType,omitempty"`
	EntryCount int64  `json:"entryCount,omitempty"`
}

// MemoryFile is a file of an agent's memory with its bytes: Content, which may be empty, when Encoding is utf8, and Data when it
// is binary.
type MemoryFile struct {
	Path      string  `json:"path"`
	Size      int64   `json:"size"`
	UpdatedAt int64   `json:"updatedAt"`
	MimeType  string  `json:"mimeType,omitempty"`
	Encoding  string  `json:"encoding"`
	Content   *string `json:"content,omitempty"`
	Data      []byte  `json:"data,omitempty"`
}

// AttachmentInfo is a file of a session; its id is the SHA-256 of its bytes.
type AttachmentInfo struct {
	ID        string `json:"id"`
	SessionID string `json:"sessionId"`
	Name      string `json:"name"`
	MimeType  string `json:"mimeType,omitempty"`
	Size      int64  `json:"size"`
	CreatedAt int64  `json:"createdAt"`
}

// ToolInfo is a callable of an agent. Source and Runtime are those of an authored tool (kind lambda), Server and RemoteName those of
// a tool of an MCP server (kind mcp). Enabled says that it is switched on, and Granted that the agent's definition offers it. Extensions of
// Loam: Effect is what a call does to the world (pure, idempotent, side-effecting), and Author who wrote an authored tool as it is now
// (agent or person; absent when that is not known).
type ToolInfo struct {
	Name        string          `json:"name"`
	Kind        string          `json:"kind"`
	Summary     string          `json:"summary"`
	Description string          `json:"description"`
	Input       json.RawMessage `json:"input"`
	Output      json.RawMessage `json:"output,omitempty"`
	Source      string          `json:"source,omitempty"`
	Runtime     string          `json:"runtime,omitempty"`
	Server      string          `json:"server,omitempty"`
	RemoteName  string          `json:"remoteName,omitempty"`
	CID         string          `json:"cid"`
	Enabled     bool            `json:"enabled"`
	Granted     bool            `json:"granted"`
	Effect      string          `json:"effect"`
	Author      string          `json:"author,omitempty"`
	CreatedAt   int64           `json:"createdAt"`
	UpdatedAt   int64           `json:"updatedAt"`
}

// ToolInput is a tool as its author writes it. Summary defaults to the first sentence of Description, Input to any object, Runtime
// to typescript, and Enabled, an extension of Loam, to what it was, or to true.
type ToolInput struct {
	Name        string          `json:"name"`
	Summary     string          `json:"summary,omitempty"`
	Description string          `json:"description"`
	Input       json.RawMessage `json:"input,omitempty"`
	Output      json.RawMessage `json:"output,omitempty"`
	Source      string          `json:"source"`
	Runtime     string          `json:"runtime,omitempty"`
	Enabled     *bool           `json:"enabled,omitempty"`
}

// ProviderConfig configures a model provider.
type ProviderConfig struct {
	Type          string            `json:"type"`
	ModelDefaults map[string]any    `json:"modelDefaults,omitempty"`
	SecretRefs    map[string]string `json:"secretRefs,omitempty"`
	BaseURL       string            `json:"baseUrl,omitempty"`
	AuthMode      string            `json:"authMode,omitempty"`
}

// ProviderInfo is a configured provider without its secrets.
type ProviderInfo struct {
	ID         string `json:"id"`
	Name       string `json:"name"`
	Type       string `json:"type"`
	HasSecrets bool   `json:"hasSecrets"`
	// AuthMode is subscription, and AuthStatus ok or needs-login, for a provider that a person has signed in to; both are absent
	// otherwise.
	AuthMode   string `json:"authMode,omitempty"`
	AuthStatus string `json:"authStatus,omitempty"`
	// LastSuccessAt and the next two say how it fared when it was asked last, with its present configuration: exact to about a
	// minute, absent where it never did, and told to its own account only. They are Loam's own.
	LastSuccessAt int64 `json:"lastSuccessAt,omitempty"`
	LastErrorAt   int64 `json:"lastErrorAt,omitempty"`
	// LastError is a sentence for people, without secrets.
	LastError string `json:"lastError,omitempty"`
	CreatedAt int64  `json:"createdAt"`
	UpdatedAt int64  `json:"updatedAt"`
}

// SecretInfo is a secret without its value.
type SecretInfo struct {
	ID        string         `json:"id"`
	Name      string         `json:"name"`
	Metadata  map[string]any `json:"metadata,omitempty"`
	HasValue  bool           `json:"hasValue"`
	CreatedAt int64          `json:"createdAt"`
	UpdatedAt int64          `json:"updatedAt"`
}

// ModelRef is one model that a provider offers.
type ModelRef struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// McpServerConfig says how an MCP server is reached. Exactly one of URL and Command is set.
type McpServerConfig struct {
	// URL is the endpoint, http or https.
	URL string `json:"url,omitempty"`
	// Transport is "http" (streamable HTTP) or "sse"; empty tries one after the other.
	Transport string `json:"transport,omitempty"`
	// Headers are sent with every request; SecretRefs names, per header, the secret that holds its value. Of a command they are
	// variables of its environment.
	Headers    map[string]string `json:"headers,omitempty"`
	SecretRefs map[string]string `json:"secretRefs,omitempty"`
	// Auth is "oauth" when the server wants a person to sign in (Loam).
	Auth string `json:"auth,omitempty"`
	// Command is a program with its arguments that speaks MCP over its standard streams (Loam).
	Command []string `json:"command,omitempty"`
}

// McpServer is a configured MCP server without its secrets (spec: RedactedMcpServer).
type McpServer struct {
	ID                string    `json:"id"`
	Name              string    `json:"name"`
	URL               string    `json:"url"`
	Transport         string    `json:"transport"`
	HasSecrets        bool      `json:"hasSecrets"`
	HeaderNames       []string  `json:"headerNames"`
	SecretHeaderNames []string  `json:"secretHeaderNames"`
	Status            McpStatus `json:"status"`
	Tools             []McpTool `json:"tools"`
	// Auth and SignedIn are about servers that want a person to sign in (Loam); Command is the program (Loam).
	Auth      string   `json:"auth,omitempty"`
	SignedIn  bool     `json:"signedIn,omitempty"`
	Command   []string `json:"command,omitempty"`
	CreatedAt int64    `json:"createdAt"`
	UpdatedAt int64    `json:"updatedAt"`
}

// McpStatus is how the last discovery went.
type McpStatus struct {
	// State is "ok", "error" or "unknown".
	State     string `json:"state"`
	Error     string `json:"error,omitempty"`
	CheckedAt int64  `json:"checkedAt,omitempty"`
}

// McpTool is a tool of an MCP server. Name is the server's own, ToolName the one that agents call.
type McpTool struct {
	Name        string          `json:"name"`
	ToolName    string          `json:"toolName"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"inputSchema,omitempty"`
}
