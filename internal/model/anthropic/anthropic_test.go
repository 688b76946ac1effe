package anthropic_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loam-agents/loam/internal/model"
	"github.com/loam-agents/loam/internal/model/adaptertest"
	"github.com/loam-agents/loam/internal/model/anthropic"
	"github.com/loam-agents/loam/internal/model/scripted"
)

const opus = "claude-opus-4-7"

var adapter = adaptertest.Adapter{
	New: func(base, key string, c *http.Client) model.Provider {
		return anthropic.New(anthropic.Config{BaseURL: base, APIKey: key, HTTP: c})
	},
	Dialect: model.Anthropic, Model: opus, CountsCache: true,
	Frames: []string{
		`{"type":"message_start","message":{"usage":{"input_tokens":1}}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"a","name":"read","input":{}}}`,
		`{"type":"content_block_start","index":-1,"content_block":null}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{"}}`,
		`{"type":"message_delta","delta":{"stop_reason":"tool_use"}}`,
		`{"type":"message_stop"}`,
	},
	Failures: []adaptertest.Failure{
		{Status: 400, Code: "invalid_request_error", Message: "prompt is too long: 210000 tokens > 200000 maximum", Want: model.ErrContextTooLong},
		{Status: 400, Code: "invalid_request_error", Message: "input length and `max_tokens` exceed context limit: 1 + 2 > 2", Want: model.ErrContextTooLong},
		{Status: 400, Code: "invalid_request_error", Message: "messages: text content blocks must be non-empty", Want: model.ErrBadRequest},
		{Status: 401, Code: "authentication_error", Message: "invalid x-api-key", Want: model.ErrBadKey},
		{Status: 403, Code: "permission_error", Message: "not allowed", Want: model.ErrBadKey},
		{Status: 404, Code: "not_found_error", Message: "model: nope", Want: model.ErrBadRequest},
		{Status: 413, Code: "request_too_large", Message: "too many bytes", Want: model.ErrContextTooLong},
		{Status: 429, Code: "rate_limit_error", Message: "slow down", Want: model.ErrRateLimited},
		{Status: 500, Code: "api_error", Message: "internal", Want: model.ErrServer},
		{Status: 529, Code: "overloaded_error", Message: "Overloaded", Want: model.ErrOverloaded},
		{Status: 503, Code: "", Message: "", Want: model.ErrOverloaded},
	},
}

func TestAdapter(t *testing.T) {
	t.Parallel()
	adaptertest.Run(t, adapter)
}

func opaque(modelID, block string) model.Part {
	return model.Part{Kind: model.PartOpaque, Opaque: &model.Opaque{Dialect: model.Anthropic, Model: modelID, Block: json.RawMessage(block)}}
}

const thought = `{"type":"thinking","thinking":"a < b","signature":"c2ln+/=="}`

func TestPayloadOfAConversationWithEverything(t *testing.T) {
	t.Parallel()
	adaptertest.Golden(t, "everything", adaptertest.Body(t, adapter, adaptertest.Everything(opus, opaque(opus, thought))))
}

func TestPayloadAfterASwitchOfModelsHasNoForeignBlocks(t *testing.T) {
	t.Parallel()
	const older = "claude-sonnet-4-5-20250929"
	adaptertest.Golden(t, "switched", adaptertest.Body(t, adapter, adaptertest.Everything(older, opaque(opus, thought))))
}

func TestModelDefaultsAreMergedButCannotEndTheStream(t *testing.T) {
	t.Parallel()
	req := model.Request{Model: opus, Messages: adaptertest.Say("hi"), Extra: map[string]any{
		"max_tokens": 5, "metadata": map[string]any{"user_id": "<x>"}, "stream": false, "messages": nil}}
	adaptertest.Golden(t, "defaults", adaptertest.Body(t, adapter, req))
}

func TestAConversationThatBeginsWithTheAssistantGetsAnOpening(t *testing.T) {
	t.Parallel()
	body := adaptertest.Body(t, adapter, model.Request{Model: opus, Messages: []model.Message{
		{Role: model.Assistant, Parts: []model.Part{{Kind: model.PartText, Text: "Welcome."}}}, adaptertest.Say("hi")[0]}})
	var sent struct{ Messages []struct{ Role string } }
	if err := json.Unmarshal(body, &sent); err != nil {
		t.Fatal(err)
	}
	if len(sent.Messages) != 3 || sent.Messages[0].Role != "user" {
		t.Errorf("messages: %+v", sent.Messages)
	}
}

func TestThinkingOfEachModelAndLevel(t *testing.T) {
	t.Parallel()
	tests := []struct {
		model string
		level model.ReasoningLevel
		max   int
		want  string
	}{
		{"claude-opus-4-7", "", 0, `null null`},
		{"claude-opus-4-7", model.ReasoningOff, 0, `{"type":"disabled"} null`},
		{"claude-opus-4-7", model.ReasoningMinimal, 0, `{"type":"adaptive","display":"summarized"} {"effort":"low"}`},
		{"claude-opus-5", model.ReasoningXHigh, 0, `{"type":"adaptive","display":"summarized"} {"effort":"xhigh"}`},
		{"claude-fable-5", model.ReasoningMax, 0, `{"type":"adaptive","display":"summarized"} {"effort":"max"}`},
		{"claude-mythos-preview", model.ReasoningOff, 0, `null null`},
		{"claude-opus-4-6", model.ReasoningHigh, 0, `{"type":"adaptive"} {"effort":"high"}`},
		{"claude-opus-4-6", model.ReasoningXHigh, 0, `{"type":"adaptive"} {"effort":"high"}`},
		{"claude-opus-4-6", model.ReasoningMax, 0, `{"type":"adaptive"} {"effort":"max"}`},
		{"claude-sonnet-4-6", model.ReasoningMax, 0, `{"type":"adaptive"} {"effort":"high"}`},
		{"anthropic/claude-sonnet-4.6", model.ReasoningLow, 0, `{"type":"adaptive"} {"effort":"low"}`},
		{"claude-sonnet-4-5-20250929", model.ReasoningMedium, 0, `{"type":"enabled","budget_tokens":8192} null`},
		{"claude-sonnet-4-20250514", model.ReasoningMax, 0, `{"type":"enabled","budget_tokens":12288} null`},
		{"claude-3-7-sonnet-latest", model.ReasoningMinimal, 0, `{"type":"enabled","budget_tokens":1024} null`},
		{"claude-3-7-sonnet-latest", model.ReasoningHigh, 1000, `null null`},
		{"claude-3-7-sonnet-latest", model.ReasoningOff, 0, `{"type":"disabled"} null`},
		{"claude-3-5-haiku-20241022", model.ReasoningHigh, 0, `null null`},
		{"claude-instant", model.ReasoningHigh, 0, `null null`},
		{"glm-4.6", model.ReasoningLow, 0, `{"type":"enabled","budget_tokens":4096} null`},
	}
	for _, tt := range tests {
		t.Run(tt.model+" "+string(tt.level), func(t *testing.T) {
			t.Parallel()
			body := adaptertest.Body(t, adapter, model.Request{Model: tt.model, Reasoning: tt.level, MaxOutputTokens: tt.max, Messages: adaptertest.Say("hi")})
			var sent struct {
				Thinking     json.RawMessage `json:"thinking"`
				OutputConfig json.RawMessage `json:"output_config"`
			}
			if err := json.Unmarshal(body, &sent); err != nil {
				t.Fatal(err)
			}
			if got := orNull(sent.Thinking) + " " + orNull(sent.OutputConfig); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func orNull(raw json.RawMessage) string {
	if raw == nil {
		return "null"
	}
	return string(raw)
}

func TestMaxTokensComesFromTheRequestTheCatalogueOrTheDefault(t *testing.T) {
	t.Parallel()
	catalogued := adapter
	catalogued.New = func(base, key string, c *http.Client) model.Provider {
		return anthropic.New(anthropic.Config{BaseURL: base, HTTP: c, MaxOutput: func(id string) int { return map[string]int{opus: 32_000}[id] }})
	}
	for _, tt := range []struct {
		a    adaptertest.Adapter
		req  model.Request
		want int
	}{
		{catalogued, model.Request{Model: opus}, 32_000},
		{catalogued, model.Request{Model: opus, MaxOutputTokens: 99}, 99},
		{catalogued, model.Request{Model: "other"}, anthropic.DefaultMaxOutput},
		{adapter, model.Request{Model: opus}, anthropic.DefaultMaxOutput},
	} {
		tt.req.Messages = adaptertest.Say("hi")
		var sent struct {
			MaxTokens int `json:"max_tokens"`
		}
		if err := json.Unmarshal(adaptertest.Body(t, tt.a, tt.req), &sent); err != nil || sent.MaxTokens != tt.want {
			t.Errorf("%+v: max_tokens %d (%v), want %d", tt.req, sent.MaxTokens, err, tt.want)
		}
	}
}

func TestHeadersCarryTheKeyAndTheVersion(t *testing.T) {
	t.Parallel()
	s := adaptertest.Serve(t, scripted.Say("a"), scripted.Say("b"))
	for _, cfg := range []anthropic.Config{{APIKey: "k"}, {Version: "2026-10-21"}} {
		// A base URL that ends in /v1 is the same service.
		cfg.BaseURL, cfg.HTTP = s.URL()+"/v1/", adaptertest.Client(t)
		if _, err := adaptertest.Collect(t.Context(), anthropic.New(cfg), model.Request{Model: opus, Messages: adaptertest.Say("x")}); err != nil {
			t.Fatal(err)
		}
	}
	one, two := s.Requests()[0], s.Requests()[1]
	if one.Path != "/v1/messages" || one.Header.Get("X-Api-Key") != "k" || one.Header.Get("Anthropic-Version") != anthropic.DefaultVersion {
		t.Errorf("path %s, headers %v", one.Path, one.Header)
	}
	if two.Header.Get("Anthropic-Version") != "2026-10-21" || two.Header.Values("X-Api-Key") != nil {
		t.Errorf("headers %v", two.Header)
	}
}

// stream serves one golden stream.
func stream(t *testing.T, events ...string) ([]model.Event, error) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("data: " + strings.Join(events, "\n\ndata: ") + "\n\n"))
	}))
	t.Cleanup(s.Close)
	p := anthropic.New(anthropic.Config{BaseURL: s.URL, HTTP: adaptertest.Client(t)})
	return adaptertest.Collect(t.Context(), p, model.Request{Model: opus, Messages: adaptertest.Say("x")})
}

func TestOpaqueBlocksStayInTheirPlaceByteForByte(t *testing.T) {
	t.Parallel()
	events, err := stream(t,
		`{"type":"message_start","message":{"usage":{"input_tokens":10,"cache_read_input_tokens":4,"cache_creation_input_tokens":3,"output_tokens":1}}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"a <b> & \"c\"\n"}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQBCg+/=="}}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"Zm9v<+/>="}}`,
		`{"type":"content_block_start","index":2,"content_block":{"type":"server_thing","data":"?"}}`,
		`{"type":"content_block_delta","index":2,"delta":{"type":"thing_delta","thing":"?"}}`,
		`{"type":"content_block_start","index":3,"content_block":{"type":"text","text":"I "}}`,
		`{"type":"content_block_delta","index":3,"delta":{"type":"text_delta","text":"read."}}`,
		`{"type":"content_block_start","index":4,"content_block":{"type":"thinking","thinking":"unsigned"}}`,
		`{"type":"content_block_start","index":5,"content_block":{"type":"tool_use","id":"toolu_1","name":"read","input":{"address":"~/a"}}}`,
		`{"type":"content_block_start","index":6,"content_block":{"type":"tool_use","id":"toolu_2","name":"status","input":{}}}`,
		`{"type":"content_block_start","index":7,"content_block":{"type":"text","text":""}}`,
		`{"type":"new_event_of_next_year"}`,
		`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":20}}`,
		`{"type":"message_stop"}`)
	done := adaptertest.Done(t, events, err)
	want := []model.Part{
		opaque(opus, `{"type":"thinking","thinking":"a <b> & \"c\"\n","signature":"EqQBCg+/=="}`),
		opaque(opus, `{"type":"redacted_thinking","data":"Zm9v<+/>="}`),
		{Kind: model.PartText, Text: "I read."},
		{Kind: model.PartToolCall, CallID: "toolu_1", Name: "read", Arguments: `{"address":"~/a"}`},
		{Kind: model.PartToolCall, CallID: "toolu_2", Name: "status", Arguments: `{}`},
	}
	if diff := cmp.Diff(want, done.Message.Parts); diff != "" {
		t.Fatalf("parts (-want +got):\n%s", diff)
	}
	if want := (model.Usage{Input: 10, Output: 20, CacheRead: 4, CacheWrite: 3, Total: 37}); done.Usage != want {
		t.Errorf("usage %+v, want %+v", done.Usage, want)
	}
	replayed := string(adaptertest.Body(t, adapter, model.Request{Model: opus, Messages: []model.Message{adaptertest.Say("x")[0], done.Message}}))
	for _, part := range want[:2] {
		if !strings.Contains(replayed, string(part.Opaque.Block)) {
			t.Errorf("%s is not in the payload:\n%s", part.Opaque.Block, replayed)
		}
	}
	other := string(adaptertest.Body(t, adapter, model.Request{Model: "claude-sonnet-4-6", Messages: []model.Message{adaptertest.Say("x")[0], done.Message}}))
	if strings.Contains(other, "EqQBCg") || strings.Contains(other, "redacted") {
		t.Errorf("blocks went to another model:\n%s", other)
	}
}

func TestEndsOfAStream(t *testing.T) {
	t.Parallel()
	tests := []struct {
		what   string
		events []string
		stop   model.StopReason
		err    model.ErrorKind
	}{
		{"refusal without text", []string{`{"type":"message_delta","delta":{"stop_reason":"refusal"}}`, `{"type":"message_stop"}`}, model.StopRefusal, ""},
		{"window full", []string{`{"type":"message_delta","delta":{"stop_reason":"model_context_window_exceeded"}}`, `{"type":"message_stop"}`}, model.StopLength, ""},
		{"no stop", []string{`{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`}, "", model.ErrStreamCut},
		{"delta without block", []string{`{"type":"content_block_delta","index":3,"delta":{"type":"text_delta","text":"x"}}`}, "", model.ErrInvalidResponse},
		{"block of a wrong type", []string{`{"type":"content_block_start","index":0,"content_block":7}`}, "", model.ErrInvalidResponse},
		{"rate limit inside", []string{`{"type":"error","error":{"type":"rate_limit_error","message":"x"}}`}, "", model.ErrRateLimited},
		{"overload inside", []string{`{"type":"error","error":{"type":"overloaded_error"}}`}, "", model.ErrOverloaded},
		{"unknown error inside", []string{`{"type":"error","error":{"type":"new_error","message":"x"}}`}, "", model.ErrServer},
		{"too large an event", []string{strings.Repeat("x", 9<<20)}, "", model.ErrInvalidResponse},
	}
	for _, tt := range tests {
		t.Run(tt.what, func(t *testing.T) {
			t.Parallel()
			events, err := stream(t, tt.events...)
			if tt.err != "" {
				adaptertest.RequireKind(t, err, tt.err)
				return
			}
			if done := adaptertest.Done(t, events, err); done.Stop != tt.stop {
				t.Errorf("stop %s, want %s", done.Stop, tt.stop)
			}
		})
	}
}

func TestTheModelListIsReadPageByPage(t *testing.T) {
	t.Parallel()
	var asked []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.RequestURI())
		page := `{"data":[{"id":"a","display_name":"A"}],"has_more":true,"last_id":"a&b"}`
		if r.URL.Query().Get("after_id") == "a&b" {
			page = `{"data":[{"id":"c"}],"has_more":false,"last_id":"c"}`
		}
		_, _ = w.Write([]byte(page))
	}))
	defer s.Close()
	list, err := anthropic.New(anthropic.Config{BaseURL: s.URL, HTTP: adaptertest.Client(t)}).Models(t.Context())
	if diff := cmp.Diff([]model.ModelRef{{ID: "a", Name: "A"}, {ID: "c", Name: "c"}}, list); diff != "" || err != nil || len(asked) != 2 {
		t.Errorf("asked %v, error %v, list (-want +got):\n%s", asked, err, diff)
	}
}
