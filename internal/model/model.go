// Package model is Loam's one door to language models: a small interface, storable messages, and the adapters of the
// dialects that providers speak.
//
// A Provider turns a Request into a stream of Events that ends with the complete, storable assistant Message. Everything a
// provider needs back byte for byte (thinking signatures, encrypted reasoning, thought signatures) travels as opaque
// parts: they are kept exactly or dropped whole, and they never cross to another model.
//
// model is tier 3. It reaches the network through the client that egress hands it. The engine (tier 5) calls it.
package model

import (
	"context"
	"encoding/json"
	"iter"
)

// Role says who speaks in a Message.
type Role string

// The roles of a conversation. System text is not a message: it stands in Request.System.
const (
	User      Role = "user"
	Assistant Role = "assistant"
	Tool      Role = "tool"
)

// Message is one entry of a conversation. It survives a round trip through JSON unchanged.
type Message struct {
	// Role is who speaks. A Tool message holds tool results only; all results of one assistant message may share it.
	Role Role `json:"role"`
	// Parts are in the order they were produced.
	Parts []Part `json:"parts"`
}

// PartKind tells which fields of a Part are set.
type PartKind string

// The kinds of parts.
const (
	// PartText is plain text in Text.
	PartText PartKind = "text"
	// PartImage is an image for vision models: MIMEType and Data.
	PartImage PartKind = "image"
	// PartToolCall is a call that the model asks for: CallID, Name, Arguments.
	PartToolCall PartKind = "tool_call"
	// PartToolResult answers a call: CallID, Name, Text, IsError.
	PartToolResult PartKind = "tool_result"
	// PartOpaque is provider state that goes back unread: Opaque.
	PartOpaque PartKind = "opaque"
)

// Part is a piece of a Message.
type Part struct {
	Kind PartKind `json:"kind"`
	// Text of a text part or a tool result.
	Text string `json:"text,omitempty"`
	// MIMEType and Data of an image; Data is the image itself, at most MaxImageBytes.
	MIMEType string `json:"mimeType,omitempty"`
	Data     []byte `json:"data,omitempty"`
	// CallID joins a call and its result. Providers that send none get one from the adapter, unique in the message.
	CallID string `json:"callId,omitempty"`
	// Name of the tool.
	Name string `json:"name,omitempty"`
	// Arguments are the call's input exactly as the model wrote it. They may be empty, `null` or not JSON at all: the
	// consumer decides what that means, an adapter only makes them acceptable to its provider on the way back.
	Arguments string `json:"arguments,omitempty"`
	// IsError marks a tool result that reports a failure.
	IsError bool `json:"isError,omitempty"`
	// Opaque is provider state. See Opaque.
	Opaque *Opaque `json:"opaque,omitempty"`
}

// Opaque is a block that only the provider understands, kept byte for byte.
type Opaque struct {
	// Dialect and Model say who may get it back: an adapter drops blocks of another dialect or another model whole.
	Dialect Dialect `json:"dialect"`
	Model   string  `json:"model"`
	// Block is the block as it arrived. An adapter may wrap it to keep its position relative to the other parts.
	Block json.RawMessage `json:"block"`
}

// storedOpaque is how a block is kept: as base64, since JSON inside JSON would be compacted and escaped.
type storedOpaque struct {
	Dialect Dialect `json:"dialect"`
	Model   string  `json:"model"`
	Block   []byte  `json:"block"`
}

// MarshalJSON keeps every byte of the block.
func (o Opaque) MarshalJSON() ([]byte, error) {
	return json.Marshal(storedOpaque{Dialect: o.Dialect, Model: o.Model, Block: o.Block})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (o *Opaque) UnmarshalJSON(b []byte) error {
	var s storedOpaque
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	*o = Opaque{Dialect: s.Dialect, Model: s.Model, Block: s.Block}
	return nil
}

// MaxImageBytes bounds an inline image (spec/agents-protocol.md §3.0).
const MaxImageBytes = 4_500_000

// Dialect is a provider protocol.
type Dialect string

// The dialects with an adapter.
const (
	OpenAIChat      Dialect = "openai-chat"
	OpenAIResponses Dialect = "openai-responses"
	Anthropic       Dialect = "anthropic"
	Gemini          Dialect = "gemini"
	Ollama          Dialect = "ollama"
	// TutorDialect is the deterministic model inside the binary.
	TutorDialect Dialect = "tutor"
)

// ReasoningLevel is how much a model may think. Empty means that the request says nothing about it.
type ReasoningLevel string

// The levels of the wire protocol. Off asks for no thinking where a model can be told so.
const (
	ReasoningOff     ReasoningLevel = "off"
	ReasoningMinimal ReasoningLevel = "minimal"
	ReasoningLow     ReasoningLevel = "low"
	ReasoningMedium  ReasoningLevel = "medium"
	ReasoningHigh    ReasoningLevel = "high"
	ReasoningXHigh   ReasoningLevel = "xhigh"
	ReasoningMax     ReasoningLevel = "max"
)

// ToolSpec is a tool as the provider sees it.
type ToolSpec struct {
	Name        string
	Description string
	// Schema is a JSON Schema with an object root. Adapters reduce it to what their provider accepts.
	Schema json.RawMessage
}

// Request is one generation.
type Request struct {
	// Model is the provider's own id.
	Model string
	// System is the stable prefix of the prompt. A provider with explicit cache markers gets one at its end.
	System string
	// Messages is the conversation, oldest first. The last message may be volatile (time, plan state): adapters with explicit
	// cache markers put theirs before it when VolatileTail is set.
	Messages     []Message
	VolatileTail bool
	// Tools that the model may call. Order is part of the cached prefix.
	Tools []ToolSpec
	// Reasoning level; empty leaves it to the provider.
	Reasoning ReasoningLevel
	// MaxOutputTokens bounds the answer; zero takes the catalogue's figure for the model.
	MaxOutputTokens int
	// Extra is merged shallowly over the provider payload (modelDefaults of the wire protocol).
	Extra map[string]any
	// CacheKey is a stable key of the conversation for providers that route by one (prompt_cache_key).
	CacheKey string
}

// Usage counts tokens. Input excludes what was read from or written to the provider's cache.
type Usage struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	CacheRead  int64 `json:"cacheRead"`
	CacheWrite int64 `json:"cacheWrite"`
	Total      int64 `json:"total"`
}

// Add returns the sum of two usages.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Input: u.Input + v.Input, Output: u.Output + v.Output, CacheRead: u.CacheRead + v.CacheRead,
		CacheWrite: u.CacheWrite + v.CacheWrite, Total: u.Total + v.Total,
	}
}

// StopReason is why a generation ended.
type StopReason string

// The reasons an adapter may report.
const (
	StopEnd       StopReason = "end"
	StopToolCalls StopReason = "tool_calls"
	StopLength    StopReason = "length"
	StopRefusal   StopReason = "refusal"
)

// EventKind tells which fields of an Event are set.
type EventKind string

// The kinds of events, in the order a stream produces them: deltas and tool call starts as they arrive, then one Done.
const (
	// EventTextDelta is visible text in Text.
	EventTextDelta EventKind = "text_delta"
	// EventReasoningDelta is a readable piece of the model's thinking in Text; it is shown, not stored.
	EventReasoningDelta EventKind = "reasoning_delta"
	// EventToolCallStart says that a call to Name with CallID has begun to arrive.
	EventToolCallStart EventKind = "tool_call_start"
	// EventDone ends the stream: Message, Usage, Stop.
	EventDone EventKind = "done"
)

// Event is one step of a stream.
type Event struct {
	Kind    EventKind
	Text    string
	CallID  string
	Name    string
	Message Message
	Usage   Usage
	Stop    StopReason
}

// Provider is a model service that was configured with its address and key.
type Provider interface {
	// Stream generates. The sequence yields events and ends after EventDone, or yields exactly one error as its last item;
	// the error is an *Error. Breaking out of the loop or canceling ctx closes the connection. A stream that ends without the
	// provider's own end mark is an error of kind ErrStreamCut, never a short answer.
	Stream(ctx context.Context, req Request) iter.Seq2[Event, error]
	// Models lists what the service offers. Errors are *Error.
	Models(ctx context.Context) ([]ModelRef, error)
	// Dialect tells which adapter this is.
	Dialect() Dialect
}

// ModelRef is one entry of a provider's own list.
type ModelRef struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}
