package operation_test

import (
	"bytes"
	"errors"
	"net/http"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/dagcbor"
	"github.com/loam-agents/loam/internal/model/scripted"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
	"github.com/loam-agents/loam/internal/store/storetest"
	"github.com/loam-agents/loam/principal"
	"github.com/loam-agents/loam/wire"
)

func TestMain(m *testing.M) {
	servertest.Helper()
	goleak.VerifyTestMain(m, storetest.Leaks())
}

// each runs a test on both databases.
func each(t *testing.T, fn func(t *testing.T, cfg server.Config)) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		fn(t, server.Config{})
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		fn(t, server.Config{DatabaseURL: storetest.PostgresURL(t)})
	})
}

type object = map[string]any

func newKey(t testing.TB, fill byte) *principal.Key {
	t.Helper()
	k, err := principal.NewKey(bytes.Repeat([]byte{fill}, 32))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// act carries out an action and returns its answer or how it was refused.
func act(t testing.TB, c *client.Client, name string, request object) (object, int, string) {
	t.Helper()
	action := object{"_": name}
	for k, v := range request {
		action[k] = v
	}
	out, err := c.Do(t.Context(), action)
	if refused, ok := errors.AsType[*client.Error](err); ok {
		return nil, refused.Status, refused.Message
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return out, http.StatusOK, ""
}

// must is act that may not be refused.
func must(t testing.TB, c *client.Client, name string, request object) object {
	t.Helper()
	out, status, text := act(t, c, name, request)
	if status != http.StatusOK {
		t.Fatalf("%s: %d %s", name, status, text)
	}
	return out
}

// signed is the body of an action, for tests that send the same bytes again.
func signed(t testing.TB, k *principal.Key, name string, request object, protocol int) []byte {
	t.Helper()
	action := object{"_": name}
	for field, v := range request {
		action[field] = v
	}
	body, err := wire.Sign(k, k.ID(), action, wire.SignOptions{TS: time.Now().UnixMilli(), Protocol: protocol})
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// answer is what a request was answered.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// post sends bytes as they are and returns the status and the raw answer.
func post(t testing.TB, url string, body []byte) (int, []byte) {
	t.Helper()
	got := send(t, url, body)
	return got.status, got.body
}

// send sends bytes as they are.
func send(t testing.TB, url string, body []byte) answer {
	t.Helper()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+wire.MessagePath, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", wire.MediaType)
	resp, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var out bytes.Buffer
	if _, err := out.ReadFrom(resp.Body); err != nil {
		t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, out.Bytes()}
}

// get asks for a page of the server.
func get(t testing.TB, url string) (int, []byte) {
	t.Helper()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var out bytes.Buffer
	if _, err := out.ReadFrom(resp.Body); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, out.Bytes()
}

func decode(t testing.TB, body []byte) object {
	t.Helper()
	var out object
	if err := dagcbor.Unmarshal(body, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// text is a message of one part.
func text(s string) []any { return []any{object{"type": "text", "text": s}} }

// definition is an agent on the scripted provider, with changes.
func definition(changes object) object {
	out := object{"name": "Scribe", "systemPrompt": "You take notes.", "modelProvider": "scripted", "model": "scripted-1"}
	for k, v := range changes {
		out[k] = v
	}
	return out
}

// world is what an owner has: one of each resource.
type world struct {
	signer     string
	capability []byte

	h                                                     *servertest.Harness
	model                                                 *scripted.Server
	agent, session, run, attachment, event, token, signIn string
	// remote is the address of a file elsewhere, and the others are uploads without a chunk.
	remote, upload, abandoned string
	// identity is the name of a signing identity, login the id of a sign-in under way.
	identity, login string
	// approval is one that nobody has decided.
	approval string
	// trigger and other are two that can be combined, as they were changed at the times of combined.
	trigger, other string
	combined       [2]int64
}

// withTriggers adds the triggers.
func (w world) withTriggers() world {
	for i, into := range []*string{&w.trigger, &w.other} {
		made := servertest.Call[wire.AgentTriggerResponse](w.h, "CreateAgentTrigger", object{"agentId": w.agent, "trigger": object{
			"name": "Mentions", "prompt": "Answer.", "source": object{"type": "user-mention", "mentionedAccounts": []string{linkedKey}},
		}}).Trigger
		*into, w.combined[i] = made.ID, made.UpdatedAt
	}
	return w
}

func sorted(list []string) []string {
	slices.Sort(list)
	return list
}

// scriptedFailure is a model that refuses every request for good.
func scriptedFailure(t testing.TB) *scripted.Server {
	t.Helper()
	return servertest.Scripted(t, scripted.Turn{Repeat: true, Status: 400, ErrorMessage: "no"})
}

// untilSeq waits for a durable event.
func untilSeq(t testing.TB, frames <-chan client.Frame, seq int64) {
	t.Helper()
	servertest.Until(t, frames, func(f client.Frame) bool { return f.Kind == wire.FrameAppend && f.Seq == seq })
}

// errDefect stands for everything that is not the caller's fault.
var errDefect = errors.New("defect")

// signRawAction signs an action as it is, at the present time.
func signRawAction(t testing.TB, k *principal.Key, action object) []byte {
	t.Helper()
	body, err := wire.Sign(k, k.ID(), action, wire.SignOptions{TS: time.Now().UnixMilli()})
	if err != nil {
		t.Fatal(err)
	}
	return body
}
