package scripted

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/loam-agents/loam/internal/model"
)

// input is what matching needs to know of a request.
type input struct {
	Model, System, User, Result string
}

func (m Match) holds(in input, nth int) bool {
	return (m.Model == "" || m.Model == in.Model) && strings.Contains(in.User, m.User) &&
		strings.Contains(in.Result, m.Result) && strings.Contains(in.System, m.System) && (m.Nth == 0 || m.Nth == nth)
}

// generationDialect tells the dialect of a generation request by the end of its path.
func generationDialect(r *http.Request) (model.Dialect, bool) {
	p := r.URL.Path
	switch {
	case r.Method != http.MethodPost:
		return "", false
	case strings.HasSuffix(p, "/chat/completions"):
		return model.OpenAIChat, true
	case strings.HasSuffix(p, "/responses"):
		return model.OpenAIResponses, true
	case strings.HasSuffix(p, "/messages"):
		return model.Anthropic, true
	case strings.HasSuffix(p, ":streamGenerateContent"):
		return model.Gemini, true
	case strings.HasSuffix(p, "/api/chat"):
		return model.Ollama, true
	}
	return "", false
}

// parseInput reads the parts of a payload that the dialects share in spirit: a list of turns with roles and content, and
// a system prompt beside it or inside it. A payload that does not parse matches as empty.
func parseInput(d model.Dialect, path string, body []byte) input {
	var p struct {
		Model             string          `json:"model"`
		Messages          []turnJSON      `json:"messages"`
		Input             json.RawMessage `json:"input"`
		Contents          []turnJSON      `json:"contents"`
		System            json.RawMessage `json:"system"`
		Instructions      string          `json:"instructions"`
		SystemInstruction turnJSON        `json:"systemInstruction"`
	}
	_ = json.Unmarshal(body, &p)
	in := input{Model: p.Model}
	if d == model.Gemini {
		_, id, _ := strings.Cut(path, "models/")
		in.Model, _, _ = strings.Cut(id, ":")
	}
	in.System = p.Instructions + text(p.System) + text(p.SystemInstruction.Parts)
	turns := append(p.Messages, p.Contents...)
	var items []turnJSON
	if json.Unmarshal(p.Input, &items) == nil {
		turns = append(turns, items...)
	} else {
		in.User = text(p.Input)
	}
	for _, t := range turns {
		in.add(t)
	}
	return in
}

// turnJSON is one entry of a conversation in any dialect.
type turnJSON struct {
	Role    string          `json:"role"`
	Type    string          `json:"type"`
	Content json.RawMessage `json:"content"`
	Parts   json.RawMessage `json:"parts"`
	Output  json.RawMessage `json:"output"`
}

// add keeps the user texts and results since the last assistant entry.
func (in *input) add(t turnJSON) {
	switch {
	case t.Role == "system" || t.Role == "developer":
		in.System += text(t.Content)
	case t.Role == "assistant" || t.Role == "model" || t.Type == "function_call":
		in.User, in.Result = "", ""
	case t.Role == "tool":
		in.Result += text(t.Content)
	case t.Type == "function_call_output":
		in.Result += text(t.Output)
	case t.Role == "user":
		in.User += text(t.Content) + text(t.Parts)
		in.Result += results(t.Content) + results(t.Parts)
	}
}

// text is a string, or the text fields of a list of parts.
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var parts []struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(raw, &parts)
	for _, p := range parts {
		s += p.Text
	}
	return s
}

// results are the tool results among the parts of a user entry (Anthropic, Gemini).
func results(raw json.RawMessage) string {
	var parts []struct {
		Type             string          `json:"type"`
		Content          json.RawMessage `json:"content"`
		FunctionResponse struct {
			Response json.RawMessage `json:"response"`
		} `json:"functionResponse"`
	}
	_ = json.Unmarshal(raw, &parts)
	out := ""
	for _, p := range parts {
		if p.Type == "tool_result" {
			out += text(p.Content)
		}
		out += string(p.FunctionResponse.Response)
	}
	return out
}
