package scripted_test

import (
	"context"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loam-agents/loam/internal/model"
	"github.com/loam-agents/loam/internal/model/scripted"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var paths = map[model.Dialect]string{
	model.OpenAIChat: "/chat/completions", model.OpenAIResponses: "/responses", model.Anthropic: "/v1/messages",
	model.Gemini: "/models/m1:streamGenerateContent?alt=sse", model.Ollama: "/api/chat",
}

func start(t *testing.T, turns ...scripted.Turn) *scripted.Server {
	t.Helper()
	s, err := scripted.New(scripted.Options{Script: scripted.Script{Turns: turns}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func post(ctx context.Context, t *testing.T, s *scripted.Server, d model.Dialect, body string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.BaseURL(d)+paths[d], strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	return res
}

func read(t *testing.T, res *http.Response) string {
	t.Helper()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestEveryDialectEmitsItsOwnEvents(t *testing.T) {
	t.Parallel()
	turn := scripted.Turn{
		Steps: []scripted.Step{
			{Reasoning: "hm"}, {Opaque: "c2ln"}, {Text: "Let me "}, {Text: "look."},
			{Call: &scripted.Call{Name: "read", Arguments: `{"address":"~/memory"}`}},
			{Call: &scripted.Call{ID: "x", Name: "write", Arguments: `{"é":1}`}},
		},
		Usage: model.Usage{Input: 10, Output: 5, CacheRead: 3},
	}
	for d := range paths {
		t.Run(string(d), func(t *testing.T) {
			t.Parallel()
			s := start(t, turn)
			got := read(t, post(t.Context(), t, s, d, `{"model":"m1"}`))
			golden(t, string(d)+".stream.golden", got)
		})
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Error(diff)
	}
}

func TestATurnAnswersTheRequestsThatItMatches(t *testing.T) {
	t.Parallel()
	ask := map[model.Dialect]string{
		model.OpenAIChat: `{"model":"m1","messages":[{"role":"system","content":"be kind"},{"role":"user","content":"old"},
			{"role":"assistant","content":"x"},{"role":"tool","content":"42 degrees"},{"role":"user","content":[{"type":"text","text":"weather?"}]}]}`,
		model.OpenAIResponses: `{"model":"m1","instructions":"be kind","input":[{"role":"user","content":"old"},{"type":"function_call"},
			{"type":"function_call_output","output":"42 degrees"},{"role":"user","content":[{"type":"input_text","text":"weather?"}]}]}`,
		model.Anthropic: `{"model":"m1","system":[{"type":"text","text":"be kind"}],"messages":[{"role":"user","content":"old"},{"role":"assistant","content":[]},
			{"role":"user","content":[{"type":"tool_result","content":"42 degrees"},{"type":"text","text":"weather?"}]}]}`,
		model.Gemini: `{"systemInstruction":{"parts":[{"text":"be kind"}]},"contents":[{"role":"user","parts":[{"text":"old"}]},{"role":"model","parts":[]},
			{"role":"user","parts":[{"functionResponse":{"response":{"output":"42 degrees"}}},{"text":"weather?"}]}]}`,
		model.Ollama: `{"model":"m1","messages":[{"role":"system","content":"be kind"},{"role":"user","content":"old"},
			{"role":"assistant","content":"x"},{"role":"tool","content":"42 degrees"},{"role":"user","content":"weather?"}]}`,
	}
	for d, body := range ask {
		t.Run(string(d), func(t *testing.T) {
			t.Parallel()
			wrong := []scripted.Match{{Model: "m2"}, {User: "old"}, {Result: "43"}, {System: "rude"}, {Nth: 2}}
			s := start(t)
			for _, m := range wrong {
				s.Push(scripted.Turn{Match: m, Steps: []scripted.Step{{Text: "WRONG"}}})
			}
			s.Push(scripted.Turn{
				Match: scripted.Match{Model: "m1", User: "weather", Result: "42", System: "kind", Nth: 1},
				Steps: []scripted.Step{{Text: "RIGHT"}},
			})
			if got := read(t, post(t.Context(), t, s, d, body)); !strings.Contains(got, "RIGHT") {
				t.Errorf("got %s", got)
			}
			if s.Unused() != len(wrong) {
				t.Errorf("unused = %d", s.Unused())
			}
			if r := s.Requests()[0]; string(r.Body) != body || r.Dialect != d {
				t.Errorf("recorded %s %s", r.Dialect, r.Body)
			}
		})
	}
}

func TestATurnIsUsedOnceUnlessItRepeatsAndAnExhaustedScriptSaysSo(t *testing.T) {
	t.Parallel()
	s := start(t, scripted.Say("one"), scripted.Turn{Match: scripted.Match{Model: "m"}, Repeat: true, Steps: []scripted.Step{{Text: "many"}}})
	for i, want := range []string{"one", "many", "many"} {
		if got := read(t, post(t.Context(), t, s, model.OpenAIChat, `{"model":"m"}`)); !strings.Contains(got, want) {
			t.Errorf("request %d: %s", i, got)
		}
	}
	res := post(t.Context(), t, s, model.OpenAIChat, `{"model":"other"}`)
	if res.StatusCode != http.StatusNotImplemented || !strings.Contains(read(t, res), "script_exhausted") {
		t.Errorf("status %d", res.StatusCode)
	}
}

func TestAGateHoldsTheStreamAndACutBreaksIt(t *testing.T) {
	t.Parallel()
	s := start(t, scripted.Turn{Steps: []scripted.Step{{Text: "before"}, {Gate: "g"}, {Text: "after"}, {Cut: scripted.CutAbort}}})
	res := post(t.Context(), t, s, model.Ollama, `{}`)
	<-s.Reached("g")
	s.Open("g")
	data, err := io.ReadAll(res.Body)
	if err == nil || !strings.Contains(string(data), "after") || strings.Contains(string(data), `"done":true`) {
		t.Errorf("%s, err %v", data, err)
	}
}

func TestARequestKnowsThatItsClientLeft(t *testing.T) {
	t.Parallel()
	s := start(t, scripted.Turn{Steps: []scripted.Step{{Text: "a"}, {Gate: "never"}}}, scripted.Say("b"))
	ctx, cancel := context.WithCancel(t.Context())
	post(ctx, t, s, model.Anthropic, `{}`)
	<-s.Reached("never")
	cancel()
	r := s.Requests()[0]
	if <-r.Ended; !r.Aborted() {
		t.Error("not aborted")
	}
	read(t, post(t.Context(), t, s, model.Anthropic, `{}`))
	if r := s.Requests()[1]; r.Aborted() {
		t.Error("aborted")
	}
}

func TestErrorsHaveTheShapeOfTheDialectAndTheHeadersOfTheScript(t *testing.T) {
	t.Parallel()
	for d, want := range map[model.Dialect]string{
		model.OpenAIChat:      `{"error":{"code":"slow","message":"wait","param":null,"type":"slow"}}`,
		model.OpenAIResponses: `{"error":{"code":"slow","message":"wait","param":null,"type":"slow"}}`,
		model.Anthropic:       `{"error":{"message":"wait","type":"slow"},"type":"error"}`,
		model.Gemini:          `{"error":{"code":429,"message":"wait","status":"slow"}}`,
		model.Ollama:          `{"error":"wait"}`,
	} {
		turn := scripted.FailWith(429, "slow", "wait")
		turn.Headers = map[string]string{"Retry-After": "3"}
		res := post(t.Context(), t, start(t, turn), d, `{}`)
		if got := read(t, res); got != want || res.StatusCode != 429 || res.Header.Get("Retry-After") != "3" {
			t.Errorf("%s: %d %s", d, res.StatusCode, got)
		}
	}
}

func TestAKeyIsAcceptedWhereTheDialectPutsIt(t *testing.T) {
	t.Parallel()
	s, err := scripted.New(scripted.Options{Script: scripted.Script{Key: "k", Models: []string{"m1"}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	for _, c := range []struct{ path, header, value, want string }{
		{"/v1/models", "Authorization", "Bearer k", `"id":"m1"`},
		{"/v1/models", "X-Api-Key", "k", `"display_name":"m1"`},
		{"/v1beta/models", "X-Goog-Api-Key", "k", `"name":"models/m1"`},
		{"/v1beta/models?key=k", "", "", `"name":"models/m1"`},
		{"/api/tags", "Authorization", "Bearer k", `"name":"m1"`},
		{"/api/show", "Authorization", "Bearer k", `"capabilities"`},
		{"/v1/models", "Authorization", "Bearer wrong", "invalid_api_key"},
		{"/elsewhere", "Authorization", "Bearer k", "not_found"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL()+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if c.header != "" {
			req.Header.Set(c.header, c.value)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if got := read(t, res); !strings.Contains(got, c.want) {
			t.Errorf("%s %s: %s", c.path, c.header, got)
		}
		_ = res.Body.Close()
	}
}

func TestAScriptFileIsTheSameAsTheGoAPI(t *testing.T) {
	t.Parallel()
	want := scripted.Script{Models: []string{"a"}, Turns: []scripted.Turn{
		scripted.Say("x", "y"),
		{Match: scripted.Match{User: "hi"}, Status: 529, Usage: model.Usage{Input: 1}},
	}}
	data, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "script.json")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := scripted.LoadFile(path)
	if err != nil || !cmp.Equal(want, got) {
		t.Errorf("%v %s", err, cmp.Diff(want, got))
	}
	if err := os.WriteFile(path, []byte(`{"turns":[{"step":[]}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := scripted.LoadFile(path); err == nil {
		t.Error("a typo was accepted")
	}
}
