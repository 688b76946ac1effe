package operation

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/sessionlog"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

// The requests and answers of routes that differ from those of the wire: JSON has no bytes, cursors are opaque, and a program
// that waits for an answer wants its text. They also name the fields of what the wire takes as a free map.

// DefinitionFields is an agent's definition as it is sent.
type DefinitionFields struct {
	Name string `json:"name"`
	// SystemPrompt is Markdown or a list of blocks.
	SystemPrompt   any                `json:"systemPrompt"`
	ModelProvider  string             `json:"modelProvider"`
	Model          string             `json:"model"`
	ReasoningLevel string             `json:"reasoningLevel,omitempty"`
	Thoroughness   string             `json:"thoroughness,omitempty"`
	EnabledModels  []wire.ModelChoice `json:"enabledModels,omitempty"`
	Tools          []string           `json:"tools,omitempty"`
	McpServers     []string           `json:"mcpServers,omitempty"`
	SigningKey     string             `json:"signingKey,omitempty"`
	SigningKeys    []string           `json:"signingKeys,omitempty"`
	Metadata       map[string]any     `json:"metadata,omitempty"`
	// ToolApproval says which calls a person has to approve first. A replacement without it keeps what was set, an empty one takes it away.
	ToolApproval *wire.ToolApproval `json:"toolApproval,omitempty"`
}

// CreateAgentFields makes an agent.
type CreateAgentFields struct {
	Definition      DefinitionFields `json:"definition"`
	ClientRequestID string           `json:"clientRequestId,omitempty"`
}

// UpdateAgentFields replaces an agent's definition whole.
type UpdateAgentFields struct {
	AgentID    string           `json:"agentId"`
	Definition DefinitionFields `json:"definition"`
}

// ProviderFields connects a provider.
type ProviderFields struct {
	Name     string              `json:"name"`
	Provider wire.ProviderConfig `json:"provider"`
}

// McpServerFields connects an MCP server.
type McpServerFields struct {
	Name   string               `json:"name"`
	Config wire.McpServerConfig `json:"config"`
}

// SecretFields stores a secret; its value is text.
type SecretFields struct {
	Name     string         `json:"name"`
	Value    string         `json:"value"`
	Metadata map[string]any `json:"metadata,omitempty"`
}

func shapeSecret(fields map[string]any) error {
	if text, ok := fields["value"].(string); ok {
		fields["value"] = []byte(text)
	}
	return nil
}

// MemoryListFields asks for an agent's files, or those in a folder.
type MemoryListFields struct {
	AgentID string `json:"agentId"`
	// Path of a file or folder.
	Path *string `json:"path,omitempty"`
}

func presentMemory(_ context.Context, c *Call, r Result) (Result, error) {
	list := r.Value.(wire.ListAgentMemoryResponse)
	folder, _ := c.fields["path"].(string)
	if folder = strings.Trim(folder, "/"); folder == "" {
		return r, nil
	}
	list.Entries = slices.DeleteFunc(list.Entries, func(e wire.MemoryEntry) bool {
		return e.Path != folder && !strings.HasPrefix(e.Path, folder+"/")
	})
	return Result{Value: list}, nil
}

// MemoryFields writes a file: Content is text, Data are bytes in base64, one of them.
type MemoryFields struct {
	AgentID string `json:"agentId"`
	Path    string `json:"path"`
	// Content is text.
	Content string `json:"content,omitempty"`
	// Data are bytes.
	Data []byte `json:"data,omitempty"`
}

func shapeMemory(fields map[string]any) error {
	_, text := fields["content"]
	data, bytes := fields["data"]
	if text == bytes {
		return fault.Invalid("Give either content, as text, or data, as bytes in base64").With("field", "content")
	}
	if !bytes {
		return nil
	}
	encoded, _ := data.(string)
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return fault.Invalid("data must be bytes in base64").With("field", "data")
	}
	delete(fields, "data")
	fields["content"] = raw
	return nil
}

// UploadFields name a file that is uploaded.
type UploadFields struct {
	SessionID string `json:"sessionId"`
	Name      string `json:"name"`
}

func presentFile(_ context.Context, _ *Call, r Result) (Result, error) {
	file := r.Value.(wire.ReadSessionAttachmentResponse)
	a := file.Attachment
	return Result{Value: File{Name: a.Name, MimeType: a.MimeType, Data: file.Data}, Tag: `"` + a.ID + `"`}, nil
}

// SessionsFields asks for a page of sessions.
type SessionsFields struct {
	AgentID *string `json:"agentId,omitempty"`
	// ParentSessionID selects the sessions that another one has started.
	ParentSessionID *string `json:"parentSessionId,omitempty"`
	// IncludeChildren of false leaves out sessions that another one has started.
	IncludeChildren *bool `json:"includeChildren,omitempty"`
	// ExcludeTriggered leaves out the sessions that a trigger started.
	ExcludeTriggered *bool `json:"excludeTriggered,omitempty"`
	// Limit is at most 200; 50 when not given.
	Limit *int64 `json:"limit,omitempty"`
	// Cursor is the nextCursor of the page before.
	Cursor *string `json:"cursor,omitempty"`
}

// shapeSeq reads a seq that stands in a path.
func shapeSeq(fields map[string]any) error {
	text, _ := fields["seq"].(string)
	seq, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return fault.Invalid("seq must be a positive integer").With("field", "seq")
	}
	fields["seq"] = seq
	return nil
}

// SessionsPage is a page of sessions and the agents they belong to.
type SessionsPage struct {
	Sessions   []wire.SessionInfo `json:"sessions"`
	Agents     []wire.AgentInfo   `json:"agents"`
	NextCursor string             `json:"nextCursor,omitempty"`
}

func shapeSessions(fields map[string]any) error {
	text, ok := fields["cursor"].(string)
	if !ok {
		return nil
	}
	var cursor wire.SessionListCursor
	if err := parseCursor(text, &cursor); err != nil {
		return err
	}
	fields["cursor"] = map[string]any{"updatedBefore": cursor.UpdatedBefore, "idBefore": cursor.IDBefore}
	return nil
}

func presentSessions(_ context.Context, _ *Call, r Result) (Result, error) {
	page := r.Value.(wire.ListSessionsResponse)
	out := SessionsPage{Sessions: page.Sessions, Agents: page.Agents}
	if page.NextCursor == nil {
		return Result{Value: out}, nil
	}
	var err error
	out.NextCursor, err = cursorText(page.NextCursor)
	return Result{Value: out}, err
}

// cursorText is a place in a list as clients hand it back: it means nothing to them.
func cursorText(place any) (string, error) {
	body, err := json.Marshal(place)
	return base64.RawURLEncoding.EncodeToString(body), err
}

func parseCursor(text string, into any) error {
	body, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || json.Unmarshal(body, into) != nil {
		return fault.Invalid("cursor is not one of this list: leave it out to begin").With("field", "cursor")
	}
	return nil
}

// UpdateSessionFields changes a session.
type UpdateSessionFields struct {
	SessionID string  `json:"sessionId"`
	Title     *string `json:"title,omitempty"`
	// ModelOverride of null clears the override.
	ModelOverride *wire.ModelOverride `json:"modelOverride,omitempty" nullable:"true"`
	// Thoroughness is quick, normal or deep; null goes back to the agent's.
	Thoroughness *string `json:"thoroughness,omitempty" nullable:"true"`
}

// MessageFields is a message; at least one part is text.
type MessageFields struct {
	SessionID       string        `json:"sessionId"`
	Content         []MessagePart `json:"content"`
	ClientMessageID string        `json:"clientMessageId,omitempty"`
}

// MessagePart is a text, context lines or an attachment, by its type.
type MessagePart struct {
	// Type is text, context or attachment.
	Type            string             `json:"type"`
	Text            string             `json:"text,omitempty"`
	Blocks          []wire.PromptBlock `json:"blocks,omitempty"`
	ClientMessageID string             `json:"clientMessageId,omitempty"`
	Lines           []string           `json:"lines,omitempty"`
	ID              string             `json:"id,omitempty"`
}

// TurnAnswer is how a turn ended: the assistant's event and its text, both empty when the turn waits behind another or said
// nothing. Of a request that did not wait it holds the run, and the seq of the last event before it.
type TurnAnswer struct {
	SessionID        string  `json:"sessionId"`
	AssistantEventID *string `json:"assistantEventId,omitempty"`
	Text             *string `json:"text,omitempty"`
	// ContinuedToSessionID is the session in which the agent goes on with the work of this one.
	ContinuedToSessionID string `json:"continuedToSessionId,omitempty"`
	RunID                string `json:"runId,omitempty"`
	Seq                  int64  `json:"seq,omitempty"`
}

func presentTurn(ctx context.Context, c *Call, r Result) (Result, error) {
	if p, ok := r.Value.(pending); ok {
		return Result{Value: TurnAnswer{SessionID: p.Session, RunID: p.Run, Seq: p.Seq}, Status: http.StatusAccepted}, nil
	}
	answer := r.Value.(wire.MessageSessionResponse)
	text := ""
	out := TurnAnswer{SessionID: answer.SessionID, AssistantEventID: &answer.AssistantEventID, Text: &text, ContinuedToSessionID: answer.ContinuedToSessionID}
	if answer.AssistantEventID == "" {
		return Result{Value: out}, nil
	}
	err := c.opts.Store.Read(ctx, func(tx store.Tx) (err error) {
		text, err = sessionlog.MessageText(tx, answer.SessionID, answer.AssistantEventID)
		return err
	})
	return Result{Value: out}, err
}
