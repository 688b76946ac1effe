package ollama_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loam-agents/loam/internal/model"
	"github.com/loam-agents/loam/internal/model/adaptertest"
	"github.com/loam-agents/loam/internal/model/ollama"
	"github.com/loam-agents/loam/internal/model/scripted"
)

const qwen = "qwen3:8b"

var adapter = adaptertest.Adapter{
	New: func(base, key string, c *http.Client) model.Provider {
		return ollama.New(ollama.Config{BaseURL: base, APIKey: key, HTTP: c})
	},
	Dialect: model.Ollama, Model: qwen,
	Frames: []string{
		`{"message":{"content":"x"},"done":false}`,
		`{"message":{"tool_calls":[{"function":{"name":"a","arguments":{}}},{}]}}`,
		`{"message":{"thinking":"x"}}`,
		`{"message":null,"done":true,"done_reason":"stop"}`,
		`{"done":true,"done_reason":"load"}`,
		`{"error":"x"}`,
	},
	Failures: []adaptertest.Failure{
		{Status: 400, Message: "the input length exceeds the context length", Want: model.ErrContextTooLong},
		{Status: 400, Message: "invalid options", Want: model.ErrBadRequest},
		{Status: 401, Message: "unauthorized", Want: model.ErrBadKey},
		{Status: 429, Message: "slow down", Want: model.ErrRateLimited},
		{Status: 500, Message: "llama runner process has terminated", Want: model.ErrServer},
		{Status: 503, Message: "server busy, please try again", Want: model.ErrOverloaded},
		{Status: 529, Message: "", Want: model.ErrOverloaded},
	},
}

func TestAdapter(t *testing.T) {
	t.Parallel()
	adaptertest.Run(t, adapter)
}

func opaque(modelID, block string) model.Part {
	return model.Part{Kind: model.PartOpaque, Opaque: &model.Opaque{Dialect: model.Ollama, Model: modelID, Block: json.RawMessage(block)}}
}

func TestPayloadOfAConversationWithEverything(t *testing.T) {
	t.Parallel()
	own := opaque(qwen, `{"thinking":"a <b> first"}`)
	adaptertest.Golden(t, "everything", adaptertest.Body(t, adapter, adaptertest.Everything(qwen, own, opaque(qwen, `7`))))
}

func TestThinkingGoesBackToTheModelThatThoughtOnly(t *testing.T) {
	t.Parallel()
	events, err := play(t, scripted.Turn{Steps: []scripted.Step{
		{Reasoning: "hm, <a>"}, {Reasoning: " yes"}, {Call: &scripted.Call{Name: "read", Arguments: `{"a":1}`}}, {Text: "and so on"}}})
	done := adaptertest.Done(t, events, err)
	want := []model.Part{
		opaque(qwen, `{"thinking":"hm, <a> yes"}`),
		{Kind: model.PartToolCall, CallID: "ollama-call-2", Name: "read", Arguments: `{"a":1}`},
		{Kind: model.PartText, Text: "and so on"},
	}
	if diff := cmp.Diff(want, done.Message.Parts); diff != "" {
		t.Fatalf("parts (-want +got):\n%s", diff)
	}
	for id, want := range map[string]bool{qwen: true, "llama3.3": false} {
		body := adaptertest.Body(t, adapter, model.Request{Model: id, Messages: []model.Message{adaptertest.Say("x")[0], done.Message}})
		if got := strings.Contains(string(body), `"thinking":"hm, <a> yes"`); got != want {
			t.Errorf("%s gets the thinking: %v, want %v", id, got, want)
		}
	}
	events, err = play(t, scripted.Turn{Steps: []scripted.Step{{Reasoning: "hm"}, {Text: "answer"}}})
	if parts := adaptertest.Done(t, events, err).Message.Parts; len(parts) != 1 {
		t.Errorf("thinking before an answer is kept: %+v", parts)
	}
}

func play(t *testing.T, turns ...scripted.Turn) ([]model.Event, error) {
	t.Helper()
	s := adaptertest.Serve(t, turns...)
	return adaptertest.Collect(t.Context(), connect(t, s, ollama.Config{}), model.Request{Model: qwen, Messages: adaptertest.Say("x"), Reasoning: model.ReasoningHigh})
}

func connect(t *testing.T, s *scripted.Server, cfg ollama.Config) model.Provider {
	t.Helper()
	cfg.BaseURL, cfg.HTTP = s.URL()+"/", adaptertest.Client(t)
	return ollama.New(cfg)
}

func TestTheContextIsAskedForAndNeverLargerThanTheModels(t *testing.T) {
	t.Parallel()
	windows := func(id string) int { return map[string]int{"small": 2048, "large": 131_072}[id] }
	tests := []struct {
		cfg   ollama.Config
		model string
		extra map[string]any
		want  string
	}{
		{ollama.Config{}, qwen, nil, `{"num_ctx":16384,"num_predict":50}`},
		{ollama.Config{Context: 4096}, qwen, nil, `{"num_ctx":4096,"num_predict":50}`},
		{ollama.Config{ContextWindow: windows}, "small", nil, `{"num_ctx":2048,"num_predict":50}`},
		{ollama.Config{ContextWindow: windows}, "large", nil, `{"num_ctx":16384,"num_predict":50}`},
		{ollama.Config{ContextWindow: windows, Context: 65_536}, "large", nil, `{"num_ctx":65536,"num_predict":50}`},
		{ollama.Config{}, qwen, map[string]any{"options": map[string]any{"num_ctx": 99}}, `{"num_ctx":99}`},
	}
	for _, tt := range tests {
		s := adaptertest.Serve(t, scripted.Say("ok"))
		req := model.Request{Model: tt.model, Messages: adaptertest.Say("x"), MaxOutputTokens: 50, Extra: tt.extra}
		if _, err := adaptertest.Collect(t.Context(), connect(t, s, tt.cfg), req); err != nil {
			t.Fatal(err)
		}
		var sent struct{ Options json.RawMessage }
		if err := s.Requests()[0].Decode(&sent); err != nil || string(sent.Options) != tt.want {
			t.Errorf("options %s (%v), want %s", sent.Options, err, tt.want)
		}
	}
}

func TestThinkOfEachModelAndLevel(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		model string
		level model.ReasoningLevel
		want  string
	}{
		{qwen, "", ""}, {qwen, model.ReasoningOff, "false"}, {qwen, model.ReasoningLow, "true"},
		{"gpt-oss:20b", model.ReasoningMinimal, `"low"`}, {"gpt-oss:20b", model.ReasoningMedium, `"medium"`},
		{"gpt-oss:20b", model.ReasoningMax, `"high"`}, {"gpt-oss:20b", model.ReasoningOff, "false"},
	} {
		var sent struct{ Think json.RawMessage }
		body := adaptertest.Body(t, adapter, model.Request{Model: tt.model, Reasoning: tt.level, Messages: adaptertest.Say("x")})
		if err := json.Unmarshal(body, &sent); err != nil || string(sent.Think) != tt.want {
			t.Errorf("%s %s: think %s (%v), want %s", tt.model, tt.level, sent.Think, err, tt.want)
		}
	}
}

func TestAModelThatCannotThinkIsAskedAgainWithout(t *testing.T) {
	t.Parallel()
	s := adaptertest.Serve(t, scripted.FailWith(http.StatusBadRequest, "", `"qwen3:8b" does not support thinking`), scripted.Say("fine"))
	req := model.Request{Model: qwen, Reasoning: model.ReasoningHigh, Messages: adaptertest.Say("x")}
	events, err := adaptertest.Collect(t.Context(), connect(t, s, ollama.Config{}), req)
	adaptertest.Done(t, events, err)
	if body := string(s.Requests()[1].Body); strings.Contains(body, `"think"`) {
		t.Errorf("the second request still asks to think: %s", body)
	}
	s.Push(scripted.FailWith(http.StatusBadRequest, "", `"x" does not support thinking`))
	req.Reasoning = ""
	_, err = adaptertest.Collect(t.Context(), connect(t, s, ollama.Config{}), req)
	adaptertest.RequireKind(t, err, model.ErrBadRequest)
}

func TestFailuresSayWhatToDo(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		turn scripted.Turn
		want string
	}{
		{scripted.FailWith(404, "", `model "qwen3:8b" not found, try pulling it first`), "Ollama has no model qwen3:8b: run `ollama pull qwen3:8b` on its machine"},
		{scripted.FailWith(400, "", `registry/x does not support tools`), "Ollama request failed: HTTP 400: registry/x does not support tools: choose a model with tool support"},
		{scripted.Turn{Steps: []scripted.Step{{Fail: "out of memory"}}}, "Ollama request failed: out of memory"},
		{scripted.Turn{Status: 502, Body: "<html>"}, "Ollama request failed: HTTP 502"},
	} {
		_, err := play(t, tt.turn)
		if err == nil || err.Error() != tt.want {
			t.Errorf("got %v, want %s", err, tt.want)
		}
	}
	_, err := play(t, scripted.Turn{Steps: []scripted.Step{{Fail: "the prompt exceeds the available context size"}}})
	adaptertest.RequireKind(t, err, model.ErrContextTooLong)
	_, err = play(t, scripted.Turn{Steps: []scripted.Step{{Raw: strings.Repeat("x", 9<<20)}}})
	adaptertest.RequireKind(t, err, model.ErrInvalidResponse)
}

func TestDoubledAndMissingIDsBecomeUnique(t *testing.T) {
	t.Parallel()
	call := func(id string) scripted.Step {
		return scripted.Step{Call: &scripted.Call{ID: id, Name: "read", Arguments: "{}"}}
	}
	events, err := play(t, scripted.Turn{Steps: []scripted.Step{call("same"), call("same"), call(""), call("ollama-call-9")}})
	seen := map[string]bool{}
	for _, p := range adaptertest.Done(t, events, err).Message.Parts {
		if p.CallID == "" || seen[p.CallID] {
			t.Errorf("the id %q is empty or used twice", p.CallID)
		}
		seen[p.CallID] = true
	}
	if !seen["same"] || len(seen) != 4 {
		t.Errorf("ids: %v", seen)
	}
}
