// Package servertest runs a whole server inside a test: real storage, real sockets, a scripted model, and a client with the
// owner's key. It is test support; the product does not import it.
package servertest

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/model"
	"github.com/loam-agents/loam/internal/model/scripted"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/principal"
	"github.com/loam-agents/loam/wire"
)

// Harness is a running server with its owner's client.
type Harness struct {
	*client.Client
	// URL is the server's base address and Key the owner's.
	URL string
	Key *principal.Key
	// Admin is the address of the admin listener, as a URL; empty when cfg.AdminListen was.
	Admin string
	// Config is what the server was opened with, for a restart on the same data.
	Config server.Config

	t    testing.TB
	stop func()
}

// Start opens and serves. Empty fields of cfg get values for tests: a free port, a temporary folder, a tutor without pauses,
// no keys from the environment. The server stops when the test ends.
func Start(t testing.TB, cfg server.Config) *Harness {
	t.Helper()
	cfg = complete(t, cfg)
	s, err := server.Open(t.Context(), cfg)
	if err != nil {
		t.Fatalf("open server: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	h := &Harness{t: t, Config: cfg, URL: "http://" + s.Addr()}
	if s.AdminAddr() != "" {
		h.Admin = "http://" + s.AdminAddr()
	}
	stopped := false
	h.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			t.Errorf("server stopped with: %v", err)
		}
	}
	t.Cleanup(h.stop)
	if h.Key, err = server.OwnerKey(cfg.DataDir); err != nil {
		t.Fatal(err)
	}
	h.Client = h.As(h.Key)
	return h
}

func complete(t testing.TB, cfg server.Config) server.Config {
	cfg.Listen = "127.0.0.1:0"
	if cfg.DataDir == "" {
		cfg.DataDir = t.TempDir()
	}
	if self, err := os.Executable(); err == nil && helps.Load() && cfg.Executable == "" {
		cfg.Executable = self
	}
	if cfg.TutorPace == 0 {
		cfg.TutorPace = -1
	}
	if cfg.Environ == nil {
		cfg.Environ = func(string) string { return "" }
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.NewTextHandler(output{t}, &slog.HandlerOptions{Level: slog.LevelWarn}))
	}
	return cfg
}

// As is a client with another key.
func (h *Harness) As(key *principal.Key) *client.Client {
	h.t.Helper()
	c, err := client.New(h.URL, key)
	if err != nil {
		h.t.Fatal(err)
	}
	return c
}

// Stop ends the server and waits for it.
func (h *Harness) Stop() { h.stop() }

// output sends log lines to the test.
type output struct{ t testing.TB }

// Write implements io.Writer.
func (o output) Write(b []byte) (int, error) {
	o.t.Logf("%s", b)
	return len(b), nil
}

// Call carries out an action and fails the test when it is refused.
func Call[T any](h *Harness, name string, request any) T {
	h.t.Helper()
	out, err := client.Call[T](h.t.Context(), h.Client, name, request)
	if err != nil {
		h.t.Fatalf("%s: %v", name, err)
	}
	return out
}

// Scripted starts a scripted model that says the given turns.
func Scripted(t testing.TB, turns ...scripted.Turn) *scripted.Server {
	t.Helper()
	s, err := scripted.New(scripted.Options{Script: scripted.Script{Turns: turns}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// Agent makes an agent on a scripted model, through a provider of type custom with a loopback address.
func (h *Harness) Agent(m *scripted.Server) string {
	h.t.Helper()
	Call[wire.ProviderResponse](h, "SetModelProvider", map[string]any{
		"name": "scripted", "provider": map[string]any{"type": "custom", "baseUrl": m.BaseURL(model.OpenAIChat)},
	})
	return Call[wire.CreateAgentResponse](h, "CreateAgent", map[string]any{"definition": map[string]any{
		"name": "Scribe", "systemPrompt": "You take notes.", "modelProvider": "scripted", "model": "scripted-1",
	}}).AgentID
}

// Session opens a session with an agent.
func (h *Harness) Session(agentID string) string {
	h.t.Helper()
	return Call[wire.CreateSessionResponse](h, "CreateSession", map[string]any{"agentId": agentID}).SessionID
}

// Send sends a text and waits for the turn.
func (h *Harness) Send(sessionID, text string) (wire.MessageSessionResponse, error) {
	h.t.Helper()
	return client.Call[wire.MessageSessionResponse](h.t.Context(), h.Client, "MessageSession", map[string]any{
		"sessionId": sessionID, "content": []any{map[string]any{"type": "text", "text": text}},
	})
}

// Delegate lets a key act for the harness's account, by a capability that it returns.
func (h *Harness) Delegate(key *principal.Key) []byte {
	h.t.Helper()
	raw, err := principal.NewCapability(h.Key, principal.Capability{Delegate: key.ID(), Role: principal.RoleAgent, TS: time.Now().UnixMilli()})
	if err != nil {
		h.t.Fatal(err)
	}
	if _, err := client.Call[wire.RegisterSignerResponse](h.t.Context(), h.As(key), "RegisterSigner", map[string]any{"capability": raw}); err != nil {
		h.t.Fatal(err)
	}
	return raw
}

// Event is a session event that was decoded.
type Event struct {
	Seq                                   int64
	Type, Role, Content, Actor, Name      string
	ID, ToolCallID, Error, Message, Input string
	Output                                json.RawMessage
}

// Events reads the log of a session.
func (h *Harness) Events(sessionID string) []Event {
	h.t.Helper()
	got := Call[wire.GetSessionResponse](h, "GetSession", map[string]any{"sessionId": sessionID})
	return Decode(h.t, got.Events)
}

// Decode reads the payloads of events.
func Decode(t testing.TB, events []wire.SessionEvent) []Event {
	t.Helper()
	out := make([]Event, len(events))
	for i, e := range events {
		var p struct {
			Event
			Input json.RawMessage `json:"input"`
		}
		if err := json.Unmarshal(e.Event, &p); err != nil {
			t.Fatalf("event %d: %v", e.Seq, err)
		}
		out[i] = p.Event
		out[i].Seq, out[i].Input = e.Seq, string(p.Input)
	}
	return out
}

// Watch is Watch with the owner's client.
func (h *Harness) Watch(key string, after int64) <-chan client.Frame {
	h.t.Helper()
	return Watch(h.t, h.Client, key, after)
}

// Watch follows a key until the test ends and returns the frames. It returns when the subscription stands: whatever happens
// then is among the frames.
func Watch(t testing.TB, c *client.Client, key string, after int64) <-chan client.Frame {
	t.Helper()
	out := make(chan client.Frame, 4096)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	stands := make(chan struct{})
	t.Cleanup(func() {
		cancel()
		<-done
	})
	go func() {
		defer close(done)
		first := true
		for f, err := range c.Subscribe(ctx, key, after) {
			if err != nil {
				return
			}
			out <- f
			if first && f.Kind == wire.FrameSubscribed {
				first = false
				close(stands)
			}
		}
	}()
	select {
	case <-stands:
	case <-done:
	}
	return out
}

// Until reads frames until one is accepted, and returns all of them with that one last. It fails the test after a minute.
func Until(t testing.TB, frames <-chan client.Frame, accept func(client.Frame) bool) []client.Frame {
	t.Helper()
	timeout := clock.System{}.After(time.Minute)
	var seen []client.Frame
	for {
		select {
		case f := <-frames:
			seen = append(seen, f)
			if accept(f) {
				return seen
			}
		case <-timeout:
			t.Fatalf("no such frame among %d", len(seen))
		}
	}
}
