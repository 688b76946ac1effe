package gemini_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loam-agents/loam/internal/model"
	"github.com/loam-agents/loam/internal/model/adaptertest"
	"github.com/loam-agents/loam/internal/model/gemini"
	"github.com/loam-agents/loam/internal/model/scripted"
)

const (
	pro   = "gemini-3-pro-preview"
	flash = "gemini-2.5-flash"
)

var adapter = adaptertest.Adapter{
	New: func(base, key string, c *http.Client) model.Provider {
		return gemini.New(gemini.Config{BaseURL: base, APIKey: key, HTTP: c})
	},
	Dialect: model.Gemini, Model: pro, CountsCache: true,
	Frames: []string{
		`{"candidates":[{"content":{"parts":[{"text":"x"}]}}]}`,
		`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"a","args":null}}]}}]}`,
		`{"candidates":[{"content":{"parts":[null,{}],"role":"model"}},{}]}`,
		`{"candidates":[{"content":{"parts":[{"text":"","thoughtSignature":{"odd":1}}]}}]}`,
		`{"candidates":[{"finishReason":"STOP"}]}`,
		`{"usageMetadata":{"promptTokenCount":-1}}`,
		`{"error":{}}`,
	},
	Failures: []adaptertest.Failure{
		{Status: 400, Code: "INVALID_ARGUMENT", Message: "The input token count (1100000) exceeds the maximum number of tokens allowed (1048576).", Want: model.ErrContextTooLong},
		{Status: 400, Code: "INVALID_ARGUMENT", Message: "Unknown name", Want: model.ErrBadRequest},
		{Status: 401, Code: "UNAUTHENTICATED", Message: "no key", Want: model.ErrBadKey},
		{Status: 403, Code: "PERMISSION_DENIED", Message: "not allowed", Want: model.ErrBadKey},
		{Status: 404, Code: "NOT_FOUND", Message: "models/nope is not found", Want: model.ErrBadRequest},
		{Status: 429, Code: "RESOURCE_EXHAUSTED", Message: "quota", Want: model.ErrRateLimited},
		{Status: 500, Code: "INTERNAL", Message: "internal", Want: model.ErrServer},
		{Status: 503, Code: "UNAVAILABLE", Message: "The model is overloaded", Want: model.ErrOverloaded},
		{Status: 529, Code: "", Message: "", Want: model.ErrOverloaded},
	},
}

func TestAdapter(t *testing.T) {
	t.Parallel()
	adaptertest.Run(t, adapter)
}

func opaque(modelID, block string) model.Part {
	return model.Part{Kind: model.PartOpaque, Opaque: &model.Opaque{Dialect: model.Gemini, Model: modelID, Block: json.RawMessage(block)}}
}

func TestPayloadOfAConversationWithEverything(t *testing.T) {
	t.Parallel()
	own := opaque(pro, `{"thoughtSignature":"c2ln+/=="}`)
	adaptertest.Golden(t, "everything", adaptertest.Body(t, adapter, adaptertest.Everything(pro, own)))
}

func TestPayloadAfterASwitchOfModelsHasNoForeignSignatures(t *testing.T) {
	t.Parallel()
	own := opaque(pro, `{"thoughtSignature":"c2ln+/=="}`)
	adaptertest.Golden(t, "switched", adaptertest.Body(t, adapter, adaptertest.Everything(flash, own)))
}

func TestModelDefaultsReplaceTopLevelFields(t *testing.T) {
	t.Parallel()
	req := model.Request{Model: flash, Messages: adaptertest.Say("hi"), MaxOutputTokens: 9, Extra: map[string]any{
		"generationConfig": map[string]any{"temperature": 0.5}, "contents": nil}}
	adaptertest.Golden(t, "defaults", adaptertest.Body(t, adapter, req))
}

func TestThinkingOfEachModelAndLevel(t *testing.T) {
	t.Parallel()
	tests := []struct {
		model string
		level model.ReasoningLevel
		want  string
	}{
		{pro, "", `null`},
		{pro, model.ReasoningOff, `{"thinkingLevel":"low"}`},
		{pro, model.ReasoningMedium, `{"includeThoughts":true,"thinkingLevel":"high"}`},
		{pro, model.ReasoningLow, `{"includeThoughts":true,"thinkingLevel":"low"}`},
		{"models/gemini-3-flash", model.ReasoningOff, `{"thinkingLevel":"minimal"}`},
		{"gemini-3-flash", model.ReasoningMedium, `{"includeThoughts":true,"thinkingLevel":"medium"}`},
		{"gemini-3.8-flash", model.ReasoningMax, `{"includeThoughts":true,"thinkingLevel":"high"}`},
		{flash, model.ReasoningOff, `{"thinkingBudget":0}`},
		{flash, model.ReasoningMinimal, `{"includeThoughts":true,"thinkingBudget":512}`},
		{"gemini-2.5-pro", model.ReasoningOff, `{"thinkingBudget":128}`},
		{"gemini-2.5-pro", model.ReasoningXHigh, `{"includeThoughts":true,"thinkingBudget":24576}`},
		{"gemini-2.0-flash", model.ReasoningHigh, `null`},
		{"gemma-3-27b-it", model.ReasoningHigh, `null`},
	}
	for _, tt := range tests {
		t.Run(tt.model+" "+string(tt.level), func(t *testing.T) {
			t.Parallel()
			var sent struct {
				GenerationConfig struct {
					ThinkingConfig json.RawMessage `json:"thinkingConfig"`
				} `json:"generationConfig"`
			}
			body := adaptertest.Body(t, adapter, model.Request{Model: tt.model, Reasoning: tt.level, Messages: adaptertest.Say("hi")})
			if err := json.Unmarshal(body, &sent); err != nil {
				t.Fatal(err)
			}
			got := string(sent.GenerationConfig.ThinkingConfig)
			if got == "" {
				got = "null"
			}
			if got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestTheAddressNamesTheModelOnceAndTheKeyIsAHeader(t *testing.T) {
	t.Parallel()
	s := adaptertest.Serve(t, scripted.Say("a"))
	p := gemini.New(gemini.Config{BaseURL: s.URL() + "/v1beta/", APIKey: "k", HTTP: adaptertest.Client(t), MaxOutput: func(string) int { return 77 }})
	if _, err := adaptertest.Collect(t.Context(), p, model.Request{Model: "models/" + flash, Messages: adaptertest.Say("x")}); err != nil {
		t.Fatal(err)
	}
	req := s.Requests()[0]
	if req.Path != "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse" || req.Header.Get("X-Goog-Api-Key") != "k" {
		t.Errorf("path %s, headers %v", req.Path, req.Header)
	}
	if !strings.Contains(string(req.Body), `"maxOutputTokens":77`) {
		t.Errorf("the catalogue's limit is missing: %s", req.Body)
	}
}

// stream serves one golden stream.
func stream(t *testing.T, events ...string) ([]model.Event, error) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("data: " + strings.Join(events, "\r\n\r\ndata: ") + "\r\n\r\n"))
	}))
	t.Cleanup(s.Close)
	p := gemini.New(gemini.Config{BaseURL: s.URL, HTTP: adaptertest.Client(t)})
	return adaptertest.Collect(t.Context(), p, model.Request{Model: pro, Messages: adaptertest.Say("x")})
}

func parts(json string) string {
	return `{"candidates":[{"content":{"role":"model","parts":[` + json + `]}}]}`
}

func TestSignaturesStayWithTheirPartByteForByte(t *testing.T) {
	t.Parallel()
	events, err := stream(t,
		parts(`{"text":"thinking <hard>","thought":true}`),
		parts(`{"text":"I "},{"text":"read"}`),
		parts(`{"text":"signed text","thoughtSignature":"AAAA+/=="}`),
		parts(`{"text":" goes on"}`),
		parts(`{"functionCall":{"name":"read","args":{"address":"~/a"}},"thoughtSignature":"BBBB<+/>=="},{"functionCall":{"name":"read","args":{"address":"~/b"}}}`),
		parts(`{"functionCall":{"name":"status","id":"own-id"}}`),
		parts(`{"text":"","thoughtSignature":"CCCC"}`),
		`{"candidates":[{"finishReason":"STOP"}]}`,
		`{"usageMetadata":{"promptTokenCount":100,"cachedContentTokenCount":40,"candidatesTokenCount":5,"thoughtsTokenCount":9,"toolUsePromptTokenCount":2}}`)
	done := adaptertest.Done(t, events, err)
	want := []model.Part{
		{Kind: model.PartText, Text: "I read"},
		opaque(pro, `{"thoughtSignature":"AAAA+/=="}`),
		{Kind: model.PartText, Text: "signed text"},
		{Kind: model.PartText, Text: " goes on"},
		opaque(pro, `{"thoughtSignature":"BBBB<+/>=="}`),
		{Kind: model.PartToolCall, CallID: "gemini-call-2", Name: "read", Arguments: `{"address":"~/a"}`},
		{Kind: model.PartToolCall, CallID: "gemini-call-3", Name: "read", Arguments: `{"address":"~/b"}`},
		{Kind: model.PartToolCall, CallID: "own-id", Name: "status"},
		opaque(pro, `{"thoughtSignature":"CCCC","alone":true}`),
	}
	if diff := cmp.Diff(want, done.Message.Parts); diff != "" || done.Stop != model.StopToolCalls {
		t.Fatalf("stop %s, parts (-want +got):\n%s", done.Stop, diff)
	}
	if want := (model.Usage{Input: 62, CacheRead: 40, Output: 14, Total: 116}); done.Usage != want {
		t.Errorf("usage %+v, want %+v", done.Usage, want)
	}
	replay := model.Request{Model: pro, Messages: []model.Message{adaptertest.Say("x")[0], done.Message}}
	adaptertest.Golden(t, "replayed", adaptertest.Body(t, adapter, replay))
	replay.Model = flash
	if body := string(adaptertest.Body(t, adapter, replay)); strings.Contains(body, "thoughtSignature") {
		t.Errorf("signatures went to another model:\n%s", body)
	}
}

func TestMadeIDsAreNewInTheConversation(t *testing.T) {
	t.Parallel()
	s := adaptertest.Serve(t, scripted.Turn{Steps: []scripted.Step{{Call: &scripted.Call{Name: "read", Arguments: "{}"}}}, Repeat: true})
	p := gemini.New(gemini.Config{BaseURL: s.BaseURL(model.Gemini), HTTP: adaptertest.Client(t)})
	messages := adaptertest.Say("x")
	seen := map[string]bool{}
	for range 4 {
		events, err := adaptertest.Collect(t.Context(), p, model.Request{Model: pro, Messages: messages})
		done := adaptertest.Done(t, events, err)
		call := done.Message.Parts[0]
		if seen[call.CallID] {
			t.Fatalf("%s was given twice", call.CallID)
		}
		seen[call.CallID] = true
		messages = append(messages, done.Message, model.Message{Role: model.Tool, Parts: []model.Part{
			{Kind: model.PartToolResult, CallID: call.CallID, Name: "read", Text: "ok"}}})
	}
}

func TestEndsOfAStream(t *testing.T) {
	t.Parallel()
	finish := func(reason string) string { return `{"candidates":[{"finishReason":"` + reason + `"}]}` }
	tests := []struct {
		what   string
		events []string
		stop   model.StopReason
		err    model.ErrorKind
	}{
		{"safety", []string{finish("SAFETY")}, model.StopRefusal, ""},
		{"recitation after text", []string{parts(`{"text":"a"}`), finish("RECITATION")}, model.StopRefusal, ""},
		{"prompt blocked", []string{`{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"}}`}, model.StopRefusal, ""},
		{"length in thought", []string{parts(`{"text":"hm","thought":true}`), finish("MAX_TOKENS")}, model.StopLength, ""},
		{"malformed call", []string{finish("MALFORMED_FUNCTION_CALL")}, "", model.ErrEmptyAnswer},
		{"only a signature", []string{parts(`{"text":"","thoughtSignature":"A"}`), finish("STOP")}, "", model.ErrEmptyAnswer},
		{"no finish", []string{parts(`{"text":"a"}`)}, "", model.ErrStreamCut},
		{"error inside", []string{`{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"quota"}}`}, "", model.ErrRateLimited},
		{"error of a wrong shape", []string{`{"error":{"code":"x"}}`}, "", model.ErrInvalidResponse},
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

func TestDetailsOfAFailureSayHowLongToWaitAndWhatIsWrong(t *testing.T) {
	t.Parallel()
	const retry = `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"quota","details":[{"@type":"x"},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.5s"}]}}`
	const key = `{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"API key not valid","details":[{"reason":"API_KEY_INVALID"}]}}`
	fail := func(status int, body string) *model.Error {
		s := adaptertest.Serve(t, scripted.Turn{Status: status, Body: body})
		p := gemini.New(gemini.Config{BaseURL: s.BaseURL(model.Gemini), HTTP: adaptertest.Client(t)})
		_, err := adaptertest.Collect(t.Context(), p, model.Request{Model: pro, Messages: adaptertest.Say("x")})
		e, ok := model.AsError(err)
		if !ok {
			t.Fatalf("got %v", err)
		}
		return e
	}
	for _, body := range []string{retry, "[" + retry + "]"} {
		if e := fail(429, body); e.Kind != model.ErrRateLimited || e.RetryAfter != 34500*time.Millisecond {
			t.Errorf("kind %s, wait %v", e.Kind, e.RetryAfter)
		}
	}
	if e := fail(400, key); e.Kind != model.ErrBadKey {
		t.Errorf("kind %s", e.Kind)
	}
	if e := fail(500, "<html>"); e.Kind != model.ErrServer || e.Message != "Google request failed: HTTP 500" {
		t.Errorf("kind %s, text %q", e.Kind, e.Message)
	}
}

func TestTheModelListIsReadPageByPage(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page := `{"models":[{"name":"models/a","displayName":"A","supportedGenerationMethods":["generateContent"]}],"nextPageToken":"t&2"}`
		if r.URL.Query().Get("pageToken") == "t&2" {
			page = `{"models":[{"name":"models/b","supportedGenerationMethods":["generateContent"]},{"name":"models/c","supportedGenerationMethods":["embedContent"]}]}`
		}
		_, _ = w.Write([]byte(page))
	}))
	defer s.Close()
	list, err := gemini.New(gemini.Config{BaseURL: s.URL, HTTP: adaptertest.Client(t)}).Models(t.Context())
	if diff := cmp.Diff([]model.ModelRef{{ID: "a", Name: "A"}, {ID: "b", Name: "b"}}, list); diff != "" || err != nil {
		t.Errorf("error %v, list (-want +got):\n%s", err, diff)
	}
}
