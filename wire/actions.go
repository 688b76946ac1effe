package wire

import "encoding/json"

// The requests and responses of the actions that Loam serves (spec §3). A request is an action map without `_` and `ts`;
// a response is sent with `_` set to its name. Field names are the wire's.

// ListAgentsResponse lists owned agents and accepted collaborations, newest update first. NextCursor stands
// there when a page was asked for and is not the last.
type ListAgentsResponse struct {
	Agents     []AgentInfo `json:"agents"`
	NextCursor string      `json:"nextCursor,omitempty"`
}

// CreateAgentRequest creates an agent. ClientRequestID makes a repetition answer what the first one answered.
type CreateAgentRequest struct {
	Definition      map[string]any `json:"definition"`
	ClientRequestID *string        `json:"clientRequestId,omitempty"`
}

// CreateAgentResponse names the new agent.
type CreateAgentResponse struct {
	AgentID string `json:"agentId"`
}

// AgentRequest names an agent.
type AgentRequest struct {
	AgentID string `json:"agentId"`
}

// GetAgentResponse is an agent with the number of its top-level sessions. Callers of protocol 1 get Sessions too.
type GetAgentResponse struct {
	Agent        AgentInfo      `json:"agent"`
	SessionCount int64          `json:"sessionCount"`
	Sessions     *[]SessionInfo `json:"sessions,omitempty"`
}

// UpdateAgentRequest replaces an agent's definition whole.
type UpdateAgentRequest struct {
	AgentID    string         `json:"agentId"`
	Definition map[string]any `json:"definition"`
}

// SetModelProviderRequest creates or replaces the provider of that name.
type SetModelProviderRequest struct {
	Name     string         `json:"name"`
	Provider map[string]any `json:"provider"`
}

// ProviderResponse is one provider.
type ProviderResponse struct {
	Provider ProviderInfo `json:"provider"`
}

// ListModelProvidersRequest lists the caller's providers, or those of the owner of AgentID.
type ListModelProvidersRequest struct {
	AgentID *string `json:"agentId,omitempty"`
}

// ListModelProvidersResponse lists providers, newest update first.
type ListModelProvidersResponse struct {
	Providers []ProviderInfo `json:"providers"`
}

// ListProviderModelsRequest asks a provider for its models.
type ListProviderModelsRequest struct {
	Provider string  `json:"provider"`
	AgentID  *string `json:"agentId,omitempty"`
}

// ListProviderModelsResponse lists models.
type ListProviderModelsResponse struct {
	Models []ModelRef `json:"models"`
}

// NameRequest names a provider.
type NameRequest struct {
	Name string `json:"name"`
}

// NameResponse repeats the name that was deleted.
type NameResponse struct {
	Name string `json:"name"`
}

// SetSecretRequest stores a secret of at most 64 KiB.
type SetSecretRequest struct {
	Name     string         `json:"name"`
	Value    []byte         `json:"value"`
	Metadata map[string]any `json:"metadata,omitempty"`
}

// SecretResponse is a secret without its value.
type SecretResponse struct {
	Secret SecretInfo `json:"secret"`
}

// CreateSessionRequest opens a conversation with an agent.
type CreateSessionRequest struct {
	AgentID       string         `json:"agentId"`
	Title         *string        `json:"title,omitempty"`
	ModelOverride *ModelOverride `json:"modelOverride,omitempty"`
	// Thoroughness is quick, normal or deep; absent it is the agent's.
	Thoroughness    *string `json:"thoroughness,omitempty"`
	ClientRequestID *string `json:"clientRequestId,omitempty"`
}

// CreateSessionResponse names the new session.
type CreateSessionResponse struct {
	SessionID string `json:"sessionId"`
}

// GetSessionRequest reads a session and its events after AfterSeq, or, with BeforeSeq or Limit, a page of them.
type GetSessionRequest struct {
	SessionID string `json:"sessionId"`
	AfterSeq  *int64 `json:"afterSeq,omitempty"`
	BeforeSeq *int64 `json:"beforeSeq,omitempty"`
	Limit     *int64 `json:"limit,omitempty"`
}

// GetSessionResponse is a session with events in seq order and the prompt a new turn would get.
type GetSessionResponse struct {
	Session              SessionInfo    `json:"session"`
	Events               []SessionEvent `json:"events"`
	SystemPromptMarkdown string         `json:"systemPromptMarkdown"`
	ContextWindow        int64          `json:"contextWindow,omitempty"`
	HasMoreBefore        bool           `json:"hasMoreBefore,omitempty"`
	// TriggerContext is the firing that the session began with.
	TriggerContext *SessionTriggerContext `json:"triggerContext,omitempty"`
}

// SessionEventRequest names an event of a session.
type SessionEventRequest struct {
	SessionID string `json:"sessionId"`
	Seq       int64  `json:"seq"`
}

// SessionEventResponse is an event, whole.
type SessionEventResponse struct {
	Event SessionEvent `json:"event"`
}

// ListSessionsRequest lists sessions of the account, of an agent, or of a parent session.
type ListSessionsRequest struct {
	AgentID         *string         `json:"agentId,omitempty"`
	Limit           *int64          `json:"limit,omitempty"`
	Cursor          json.RawMessage `json:"cursor,omitempty"`
	ParentSessionID *string         `json:"parentSessionId,omitempty"`
	IncludeChildren *bool           `json:"includeChildren,omitempty"`
	// ExcludeTriggered leaves out the sessions that a trigger started.
	ExcludeTriggered *bool `json:"excludeTriggered,omitempty"`
}

// ListSessionsResponse is a page of sessions, newest update first, and the agents they belong to.
type ListSessionsResponse struct {
	Sessions   []SessionInfo      `json:"sessions"`
	Agents     []AgentInfo        `json:"agents"`
	NextCursor *SessionListCursor `json:"nextCursor,omitempty"`
}

// UpdateSessionRequest changes a session's title or model. A ModelOverride of null clears the override.
type UpdateSessionRequest struct {
	SessionID     string          `json:"sessionId"`
	Title         *string         `json:"title,omitempty"`
	ModelOverride json.RawMessage `json:"modelOverride,omitempty"`
	// Thoroughness of null goes back to the agent's. It applies from the next turn that a person starts.
	Thoroughness json.RawMessage `json:"thoroughness,omitempty"`
}

// SessionResponse is one session.
type SessionResponse struct {
	Session SessionInfo `json:"session"`
}

// SessionRequest names a session.
type SessionRequest struct {
	SessionID string `json:"sessionId"`
}

// DeleteSessionResponse names what was deleted.
type DeleteSessionResponse struct {
	SessionID string `json:"sessionId"`
	AgentID   string `json:"agentId"`
}

// MessageSessionRequest sends user messages; at least one content part is text.
type MessageSessionRequest struct {
	SessionID       string            `json:"sessionId"`
	Content         []json.RawMessage `json:"content"`
	ClientMessageID *string           `json:"clientMessageId,omitempty"`
}

// MessageSessionResponse names the assistant event that ended the turn; empty means: follow the stream.
type MessageSessionResponse struct {
	SessionID        string `json:"sessionId"`
	AssistantEventID string `json:"assistantEventId"`
	// ContinuedToSessionID is the session in which the agent goes on with the work of this one.
	ContinuedToSessionID string `json:"continuedToSessionId,omitempty"`
}

// StopSessionResponse tells whether anything was stopped.
type StopSessionResponse struct {
	SessionID string `json:"sessionId"`
	Stopped   bool   `json:"stopped"`
}

// RunRequest names a run.
type RunRequest struct {
	RunID string `json:"runId"`
}

// RunResponse is one run.
type RunResponse struct {
	Run RunInfo `json:"run"`
}

// StartScriptRequest runs a script with what an agent may do. Script is a module of at most 256 KiB that exports an async function of
// (input, ctx), in JavaScript or TypeScript; Input is any value of at most 1 MiB of JSON.
type StartScriptRequest struct {
	AgentID         string  `json:"agentId"`
	Script          string  `json:"script"`
	Input           any     `json:"input,omitempty"`
	Title           *string `json:"title,omitempty"`
	ClientRequestID *string `json:"clientRequestId,omitempty"`
}

// StartScriptResponse names the run.
type StartScriptResponse struct {
	RunID string `json:"runId"`
}

// SignalRunRequest gives a run a signal: a name of at most 128 bytes, and any value of at most 64 KiB of JSON.
type SignalRunRequest struct {
	RunID   string `json:"runId"`
	Signal  string `json:"signal"`
	Payload any    `json:"payload,omitempty"`
}

// SignalRunResponse says whether the run was waiting for the signal. One that nobody waits for is lost.
type SignalRunResponse struct {
	RunID     string `json:"runId"`
	Delivered bool   `json:"delivered"`
}

// RunJournalRequest reads the journal of a run after a seq.
type RunJournalRequest struct {
	RunID    string `json:"runId"`
	AfterSeq *int64 `json:"afterSeq,omitempty"`
}

// RunJournalResponse is a run's journal in seq order. Turns keep none: what they do stands in the log of their session.
type RunJournalResponse struct {
	RunID   string            `json:"runId"`
	Entries []RunJournalEntry `json:"entries"`
}

// RunJournalEntry is one entry of a journal; its seq begins at 1 in each run.
type RunJournalEntry struct {
	RunID     string  `json:"runId"`
	Seq       int64   `json:"seq"`
	Entry     Payload `json:"entry"`
	CreatedAt int64   `json:"createdAt"`
}

// ListApprovalsRequest lists what persons are asked about, newest first: of the caller's account, or of what a filter names.
type ListApprovalsRequest struct {
	AgentID   *string `json:"agentId,omitempty"`
	SessionID *string `json:"sessionId,omitempty"`
	RunID     *string `json:"runId,omitempty"`
	// Status is pending, approved, rejected or canceled.
	Status *string `json:"status,omitempty"`
	Limit  *int64  `json:"limit,omitempty"`
	Cursor *string `json:"cursor,omitempty"`
}

// ListApprovalsResponse is a page of approvals.
type ListApprovalsResponse struct {
	Approvals  []ApprovalInfo `json:"approvals"`
	NextCursor string         `json:"nextCursor,omitempty"`
}

// ApprovalRequest names an approval.
type ApprovalRequest struct {
	ApprovalID string `json:"approvalId"`
}

// DecideApprovalRequest answers an approval. Note, of at most 2 KiB, is told to the agent when the answer is no.
type DecideApprovalRequest struct {
	ApprovalID string  `json:"approvalId"`
	Approve    bool    `json:"approve"`
	Note       *string `json:"note,omitempty"`
}

// ApprovalResponse is one approval.
type ApprovalResponse struct {
	Approval ApprovalInfo `json:"approval"`
}

// ListRunsRequest lists runs by exactly one of root (a tree, oldest first), session or agent (newest first).
type ListRunsRequest struct {
	RootRunID *string `json:"rootRunId,omitempty"`
	SessionID *string `json:"sessionId,omitempty"`
	AgentID   *string `json:"agentId,omitempty"`
	Status    *string `json:"status,omitempty"`
	Limit     *int64  `json:"limit,omitempty"`
}

// ListRunsResponse lists runs.
type ListRunsResponse struct {
	Runs []RunInfo `json:"runs"`
}

// CancelRunResponse tells whether anything of the subtree was still live.
type CancelRunResponse struct {
	RunID    string `json:"runId"`
	Canceled bool   `json:"canceled"`
}

// ListAgentToolsResponse lists an agent's callables by name.
type ListAgentToolsResponse struct {
	AgentID string     `json:"agentId"`
	Tools   []ToolInfo `json:"tools"`
}

// InvokeSessionToolRequest uses a verb (read, write or call) in a session as the person who asks. Input is the verb's.
type InvokeSessionToolRequest struct {
	SessionID string          `json:"sessionId"`
	Verb      string          `json:"verb"`
	Input     json.RawMessage `json:"input,omitempty"`
}

// InvokeSessionToolResponse is what a verb led to: an output, or the error of an execution that failed.
type InvokeSessionToolResponse struct {
	SessionID     string          `json:"sessionId"`
	ResultEventID string          `json:"resultEventId"`
	Output        json.RawMessage `json:"output,omitempty"`
	Error         string          `json:"error,omitempty"`
}

// SaveAgentToolRequest authors a tool: a new one, or with PreviousName in the place of the one of that name, which it may rename.
type SaveAgentToolRequest struct {
	AgentID      string    `json:"agentId"`
	Tool         ToolInput `json:"tool"`
	PreviousName string    `json:"previousName,omitempty"`
}

// SaveAgentToolResponse is the tool as it is now.
type SaveAgentToolResponse struct {
	AgentID string   `json:"agentId"`
	Tool    ToolInfo `json:"tool"`
}

// AgentToolRequest names a tool of an agent.
type AgentToolRequest struct {
	AgentID string `json:"agentId"`
	Name    string `json:"name"`
}

// DeleteAgentToolResponse tells whether there was such a tool.
type DeleteAgentToolResponse struct {
	AgentID string `json:"agentId"`
	Name    string `json:"name"`
	Deleted bool   `json:"deleted"`
}

// ListAgentMemoryResponse lists a whole memory by path; Truncated when it holds more than 2,000 entries.
type ListAgentMemoryResponse struct {
	AgentID    string        `json:"agentId"`
	Entries    []MemoryEntry `json:"entries"`
	TotalBytes int64         `json:"totalBytes"`
	Truncated  bool          `json:"truncated,omitempty"`
}

// MemoryFileRequest names a file of an agent's memory.
type MemoryFileRequest struct {
	AgentID string `json:"agentId"`
	Path    string `json:"path"`
}

// ReadAgentMemoryFileRequest reads a file of an agent's memory whole; or, with Offset or Length, some of its bytes.
type ReadAgentMemoryFileRequest struct {
	AgentID string `json:"agentId"`
	Path    string `json:"path"`
	// Offset is where the part begins; 0 when not given.
	Offset *int64 `json:"offset,omitempty"`
	// Length is the most bytes of the part, at most 8 MiB, which is also what counts when it is not given.
	Length *int64 `json:"length,omitempty"`
}

// ReadAgentMemoryFileResponse is a file with its bytes.
type ReadAgentMemoryFileResponse struct {
	AgentID string     `json:"agentId"`
	File    MemoryFile `json:"file"`
}

// WriteAgentMemoryFileRequest replaces a file; Content is text or bytes.
type WriteAgentMemoryFileRequest struct {
	AgentID string `json:"agentId"`
	Path    string `json:"path"`
	Content any    `json:"content"`
}

// WriteAgentMemoryFileResponse is the entry that was written.
type WriteAgentMemoryFileResponse struct {
	AgentID string      `json:"agentId"`
	Entry   MemoryEntry `json:"entry"`
}

// DeleteAgentMemoryFileResponse tells whether anything was there.
type DeleteAgentMemoryFileResponse struct {
	AgentID string `json:"agentId"`
	Path    string `json:"path"`
	Deleted bool   `json:"deleted"`
}

// UploadSessionAttachmentRequest adds a file to a session.
type UploadSessionAttachmentRequest struct {
	SessionID string  `json:"sessionId"`
	Name      string  `json:"name"`
	MimeType  *string `json:"mimeType,omitempty"`
	Content   []byte  `json:"content"`
}

// AttachmentResponse is a file of a session.
type AttachmentResponse struct {
	Attachment AttachmentInfo `json:"attachment"`
}

// ReadSessionAttachmentRequest names a file of a session.
type ReadSessionAttachmentRequest struct {
	SessionID    string `json:"sessionId"`
	AttachmentID string `json:"attachmentId"`
}

// ReadSessionAttachmentResponse is a file of a session with its bytes.
type ReadSessionAttachmentResponse struct {
	Attachment AttachmentInfo `json:"attachment"`
	Data       []byte         `json:"data"`
}

// SubscribeRequest asks for the frames of a key. AfterSeq is the last seq that the client holds.
type SubscribeRequest struct {
	Key      string `json:"key"`
	AfterSeq *int64 `json:"afterSeq,omitempty"`
}

// SetMcpServerRequest creates or replaces the MCP server of that name.
type SetMcpServerRequest struct {
	Name   string         `json:"name"`
	Config map[string]any `json:"config"`
}

// McpServerResponse is one MCP server.
type McpServerResponse struct {
	Server McpServer `json:"server"`
}

// ListMcpServersResponse lists the caller's MCP servers by name.
type ListMcpServersResponse struct {
	Servers []McpServer `json:"servers"`
}

// McpLoginResponse is where a person signs in to an MCP server.
type McpLoginResponse struct {
	AuthURL   string `json:"authUrl"`
	ExpiresAt int64  `json:"expiresAt"`
}
