package openai

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/loam-agents/loam/internal/model"
	"github.com/loam-agents/loam/internal/model/exchange"
	"github.com/loam-agents/loam/internal/model/repair"
)

type chatPayload struct {
	Model           string        `json:"model"`
	Messages        []chatMessage `json:"messages"`
	Tools           []chatTool    `json:"tools,omitempty"`
	Stream          bool          `json:"stream"`
	StreamOptions   streamOptions `json:"stream_options"`
	MaxTokens       int           `json:"max_tokens,omitempty"`
	MaxCompletion   int           `json:"max_completion_tokens,omitempty"`
	ReasoningEffort string        `json:"reasoning_effort,omitempty"`
	Reasoning       *reasoning    `json:"reasoning,omitempty"`
	Thinking        *thinking     `json:"thinking,omitempty"`
	PromptCacheKey  string        `json:"prompt_cache_key,omitempty"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type reasoning struct {
	Effort  string `json:"effort,omitempty"`
	Summary string `json:"summary,omitempty"`
}

type thinking struct {
	Type string `json:"type"`
}

type chatTool struct {
	Type     string       `json:"type"`
	Function chatFunction `json:"function"`
}

type chatFunction struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}

// chatMessage holds content as a string, a list of parts, or nil (null) beside calls.
type chatMessage struct {
	Role             string          `json:"role"`
	Content          any             `json:"content"`
	ReasoningContent *string         `json:"reasoning_content,omitempty"`
	ReasoningDetails json.RawMessage `json:"reasoning_details,omitempty"`
	ToolCalls        []chatCall      `json:"tool_calls,omitempty"`
	ToolCallID       string          `json:"tool_call_id,omitempty"`
}

type chatCall struct {
	ID       string           `json:"id"`
	Type     string           `json:"type"`
	Function chatCallFunction `json:"function"`
}

type chatCallFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type chatPart struct {
	Type     string    `json:"type"`
	Text     string    `json:"text,omitempty"`
	ImageURL *imageURL `json:"image_url,omitempty"`
}

type imageURL struct {
	URL string `json:"url"`
}

// payload is the request body. Extra comes last; the fields that the adapter depends on stay.
func (c *chat) payload(req model.Request) ([]byte, error) {
	level, said := c.level(req)
	p := chatPayload{Model: req.Model, Stream: true, StreamOptions: streamOptions{IncludeUsage: true}}
	p.Messages = c.messages(req, said && level == model.ReasoningOff)
	for _, t := range req.Tools {
		f := chatFunction{Name: t.Name, Description: t.Description, Parameters: exchange.Schema(t.Schema)}
		p.Tools = append(p.Tools, chatTool{Type: "function", Function: f})
	}
	if c.quirks.MaxTokensField == "max_completion_tokens" {
		p.MaxCompletion = req.MaxOutputTokens
	} else {
		p.MaxTokens = req.MaxOutputTokens
	}
	if c.quirks.CacheKey {
		p.PromptCacheKey = req.CacheKey
	}
	if said {
		c.reason(&p, level)
	}
	return exchange.Encode(p, req.Extra, "model", "messages", "stream")
}

func (c *chat) reason(p *chatPayload, level model.ReasoningLevel) {
	switch {
	case c.quirks.Thinking && level == model.ReasoningOff:
		p.Thinking = &thinking{Type: "disabled"}
	case c.quirks.Thinking:
		p.Thinking, p.ReasoningEffort = &thinking{Type: "enabled"}, deepSeekEffort(level)
	case c.quirks.ReasoningObject:
		p.Reasoning = &reasoning{Effort: effort(level)}
	default:
		p.ReasoningEffort = effort(level)
	}
}

func (c *chat) messages(req model.Request, off bool) []chatMessage {
	var out []chatMessage
	if req.System != "" {
		out = append(out, chatMessage{Role: "system", Content: req.System})
	}
	for _, m := range repair.Conversation(req.Messages) {
		switch m.Role {
		case model.Tool:
			for _, p := range m.Parts {
				out = append(out, chatMessage{Role: "tool", ToolCallID: p.CallID, Content: p.Text})
			}
		case model.Assistant:
			if msg, ok := c.assistant(m, req.Model, off); ok {
				out = append(out, msg)
			}
		default:
			out = append(out, chatMessage{Role: "user", Content: userContent(m.Parts)})
		}
	}
	return out
}

// assistant is false for a message of which nothing is left, such as one with foreign hidden state alone.
func (c *chat) assistant(m model.Message, modelID string, off bool) (chatMessage, bool) {
	out := chatMessage{Role: "assistant"}
	var text strings.Builder
	for _, p := range m.Parts {
		switch p.Kind {
		case model.PartText:
			text.WriteString(p.Text)
		case model.PartToolCall:
			f := chatCallFunction{Name: p.Name, Arguments: repair.Arguments(p.Arguments)}
			out.ToolCalls = append(out.ToolCalls, chatCall{ID: p.CallID, Type: "function", Function: f})
		case model.PartOpaque:
			c.replay(&out, p.Opaque, modelID)
		}
	}
	if text.Len() > 0 {
		out.Content = text.String()
	}
	if c.quirks.Replay == ReplayContent {
		switch {
		case len(out.ToolCalls) == 0 || off:
			out.ReasoningContent = nil
		case out.ReasoningContent == nil:
			out.ReasoningContent = new(string)
		}
	}
	return out, text.Len() > 0 || len(out.ToolCalls) > 0
}

// hidden is the block that this adapter stores.
type hidden struct {
	Content *string         `json:"reasoning_content,omitempty"`
	Details json.RawMessage `json:"reasoning_details,omitempty"`
}

func (c *chat) replay(out *chatMessage, o *model.Opaque, modelID string) {
	if o == nil || o.Dialect != model.OpenAIChat || o.Model != modelID {
		return
	}
	var h hidden
	if json.Unmarshal(o.Block, &h) != nil {
		return
	}
	switch c.quirks.Replay {
	case ReplayContent:
		out.ReasoningContent = h.Content
	case ReplayDetails:
		out.ReasoningDetails = h.Details
	}
}

// userContent is a string where possible: some servers know nothing else.
func userContent(parts []model.Part) any {
	if len(parts) == 1 && parts[0].Kind == model.PartText {
		return parts[0].Text
	}
	out := make([]chatPart, 0, len(parts))
	for _, p := range parts {
		switch p.Kind {
		case model.PartText:
			out = append(out, chatPart{Type: "text", Text: p.Text})
		case model.PartImage:
			out = append(out, chatPart{Type: "image_url", ImageURL: &imageURL{URL: dataURL(p)}})
		}
	}
	return out
}

func dataURL(p model.Part) string {
	return "data:" + p.MIMEType + ";base64," + base64.StdEncoding.EncodeToString(p.Data)
}
