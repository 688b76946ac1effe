package client_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/internal/model/scripted"
	loam "github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
	"github.com/loam-agents/loam/wire"
)

func withToken(t testing.TB, h *servertest.Harness, options ...client.Option) *client.Client {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	c, err := client.NewWithToken(h.URL, h.Token(), append([]client.Option{client.WithHTTPClient(&http.Client{Transport: transport})}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func call[T any](t testing.TB, c *client.Client, name string, request any) T {
	t.Helper()
	out, err := client.Call[T](t.Context(), c, name, request)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return out
}

// TestATokenCanCarryOutWhateverTheServerHasARouteFor compares the routes of the client with the server's description of itself.
// Signing in and out is a browser's business, and streams are what Subscribe is for.
func TestATokenCanCarryOutWhateverTheServerHasARouteFor(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../internal/transport/rest/testdata/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Paths map[string]map[string]struct {
			OperationID string `json:"operationId"`
		}
	}
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for path, methods := range document.Paths {
		for method, op := range methods {
			browser := path == "/sign-in" || path == "/sign-out" || strings.HasPrefix(path, "/sign-in/") || strings.HasPrefix(path, "/passkeys")
			if !strings.HasPrefix(op.OperationID, "Stream") && !browser {
				want[op.OperationID] = strings.ToUpper(method) + " " + path
			}
		}
	}
	got := client.Routes()
	for name, r := range got {
		got[name] = strings.ReplaceAll(r, "...}", "}")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("client/route.go does not have the routes of the server (-server +client):\n%s", diff)
	}
}

func TestATokenDoesWhatAKeyDoes(t *testing.T) {
	t.Parallel()
	h := servertest.Start(t, loam.Config{})
	c := withToken(t, h)
	me := call[wire.CallerInfo](t, c, "GetCaller", nil)
	if me.Account != h.Key.ID().String() {
		t.Errorf("the token is %+v", me)
	}
	m := servertest.Scripted(t, scripted.Turn{Steps: []scripted.Step{{Text: "Hello."}}})
	agent := h.Agent(m)
	session := call[wire.CreateSessionResponse](t, c, "CreateSession", map[string]any{"agentId": agent, "title": "With a token"}).SessionID
	answer := call[wire.MessageSessionResponse](t, c, "MessageSession", map[string]any{
		"sessionId": session, "content": []any{map[string]any{"type": "text", "text": "hello"}},
	})
	if answer.AssistantEventID == "" {
		t.Errorf("the message was answered with %+v", answer)
	}
	noise := bytes.Repeat([]byte{0, 1, 254, 255}, 1000)
	call[map[string]any](t, c, "WriteAgentMemoryFile", map[string]any{"agentId": agent, "path": "a b/ü?.md", "content": "text"})
	call[map[string]any](t, c, "WriteAgentMemoryFile", map[string]any{"agentId": agent, "path": "noise", "content": noise})
	call[wire.SecretResponse](t, c, "SetSecret", wire.SetSecretRequest{Name: "house key", Value: []byte("sk-1")})
	upload := call[wire.AttachmentResponse](t, c, "UploadSessionAttachment", wire.UploadSessionAttachmentRequest{SessionID: session, Name: "noise ü.bin", Content: noise}).Attachment
	file := call[wire.ReadSessionAttachmentResponse](t, c, "ReadSessionAttachment", wire.ReadSessionAttachmentRequest{SessionID: session, AttachmentID: upload.ID})
	if !bytes.Equal(file.Data, noise) || file.Attachment.Name != "noise ü.bin" || file.Attachment.ID != upload.ID || file.Attachment.Size != 4000 {
		t.Errorf("the file came back as %+v", file.Attachment)
	}
	run := call[wire.FindRunsResponse](t, c, "FindRuns", wire.FindRunsRequest{SessionID: &session}).Runs[0].ID

	same[wire.ListAgentsResponse](t, h.Client, c, "ListAgents", nil)
	same[wire.GetSessionResponse](t, h.Client, c, "GetSession", map[string]any{"sessionId": session, "afterSeq": 1})
	same[wire.ReadAgentMemoryFileResponse](t, h.Client, c, "ReadAgentMemoryFile", map[string]any{"agentId": agent, "path": "a b/ü?.md"})
	same[wire.ReadAgentMemoryFileResponse](t, h.Client, c, "ReadAgentMemoryFile", map[string]any{"agentId": agent, "path": "noise"})
	same[wire.ListAgentMemoryResponse](t, h.Client, c, "ListAgentMemory", map[string]any{"agentId": agent})
	same[wire.SecretsResponse](t, h.Client, c, "ListSecrets", nil)
	same[wire.ListModelProvidersResponse](t, h.Client, c, "ListModelProviders", nil)
	same[wire.RunResponse](t, h.Client, c, "GetRun", map[string]any{"runId": run})

	if reply, err := c.Do(t.Context(), map[string]any{"_": "DeleteSession", "sessionId": session}); err != nil || reply["sessionId"] != session {
		t.Errorf("DeleteSession = %v, %v", reply, err)
	}
	_, err := client.Call[wire.GetSessionResponse](t.Context(), c, "GetSession", map[string]any{"sessionId": session})
	if e, ok := errors.AsType[*client.Error](err); !ok || e.Status != 404 || e.Code != "not_found" || e.Message == "" {
		t.Errorf("a session that is gone: %+v", err)
	}
	if _, err := c.Do(t.Context(), map[string]any{"_": "Dance"}); err == nil || !strings.Contains(err.Error(), `"Dance"`) {
		t.Errorf("an action without a route: %v", err)
	}
	if _, err := c.Do(t.Context(), map[string]any{"_": "GetRun"}); err == nil || !strings.Contains(err.Error(), "runId") {
		t.Errorf("an action without its id: %v", err)
	}
}

// same compares what an action answers to a key and to a token. The keys of an event have no order.
func same[T any](t *testing.T, key, token *client.Client, name string, request any) {
	t.Helper()
	payload := cmp.Comparer(func(a, b wire.Payload) bool {
		var x, y any
		return bytes.Equal(a, b) || json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
	})
	if diff := cmp.Diff(call[T](t, key, name, request), call[T](t, token, name, request), payload); diff != "" {
		t.Errorf("%s answers another thing to a token (-key +token):\n%s", name, diff)
	}
}

func TestPagesOfATokenGoOnWhereTheyEnded(t *testing.T) {
	t.Parallel()
	h := servertest.Start(t, loam.Config{})
	c := withToken(t, h)
	agent := call[wire.ListAgentsResponse](t, c, "ListAgents", nil).Agents[0].ID
	var made, found []string
	for range 5 {
		made = append(made, h.Session(agent))
	}
	limit := int64(2)
	request := wire.ListSessionsRequest{Limit: &limit}
	for {
		page := call[wire.ListSessionsResponse](t, c, "ListSessions", request)
		for _, s := range page.Sessions {
			found = append(found, s.ID)
		}
		if page.NextCursor == nil {
			break
		}
		cursor, err := json.Marshal(page.NextCursor)
		if err != nil {
			t.Fatal(err)
		}
		request.Cursor = cursor
	}
	slices.Sort(made)
	slices.Sort(found)
	if !slices.Equal(made, found) {
		t.Errorf("found %q of %q", found, made)
	}
}

// later is a server that answers what a test says, and remembers what it was asked.
type later struct {
	mu      sync.Mutex
	asked   []*http.Request
	answers []http.HandlerFunc
}

// ServeHTTP implements http.Handler.
func (l *later) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	l.mu.Lock()
	l.asked = append(l.asked, r)
	answer := l.answers[min(len(l.asked), len(l.answers))-1]
	l.mu.Unlock()
	answer(w, r)
}

func says(status int, header, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", header)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func hangUp(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) }

func TestARequestIsRepeatedOnlyWhenThatIsHarmless(t *testing.T) {
	t.Parallel()
	busy := says(503, "3", `{"detail":"The server is stopping: try again soon","code":"unavailable"}`)
	done := says(200, "", `{"runId":"r1","canceled":true}`)
	for name, c := range map[string]struct {
		answers []http.HandlerFunc
		asked   int
		status  int
		waits   []time.Duration
	}{
		"at once":             {[]http.HandlerFunc{done}, 1, 0, nil},
		"later":               {[]http.HandlerFunc{busy, busy, done}, 3, 0, []time.Duration{3 * time.Second, 3 * time.Second}},
		"never":               {[]http.HandlerFunc{busy}, 4, 503, []time.Duration{3 * time.Second, 3 * time.Second, 3 * time.Second}},
		"a broken connection": {[]http.HandlerFunc{hangUp, done}, 2, 0, []time.Duration{500 * time.Millisecond}},
		"a refusal":           {[]http.HandlerFunc{says(403, "", `{"detail":"No.","code":"permission_denied"}`)}, 1, 403, nil},
		"a full disk":         {[]http.HandlerFunc{says(507, "", `{"detail":"Full.","code":"unavailable"}`)}, 1, 507, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := &later{answers: c.answers}
			s := httptest.NewServer(l)
			defer s.Close()
			clock := newStepClock()
			transport := &http.Transport{DisableKeepAlives: true}
			cl, err := client.NewWithToken(s.URL, "loam_x", client.WithClock(clock), client.WithHTTPClient(&http.Client{Transport: transport}))
			if err != nil {
				t.Fatal(err)
			}
			_, err = cl.Do(client.Idempotent(t.Context(), "mine"), map[string]any{"_": "CancelRun", "runId": "r1"})
			status := 0
			if e, ok := errors.AsType[*client.Error](err); ok {
				status = e.Status
			} else if err != nil {
				t.Fatal(err)
			}
			if status != c.status || len(l.asked) != c.asked {
				t.Errorf("asked %d times, status %d", len(l.asked), status)
			}
			for _, r := range l.asked {
				if r.Header.Get("Idempotency-Key") != "mine" || r.Header.Get("Authorization") != "Bearer loam_x" || r.URL.Path != "/api/v1/runs/r1/cancel" {
					t.Errorf("asked for %s with %v", r.URL, r.Header)
				}
			}
			for _, want := range c.waits {
				if got := <-clock.waits; got != want {
					t.Errorf("waited %s, want %s", got, want)
				}
			}
		})
	}
}

func TestEveryChangeHasAKeyOfItsOwnAndAReadHasNone(t *testing.T) {
	t.Parallel()
	l := &later{answers: []http.HandlerFunc{says(200, "", `{}`)}}
	s := httptest.NewServer(l)
	defer s.Close()
	c, err := client.NewWithToken(s.URL, "loam_x", client.WithHTTPClient(&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"CancelRun", "CancelRun", "GetRun"} {
		call[map[string]any](t, c, name, map[string]any{"runId": "r1"})
	}
	first, second, read := l.asked[0].Header.Get("Idempotency-Key"), l.asked[1].Header.Get("Idempotency-Key"), l.asked[2].Header.Get("Idempotency-Key")
	if first == "" || first == second || read != "" {
		t.Errorf("keys %q, %q and %q", first, second, read)
	}
	if _, err := client.NewWithToken("https://example.org", " "); err == nil {
		t.Error("a client without a token was made")
	}
	if _, err := client.NewWithToken("http://example.org", "loam_x"); err == nil {
		t.Error("a token is sent over plain http")
	}
}

// backend passes requests on to the server of the moment; without one it answers as a proxy with a server that restarts does.
type backend struct {
	mu  sync.Mutex
	url string
}

func (b *backend) set(url string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.url = url
}

// ServeHTTP implements http.Handler.
func (b *backend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	target := b.url
	b.mu.Unlock()
	if target == "" {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	u, err := url.Parse(target)
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	transport := &http.Transport{DisableKeepAlives: true}
	proxy := &httputil.ReverseProxy{Transport: transport, Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(u) }}
	proxy.ServeHTTP(w, r)
}

// pausing is a clock whose waits a test ends.
type pausing struct {
	*stepClock
	waits, goOn chan struct{}
}

// After implements client.Clock.
func (c *pausing) After(time.Duration) <-chan time.Time {
	c.waits <- struct{}{}
	fired := make(chan time.Time, 1)
	go func() {
		<-c.goOn
		fired <- c.Now()
	}()
	return fired
}

func TestAMessageOutlivesARestartOfTheServerAndIsSaidOnce(t *testing.T) {
	t.Parallel()
	cfg := loam.Config{DataDir: t.TempDir(), DrainTimeout: 1}
	first := servertest.Start(t, cfg)
	m := servertest.Scripted(t,
		scripted.Turn{Steps: []scripted.Step{{Text: "Half an ans"}, {Gate: "never"}}},
		scripted.Turn{Steps: []scripted.Step{{Text: "A whole answer."}}},
	)
	session := first.Session(first.Agent(m))
	behind := &backend{url: first.URL}
	front := httptest.NewServer(behind)
	defer front.Close()
	clock := &pausing{newStepClock(), make(chan struct{}), make(chan struct{})}
	c, err := client.NewWithToken(front.URL, first.Token(), client.WithClock(clock), client.WithHTTPClient(&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}))
	if err != nil {
		t.Fatal(err)
	}
	type answer struct {
		wire.MessageSessionResponse
		err error
	}
	answered := make(chan answer, 1)
	go func() {
		out, err := client.Call[wire.MessageSessionResponse](t.Context(), c, "MessageSession", map[string]any{
			"sessionId": session, "content": []any{map[string]any{"type": "text", "text": "question"}},
		})
		answered <- answer{out, err}
	}()
	<-m.Reached("never")
	first.Stop()
	<-clock.waits // the server said that it is stopping
	behind.set("")
	clock.goOn <- struct{}{}
	<-clock.waits // nobody was there
	second := servertest.Start(t, cfg)
	behind.set(second.URL)
	clock.goOn <- struct{}{}
	got := <-answered
	events := second.Events(session)
	if got.err != nil || len(events) != 2 || events[1].Content != "A whole answer." || got.AssistantEventID == "" {
		t.Errorf("answered %+v, %v; the log is %+v", got.MessageSessionResponse, got.err, events)
	}
}
