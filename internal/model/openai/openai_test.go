package openai_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/loam-agents/loam/internal/egress"
	"github.com/loam-agents/loam/internal/model"
	"github.com/loam-agents/loam/internal/model/openai"
	"github.com/loam-agents/loam/internal/model/scripted"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const key = "sk-very-secret"

// bundle is a scripted server and an adapter that points at it.
type bundle struct {
	server   *scripted.Server
	provider model.Provider
}

type option func(*openai.Config)

func quirks(providerType string) option {
	return func(c *openai.Config) { c.Quirks = openai.QuirksOf(providerType) }
}

func support(s model.ReasoningSupport) option {
	return func(c *openai.Config) { c.Reasoning = func(string) (model.ReasoningSupport, bool) { return s, true } }
}

func setup(t *testing.T, d model.Dialect, turns []scripted.Turn, options ...option) bundle {
	t.Helper()
	s, err := scripted.New(scripted.Options{Script: scripted.Script{Key: key, Turns: turns}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	e, err := egress.New(egress.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	client, err := e.Operator(s.BaseURL(d))
	if err != nil {
		t.Fatal(err)
	}
	cfg := openai.Config{Name: "OpenAI", BaseURL: s.BaseURL(d), APIKey: key, HTTP: client}
	for _, o := range options {
		o(&cfg)
	}
	if d == model.OpenAIResponses {
		return bundle{s, openai.NewResponses(cfg)}
	}
	return bundle{s, openai.NewChat(cfg)}
}

// run collects a stream: its deltas, its last event and its error.
type run struct {
	Text, Reasoning string
	Started         []string
	Done            *model.Event
	Err             *model.Error
}

func (b bundle) run(t *testing.T, req model.Request) run {
	t.Helper()
	return collect(t, t.Context(), b.provider, req)
}

func collect(t *testing.T, ctx context.Context, p model.Provider, req model.Request) run { //nolint:revive // t first
	t.Helper()
	if req.Model == "" {
		req.Model = "m1"
	}
	if req.Messages == nil {
		req.Messages = []model.Message{user("hi")}
	}
	var out run
	for ev, err := range p.Stream(ctx, req) {
		if out.Done != nil || out.Err != nil {
			t.Fatal("the stream went on after its end")
		}
		if err != nil {
			e, ok := model.AsError(err)
			if !ok {
				t.Fatalf("untyped error: %v", err)
			}
			out.Err = e
			continue
		}
		switch ev.Kind {
		case model.EventTextDelta:
			out.Text += ev.Text
		case model.EventReasoningDelta:
			out.Reasoning += ev.Text
		case model.EventToolCallStart:
			out.Started = append(out.Started, ev.CallID+" "+ev.Name)
		case model.EventDone:
			out.Done = &ev
		}
	}
	if (out.Done == nil) == (out.Err == nil) {
		t.Fatalf("done %v and err %v", out.Done, out.Err)
	}
	return out
}

func user(text string) model.Message {
	return model.Message{Role: model.User, Parts: []model.Part{{Kind: model.PartText, Text: text}}}
}

func text(s string) model.Part { return model.Part{Kind: model.PartText, Text: s} }

func call(id, name, arguments string) model.Part {
	return model.Part{Kind: model.PartToolCall, CallID: id, Name: name, Arguments: arguments}
}

func result(id, s string) model.Part {
	return model.Part{Kind: model.PartToolResult, CallID: id, Name: "read", Text: s}
}

func opaque(d model.Dialect, modelID, block string) model.Part {
	return model.Part{Kind: model.PartOpaque, Opaque: &model.Opaque{Dialect: d, Model: modelID, Block: json.RawMessage(block)}}
}

// golden compares JSON with a file, indented for people.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	var buf bytes.Buffer
	if err := json.Indent(&buf, got, "", "  "); err != nil {
		t.Fatalf("%v: %s", err, got)
	}
	buf.WriteByte('\n')
	path := filepath.Join("testdata", name+".golden.json")
	if *update {
		if err := os.WriteFile(path, buf.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), buf.String()); diff != "" {
		t.Error(diff)
	}
}

var dialects = []model.Dialect{model.OpenAIChat, model.OpenAIResponses}

func TestAnAnswerStreamsAndEndsWithTheWholeMessage(t *testing.T) {
	t.Parallel()
	turn := scripted.Turn{
		Steps: []scripted.Step{
			{Reasoning: "hm "}, {Reasoning: "ok"}, {Text: "Let me "}, {Text: "look."},
			{Call: &scripted.Call{ID: "a", Name: "read", Arguments: `{"x":1}`}}, {Call: &scripted.Call{ID: "b", Name: "write", Arguments: ""}},
		},
		Usage: model.Usage{Input: 7, Output: 5, CacheRead: 3, CacheWrite: 2},
	}
	for _, d := range dialects {
		got := setup(t, d, []scripted.Turn{turn}).run(t, model.Request{})
		want := run{
			Text: "Let me look.", Reasoning: "hm ok", Started: []string{"a read", "b write"},
			Done: &model.Event{
				Kind: model.EventDone, Stop: model.StopToolCalls,
				Usage:   model.Usage{Input: 7, Output: 5, CacheRead: 3, CacheWrite: 2, Total: 17},
				Message: model.Message{Role: model.Assistant, Parts: []model.Part{text("Let me look."), call("a", "read", `{"x":1}`), call("b", "write", "")}},
			},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", d, diff)
		}
	}
}

func TestEveryFailureHasItsKind(t *testing.T) {
	t.Parallel()
	after := func(turn scripted.Turn, header, value string) scripted.Turn {
		turn.Headers = map[string]string{header: value}
		return turn
	}
	fail := scripted.FailWith
	for name, c := range map[string]struct {
		turn  scripted.Turn
		kind  model.ErrorKind
		retry time.Duration
	}{
		"rate limit, seconds":        {after(fail(429, "rate_limit_exceeded", "slow"), "Retry-After", "7"), model.ErrRateLimited, 7 * time.Second},
		"rate limit, spoken":         {fail(429, "rate_limit_exceeded", "Please try again in 1.5s. See docs."), model.ErrRateLimited, 1500 * time.Millisecond},
		"rate limit, spoken in ms":   {fail(429, "rate_limit_exceeded", "Please try again in 20ms."), model.ErrRateLimited, 20 * time.Millisecond},
		"rate limit, nothing said":   {fail(429, "rate_limit_exceeded", "slow"), model.ErrRateLimited, 0},
		"empty account":              {fail(429, "insufficient_quota", "You exceeded your current quota"), model.ErrBadKey, 0},
		"overloaded 503":             {fail(503, "", "busy"), model.ErrOverloaded, 0},
		"overloaded 529":             {after(fail(529, "", "busy"), "Retry-After", "2"), model.ErrOverloaded, 2 * time.Second},
		"overloaded by word":         {fail(500, "server_is_overloaded", "busy"), model.ErrOverloaded, 0},
		"server":                     {fail(500, "server_error", "oops"), model.ErrServer, 0},
		"bad key":                    {fail(401, "invalid_api_key", "no"), model.ErrBadKey, 0},
		"forbidden":                  {fail(403, "", "no"), model.ErrBadKey, 0},
		"context code":               {fail(400, "context_length_exceeded", "too long"), model.ErrContextTooLong, 0},
		"context words":              {fail(400, "", "This model's maximum context length is 8192 tokens."), model.ErrContextTooLong, 0},
		"bad request":                {fail(400, "invalid_value", "no such field"), model.ErrBadRequest, 0},
		"not found":                  {fail(404, "model_not_found", "no such model"), model.ErrBadRequest, 0},
		"error body is no JSON":      {scripted.Turn{Status: 502, Body: "<html>bad gateway</html>"}, model.ErrServer, 0},
		"error body is a string":     {scripted.Turn{Status: 400, Body: `{"error":"context window exceeded"}`}, model.ErrContextTooLong, 0},
		"error body has a detail":    {scripted.Turn{Status: 422, Body: `{"detail":"bad field"}`}, model.ErrBadRequest, 0},
		"error inside the stream":    {scripted.Turn{Steps: []scripted.Step{{Text: "a"}, {Fail: "it broke"}}}, model.ErrServer, 0},
		"connection broken":          {scripted.Turn{Steps: []scripted.Step{{Text: "a"}, {Cut: scripted.CutAbort}}}, model.ErrStreamCut, 0},
		"end without the end mark":   {scripted.Turn{Steps: []scripted.Step{{Text: "a"}, {Cut: scripted.CutClean}}}, model.ErrStreamCut, 0},
		"cut inside a call":          {scripted.Turn{Steps: []scripted.Step{{Call: &scripted.Call{Name: "x", Arguments: `{"a":1}`}}, {Cut: scripted.CutClean}}}, model.ErrStreamCut, 0},
		"malformed chunk":            {scripted.Turn{Steps: []scripted.Step{{Raw: `{"choices":[{`}}}, model.ErrInvalidResponse, 0},
		"empty answer":               {scripted.Turn{}, model.ErrEmptyAnswer, 0},
		"only thinking":              {scripted.Turn{Steps: []scripted.Step{{Reasoning: "hm"}}}, model.ErrEmptyAnswer, 0},
		"a redirect is not followed": {scripted.Turn{Status: 307, Headers: map[string]string{"Location": "/v1/elsewhere"}, Body: "x"}, model.ErrBadRequest, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, d := range dialects {
				b := setup(t, d, []scripted.Turn{c.turn})
				got := b.run(t, model.Request{})
				if got.Err == nil || got.Err.Kind != c.kind || got.Err.RetryAfter != c.retry {
					t.Errorf("%s: %+v", d, got.Err)
				}
				if n := len(b.server.Requests()); n != 1 {
					t.Errorf("%s: %d requests", d, n)
				}
			}
		})
	}
}

func TestRateLimitHeadersSayWhenWhatIsUsedUpComesBack(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		headers map[string]string
		want    time.Duration
	}{
		{map[string]string{"X-Ratelimit-Remaining-Requests": "0", "X-Ratelimit-Reset-Requests": "1m30s"}, 90 * time.Second},
		{map[string]string{"X-Ratelimit-Remaining-Tokens": "0", "X-Ratelimit-Reset-Tokens": "20ms"}, 20 * time.Millisecond},
		{map[string]string{"X-Ratelimit-Remaining-Requests": "9", "X-Ratelimit-Reset-Requests": "1m"}, 0},
		{map[string]string{"X-Ratelimit-Remaining-Requests": "0", "X-Ratelimit-Reset-Requests": "soon"}, 0},
		{map[string]string{"X-Ratelimit-Remaining-Requests": "0", "X-Ratelimit-Reset-Requests": "9000h"}, time.Hour},
	} {
		turn := scripted.FailWith(429, "rate_limit_exceeded", "slow")
		turn.Headers = c.headers
		got := setup(t, model.OpenAIChat, []scripted.Turn{turn}).run(t, model.Request{})
		if got.Err.Kind != model.ErrRateLimited || got.Err.RetryAfter != c.want {
			t.Errorf("%v: %+v", c.headers, got.Err)
		}
	}
}

func TestTheKeyAppearsInNoError(t *testing.T) {
	t.Parallel()
	for _, d := range dialects {
		got := setup(t, d, []scripted.Turn{scripted.FailWith(401, "invalid_api_key", "Incorrect API key provided: "+key)}).run(t, model.Request{})
		if got.Err.Kind != model.ErrBadKey || strings.Contains(got.Err.Error(), key) || !strings.HasPrefix(got.Err.Error(), "OpenAI request failed: HTTP 401") {
			t.Errorf("%s: %v", d, got.Err)
		}
	}
}

func TestStopReasons(t *testing.T) {
	t.Parallel()
	for _, d := range dialects {
		for _, stop := range []model.StopReason{model.StopEnd, model.StopLength, model.StopRefusal} {
			turn := scripted.Say("x")
			turn.Stop = stop
			if got := setup(t, d, []scripted.Turn{turn}).run(t, model.Request{}); got.Done == nil || got.Done.Stop != stop {
				t.Errorf("%s %s: %+v", d, stop, got)
			}
		}
		cut := scripted.Turn{Stop: model.StopLength}
		if got := setup(t, d, []scripted.Turn{cut}).run(t, model.Request{}); got.Done == nil || got.Done.Stop != model.StopLength {
			t.Errorf("%s: a length stop without text is a stop: %+v", d, got)
		}
	}
}

func TestCancelEndsTheRequestAndSaysSo(t *testing.T) {
	t.Parallel()
	for _, d := range dialects {
		b := setup(t, d, []scripted.Turn{{Steps: []scripted.Step{{Text: "a"}, {Gate: "never"}}}})
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-b.server.Reached("never")
			cancel()
		}()
		if got := collect(t, ctx, b.provider, model.Request{}); got.Err == nil || got.Err.Kind != model.ErrCanceled {
			t.Errorf("%s: %+v", d, got)
		}
		r := b.server.Requests()[0]
		if <-r.Ended; !r.Aborted() {
			t.Errorf("%s: the connection stayed", d)
		}
	}
}

func TestLeavingTheLoopClosesTheConnection(t *testing.T) {
	t.Parallel()
	for _, d := range dialects {
		b := setup(t, d, []scripted.Turn{{Steps: []scripted.Step{{Text: "a"}, {Gate: "never"}}}})
		for range b.provider.Stream(t.Context(), model.Request{Model: "m1", Messages: []model.Message{user("hi")}}) {
			break
		}
		r := b.server.Requests()[0]
		if <-r.Ended; !r.Aborted() {
			t.Errorf("%s: the connection stayed", d)
		}
	}
}

func TestModelsAreListed(t *testing.T) {
	t.Parallel()
	for _, d := range dialects {
		b := setup(t, d, nil)
		got, err := b.provider.Models(t.Context())
		if err != nil || !cmp.Equal(got, []model.ModelRef{{ID: "scripted-1", Name: "scripted-1"}}) {
			t.Errorf("%s: %v %v", d, got, err)
		}
		if b.provider.Dialect() != d {
			t.Errorf("%s: %s", d, b.provider.Dialect())
		}
		_, err = setup(t, d, nil, func(c *openai.Config) { c.APIKey = "wrong" }).provider.Models(t.Context())
		if e, ok := model.AsError(err); !ok || e.Kind != model.ErrBadKey {
			t.Errorf("%s: %v", d, err)
		}
	}
}

func TestAServerThatIsNotThereIsUnreachable(t *testing.T) {
	t.Parallel()
	b := setup(t, model.OpenAIChat, nil)
	_ = b.server.Close()
	if got := b.run(t, model.Request{}); got.Err.Kind != model.ErrUnreachable || !got.Err.Retryable() {
		t.Errorf("%+v", got.Err)
	}
}

func TestOwnHeadersAndTheKeyAreSent(t *testing.T) {
	t.Parallel()
	b := setup(t, model.OpenAIChat, []scripted.Turn{scripted.Say("x")}, func(c *openai.Config) { c.Header = http.Header{"X-Title": {"Loam"}} })
	b.run(t, model.Request{})
	if h := b.server.Requests()[0].Header; h.Get("X-Title") != "Loam" || h.Get("Authorization") != "Bearer "+key {
		t.Errorf("headers %v", h)
	}
}
