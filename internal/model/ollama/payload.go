package ollama

import (
	"encoding/json"
	"strings"

	"github.com/loam-agents/loam/internal/model"
	"github.com/loam-agents/loam/internal/model/exchange"
	"github.com/loam-agents/loam/internal/model/repair"
)

// payload is the body of POST /api/chat.
type payload struct {
	Model    string    `json:"model"`
	Stream   bool      `json:"stream"`
	Think    any       `json:"think,omitempty"`
	Options  options   `json:"options"`
	Tools    []tool    `json:"tools,omitempty"`
	Messages []message `json:"messages"`
}

type options struct {
	NumCtx     int `json:"num_ctx"`
	NumPredict int `json:"num_predict,omitempty"`
}

type tool struct {
	Type     string       `json:"type"`
	Function toolFunction `json:"function"`
}

type toolFunction struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

type message struct {
	Role       string     `json:"role"`
	Content    string     `json:"content"`
	Thinking   string     `json:"thinking,omitempty"`
	Images     [][]byte   `json:"images,omitempty"`
	ToolCalls  []toolCall `json:"tool_calls,omitempty"`
	ToolName   string     `json:"tool_name,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

type toolCall struct {
	ID       string       `json:"id,omitempty"`
	Function callFunction `json:"function"`
}

type callFunction struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

func buildPayload(req model.Request, context int) ([]byte, error) {
	out := payload{
		Model: req.Model, Stream: true, Think: think(req.Model, req.Reasoning),
		Options: options{NumCtx: context, NumPredict: req.MaxOutputTokens},
	}
	for _, t := range req.Tools {
		out.Tools = append(out.Tools, tool{Type: "function", Function: toolFunction{
			Name: t.Name, Description: t.Description, Parameters: exchange.Schema(t.Schema),
		}})
	}
	if req.System != "" {
		out.Messages = append(out.Messages, message{Role: "system", Content: req.System})
	}
	for _, m := range repair.Conversation(req.Messages) {
		out.Messages = append(out.Messages, convert(m, req.Model)...)
	}
	return exchange.Encode(out, req.Extra, "stream", "messages")
}

// think is false for off. Only gpt-oss grades its thinking; every other model is told to think or not.
func think(modelID string, level model.ReasoningLevel) any {
	switch {
	case level == "":
		return nil
	case level == model.ReasoningOff:
		return false
	case !strings.Contains(strings.ToLower(modelID), "gpt-oss"):
		return true
	}
	switch level {
	case model.ReasoningMinimal, model.ReasoningLow:
		return "low"
	case model.ReasoningMedium:
		return "medium"
	}
	return "high"
}

// thoughts is the opaque block of this dialect: the thinking that led to calls, which a model wants back to go on with it.
type thoughts struct {
	Thinking string `json:"thinking"`
}

// convert makes one message of the dialect, or one for each result.
func convert(m model.Message, modelID string) []message {
	if m.Role == model.Tool {
		var out []message
		for _, p := range m.Parts {
			out = append(out, message{Role: "tool", Content: p.Text, ToolName: p.Name, ToolCallID: p.CallID})
		}
		return out
	}
	out := message{Role: string(m.Role)}
	var texts []string
	for _, p := range m.Parts {
		switch p.Kind {
		case model.PartText:
			texts = append(texts, p.Text)
		case model.PartImage:
			if m.Role == model.User {
				out.Images = append(out.Images, p.Data)
			}
		case model.PartToolCall:
			out.ToolCalls = append(out.ToolCalls, toolCall{ID: p.CallID, Function: callFunction{
				Name: p.Name, Arguments: json.RawMessage(repair.Arguments(p.Arguments)),
			}})
		case model.PartOpaque:
			out.Thinking += recall(p.Opaque, modelID)
		}
	}
	out.Content = strings.Join(texts, "\n")
	if out.Content == "" && len(out.Images) == 0 && len(out.ToolCalls) == 0 {
		return nil
	}
	return []message{out}
}

// recall returns the thinking of this model; that of another is dropped.
func recall(o *model.Opaque, modelID string) string {
	if o == nil || o.Dialect != model.Ollama || o.Model != modelID {
		return ""
	}
	var t thoughts
	if err := json.Unmarshal(o.Block, &t); err != nil {
		return ""
	}
	return t.Thinking
}
