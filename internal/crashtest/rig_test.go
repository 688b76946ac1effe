package crashtest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/dagcbor"
	"github.com/loam-agents/loam/internal/crashtest/process"
	"github.com/loam-agents/loam/internal/model"
	"github.com/loam-agents/loam/internal/model/scripted"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/store/storetest"
	"github.com/loam-agents/loam/principal"
	"github.com/loam-agents/loam/wire"
)

// patience bounds everything that a test waits for.
const patience = 90 * time.Second

// rig is one data directory and database, the model its agents talk to, and the process that works on them at the moment.
type rig struct {
	t       testing.TB
	ctx     context.Context
	options process.Options
	model   *scripted.Server
	http    *http.Client
	key     *principal.Key
	agent   string

	// end ends everything of the rig. It is called at the end of the test at the latest.
	end func()

	mu      sync.Mutex
	process *process.Process
	client  *client.Client
	crashes int
	// next is where the process that replaces a dead one is killed in its turn; never when it is nil or returns nothing.
	next func() string
}

// each runs a test on both databases.
func each(t *testing.T, fn func(t *testing.T, r *rig)) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		fn(t, newRig(t, ""))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		fn(t, newRig(t, storetest.PostgresURL(t)))
	})
}

func newRig(t testing.TB, database string) *rig {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	t.Cleanup(cancel)
	r := &rig{t: t, ctx: ctx, options: process.Options{DataDir: t.TempDir(), DatabaseURL: database, Log: logWriter{t}}}
	var err error
	if r.model, err = scripted.New(scripted.Options{Script: script(), Discard: true}); err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 16}
	r.http = &http.Client{Transport: transport}
	r.end = sync.OnceFunc(func() {
		if r.process != nil {
			r.process.Kill()
		}
		transport.CloseIdleConnections()
		if err := r.model.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(r.end)
	return r
}

// logWriter sends what a process writes to the test.
type logWriter struct{ t testing.TB }

func (w logWriter) Write(b []byte) (int, error) {
	w.t.Logf("%s", bytes.TrimSpace(b))
	return len(b), nil
}

// start starts the server on the rig's data. It is killed at the named point; never when that is empty.
func (r *rig) start(crashAt string) {
	r.t.Helper()
	if err := r.restart(crashAt); err != nil {
		r.t.Fatal(err)
	}
}

// restart is start for goroutines other than the test's own.
func (r *rig) restart(crashAt string) error {
	o := r.options
	o.CrashAt = crashAt
	p, err := program.Start(r.ctx, o)
	if err != nil {
		return err
	}
	r.process = p
	if r.key == nil {
		if r.key, err = server.OwnerKey(o.DataDir); err != nil {
			return err
		}
	}
	r.client, err = client.New(p.URL(), r.key, client.WithHTTPClient(r.http))
	return err
}

// call carries out an action on the process that runs now.
func call[T any](r *rig, name string, request any) T {
	r.t.Helper()
	out, err := client.Call[T](r.ctx, r.client, name, request)
	if err != nil {
		r.t.Fatalf("%s: %v", name, err)
	}
	return out
}

// found makes the agent on the scripted model, once.
func (r *rig) found() {
	r.t.Helper()
	call[wire.ProviderResponse](r, "SetModelProvider", map[string]any{
		"name": "scripted", "provider": map[string]any{"type": "custom", "baseUrl": r.model.BaseURL(model.OpenAIChat)},
	})
	r.agent = call[wire.CreateAgentResponse](r, "CreateAgent", map[string]any{"definition": map[string]any{
		"name": "Scribe", "systemPrompt": "You take notes.", "modelProvider": "scripted", "model": "scripted-1",
	}}).AgentID
}

func (r *rig) session() string {
	r.t.Helper()
	return call[wire.CreateSessionResponse](r, "CreateSession", map[string]any{"agentId": r.agent}).SessionID
}

// message is one message of a session as it was signed, to be sent again byte for byte.
type message struct {
	session, text, clientID string
	body                    []byte
}

func (r *rig) sign(m message) (message, error) {
	action := map[string]any{
		"_": "MessageSession", "sessionId": m.session, "content": []any{map[string]any{"type": "text", "text": m.text}},
	}
	if m.clientID != "" {
		action["clientMessageId"] = m.clientID
	}
	var err error
	m.body, err = wire.Sign(r.key, r.key.ID(), action, wire.SignOptions{TS: time.Now().UnixMilli(), Protocol: wire.ProtocolNumber})
	return m, err
}

// say signs the message that has the agent note an item. Only the bytes of the envelope tell that it is sent again.
func (r *rig) say(session, item string) (message, error) {
	return r.sign(message{session: session, text: "Remember " + item + "."})
}

// sayOnce is say with an id of the client's own, which tells the same of another envelope.
func (r *rig) sayOnce(session, item string) (message, error) {
	return r.sign(message{session: session, text: "Remember " + item + ".", clientID: "client-" + item})
}

// errUnreachable says that the process went away before it answered.
var errUnreachable = errors.New("no answer")

// post sends signed bytes once and returns the answer to them.
func (r *rig) post(ctx context.Context, url string, body []byte) (wire.MessageSessionResponse, error) {
	var out wire.MessageSessionResponse
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+wire.MessagePath, bytes.NewReader(body))
	if err != nil {
		return out, err
	}
	req.Header.Set("Content-Type", wire.MediaType)
	resp, err := r.http.Do(req)
	if err != nil {
		return out, fmt.Errorf("%w: %w", errUnreachable, err)
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return out, fmt.Errorf("%w: %w", errUnreachable, err)
	}
	if resp.StatusCode != http.StatusOK {
		return out, fmt.Errorf("status %d: %q", resp.StatusCode, answer)
	}
	return out, dagcbor.Unmarshal(answer, &out)
}

// deliver sends a message until it is answered: when the process dies over it, another one is started on the same data and
// gets the same bytes.
func (r *rig) deliver(m message) (wire.MessageSessionResponse, error) {
	for range 30 {
		r.mu.Lock()
		p := r.process
		r.mu.Unlock()
		answer, err := r.post(r.ctx, p.URL(), m.body)
		if err == nil || !errors.Is(err, errUnreachable) || r.ctx.Err() != nil {
			return answer, err
		}
		if err := r.replace(p); err != nil {
			return answer, err
		}
	}
	return wire.MessageSessionResponse{}, errors.New("the server died over and over")
}

// replace starts a process after a dead one. Whoever comes second finds it done.
func (r *rig) replace(dead *process.Process) error {
	select {
	case <-dead.Exited():
	case <-r.ctx.Done():
		return errors.New("the connection broke, but the process lives")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.process != dead {
		return nil
	}
	if !dead.Signaled() {
		return errors.New("the process ended by itself")
	}
	dead.Kill()
	r.died()
	for r.next != nil {
		err := r.restart(r.next())
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			return err
		}
		// It has reached its point before it served.
		r.died()
	}
	return r.restart("")
}

// killed counts the kills of all tests.
var killed atomic.Int64

// died counts a death that was caused.
func (r *rig) died() {
	r.crashes++
	killed.Add(1)
}

// revive starts a process when the last one was killed after all was done. The process that runs is killed no more.
func (r *rig) revive() {
	r.t.Helper()
	r.mu.Lock()
	p := r.process
	r.next = nil
	r.mu.Unlock()
	// One that has died refuses; one that would die at a named point is replaced too, so that the audit is not disturbed.
	p.Kill()
	r.start("")
}

// insist carries out an action that may be repeated until it is answered, whatever happens to the process.
func insist[T any](r *rig, name string, request any) T {
	r.t.Helper()
	for r.ctx.Err() == nil {
		r.mu.Lock()
		p, c := r.process, r.client
		r.mu.Unlock()
		out, err := client.Call[T](r.ctx, c, name, request)
		if err == nil {
			return out
		}
		if refused, ok := errors.AsType[*client.Error](err); ok {
			r.t.Fatalf("%s: %v", name, refused)
		}
		if err := r.replace(p); err != nil {
			r.t.Fatalf("%s: %v", name, err)
		}
	}
	r.t.Fatalf("%s was never answered", name)
	panic("unreachable")
}

// deliverAll delivers and fails the test on any refusal.
func (r *rig) deliverAll(messages ...message) []wire.MessageSessionResponse {
	r.t.Helper()
	out := make([]wire.MessageSessionResponse, len(messages))
	for i, m := range messages {
		var err error
		if out[i], err = r.deliver(m); err != nil {
			r.t.Fatalf("message %q: %v", m.text, err)
		}
		if out[i].AssistantEventID == "" {
			r.t.Fatalf("message %q was answered without an event", m.text)
		}
	}
	return out
}

// must is for values that a test cannot go on without.
func must[T any](t testing.TB) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// decode reads the payload of an event.
func decode(t testing.TB, e wire.SessionEvent) event {
	t.Helper()
	var out event
	if err := json.Unmarshal(e.Event, &out); err != nil {
		t.Fatalf("event %d: %v", e.Seq, err)
	}
	out.Seq, out.EventID = e.Seq, e.ID
	return out
}
