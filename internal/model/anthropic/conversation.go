package anthropic

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/loam-agents/loam/internal/model"
	"github.com/loam-agents/loam/internal/model/repair"
)

const (
	roleUser      = "user"
	roleAssistant = "assistant"
)

// conversation turns the request's messages into the dialect's, with the cache marker on the last stable block.
func conversation(req model.Request) []message {
	stable, tail := req.Messages, []model.Message(nil)
	if n := len(stable); req.VolatileTail && n > 0 {
		stable, tail = stable[:n-1], stable[n-1:]
	}
	stable = repair.Conversation(stable)
	var out []message
	for _, m := range stable {
		out = appendMessage(out, m, req.Model)
	}
	// Results move to the front before the marker is placed: the marker must be on the last block of the stable part.
	resultsFirst(out)
	markLast(out)
	for _, m := range tail {
		out = appendMessage(out, m, req.Model)
	}
	resultsFirst(out)
	if len(out) > 0 && out[0].Role != roleUser {
		opening := message{Role: roleUser, Content: []*block{{Type: "text", Text: "(The conversation begins with your message.)"}}}
		out = append([]message{opening}, out...)
	}
	return out
}

// appendMessage converts one message; one of the same role as the last joins it, and one without content vanishes.
func appendMessage(out []message, m model.Message, modelID string) []message {
	role := roleUser
	if m.Role == model.Assistant {
		role = roleAssistant
	}
	var blocks []*block
	for _, part := range m.Parts {
		if b := convertPart(part, role, modelID); b != nil {
			blocks = append(blocks, b)
		}
	}
	if len(blocks) == 0 {
		return out
	}
	if n := len(out); n > 0 && out[n-1].Role == role {
		out[n-1].Content = append(out[n-1].Content, blocks...)
		return out
	}
	return append(out, message{Role: role, Content: blocks})
}

// convertPart returns nil for what the dialect does not take: blank text, a foreign opaque block, an assistant's image.
func convertPart(p model.Part, role, modelID string) *block {
	switch p.Kind {
	case model.PartText:
		if strings.TrimSpace(p.Text) == "" {
			return nil
		}
		return &block{Type: "text", Text: p.Text}
	case model.PartImage:
		if role != roleUser {
			return nil
		}
		return &block{Type: "image", Source: &source{Type: "base64", MediaType: p.MIMEType, Data: p.Data}}
	case model.PartToolCall:
		return &block{Type: "tool_use", ID: callID(p.CallID), Name: p.Name, Input: json.RawMessage(repair.Arguments(p.Arguments))}
	case model.PartToolResult:
		return &block{Type: "tool_result", ToolUseID: callID(p.CallID), Content: p.Text, IsError: p.IsError}
	case model.PartOpaque:
		if o := p.Opaque; role == roleAssistant && o != nil && o.Dialect == model.Anthropic && o.Model == modelID {
			return &block{raw: o.Block}
		}
	}
	return nil
}

// callID makes an id of another provider acceptable: letters, digits, _ and -.
func callID(id string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, id)
}

// resultsFirst moves tool results to the front of user messages, where the dialect wants them; the order is else kept.
func resultsFirst(messages []message) {
	rank := func(b *block) int {
		if b.Type == "tool_result" {
			return 0
		}
		return 1
	}
	for _, m := range messages {
		if m.Role == roleUser {
			slices.SortStableFunc(m.Content, func(a, b *block) int { return rank(a) - rank(b) })
		}
	}
}

// markLast puts a cache marker on the last block that may carry one; opaque blocks may not.
func markLast(messages []message) {
	for i := len(messages) - 1; i >= 0; i-- {
		content := messages[i].Content
		for j := len(content) - 1; j >= 0; j-- {
			if content[j].raw == nil {
				content[j].CacheControl = ephemeral
				return
			}
		}
	}
}
