package anthropic

import (
	"encoding/json"

	"github.com/loam-agents/loam/internal/model"
	"github.com/loam-agents/loam/internal/model/exchange"
)

// payload is the body of POST /v1/messages.
type payload struct {
	Model        string        `json:"model"`
	MaxTokens    int           `json:"max_tokens"`
	Stream       bool          `json:"stream"`
	Thinking     *thinking     `json:"thinking,omitempty"`
	OutputConfig *outputConfig `json:"output_config,omitempty"`
	Tools        []tool        `json:"tools,omitempty"`
	System       []*block      `json:"system,omitempty"`
	Messages     []message     `json:"messages"`
}

type thinking struct {
	Type         string `json:"type"`
	BudgetTokens int    `json:"budget_tokens,omitempty"`
	Display      string `json:"display,omitempty"`
}

type outputConfig struct {
	Effort string `json:"effort"`
}

type tool struct {
	Name         string          `json:"name"`
	Description  string          `json:"description,omitempty"`
	InputSchema  json.RawMessage `json:"input_schema"`
	CacheControl *cacheControl   `json:"cache_control,omitempty"`
}

type cacheControl struct {
	Type string `json:"type"`
}

var ephemeral = &cacheControl{Type: "ephemeral"}

type message struct {
	Role    string   `json:"role"`
	Content []*block `json:"content"`
}

// block is one content block. raw, when set, is the whole block and the other fields are unused.
type block struct {
	raw json.RawMessage

	Type         string          `json:"type"`
	Text         string          `json:"text,omitempty"`
	Source       *source         `json:"source,omitempty"`
	ID           string          `json:"id,omitempty"`
	Name         string          `json:"name,omitempty"`
	Input        json.RawMessage `json:"input,omitempty"`
	ToolUseID    string          `json:"tool_use_id,omitempty"`
	Content      string          `json:"content,omitempty"`
	IsError      bool            `json:"is_error,omitempty"`
	CacheControl *cacheControl   `json:"cache_control,omitempty"`
}

type source struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      []byte `json:"data"`
}

// MarshalJSON implements json.Marshaler.
func (b *block) MarshalJSON() ([]byte, error) {
	if b.raw != nil {
		return b.raw, nil
	}
	type plain block
	return exchange.Encode((*plain)(b), nil)
}

func buildPayload(req model.Request, maxTokens int) ([]byte, error) {
	out := payload{Model: req.Model, MaxTokens: maxTokens, Stream: true, Messages: conversation(req)}
	out.Thinking, out.OutputConfig = reasoning(req.Model, req.Reasoning, maxTokens, out.Messages)
	if req.System != "" {
		out.System = []*block{{Type: "text", Text: req.System, CacheControl: ephemeral}}
	}
	for _, t := range req.Tools {
		out.Tools = append(out.Tools, tool{Name: t.Name, Description: t.Description, InputSchema: exchange.Schema(t.Schema)})
	}
	if n := len(out.Tools); n > 0 {
		out.Tools[n-1].CacheControl = ephemeral
	}
	return exchange.Encode(out, req.Extra, "stream", "messages")
}
