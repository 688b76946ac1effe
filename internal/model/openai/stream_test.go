package openai_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loam-agents/loam/internal/model"
	"github.com/loam-agents/loam/internal/model/scripted"
)

// raw is a stream of chat chunks that carry the given deltas, with an end mark.
func raw(deltas ...string) scripted.Turn {
	var t scripted.Turn
	for _, d := range deltas {
		t.Steps = append(t.Steps, scripted.Step{Raw: `{"choices":[{"delta":` + d + `}]}`})
	}
	t.Stop = model.StopToolCalls
	return t
}

func fragment(fields string) string { return `{"tool_calls":[{` + fields + `}]}` }

func TestToolCallsComeTogetherWhateverTheServerLeavesOut(t *testing.T) {
	t.Parallel()
	a, b := `{"x":1}`, `{"y":[2]}`
	var quirky []scripted.Turn
	sets := [][]string{
		nil, {scripted.QuirkWhole}, {scripted.QuirkRepeat}, {scripted.QuirkNoIndex, scripted.QuirkRepeat}, {scripted.QuirkNoIndex},
		{scripted.QuirkNoID}, {scripted.QuirkNoIndex, scripted.QuirkNoID}, {scripted.QuirkNoIndex, scripted.QuirkNoID, scripted.QuirkWhole},
		{scripted.QuirkNoIndex, scripted.QuirkNoID, scripted.QuirkRepeat},
	}
	for _, q := range sets {
		quirky = append(quirky, scripted.Turn{Steps: []scripted.Step{
			{Call: &scripted.Call{ID: "a", Name: "read", Arguments: a, Quirks: q}},
			{Call: &scripted.Call{ID: "b", Name: "write", Arguments: b, Quirks: q}},
		}})
	}
	bundle := setup(t, model.OpenAIChat, quirky)
	for _, q := range sets {
		got := bundle.run(t, model.Request{})
		if got.Err != nil {
			t.Errorf("%v: %v", q, got.Err)
			continue
		}
		want := []model.Part{call("a", "read", a), call("b", "write", b)}
		for _, name := range q {
			if name == scripted.QuirkNoID {
				want[0].CallID, want[1].CallID = "call_1", "call_2"
			}
		}
		if diff := cmp.Diff(want, got.Done.Message.Parts); diff != "" {
			t.Errorf("%v: %s", q, diff)
		}
		if len(got.Started) != 2 {
			t.Errorf("%v: started %v", q, got.Started)
		}
	}
}

func TestStrangeFragments(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		deltas []string
		want   []model.Part
	}{
		"every call has index 0": {
			[]string{
				fragment(`"index":0,"id":"a","function":{"name":"read","arguments":"{\"x\""}`), fragment(`"index":0,"function":{"arguments":":1}"}`),
				fragment(`"index":0,"id":"b","function":{"name":"read","arguments":"{}"}`),
			},
			[]model.Part{call("a", "read", `{"x":1}`), call("b", "read", "{}")},
		},
		"interleaved by index": {
			[]string{
				fragment(`"index":0,"id":"a","function":{"name":"read","arguments":""}`), fragment(`"index":1,"id":"b","function":{"name":"write","arguments":"{"}`),
				fragment(`"index":0,"function":{"arguments":"{}"}`), fragment(`"index":1,"function":{"arguments":"}"}`),
			},
			[]model.Part{call("a", "read", "{}"), call("b", "write", "{}")},
		},
		"the same call twice without index and id": {
			[]string{fragment(`"function":{"name":"read","arguments":"{}"}`), fragment(`"function":{"name":"read","arguments":"{}"}`)},
			[]model.Part{call("call_1", "read", "{}"), call("call_2", "read", "{}")},
		},
		"arguments are an object": {
			[]string{fragment(`"index":0,"id":"a","function":{"name":"read","arguments":{"x":1}}`)}, []model.Part{call("a", "read", `{"x":1}`)},
		},
		"arguments are null": {
			[]string{fragment(`"index":0,"id":"a","function":{"name":"read","arguments":null}`)}, []model.Part{call("a", "read", "")},
		},
		"the name comes later": {
			[]string{fragment(`"index":0,"id":"a","function":{"arguments":""}`), fragment(`"index":0,"function":{"name":"read","arguments":"{}"}`)},
			[]model.Part{call("a", "read", "{}")},
		},
		"content is a list": {
			[]string{`{"content":[{"type":"thinking","thinking":[]},{"type":"text","text":"a"}]}`, `{"content":null}`}, []model.Part{text("a")},
		},
		"a refusal is text": {[]string{`{"refusal":"no"}`}, []model.Part{text("no")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := setup(t, model.OpenAIChat, []scripted.Turn{raw(c.deltas...)}).run(t, model.Request{})
			if got.Err != nil {
				t.Fatal(got.Err)
			}
			if diff := cmp.Diff(c.want, got.Done.Message.Parts); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestACallWithoutANameIsNoCall(t *testing.T) {
	t.Parallel()
	turn := raw(fragment(`"index":0,"function":{"arguments":"{}"}`))
	turn.Stop = model.StopEnd
	if got := setup(t, model.OpenAIChat, []scripted.Turn{turn}).run(t, model.Request{}); got.Err == nil || got.Err.Kind != model.ErrEmptyAnswer {
		t.Errorf("%+v", got)
	}
}

func TestSignsOfLifeAreSkipped(t *testing.T) {
	t.Parallel()
	answer := map[model.Dialect]string{
		model.OpenAIChat:      `data: {"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}`,
		model.OpenAIResponses: "data: " + item(0, `{"type":"message","content":[{"text":"a"}]}`) + "\n\ndata: " + completed,
	}
	for d, events := range answer {
		turn := scripted.Turn{Headers: map[string]string{"Content-Type": "text/event-stream"}, Body: ": PROCESSING\n\ndata:\n\n" + events + "\n\n"}
		if got := setup(t, d, []scripted.Turn{turn}).run(t, model.Request{}); got.Done == nil {
			t.Errorf("%s: %+v", d, got.Err)
		}
	}
}

func TestAFinishReasonIsEnoughWhenTheEndMarkIsMissing(t *testing.T) {
	t.Parallel()
	finished := `{"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}`
	for _, cut := range []string{scripted.CutClean, scripted.CutAbort} {
		turn := scripted.Turn{Steps: []scripted.Step{{Raw: finished}, {Cut: cut}}}
		if got := setup(t, model.OpenAIChat, []scripted.Turn{turn}).run(t, model.Request{}); got.Done == nil || got.Text != "a" {
			t.Errorf("%s: %+v", cut, got)
		}
	}
}

func TestAServerThatDoesNotStreamIsRead(t *testing.T) {
	t.Parallel()
	header := map[string]string{"Content-Type": "application/json; charset=utf-8"}
	whole := scripted.Turn{Headers: header, Body: `{"choices":[{"message":{"role":"assistant","content":"a","tool_calls":[{"id":"x","function":{"name":"read","arguments":"{}"}}]},
		"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}`}
	got := setup(t, model.OpenAIChat, []scripted.Turn{whole}).run(t, model.Request{})
	want := []model.Part{text("a"), call("x", "read", "{}")}
	if got.Err != nil || !cmp.Equal(want, got.Done.Message.Parts) || got.Done.Usage.Total != 5 {
		t.Errorf("%+v", got)
	}
	for body, kind := range map[string]model.ErrorKind{
		`{"error":{"message":"slow","code":429}}`:   model.ErrRateLimited,
		`{"error":{"message":"full","code":503}}`:   model.ErrOverloaded,
		`{"error":{"message":"key","code":"401"}}`:  model.ErrBadKey,
		`{"error":{"message":"what","code":404}}`:   model.ErrBadRequest,
		`{"error":{"message":"oops","code":null}}`:  model.ErrServer,
		`{"error":"maximum context length is 8"}`:   model.ErrContextTooLong,
		`{"choices":[{"finish_reason":"error"}]}`:   model.ErrServer,
		`{"choices":[{"message":{"content":"a"}}]}`: model.ErrStreamCut,
		`<html>`: model.ErrInvalidResponse,
	} {
		turn := scripted.Turn{Headers: header, Body: body}
		if got := setup(t, model.OpenAIChat, []scripted.Turn{turn}).run(t, model.Request{}); got.Err == nil || got.Err.Kind != kind {
			t.Errorf("%s: %+v", body, got.Err)
		}
	}
}

func TestUsageIsCountedTheSameWhateverTheServerCallsIt(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]model.Usage{
		`{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}`:                                                               {Input: 10, Output: 5, Total: 15},
		`{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,"prompt_tokens_details":{"cached_tokens":4}}`:                   {Input: 6, Output: 5, CacheRead: 4, Total: 15},
		`{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,"prompt_cache_hit_tokens":8,"prompt_cache_miss_tokens":2}`:      {Input: 2, Output: 5, CacheRead: 8, Total: 15},
		`{"prompt_tokens":10,"completion_tokens":5,"total_tokens":35,"completion_tokens_details":{"reasoning_tokens":20}}`:           {Input: 10, Output: 25, Total: 35},
		`{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,"completion_tokens_details":null,"prompt_tokens_details":null}`: {Input: 10, Output: 5, Total: 15},
	} {
		chunk := `{"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}],"usage":` + in + `}`
		turn := scripted.Turn{Steps: []scripted.Step{{Raw: chunk}, {Cut: scripted.CutClean}}}
		got := setup(t, model.OpenAIChat, []scripted.Turn{turn}).run(t, model.Request{})
		if got.Err != nil || got.Done.Usage != want {
			t.Errorf("%s: %+v", in, got)
		}
	}
}

// again runs a turn, sends its message back with a next request to modelID, and returns that request's body.
func again(t *testing.T, d model.Dialect, turn scripted.Turn, modelID string, options ...option) string {
	t.Helper()
	b := setup(t, d, []scripted.Turn{turn, scripted.Say("x")}, options...)
	first := b.run(t, model.Request{})
	if first.Err != nil {
		t.Fatal(first.Err)
	}
	stored, err := json.Marshal(first.Done.Message)
	if err != nil {
		t.Fatal(err)
	}
	var m model.Message
	if err := json.Unmarshal(stored, &m); err != nil {
		t.Fatal(err)
	}
	b.run(t, model.Request{Model: modelID, Messages: []model.Message{user("hi"), m, user("more")}})
	return string(b.server.Requests()[1].Body)
}

func TestHiddenReasoningGoesBackToTheModelThatWroteIt(t *testing.T) {
	t.Parallel()
	read := scripted.Step{Call: &scripted.Call{ID: "a", Name: "read", Arguments: "{}"}}
	for name, c := range map[string]struct {
		d       model.Dialect
		kind    string
		steps   []scripted.Step
		model   string
		want    string
		without string
	}{
		"deepseek with a call":       {model.OpenAIChat, model.TypeDeepSeek, []scripted.Step{{Reasoning: "I "}, {Reasoning: "must"}, read}, "m1", `"reasoning_content":"I must"`, "-"},
		"deepseek without a call":    {model.OpenAIChat, model.TypeDeepSeek, []scripted.Step{{Reasoning: "I must"}, {Text: "a"}}, "m1", "", "reasoning_content"},
		"deepseek, another model":    {model.OpenAIChat, model.TypeDeepSeek, []scripted.Step{{Reasoning: "I must"}, read}, "m2", `"reasoning_content":""`, "I must"},
		"openrouter":                 {model.OpenAIChat, model.TypeOpenRouter, []scripted.Step{{Opaque: "c2ln"}, read}, "m1", `"reasoning_details":[{"data":"c2ln","index":0,"type":"reasoning.encrypted"}]`, "-"},
		"openrouter, other model":    {model.OpenAIChat, model.TypeOpenRouter, []scripted.Step{{Opaque: "c2ln"}, read}, "m2", "", "c2ln"},
		"others forget":              {model.OpenAIChat, model.TypeCustom, []scripted.Step{{Reasoning: "I must"}, {Opaque: "c2ln"}, read}, "m1", "", "reasoning"},
		"responses":                  {model.OpenAIResponses, model.TypeOpenAI, []scripted.Step{{Reasoning: "hm"}, {Opaque: "c2ln"}, read}, "m1", `{"encrypted_content":"c2ln","id":"rs_1_0","summary":[{"text":"hm","type":"summary_text"}],"type":"reasoning"},{"type":"function_call","call_id":"a"`, "-"},
		"responses, other model":     {model.OpenAIResponses, model.TypeOpenAI, []scripted.Step{{Opaque: "c2ln"}, read}, "m2", "", "c2ln"},
		"responses, nothing follows": {model.OpenAIResponses, model.TypeOpenAI, []scripted.Step{{Text: "a"}, {Opaque: "c2ln"}}, "m1", "", "c2ln"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := again(t, c.d, scripted.Turn{Steps: c.steps}, c.model, quirks(c.kind))
			if !strings.Contains(body, c.want) || strings.Contains(body, c.without) && c.without != "-" {
				t.Errorf("body %s", body)
			}
		})
	}
}

func TestDetailsOfOneEntryAreJoinedAndOthersKept(t *testing.T) {
	t.Parallel()
	detail := func(s string) string { return `{"reasoning_details":[` + s + `]}` }
	turn := raw(
		detail(`{"type":"reasoning.text","text":"I ","index":0,"signature":null}`), detail(`{"type":"reasoning.text","text":"<must>","index":0,"signature":"s1"}`),
		detail(`{"type":"reasoning.text","text":"other","index":1}`),
		detail(`{"type":"reasoning.encrypted","data":"A","index":2}`), detail(`{"type":"reasoning.encrypted","data":"B","index":2}`),
		`{"content":"done"}`,
	)
	body := again(t, model.OpenAIChat, turn, "m1", quirks(model.TypeOpenRouter))
	want := `"reasoning_details":[{"index":0,"signature":"s1","text":"I <must>","type":"reasoning.text"},{"type":"reasoning.text","text":"other","index":1},` +
		`{"type":"reasoning.encrypted","data":"A","index":2},{"type":"reasoning.encrypted","data":"B","index":2}]`
	if !strings.Contains(strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(body), want) {
		t.Errorf("body %s", body)
	}
}

// responsesTurn is a stream of raw Responses events.
func responsesTurn(events ...string) scripted.Turn {
	var t scripted.Turn
	for _, e := range events {
		t.Steps = append(t.Steps, scripted.Step{Raw: e})
	}
	t.Steps = append(t.Steps, scripted.Step{Cut: scripted.CutClean})
	return t
}

func item(index int, body string) string {
	return fmt.Sprintf(`{"type":"response.output_item.done","output_index":%d,"item":%s}`, index, body)
}

const completed = `{"type":"response.completed","response":{"output":[],"usage":{"input_tokens":2,"output_tokens":1,"total_tokens":3}}}`

func TestAMessagesPhaseGoesBack(t *testing.T) {
	t.Parallel()
	turn := responsesTurn(item(0, `{"type":"message","phase":"commentary","content":[{"type":"output_text","text":"a"}]}`), completed)
	if body := again(t, model.OpenAIResponses, turn, "m1"); !strings.Contains(body, `"role":"assistant","phase":"commentary"`) {
		t.Errorf("body %s", body)
	}
	if body := again(t, model.OpenAIResponses, turn, "m2"); strings.Contains(body, "commentary") {
		t.Errorf("body %s", body)
	}
}

func TestResponsesOfImitators(t *testing.T) {
	t.Parallel()
	delta := `{"type":"response.output_text.delta","output_index":0,"delta":"a"}`
	for name, c := range map[string]struct {
		turn scripted.Turn
		want []model.Part
	}{
		"items only in the end": {
			responsesTurn(`{"type":"response.completed","response":{"output":[{"type":"message","content":[{"type":"output_text","text":"a"}]}]}}`), []model.Part{text("a")},
		},
		"an empty finished item": {responsesTurn(delta, item(0, `{"type":"message","content":[]}`), completed), []model.Part{text("a")}},
		"no finished item":       {responsesTurn(delta, completed), []model.Part{text("a")}},
		"items out of order":     {responsesTurn(item(1, `{"type":"function_call","name":"read","arguments":"{}"}`), item(0, `{"type":"message","content":[{"text":"a"}]}`), completed), []model.Part{text("a"), call("call_1", "read", "{}")}},
		"unknown things":         {responsesTurn(`{"type":"response.new"}`, item(5, `{"type":"web_search_call"}`), `[DONE]`, delta, completed), []model.Part{text("a")}},
		"reasoning that cannot go back": {
			responsesTurn(item(0, `{"type":"reasoning","id":"rs","encrypted_content":null}`), item(1, `{"type":"message","content":[{"text":"a"}]}`), completed), []model.Part{text("a")},
		},
	} {
		got := setup(t, model.OpenAIResponses, []scripted.Turn{c.turn}).run(t, model.Request{})
		if got.Err != nil || !cmp.Equal(c.want, got.Done.Message.Parts) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	for event, kind := range map[string]model.ErrorKind{
		`{"type":"error","code":"rate_limit_exceeded","message":"slow"}`:                           model.ErrRateLimited,
		`{"type":"error","error":{"code":"context_length_exceeded","message":"long"}}`:             model.ErrContextTooLong,
		`{"error":{"message":"overloaded","type":"overloaded_error"}}`:                             model.ErrOverloaded,
		`{"type":"response.failed","response":{"error":{"code":"server_error","message":"oops"}}}`: model.ErrServer,
		`{"type":"response.output_item.done","item":7}`:                                            model.ErrStreamCut,
		`{"type":"response.output_item.added","item":7}`:                                           model.ErrInvalidResponse,
	} {
		if got := setup(t, model.OpenAIResponses, []scripted.Turn{responsesTurn(event)}).run(t, model.Request{}); got.Err == nil || got.Err.Kind != kind {
			t.Errorf("%s: %+v", event, got.Err)
		}
	}
}

func TestSummariesAreParagraphs(t *testing.T) {
	t.Parallel()
	turn := responsesTurn(
		`{"type":"response.reasoning_summary_part.added","summary_index":0}`, `{"type":"response.reasoning_summary_text.delta","delta":"a"}`,
		`{"type":"response.reasoning_summary_part.added","summary_index":1}`, `{"type":"response.reasoning_summary_text.delta","delta":"b"}`,
		item(0, `{"type":"message","content":[{"text":"c"}]}`), completed,
	)
	if got := setup(t, model.OpenAIResponses, []scripted.Turn{turn}).run(t, model.Request{}); got.Reasoning != "a\n\nb" {
		t.Errorf("%q", got.Reasoning)
	}
}
