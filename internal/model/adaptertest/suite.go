// Package adaptertest is the suite that every adapter of internal/model must pass, over real sockets against the scripted
// model, and what the adapters' own tests share: collecting a stream, a conversation with everything in it, golden payloads.
//
// adaptertest is for tests only (tier 3); it imports package model and its scripted server.
package adaptertest

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loam-agents/loam/internal/model"
	"github.com/loam-agents/loam/internal/model/scripted"
)

// Key is the API key of the suite. It must be in no error text.
const Key = "sk-canary-4711-do-not-show"

// Adapter is what the suite needs to know of an adapter.
type Adapter struct {
	// New makes the provider for a base URL.
	New func(baseURL, key string, client *http.Client) model.Provider
	// Dialect of the adapter.
	Dialect model.Dialect
	// Model is the id that the suite asks for.
	Model string
	// Failures are HTTP errors in the dialect's shape and the kind that each must become.
	Failures []Failure
	// Frames are events of the dialect, of which random streams are made.
	Frames []string
	// CountsCache says that the dialect reports reads from its cache.
	CountsCache bool
}

// Failure is an HTTP error of the service.
type Failure struct {
	Status  int
	Code    string
	Message string
	Want    model.ErrorKind
}

// Run runs the suite.
func Run(t *testing.T, a Adapter) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, Adapter){
		"text and parallel calls arrive in order":   testTextAndCalls,
		"usage is counted without the cache":        testUsage,
		"a stop for length is told":                 testLength,
		"failures become their kinds":               testFailures,
		"Retry-After is passed on":                  testRetryAfter,
		"a cut stream is never a short answer":      testCut,
		"an empty answer is an error":               testEmpty,
		"an error inside the stream ends it":        testErrorInStream,
		"a malformed event is an invalid answer":    testMalformed,
		"any stream ends with done or one error":    testAnyStream,
		"an unreachable service says so":            testUnreachable,
		"canceling closes the connection":           testCancel,
		"leaving the loop closes the connection":    testLeave,
		"no error text shows the key":               testKey,
		"a redirect is not followed with the key":   testRedirect,
		"the list holds what can generate":          testModels,
		"a conversation of any shape is acceptable": testShapes,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, a)
		})
	}
}

// Serve starts a scripted model that ends with the test.
func Serve(t *testing.T, turns ...scripted.Turn) *scripted.Server {
	t.Helper()
	s, err := scripted.New(scripted.Options{Script: scripted.Script{Turns: turns}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// provider connects the adapter with a server. The connections are the test's own, so that they end with it.
func (a Adapter) provider(t *testing.T, baseURL string) model.Provider {
	t.Helper()
	return a.New(baseURL, Key, Client(t))
}

// Client is an HTTP client whose connections end with the test.
func Client(t *testing.T) *http.Client {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func (a Adapter) play(t *testing.T, turn scripted.Turn) ([]model.Event, error) {
	t.Helper()
	s := Serve(t, turn)
	return Collect(t.Context(), a.provider(t, s.BaseURL(a.Dialect)), a.hello())
}

func (a Adapter) hello() model.Request { return model.Request{Model: a.Model, Messages: Say("hello")} }

// Say is a conversation of one user text.
func Say(text string) []model.Message {
	return []model.Message{{Role: model.User, Parts: []model.Part{{Kind: model.PartText, Text: text}}}}
}

// Collect reads a stream to its end. The error is the sequence's own.
func Collect(ctx context.Context, p model.Provider, req model.Request) (events []model.Event, err error) {
	for ev, e := range p.Stream(ctx, req) {
		if e != nil {
			return events, e
		}
		events = append(events, ev)
	}
	return events, nil
}

// Done is the last event of a stream; the test fails when the stream failed.
func Done(t *testing.T, events []model.Event, err error) model.Event {
	t.Helper()
	if err != nil {
		t.Fatalf("the stream failed: %v", err)
	}
	if len(events) == 0 || events[len(events)-1].Kind != model.EventDone {
		t.Fatalf("the stream did not end with done: %+v", events)
	}
	return events[len(events)-1]
}

// RequireKind fails the test unless err is a *model.Error of the kind.
func RequireKind(t *testing.T, err error, want model.ErrorKind) *model.Error {
	t.Helper()
	e, ok := model.AsError(err)
	if !ok || e.Kind != want {
		t.Fatalf("got %v (%+v), want an error of kind %s", err, e, want)
	}
	return e
}

func testTextAndCalls(t *testing.T, a Adapter) {
	events, err := a.play(t, scripted.Turn{Steps: []scripted.Step{
		{Reasoning: "hm"}, {Text: "Let me "}, {Text: "look."},
		{Call: &scripted.Call{ID: "one", Name: "read", Arguments: `{"address":"~/a"}`}},
		{Call: &scripted.Call{ID: "two", Name: "read", Arguments: `{"address":"~/b"}`}},
	}})
	done := Done(t, events, err)
	var said, thought string
	var started []string
	for _, ev := range events {
		switch ev.Kind {
		case model.EventTextDelta:
			said += ev.Text
		case model.EventReasoningDelta:
			thought += ev.Text
		case model.EventToolCallStart:
			started = append(started, ev.CallID+" "+ev.Name)
		}
	}
	if said != "Let me look." || thought != "hm" {
		t.Errorf("said %q, thought %q", said, thought)
	}
	if diff := cmp.Diff([]string{"one read", "two read"}, started); diff != "" {
		t.Errorf("starts (-want +got):\n%s", diff)
	}
	var visible []model.Part
	for _, p := range done.Message.Parts {
		if p.Kind != model.PartOpaque {
			visible = append(visible, p)
		}
	}
	want := []model.Part{
		{Kind: model.PartText, Text: "Let me look."},
		{Kind: model.PartToolCall, CallID: "one", Name: "read", Arguments: `{"address":"~/a"}`},
		{Kind: model.PartToolCall, CallID: "two", Name: "read", Arguments: `{"address":"~/b"}`},
	}
	if diff := cmp.Diff(want, visible); diff != "" || done.Stop != model.StopToolCalls || done.Message.Role != model.Assistant {
		t.Errorf("stop %s, parts (-want +got):\n%s", done.Stop, diff)
	}
}

func testUsage(t *testing.T, a Adapter) {
	turn := scripted.Say("hi")
	turn.Usage = model.Usage{Input: 100, Output: 7}
	want := model.Usage{Input: 100, Output: 7, Total: 107}
	if a.CountsCache {
		turn.Usage.CacheRead, want.CacheRead, want.Total = 50, 50, 157
	}
	events, err := a.play(t, turn)
	if diff := cmp.Diff(want, Done(t, events, err).Usage); diff != "" {
		t.Errorf("usage (-want +got):\n%s", diff)
	}
}

func testLength(t *testing.T, a Adapter) {
	turn := scripted.Say("half an ans")
	turn.Stop = model.StopLength
	events, err := a.play(t, turn)
	if done := Done(t, events, err); done.Stop != model.StopLength {
		t.Errorf("stop is %s, want length", done.Stop)
	}
}

func testFailures(t *testing.T, a Adapter) {
	for _, f := range a.Failures {
		_, err := a.play(t, scripted.FailWith(f.Status, f.Code, f.Message))
		e := RequireKind(t, err, f.Want)
		if e.Status != f.Status || !strings.Contains(e.Message, f.Message) {
			t.Errorf("%d %s: status %d, text %q", f.Status, f.Code, e.Status, e.Message)
		}
	}
}

func testRetryAfter(t *testing.T, a Adapter) {
	turn := scripted.FailWith(http.StatusTooManyRequests, "", "slow down")
	turn.Headers = map[string]string{"Retry-After": "7"}
	_, err := a.play(t, turn)
	if e := RequireKind(t, err, model.ErrRateLimited); e.RetryAfter != 7*time.Second || !e.Retryable() {
		t.Errorf("retry after %v", e.RetryAfter)
	}
}

func testCut(t *testing.T, a Adapter) {
	for _, how := range []string{scripted.CutAbort, scripted.CutClean} {
		_, err := a.play(t, scripted.Turn{Steps: []scripted.Step{{Text: "half an"}, {Cut: how}}})
		RequireKind(t, err, model.ErrStreamCut)
	}
}

func testEmpty(t *testing.T, a Adapter) {
	_, err := a.play(t, scripted.Turn{})
	RequireKind(t, err, model.ErrEmptyAnswer)
}

func testErrorInStream(t *testing.T, a Adapter) {
	events, err := a.play(t, scripted.Turn{Steps: []scripted.Step{{Text: "I"}, {Fail: "the engine is on fire"}}})
	e, ok := model.AsError(err)
	if !ok || !e.Retryable() || !strings.Contains(e.Message, "the engine is on fire") || len(events) != 1 {
		t.Errorf("got %d events and %v", len(events), err)
	}
}

func testMalformed(t *testing.T, a Adapter) {
	for _, raw := range []string{`{"type": "oops`, `[1]`, `"text"`} {
		_, err := a.play(t, scripted.Turn{Steps: []scripted.Step{{Text: "I"}, {Raw: raw}}})
		RequireKind(t, err, model.ErrInvalidResponse)
	}
}
