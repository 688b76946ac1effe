package servertest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/wire"
)

// REST calls the routes of a server. Its zero header sends nothing that proves who calls.
type REST struct {
	// URL is the server's base address.
	URL string
	// Header goes with every request.
	Header http.Header

	t    testing.TB
	http *http.Transport
}

// Answer is what a route answered.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Token makes a token of the owner with scopes, all of them when none are given, and returns its text.
func (h *Harness) Token(scopes ...string) string {
	h.t.Helper()
	if len(scopes) == 0 {
		scopes = []string{"read", "write", "admin"}
	}
	return Call[wire.CreateTokenResponse](h, "CreateToken", map[string]any{"name": "test", "scopes": scopes}).Token
}

// REST returns a caller that shows a token; none when it is empty.
func (h *Harness) REST(token string) *REST {
	transport := &http.Transport{}
	h.t.Cleanup(transport.CloseIdleConnections)
	r := &REST{URL: h.URL, Header: http.Header{}, t: h.t, http: transport}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return r
}

// Browser signs a browser in as the owner, with a one-time code, and returns a caller that shows its cookie.
func (h *Harness) Browser() *REST {
	h.t.Helper()
	code := Call[wire.CreateSignInLinkResponse](h, "CreateSignInLink", nil).Code
	r := h.REST("")
	a := r.Do(http.MethodPost, "/api/v1/sign-in", map[string]any{"code": code})
	if a.Status != http.StatusNoContent {
		h.t.Fatalf("sign in: %d %s", a.Status, a.Body)
	}
	return r.With("Cookie", a.Cookie())
}

// Cookie is what a browser sends after it has got this answer: name and value of the cookie that was set.
func (a Answer) Cookie() string {
	pair, _, _ := strings.Cut(a.Header.Get("Set-Cookie"), ";")
	return pair
}

// With returns a caller that sends another header, in place of one of that name.
func (r *REST) With(name, value string) *REST {
	out := *r
	out.Header = r.Header.Clone()
	out.Header.Set(name, value)
	return &out
}

// Do sends a request. A body that is no []byte is sent as JSON; nil is none. The path begins below the server's address.
func (r *REST) Do(method, path string, body any) Answer {
	r.t.Helper()
	response := r.send(r.t.Context(), method, path, body)
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return Answer{Status: response.StatusCode, Header: response.Header, Body: raw}
}

func (r *REST) send(ctx context.Context, method, path string, body any) *http.Response {
	r.t.Helper()
	raw, isBytes := body.([]byte)
	if body != nil && !isBytes {
		var err error
		if raw, err = json.Marshal(body); err != nil {
			r.t.Fatal(err)
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, r.URL+path, bytes.NewReader(raw))
	if err != nil {
		r.t.Fatal(err)
	}
	if len(raw) > 0 && !isBytes {
		req.Header.Set("Content-Type", "application/json")
	}
	for name, values := range r.Header {
		req.Header[name] = values
		if name == "Host" {
			req.Host = values[0]
		}
	}
	response, err := r.http.RoundTrip(req)
	if err != nil {
		r.t.Fatal(err)
	}
	return response
}

// JSON decodes an answer, and fails the test when it is no success.
func JSON[T any](t testing.TB, a Answer) T {
	t.Helper()
	var out T
	if a.Status >= http.StatusMultipleChoices {
		t.Fatalf("status %d: %s", a.Status, a.Body)
	}
	if err := json.Unmarshal(a.Body, &out); err != nil {
		t.Fatalf("%v in %s", err, a.Body)
	}
	return out
}

// Problem decodes an error.
func (a Answer) Problem(t testing.TB) (code, detail string, details map[string]any) {
	t.Helper()
	var out struct {
		Code, Detail, Type, Title string
		Status                    int
		Details                   map[string]any
	}
	if err := json.Unmarshal(a.Body, &out); err != nil {
		t.Fatalf("%v in %s", err, a.Body)
	}
	if out.Status != a.Status || out.Title == "" || out.Type != "about:blank" || a.Header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("no problem document: %s %s", a.Header.Get("Content-Type"), a.Body)
	}
	return out.Code, out.Detail, out.Details
}

// Get answers a route of the API, whose path begins below its base.
func Get[T any](r *REST, path string) T {
	r.t.Helper()
	return JSON[T](r.t, r.Do(http.MethodGet, "/api/v1"+path, nil))
}

// Post sends a body to a route of the API.
func Post[T any](r *REST, path string, body any) T {
	r.t.Helper()
	return JSON[T](r.t, r.Do(http.MethodPost, "/api/v1"+path, body))
}

// StreamEvent is one event of a stream. A comment has no name.
type StreamEvent struct{ ID, Name, Data string }

// Stream follows a route until the test ends; end ends it before. The channel is closed when the stream has ended.
func (r *REST) Stream(path string) (events <-chan StreamEvent, end func()) {
	r.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	response := r.send(ctx, http.MethodGet, "/api/v1"+path, nil)
	if response.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(response.Body)
		r.t.Fatalf("stream %s: %d %s", path, response.StatusCode, body)
	}
	out := make(chan StreamEvent, 16384)
	done := make(chan struct{})
	stop := func() {
		cancel()
		<-done
	}
	r.t.Cleanup(stop)
	go func() {
		defer close(done)
		defer close(out)
		defer response.Body.Close()
		readEvents(response.Body, out)
	}()
	return out, stop
}

func readEvents(body io.Reader, out chan<- StreamEvent) {
	const longest = 64 << 20
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, longest)
	var ev StreamEvent
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case lines.Text() == "":
			out <- ev
			ev = StreamEvent{}
		case name == "id":
			ev.ID = value
		case name == "event":
			ev.Name = value
		case name == "data":
			ev.Data += value
		}
	}
}

// UntilEvent reads events until one of a name, and returns all of them with that one last. It fails the test when the stream ends
// before, or after a minute.
func UntilEvent(t testing.TB, events <-chan StreamEvent, name string) []StreamEvent {
	t.Helper()
	timeout := clock.System{}.After(time.Minute)
	var seen []StreamEvent
	for {
		select {
		case ev, ok := <-events:
			if !ok {
				t.Fatalf("the stream ended before %s: %v", name, seen)
			}
			seen = append(seen, ev)
			if ev.Name == name {
				return seen
			}
		case <-timeout:
			t.Fatalf("no %s among %v", name, seen)
		}
	}
}
