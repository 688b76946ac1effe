package engine_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/internal/bus"
	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/id"
	"github.com/loam-agents/loam/internal/model"
	"github.com/loam-agents/loam/internal/model/scripted"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
	"github.com/loam-agents/loam/internal/sessionlog"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/store/sqlite"
	"github.com/loam-agents/loam/wire"
)

func (c *conversation) stop() bool {
	c.t.Helper()
	return servertest.Call[wire.StopSessionResponse](c.Harness, "StopSession", map[string]any{"sessionId": c.session}).Stopped
}

// A turn is stopped while its model stands at a gate. Whatever had happened, the log is complete and the next turn goes well.
func TestATurnCanBeStoppedAtAnyMoment(t *testing.T) {
	t.Parallel()
	read := scripted.Step{Call: &scripted.Call{Name: "read", Arguments: `{"address":"~/memory/"}`}}
	write := scripted.Step{Call: &scripted.Call{Name: "write", Arguments: `{"address":"~/memory/a","content":"x"}`}}
	gate := scripted.Step{Gate: "g"}
	for name, c := range map[string]struct {
		turns []scripted.Turn
		want  string
	}{
		"before the first word": {[]scripted.Turn{{Steps: []scripted.Step{gate}}}, "assistant Stopped."},
		"in the middle":         {[]scripted.Turn{{Steps: []scripted.Step{{Text: "It beg"}, gate, {Text: "ins"}}}}, "assistant It beg"},
		"in a call":             {[]scripted.Turn{{Steps: []scripted.Step{read, gate}}}, "assistant Stopped."},
		"after a call":          {[]scripted.Turn{{Steps: []scripted.Step{write}}, {Steps: []scripted.Step{gate}}}, "call write {\"address\":\"~/memory/a\",\"content\":\"x\"}\nresult write\nassistant Stopped."},
		"after words and a call": {[]scripted.Turn{{Steps: []scripted.Step{{Text: "I write."}, write}}, {Steps: []scripted.Step{gate}}},
			"assistant I write.\ncall write {\"address\":\"~/memory/a\",\"content\":\"x\"}\nresult write"},
		"in a second text": {[]scripted.Turn{{Steps: []scripted.Step{{Text: "I write."}, write}}, {Steps: []scripted.Step{{Text: "And"}, gate}}},
			"assistant I write.\ncall write {\"address\":\"~/memory/a\",\"content\":\"x\"}\nresult write\nassistant And"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, want := talk(t, server.Config{}, append(c.turns, scripted.Say("Next."))...), "user one\n"+c.want
			frames := c.Watch("sessions/"+c.session, 0)
			sent := c.start("one")
			<-c.model.Reached("g")
			if strings.Contains(name, "middle") || strings.Contains(name, "second text") {
				word := "It beg"
				if strings.Contains(name, "second") {
					word = "And"
				}
				servertest.Until(t, frames, func(f client.Frame) bool { return strings.Contains(string(f.Patch), word) })
			}
			if !c.stop() {
				t.Error("nothing was stopped")
			}
			<-c.model.Requests()[len(c.model.Requests())-1].Ended
			if err := <-sent; err != nil {
				t.Errorf("the stopped message answered %v", err)
			}
			c.say("two")
			if got := c.log(); got != want+"\nuser two\nassistant Next." {
				t.Errorf("the log is\n%s\nwant\n%s", got, want)
			}
			c.stable()
		})
	}
}

func TestCallsThatAKilledServerLeftOpenAreAnsweredBeforeTheModelIsAsked(t *testing.T) {
	t.Parallel()
	cfg := server.Config{DataDir: t.TempDir()}
	c := talk(t, cfg, scripted.Say("First."), scripted.Say("Second."))
	c.say("one")
	c.Stop()
	inject(t, cfg.DataDir, c.session,
		wire.MessageEvent{Type: "message", Role: "user", Content: "lost"},
		wire.ToolCallEvent{Type: "tool_call", ID: "u1", Name: "read", Input: []byte(`{}`), Actor: "user"},
		wire.MessageEvent{Type: "message", Role: "assistant", Content: "I try."},
		wire.ToolCallEvent{Type: "tool_call", ID: "c1", Name: "write", Input: []byte(`{}`)},
		wire.ToolCallEvent{Type: "tool_call", ID: "c2", Name: "write", Input: []byte(`{}`)},
		wire.ToolResultEvent{Type: "tool_result", ToolCallID: "c2", Name: "write", Output: []byte(`{"n":2}`)},
	)
	h := servertest.Start(t, server.Config{DataDir: cfg.DataDir})
	c.Harness = h
	c.say("two")
	want := "user one\nassistant First.\nuser lost\ncall read {}\nassistant I try.\ncall write {}\ncall write {}\nresult write\nuser two\n" +
		"failed write\nassistant Second."
	if got := c.log(); got != want {
		t.Errorf("the log is\n%s\nwant\n%s", got, want)
	}
	results := c.results()
	if len(results) != 2 || !strings.Contains(results[0], "restarted") || results[1] != `{"n":2}` {
		t.Errorf("the model saw %q", results)
	}
	if body := string(c.model.Requests()[1].Body); !strings.Contains(body, `\u003cuser_action verb=`) && !strings.Contains(body, `<user_action verb=`) {
		t.Errorf("the model was not told what the user did: %s", body)
	}
}

// inject appends events to the log of a server that does not run.
func inject(t *testing.T, dir, session string, payloads ...any) {
	t.Helper()
	s, err := sqlite.Open(context.WithoutCancel(t.Context()), sqlite.Options{Path: filepath.Join(dir, "loam.db")})
	if err != nil {
		t.Fatal(err)
	}
	log := sessionlog.New(sessionlog.Options{Clock: clock.System{}, IDs: id.NewSource(clock.System{}, nil), Bus: bus.NewLocal()})
	err = s.Write(t.Context(), store.Interactive, func(tx store.Tx) error {
		for _, p := range payloads {
			if _, err := log.Append(tx, session, nil, sessionlog.Entry{Payload: p, Run: "dead"}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestProviderStateGoesBackByteForByteAndNotToAnotherModel(t *testing.T) {
	t.Parallel()
	for name, d := range map[string]struct {
		dialect model.Dialect
		model   string
	}{
		"anthropic": {model.Anthropic, "claude-sonnet-4-5"}, "openai": {model.OpenAIResponses, "gpt-5"}, "google": {model.Gemini, "gemini-2.5-pro"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const secret = "c2lnbmF0dXJlLTQ3MTE="
			m := servertest.Scripted(t,
				scripted.Turn{Steps: []scripted.Step{{Reasoning: "hm"}, {Opaque: secret}, {Text: "I look."}, {Call: &scripted.Call{Name: "read", Arguments: `{"address":"~/memory/"}`}}}},
				scripted.Say("Nothing."), scripted.Say("Still nothing."), scripted.Say("Other."), scripted.Say("Back."),
			)
			cfg := server.Config{ProviderURLs: map[string]string{name: m.BaseURL(d.dialect)}, DataDir: t.TempDir()}
			h := servertest.Start(t, cfg)
			servertest.Call[wire.SecretResponse](h, "SetSecret", wire.SetSecretRequest{Name: "key", Value: []byte("sk-test")})
			servertest.Call[wire.ProviderResponse](h, "SetModelProvider", map[string]any{
				"name": "p", "provider": map[string]any{"type": name, "secretRefs": map[string]any{"apiKey": "key"}},
			})
			agent := servertest.Call[wire.CreateAgentResponse](h, "CreateAgent", map[string]any{"definition": map[string]any{
				"name": "Scribe", "systemPrompt": "You take notes.", "modelProvider": "p", "model": d.model, "reasoningLevel": "high",
			}}).AgentID
			c := &conversation{Harness: h, t: t, model: m, agent: agent, session: h.Session(agent)}
			c.say("one")
			h.Stop()
			c.Harness = servertest.Start(t, server.Config{ProviderURLs: cfg.ProviderURLs, DataDir: cfg.DataDir})
			c.say("two")
			override := func(o any) {
				servertest.Call[wire.SessionResponse](c.Harness, "UpdateSession", map[string]any{"sessionId": c.session, "modelOverride": o})
			}
			override(map[string]any{"provider": "p", "model": d.model + "-other"})
			c.say("three")
			override(nil)
			c.say("four")
			for i, want := range []int{0, 1, 1, 0, 1} {
				if got := strings.Count(string(m.Requests()[i].Body), secret); got != want {
					t.Errorf("request %d holds the state %d times, want %d:\n%s", i+1, got, want, m.Requests()[i].Body)
				}
			}
			for _, e := range c.Events(c.session) {
				if strings.Contains(e.Content+string(e.Output), secret) {
					t.Errorf("a client sees the state in %+v", e)
				}
			}
			if first := string(m.Requests()[0].Body); !strings.Contains(first, "high") && !strings.Contains(first, "budget") && !strings.Contains(first, "thinkingBudget") {
				t.Errorf("the level of reasoning is missing in %s", first)
			}
		})
	}
}
