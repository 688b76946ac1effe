package engine_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/internal/model/scripted"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
	"github.com/loam-agents/loam/internal/store/storetest"
	"github.com/loam-agents/loam/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, storetest.Leaks()) }

// conversation is a session on a whole server with a scripted model.
type conversation struct {
	*servertest.Harness
	t       *testing.T
	model   *scripted.Server
	agent   string
	session string
}

// talk opens a session with an agent whose model says the given turns.
func talk(t *testing.T, cfg server.Config, turns ...scripted.Turn) *conversation {
	t.Helper()
	m := servertest.Scripted(t, turns...)
	h := servertest.Start(t, cfg)
	agent := h.Agent(m)
	return &conversation{Harness: h, t: t, model: m, agent: agent, session: h.Session(agent)}
}

// each runs fn on both databases.
func each(t *testing.T, fn func(t *testing.T, cfg server.Config)) {
	t.Helper()
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

// say sends a text and fails the test when the turn fails.
func (c *conversation) say(text string) {
	c.t.Helper()
	if _, err := c.Send(c.session, text); err != nil {
		c.t.Fatalf("Send(%s) = %v", text, err)
	}
}

// start sends texts as one message and returns how it ended, later.
func (c *conversation) start(texts ...string) <-chan error {
	sent := make(chan error, 1)
	var content []any
	for _, text := range texts {
		content = append(content, map[string]any{"type": "text", "text": text})
	}
	go func() {
		_, err := client.Call[wire.MessageSessionResponse](c.t.Context(), c.Client, "MessageSession", map[string]any{
			"sessionId": c.session, "content": content,
		})
		sent <- err
	}()
	return sent
}

// log is the session's events in a line each.
func (c *conversation) log() string {
	c.t.Helper()
	var out []string
	for _, e := range c.Events(c.session) {
		line := e.Type
		switch e.Type {
		case "message":
			line = e.Role + " " + e.Content
		case "tool_call":
			line = "call " + e.Name + " " + e.Input
		case "tool_result":
			line = "result " + e.Name
			if e.Error != "" {
				line = "failed " + e.Name
			}
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

func (c *conversation) info() wire.SessionInfo {
	c.t.Helper()
	return servertest.Call[wire.GetSessionResponse](c.Harness, "GetSession", map[string]any{"sessionId": c.session}).Session
}

// payload is what a chat completions provider was sent.
type payload struct {
	Model    string            `json:"model"`
	Messages []json.RawMessage `json:"messages"`
	Tools    json.RawMessage   `json:"tools"`
}

func (c *conversation) payloads() []payload {
	c.t.Helper()
	var out []payload
	for _, r := range c.model.Requests() {
		var p payload
		if err := r.Decode(&p); err != nil {
			c.t.Fatal(err)
		}
		out = append(out, p)
	}
	return out
}

// stable fails the test unless every request begins with all of the request before, up to its volatile last message.
func (c *conversation) stable() {
	c.t.Helper()
	all := c.payloads()
	for i := 1; i < len(all); i++ {
		before, after := all[i-1], all[i]
		if !bytes.Equal(before.Tools, after.Tools) {
			c.t.Errorf("request %d has other tools than the one before", i+1)
		}
		for j, m := range before.Messages[:len(before.Messages)-1] {
			if j >= len(after.Messages) || !bytes.Equal(m, after.Messages[j]) {
				c.t.Errorf("message %d of request %d changed:\n%s\nwas\n%s", j+1, i+1, after.Messages[min(j, len(after.Messages)-1)], m)
			}
		}
	}
}

// results are the texts of all tool messages of the last request.
func (c *conversation) results() []string {
	c.t.Helper()
	all := c.payloads()
	var out []string
	for _, raw := range all[len(all)-1].Messages {
		var m struct{ Role, Content string }
		if json.Unmarshal(raw, &m) == nil && m.Role == "tool" {
			out = append(out, m.Content)
		}
	}
	return out
}

func calling(calls ...scripted.Call) scripted.Turn {
	var turn scripted.Turn
	for _, call := range calls {
		turn.Steps = append(turn.Steps, scripted.Step{Call: &call})
	}
	return turn
}
