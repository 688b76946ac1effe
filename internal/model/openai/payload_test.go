package openai_test

import (
	"encoding/json"
	"testing"

	"github.com/loam-agents/loam/internal/model"
	"github.com/loam-agents/loam/internal/model/scripted"
)

// conversation holds everything that is hard: images, text beside parallel calls, broken arguments, a missing result, an
// orphan, a repeated id, hidden state of this model, of another model and of another dialect.
func conversation(d model.Dialect, own string) []model.Message {
	return []model.Message{
		{Role: model.User, Parts: []model.Part{text("Look at <this>"), {Kind: model.PartImage, MIMEType: "image/png", Data: []byte("png")}}},
		{Role: model.Assistant, Parts: []model.Part{
			opaque(d, "m1", own), opaque(d, "other", `{"no":1}`), opaque(model.Anthropic, "m1", `{"no":2}`),
			text("Looking."), call("a", "read", `{"address": "~/memory"}`), call("b", "read", `{"addr`), call("c", "read", "null"),
		}},
		{Role: model.Tool, Parts: []model.Part{result("b", "broken"), result("a", "fine"), result("z", "orphan")}},
		{Role: model.Assistant, Parts: []model.Part{call("a", "status", "")}},
		{Role: model.Tool, Parts: []model.Part{result("a", "ok")}},
		{Role: model.Assistant, Parts: []model.Part{text("Done.")}},
		{Role: model.Assistant, Parts: []model.Part{opaque(model.Anthropic, "m1", `{"no":3}`)}},
		user("Thanks"),
	}
}

var tools = []model.ToolSpec{
	{Name: "read", Description: "Read an address", Schema: json.RawMessage(`{"type":"object","properties":{"address":{"type":"string"}}}`)},
	{Name: "status"},
}

func TestPayloads(t *testing.T) {
	t.Parallel()
	thinks := model.ReasoningSupport{Levels: []model.ReasoningLevel{model.ReasoningLow, model.ReasoningMedium, model.ReasoningHigh}, CanBeOff: true}
	blocks := map[string]string{
		model.TypeDeepSeek:   `{"reasoning_content":"I should look"}`,
		model.TypeOpenRouter: `{"reasoning_details":[{"type":"reasoning.encrypted","data":"<x>&"}]}`,
	}
	for _, kind := range []string{model.TypeOpenAI, model.TypeOpenRouter, model.TypeDeepSeek, model.TypeGroq, model.TypeXAI, model.TypeCustom} {
		block := blocks[kind]
		if block == "" {
			block = `{"reasoning_content":"dropped"}`
		}
		testPayload(t, "chat-"+kind, model.OpenAIChat, block, quirks(kind), support(thinks))
	}
	item := `{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"<opaque>&"}`
	testPayload(t, "responses-openai", model.OpenAIResponses, item, quirks(model.TypeOpenAI), support(thinks))
}

func testPayload(t *testing.T, name string, d model.Dialect, block string, options ...option) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		b := setup(t, d, []scripted.Turn{scripted.Say("x")}, options...)
		b.run(t, model.Request{
			Model: "m1", System: "Be kind.", Messages: conversation(d, block), Tools: tools, Reasoning: model.ReasoningHigh,
			MaxOutputTokens: 1000, CacheKey: "session-1", Extra: map[string]any{"temperature": 0.5, "stream": false, "model": "hijack"},
		})
		golden(t, name, b.server.Requests()[0].Body)
	})
}

func TestThePayloadIsSmallWhenNothingIsAsked(t *testing.T) {
	t.Parallel()
	for d, want := range map[model.Dialect]string{
		model.OpenAIChat:      `{"model":"m1","messages":[{"role":"user","content":"hi"}],"stream":true,"stream_options":{"include_usage":true}}`,
		model.OpenAIResponses: `{"model":"m1","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}],"stream":true,"store":false}`,
	} {
		b := setup(t, d, []scripted.Turn{scripted.Say("x")}, support(model.ReasoningSupport{}))
		b.run(t, model.Request{Reasoning: model.ReasoningHigh})
		if got := string(b.server.Requests()[0].Body); got != want {
			t.Errorf("%s: %s", d, got)
		}
	}
}

func TestReasoningIsSaidInTheServicesOwnWords(t *testing.T) {
	t.Parallel()
	three := model.ReasoningSupport{Levels: []model.ReasoningLevel{model.ReasoningLow, model.ReasoningMedium, model.ReasoningHigh}}
	off := three
	off.CanBeOff = true
	for _, c := range []struct {
		d     model.Dialect
		kind  string
		known *model.ReasoningSupport
		level model.ReasoningLevel
		want  string
	}{
		{model.OpenAIChat, model.TypeOpenAI, &three, model.ReasoningMinimal, `"low" null null`},
		{model.OpenAIChat, model.TypeOpenAI, &three, model.ReasoningOff, `null null null`},
		{model.OpenAIChat, model.TypeOpenAI, &off, model.ReasoningOff, `"none" null null`},
		{model.OpenAIChat, model.TypeOpenAI, &off, "", `null null null`},
		{model.OpenAIChat, model.TypeCustom, nil, model.ReasoningMax, `"max" null null`},
		{model.OpenAIChat, model.TypeCustom, nil, model.ReasoningOff, `null null null`},
		{model.OpenAIChat, model.TypeOpenRouter, nil, model.ReasoningHigh, `null {"effort":"high"} null`},
		{model.OpenAIChat, model.TypeOpenRouter, &off, model.ReasoningOff, `null {"effort":"none"} null`},
		{model.OpenAIChat, model.TypeDeepSeek, nil, model.ReasoningMedium, `"high" null {"type":"enabled"}`},
		{model.OpenAIChat, model.TypeDeepSeek, nil, model.ReasoningMinimal, `"low" null {"type":"enabled"}`},
		{model.OpenAIChat, model.TypeDeepSeek, nil, model.ReasoningMax, `"max" null {"type":"enabled"}`},
		{model.OpenAIChat, model.TypeDeepSeek, nil, model.ReasoningOff, `null null {"type":"disabled"}`},
		{model.OpenAIResponses, model.TypeOpenAI, &off, model.ReasoningOff, `null {"effort":"none"} null`},
		{model.OpenAIResponses, model.TypeOpenAI, &three, model.ReasoningXHigh, `null {"effort":"high","summary":"auto"} null`},
	} {
		options := []option{quirks(c.kind)}
		if c.known != nil {
			options = append(options, support(*c.known))
		}
		b := setup(t, c.d, []scripted.Turn{scripted.Say("x")}, options...)
		b.run(t, model.Request{Reasoning: c.level})
		var p struct {
			Effort    json.RawMessage `json:"reasoning_effort"`
			Reasoning json.RawMessage `json:"reasoning"`
			Thinking  json.RawMessage `json:"thinking"`
		}
		if err := b.server.Requests()[0].Decode(&p); err != nil {
			t.Fatal(err)
		}
		got := orNull(p.Effort) + " " + orNull(p.Reasoning) + " " + orNull(p.Thinking)
		if got != c.want {
			t.Errorf("%s %s %q: %s, want %s", c.d, c.kind, c.level, got, c.want)
		}
	}
}

func orNull(raw json.RawMessage) string {
	if raw == nil {
		return "null"
	}
	return string(raw)
}
