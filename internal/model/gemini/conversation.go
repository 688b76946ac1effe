package gemini

import (
	"encoding/json"
	"strings"

	"github.com/loam-agents/loam/internal/model"
	"github.com/loam-agents/loam/internal/model/repair"
)

const (
	roleUser  = "user"
	roleModel = "model"
)

// signature is the opaque block of this dialect. It belongs to the part that follows it in the message; without one it
// stands alone, as the service sends it at the end of an answer.
type signature struct {
	ThoughtSignature json.RawMessage `json:"thoughtSignature"`
	// Alone says that the signature arrived on a part without content.
	Alone bool `json:"alone,omitempty"`
}

// conversation turns the request's messages into contents of alternating roles.
func conversation(req model.Request) []content {
	b := builder{model: req.Model}
	for _, m := range repair.Conversation(req.Messages) {
		b.add(m)
	}
	if requiresSignatures(req.Model) {
		signCalls(b.out)
	}
	return b.out
}

// unsigned is the value that the service documents for calls whose signature is gone, as after a switch of models. Without
// it, Gemini 3 and later refuse the request.
const unsigned = `"skip_thought_signature_validator"`

// signCalls marks the first call of each answer that has none of its own signature: the service asks for that one only.
func signCalls(contents []content) {
	for _, c := range contents {
		for _, p := range c.Parts {
			if p.FunctionCall == nil {
				continue
			}
			if p.ThoughtSignature == nil {
				p.ThoughtSignature = json.RawMessage(unsigned)
			}
			break
		}
	}
}

type builder struct {
	model string
	out   []content
}

func (b *builder) add(m model.Message) {
	role := roleUser
	if m.Role == model.Assistant {
		role = roleModel
	}
	var parts []*part
	var pending json.RawMessage
	for _, p := range m.Parts {
		if p.Kind == model.PartOpaque {
			sig, ok := b.signature(p, role)
			switch {
			case ok && sig.Alone:
				parts = append(parts, &part{Text: new(string), ThoughtSignature: sig.ThoughtSignature})
			case ok:
				pending = sig.ThoughtSignature
			}
			continue
		}
		converted := b.convert(p, role)
		if converted == nil {
			continue
		}
		converted.ThoughtSignature, pending = pending, nil
		parts = append(parts, converted)
	}
	if len(parts) == 0 {
		return
	}
	if n := len(b.out); n > 0 && b.out[n-1].Role == role {
		b.out[n-1].Parts = append(b.out[n-1].Parts, parts...)
		return
	}
	b.out = append(b.out, content{Role: role, Parts: parts})
}

// signature returns a block of this model; blocks of others are dropped whole.
func (b *builder) signature(p model.Part, role string) (signature, bool) {
	var sig signature
	o := p.Opaque
	if role != roleModel || o == nil || o.Dialect != model.Gemini || o.Model != b.model {
		return sig, false
	}
	err := json.Unmarshal(o.Block, &sig)
	return sig, err == nil && len(sig.ThoughtSignature) > 0
}

// convert returns nil for what the dialect does not take: blank text, images of the model.
func (b *builder) convert(p model.Part, role string) *part {
	switch p.Kind {
	case model.PartText:
		if strings.TrimSpace(p.Text) == "" {
			return nil
		}
		return &part{Text: &p.Text}
	case model.PartImage:
		if role == roleUser {
			return &part{InlineData: &inlineData{MIMEType: p.MIMEType, Data: p.Data}}
		}
	case model.PartToolCall:
		return &part{FunctionCall: &functionCall{ID: sentID(p.CallID), Name: p.Name, Args: json.RawMessage(repair.Arguments(p.Arguments))}}
	case model.PartToolResult:
		return &part{FunctionResponse: &functionResponse{ID: sentID(p.CallID), Name: p.Name, Response: response(p)}}
	}
	return nil
}

// madeID is the beginning of the ids that this adapter gives to calls without one.
const madeID = "gemini-call-"

// sentID is the id as the service knows it: it never saw the ids that were made here, and joins by name and order then.
func sentID(id string) string {
	if strings.HasPrefix(id, madeID) {
		return ""
	}
	return id
}

// response wraps a result in the object that the service wants, under the keys that it documents.
func response(p model.Part) map[string]any {
	key := "output"
	if p.IsError {
		key = "error"
	}
	return map[string]any{key: p.Text}
}
