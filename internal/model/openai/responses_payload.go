package openai

import (
	"encoding/json"

	"github.com/loam-agents/loam/internal/model"
	"github.com/loam-agents/loam/internal/model/exchange"
	"github.com/loam-agents/loam/internal/model/repair"
)

type responsesPayload struct {
	Model           string          `json:"model"`
	Instructions    string          `json:"instructions,omitempty"`
	Input           []any           `json:"input"`
	Tools           []responsesTool `json:"tools,omitempty"`
	Stream          bool            `json:"stream"`
	Store           bool            `json:"store"`
	Include         []string        `json:"include,omitempty"`
	Reasoning       *reasoning      `json:"reasoning,omitempty"`
	MaxOutputTokens int             `json:"max_output_tokens,omitempty"`
	PromptCacheKey  string          `json:"prompt_cache_key,omitempty"`
}

// responsesTool is not strict: strict schemas forbid optional fields, which tools have.
type responsesTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      bool            `json:"strict"`
}

type messageItem struct {
	Type    string            `json:"type"`
	Role    string            `json:"role"`
	Phase   string            `json:"phase,omitempty"`
	Content []responseContent `json:"content"`
}

type responseContent struct {
	Type     string `json:"type"`
	Text     string `json:"text,omitempty"`
	ImageURL string `json:"image_url,omitempty"`
}

type callItem struct {
	Type      string `json:"type"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type outputItem struct {
	Type   string `json:"type"`
	CallID string `json:"call_id"`
	Output string `json:"output"`
}

func (r *responses) payload(req model.Request) ([]byte, error) {
	p := responsesPayload{
		Model: req.Model, Instructions: req.System, Input: input(req), Stream: true, MaxOutputTokens: req.MaxOutputTokens,
	}
	for _, t := range req.Tools {
		p.Tools = append(p.Tools, responsesTool{
			Type: "function", Name: t.Name, Description: t.Description, Parameters: exchange.Schema(t.Schema),
		})
	}
	if r.mayReason(req.Model) {
		p.Include = []string{"reasoning.encrypted_content"}
	}
	if r.quirks.CacheKey {
		p.PromptCacheKey = req.CacheKey
	}
	if level, said := r.level(req); said {
		p.Reasoning = &reasoning{Effort: effort(level)}
		if level != model.ReasoningOff {
			p.Reasoning.Summary = "auto"
		}
	}
	return exchange.Encode(p, req.Extra, "model", "input", "stream", "store")
}

// input is the conversation as items.
func input(req model.Request) []any {
	out := []any{}
	for _, m := range repair.Conversation(req.Messages) {
		switch m.Role {
		case model.Tool:
			for _, p := range m.Parts {
				out = append(out, outputItem{Type: "function_call_output", CallID: p.CallID, Output: p.Text})
			}
		case model.Assistant:
			out = append(out, assistantItems(m.Parts, req.Model)...)
		default:
			out = append(out, userItem(m.Parts))
		}
	}
	return out
}

func userItem(parts []model.Part) messageItem {
	out := messageItem{Type: "message", Role: "user"}
	for _, p := range parts {
		switch p.Kind {
		case model.PartText:
			out.Content = append(out.Content, responseContent{Type: "input_text", Text: p.Text})
		case model.PartImage:
			out.Content = append(out.Content, responseContent{Type: "input_image", ImageURL: dataURL(p)})
		}
	}
	return out
}

// assistantItems keeps the order of the parts. Reasoning waits for the item that it led to, since the service refuses
// reasoning that nothing follows.
func assistantItems(parts []model.Part, modelID string) []any {
	var out, waiting []any
	phase := ""
	for _, p := range parts {
		var item any
		switch p.Kind {
		case model.PartOpaque:
			if o := p.Opaque; o != nil && o.Dialect == model.OpenAIResponses && o.Model == modelID {
				if block, isPhase := phaseOf(o.Block); isPhase {
					phase = block
				} else {
					waiting = append(waiting, o.Block)
				}
			}
			continue
		case model.PartText:
			content := []responseContent{{Type: "output_text", Text: p.Text}}
			item = messageItem{Type: "message", Role: "assistant", Phase: phase, Content: content}
			phase = ""
		case model.PartToolCall:
			item = callItem{Type: "function_call", CallID: p.CallID, Name: p.Name, Arguments: repair.Arguments(p.Arguments)}
		default:
			continue
		}
		out = append(append(out, waiting...), item)
		waiting = nil
	}
	return out
}

// phaseBlock is the opaque part before a text whose message had a phase (commentary or final answer): models that send
// one want it back.
type phaseBlock struct {
	Type  string `json:"type"`
	Phase string `json:"phase"`
}

func phaseOf(block json.RawMessage) (string, bool) {
	var b phaseBlock
	if json.Unmarshal(block, &b) != nil || b.Type != "message" {
		return "", false
	}
	return b.Phase, true
}
