package gemini

import (
	"encoding/json"

	"github.com/loam-agents/loam/internal/model"
	"github.com/loam-agents/loam/internal/model/exchange"
)

// payload is the body of streamGenerateContent.
type payload struct {
	SystemInstruction *content          `json:"systemInstruction,omitempty"`
	Contents          []content         `json:"contents"`
	Tools             []toolSet         `json:"tools,omitempty"`
	GenerationConfig  *generationConfig `json:"generationConfig,omitempty"`
}

type content struct {
	Role  string  `json:"role,omitempty"`
	Parts []*part `json:"parts"`
}

// part is one part of a content. Text is a pointer because an empty text with a signature is a part of its own.
type part struct {
	Text             *string           `json:"text,omitempty"`
	InlineData       *inlineData       `json:"inlineData,omitempty"`
	FunctionCall     *functionCall     `json:"functionCall,omitempty"`
	FunctionResponse *functionResponse `json:"functionResponse,omitempty"`
	ThoughtSignature json.RawMessage   `json:"thoughtSignature,omitempty"`
}

type inlineData struct {
	MIMEType string `json:"mimeType"`
	Data     []byte `json:"data"`
}

type functionCall struct {
	ID   string          `json:"id,omitempty"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args,omitempty"`
}

type functionResponse struct {
	ID       string         `json:"id,omitempty"`
	Name     string         `json:"name"`
	Response map[string]any `json:"response"`
}

type toolSet struct {
	FunctionDeclarations []declaration `json:"functionDeclarations"`
}

type declaration struct {
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Parameters  map[string]any `json:"parameters,omitempty"`
}

type generationConfig struct {
	MaxOutputTokens int             `json:"maxOutputTokens,omitempty"`
	ThinkingConfig  *thinkingConfig `json:"thinkingConfig,omitempty"`
}

type thinkingConfig struct {
	IncludeThoughts bool   `json:"includeThoughts,omitempty"`
	ThinkingBudget  *int   `json:"thinkingBudget,omitempty"`
	ThinkingLevel   string `json:"thinkingLevel,omitempty"`
}

func buildPayload(req model.Request, maxTokens int) ([]byte, error) {
	out := payload{Contents: conversation(req)}
	if req.System != "" {
		out.SystemInstruction = &content{Parts: []*part{{Text: &req.System}}}
	}
	if len(req.Tools) > 0 {
		set := toolSet{}
		for _, t := range req.Tools {
			set.FunctionDeclarations = append(set.FunctionDeclarations, declare(t))
		}
		out.Tools = []toolSet{set}
	}
	config := generationConfig{MaxOutputTokens: maxTokens, ThinkingConfig: thinking(req.Model, req.Reasoning)}
	if config != (generationConfig{}) {
		out.GenerationConfig = &config
	}
	return exchange.Encode(out, req.Extra, "contents")
}

// declare describes a tool. An object without properties is refused by the service, so a tool without input has no
// parameters at all.
func declare(t model.ToolSpec) declaration {
	d := declaration{Name: t.Name, Description: t.Description}
	schema := reduce(exchange.Schema(t.Schema))
	if properties, _ := schema["properties"].(map[string]any); len(properties) > 0 {
		d.Parameters = schema
	}
	return d
}
