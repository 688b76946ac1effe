package server_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/internal/model/scripted"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
	"github.com/loam-agents/loam/internal/store/storetest"
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

func TestAFirstStartHasAnAgentThatAnswersWithoutAnyKey(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		h := servertest.Start(t, cfg)
		agents := servertest.Call[wire.ListAgentsResponse](h, "ListAgents", nil).Agents
		if len(agents) != 1 || agents[0].Definition.Name != server.FirstAgent || agents[0].Definition.ModelProvider != "tutor" {
			t.Fatalf("agents of a first start: %+v", agents)
		}
		if tools := agents[0].Definition.Tools; tools == nil || len(*tools) != 0 {
			t.Errorf("the first agent's tools are %v, want an explicit empty list", tools)
		}
		session := h.Session(agents[0].ID)
		answer, err := h.Send(session, "hello")
		if err != nil || answer.AssistantEventID == "" {
			t.Fatalf("Send() = %+v, %v", answer, err)
		}
		events := h.Events(session)
		if len(events) != 2 || events[0].Role != "user" || events[1].Role != "assistant" || events[1].Content == "" {
			t.Errorf("events of a greeting: %+v", events)
		}
	})
}

func TestATurnWithToolCallsStreamsAndIsWrittenDown(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		h := servertest.Start(t, cfg)
		m := servertest.Scripted(t,
			scripted.Turn{Steps: []scripted.Step{
				{Text: "Let me note that."},
				{Call: &scripted.Call{ID: "c1", Name: "write", Arguments: `{"address":"~/memory/tea.md","content":"green"}`}},
				{Call: &scripted.Call{ID: "c2", Name: "plan", Arguments: `{"steps":[{"id":"a","label":"Note","status":"done"}]}`}},
			}},
			scripted.Turn{Steps: []scripted.Step{
				{Call: &scripted.Call{ID: "c1", Name: "read", Arguments: `{"address":"~/memory/tea.md"}`}},
			}},
			scripted.Turn{Steps: []scripted.Step{{Text: "You like "}, {Text: "green tea."}}},
		)
		session := h.Session(h.Agent(m))
		frames := h.Watch("sessions/"+session, 0)
		if _, err := h.Send(session, "I like green tea"); err != nil {
			t.Fatal(err)
		}
		events := h.Events(session)
		var shape []string
		for _, e := range events {
			shape = append(shape, e.Type+" "+e.Role+e.Name)
		}
		want := []string{"message user", "message assistant", "tool_call write", "tool_result write", "tool_call read", "tool_result read", "message assistant"}
		if !slices.Equal(shape, want) {
			t.Fatalf("log is %q\nwant %q", shape, want)
		}
		if events[4].ID == "c1" || events[4].ID != events[5].ToolCallID {
			t.Errorf("a repeated call id was not made unique: %q answered by %q", events[4].ID, events[5].ToolCallID)
		}
		var read struct{ Content string }
		if err := json.Unmarshal(events[5].Output, &read); err != nil || read.Content != "green" {
			t.Errorf("read returned %s", events[5].Output)
		}
		got := servertest.Until(t, frames, func(f client.Frame) bool { return f.Seq == 7 })
		checkStream(t, got, "You like green tea.")
		if plan := servertest.Call[wire.GetSessionResponse](h, "GetSession", map[string]any{"sessionId": session}).Session.Plan; plan == nil || plan.Steps[0].Status != "done" {
			t.Errorf("plan of the session: %+v", plan)
		}
	})
}

// checkStream holds a stream to its contract: dense seqs, and a partial that is done before the durable event.
func checkStream(t *testing.T, frames []client.Frame, lastText string) {
	t.Helper()
	seq, text, done := int64(0), "", false
	for _, f := range frames {
		switch f.Kind {
		case wire.FrameAppend:
			if f.Seq != seq+1 {
				t.Errorf("seq %d follows %d", f.Seq, seq)
			}
			if f.Seq == 7 && (!done || text != lastText) {
				t.Errorf("before the answer the partial said %q, done %v", text, done)
			}
			seq = f.Seq
			text, done = "", false
		case wire.FrameAppendPartial:
			var p wire.PartialPatch
			if err := json.Unmarshal(f.Patch, &p); err != nil {
				t.Fatal(err)
			}
			text += p.TextDelta
			done = done || p.Done
		}
	}
}

func TestAFailedTurnIsReportedAndCanBeTriedAgain(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		h := servertest.Start(t, cfg)
		m := servertest.Scripted(t,
			scripted.Turn{Status: 529, ErrorMessage: "overloaded"},
			scripted.Turn{Steps: []scripted.Step{{Text: "Here."}}},
		)
		session := h.Session(h.Agent(m))
		_, err := h.Send(session, "are you there?")
		if e := new(client.Error); !asClientError(err, &e) || e.Status != 502 {
			t.Fatalf("Send() = %v, want 502", err)
		}
		events := h.Events(session)
		if last := events[len(events)-1]; last.Type != "error" || last.Actor != "system" || last.Message == "" {
			t.Fatalf("the failure stands in the log as %+v", last)
		}
		info := servertest.Call[wire.GetSessionResponse](h, "GetSession", map[string]any{"sessionId": session}).Session
		if info.Status != "error" {
			t.Errorf("status %q after a failure", info.Status)
		}
		retried := servertest.Call[wire.MessageSessionResponse](h, "RetrySession", map[string]any{"sessionId": session})
		events = h.Events(session)
		if retried.AssistantEventID == "" || events[len(events)-1].Content != "Here." {
			t.Errorf("retry ended with %+v", events[len(events)-1])
		}
		if _, err := client.Call[wire.MessageSessionResponse](t.Context(), h.Client, "RetrySession", map[string]any{"sessionId": session}); err == nil || !strings.Contains(err.Error(), "Nothing to retry") {
			t.Errorf("retry of a turn that succeeded: %v", err)
		}
	})
}

func TestStoppingATurnKeepsWhatWasSaid(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		h := servertest.Start(t, cfg)
		m := servertest.Scripted(t, scripted.Turn{Steps: []scripted.Step{{Text: "It begins"}, {Gate: "never"}}})
		session := h.Session(h.Agent(m))
		frames := h.Watch("sessions/"+session, 0)
		sent := make(chan error, 1)
		go func() {
			_, err := h.Send(session, "tell me a story")
			sent <- err
		}()
		servertest.Until(t, frames, func(f client.Frame) bool { return strings.Contains(string(f.Patch), "It begins") })
		if out := servertest.Call[wire.StopSessionResponse](h, "StopSession", map[string]any{"sessionId": session}); !out.Stopped {
			t.Error("StopSession stopped nothing")
		}
		if err := <-sent; err != nil {
			t.Errorf("the stopped message answered %v", err)
		}
		servertest.Until(t, frames, func(f client.Frame) bool { return f.Kind == wire.FrameAppend && f.Seq == 2 })
		if last := h.Events(session)[1]; last.Content != "It begins" || last.Role != "assistant" {
			t.Errorf("a stopped turn left %+v", last)
		}
		if out := servertest.Call[wire.StopSessionResponse](h, "StopSession", map[string]any{"sessionId": session}); out.Stopped {
			t.Error("an idle session was stopped")
		}
	})
}

func TestARestartFindsEverythingAndFinishesWhatWasStopped(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		cfg.DataDir = t.TempDir()
		cfg.DrainTimeout = 1
		h := servertest.Start(t, cfg)
		m := servertest.Scripted(t,
			scripted.Turn{Steps: []scripted.Step{{Text: "Half an ans"}, {Gate: "never"}}},
			scripted.Turn{Steps: []scripted.Step{{Text: "A whole answer."}}},
		)
		session := h.Session(h.Agent(m))
		go func() { _, _ = h.Send(session, "question") }()
		<-m.Reached("never")
		h.Stop()
		again := servertest.Start(t, cfg)
		frames := again.Watch("sessions/"+session, 0)
		servertest.Until(t, frames, func(f client.Frame) bool { return f.Kind == wire.FrameAppend && f.Seq == 2 })
		events := again.Events(session)
		if len(events) != 2 || events[1].Content != "A whole answer." {
			t.Errorf("after the restart the log is %+v", events)
		}
	})
}

func TestAStoppingServerAnswersWhoWaitsForATurn(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		cfg.DataDir = t.TempDir()
		cfg.DrainTimeout = 1
		h := servertest.Start(t, cfg)
		m := servertest.Scripted(t,
			scripted.Turn{Steps: []scripted.Step{{Text: "Half an ans"}, {Gate: "never"}}},
			scripted.Turn{Steps: []scripted.Step{{Text: "A whole answer."}}},
		)
		session := h.Session(h.Agent(m))
		message := map[string]any{
			"sessionId": session, "clientMessageId": "once", "content": []any{map[string]any{"type": "text", "text": "question"}},
		}
		answered := make(chan error, 1)
		go func() {
			_, err := client.Call[wire.MessageSessionResponse](t.Context(), h.Client, "MessageSession", message)
			answered <- err
		}()
		<-m.Reached("never")
		h.Stop()
		err := <-answered
		if e := new(client.Error); !asClientError(err, &e) || e.Status != 503 || !strings.HasPrefix(e.Message, "The server is stopping") {
			t.Errorf("the waiting message was answered with %v", err)
		}
		again := servertest.Start(t, cfg)
		out := servertest.Call[wire.MessageSessionResponse](again, "MessageSession", message)
		events := again.Events(session)
		if len(events) != 2 || events[1].Content != "A whole answer." || out.AssistantEventID == "" {
			t.Errorf("repeated after the restart: %+v, and the log is %+v", out, events)
		}
	})
}

func TestLogLinesSayWhoseWorkTheyAreAbout(t *testing.T) {
	t.Parallel()
	logged := new(logLines)
	h := servertest.Start(t, server.Config{Logger: slog.New(slog.NewJSONHandler(logged, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	account := h.Key.ID().String()
	agents := servertest.Call[wire.ListAgentsResponse](h, "ListAgents", nil).Agents
	session := h.Session(agents[0].ID)
	if _, err := h.Send(session, "nobody looks"); err != nil {
		t.Fatal(err)
	}
	frames := h.Watch("sessions/"+session, 0)
	servertest.Until(t, frames, func(f client.Frame) bool { return f.Kind == wire.FrameSubscribed })
	if _, err := h.Send(session, "hello"); err != nil {
		t.Fatal(err)
	}
	run := servertest.Call[wire.ListRunsResponse](h, "ListRuns", map[string]any{"sessionId": session}).Runs[0].ID
	servertest.Call[wire.RunResponse](h, "GetRun", map[string]any{"runId": run})
	_, _ = h.Do(t.Context(), map[string]any{"_": "Invented", "sessionId": strings.Repeat("x", 300)})
	h.Stop()
	for _, want := range []map[string]string{
		{"msg": "action", "name": "MessageSession", "account": account, "session": session},
		{"msg": "action", "name": "GetRun", "account": account, "run": run},
		{"msg": "action", "name": "Invented", "account": account, "session": ""},
		{"msg": "[agents/ws] subscribed", "account": account, "session": session},
		{"msg": "[agents/ws] skip partial; no subscription", "session": session},
		{"msg": "[agents/ws] publish partial", "session": session},
		{"msg": "[agents/ws] send partial", "session": session},
		{"msg": "[agents/ws] close", "account": account},
	} {
		line := logged.find(want)
		if line == nil {
			t.Errorf("no line with %v", want)
		} else if want["account"] != "" && want["msg"] != "[agents/ws] close" && line["request"] == nil {
			t.Errorf("line without a request id: %v", line)
		}
	}
	if t.Failed() {
		t.Log(logged.text.String())
	}
}

// logLines collects what a server logs as JSON.
type logLines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (l *logLines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

// find returns the first line that has all the given fields; an empty value wants the field absent.
func (l *logLines) find(want map[string]string) map[string]any {
	l.mu.Lock()
	defer l.mu.Unlock()
lines:
	for _, text := range bytes.Split(l.text.Bytes(), []byte("\n")) {
		var line map[string]any
		if json.Unmarshal(text, &line) != nil {
			continue
		}
		for field, value := range want {
			if got, _ := line[field].(string); got != value {
				continue lines
			}
		}
		return line
	}
	return nil
}

func TestABusyAddressLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	data := filepath.Join(t.TempDir(), "data")
	s, err := server.Open(t.Context(), server.Config{Listen: other.Addr().String(), DataDir: data})
	if !errors.Is(err, syscall.EADDRINUSE) {
		t.Fatalf("Open() = %v, %v; want the address in use", s, err)
	}
	if _, err := os.Stat(data); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the data folder was made all the same: %v", err)
	}
}

func TestAStartSaysWhenKeysLieOpen(t *testing.T) {
	t.Parallel()
	var logged bytes.Buffer
	cfg := server.Config{DataDir: t.TempDir()}
	servertest.Start(t, cfg).Stop()
	if err := os.Chmod(cfg.DataDir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(cfg.DataDir, server.OwnerKeyFile)); err != nil {
		t.Fatal(err)
	}
	cfg.Listen, cfg.Logger = "127.0.0.1:0", slog.New(slog.NewTextHandler(&logged, nil))
	s, err := server.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"chmod 700", "owner's key"} {
		if !strings.Contains(logged.String(), want) {
			t.Errorf("the log does not say %q:\n%s", want, logged.String())
		}
	}
}

func asClientError(err error, into **client.Error) bool {
	e, ok := err.(*client.Error)
	*into = e
	return ok
}
