package chat_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/loam-agents/loam/internal/store/storetest"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/internal/command/chat"
	"github.com/loam-agents/loam/internal/model/scripted"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, storetest.Leaks()) }

// setup is a conversation with an agent on a model that says the given turns.
func setup(t *testing.T, turns ...scripted.Turn) (*chat.Conversation, *stage, *servertest.Harness, *scripted.Server) {
	t.Helper()
	h := servertest.Start(t, server.Config{})
	m := servertest.Scripted(t, turns...)
	s := newStage(chat.Style{})
	c := chat.New(h.Client, h.Agent(m), s)
	t.Cleanup(c.Close)
	return c, s, h, m
}

func TestATurnIsShownToItsEnd(t *testing.T) {
	t.Parallel()
	c, s, _, _ := setup(t,
		scripted.Turn{Steps: []scripted.Step{
			{Text: "I note it."},
			{Call: &scripted.Call{ID: "c1", Name: "write", Arguments: `{"address":"~/memory/tea.md","content":"green"}`}},
		}},
		scripted.Turn{Steps: []scripted.Step{{Text: "Do"}, {Text: "ne."}}},
		scripted.Turn{Steps: []scripted.Step{{Text: "Again."}}},
	)
	if c.SessionID() != "" {
		t.Error("there is a session before the first message")
	}
	for _, text := range []string{"I like green tea", "and?"} {
		if err := c.Say(t.Context(), text, s.Own); err != nil {
			t.Fatalf("Say() = %v", err)
		}
	}
	lines := strings.Split(strings.TrimSpace(s.out.String()), "\n")
	if len(lines) != 4 || lines[0] != "I note it." || !strings.HasPrefix(lines[1], "· write ~/memory/tea.md") ||
		lines[2] != "Done." || lines[3] != "Again." {
		t.Errorf("screen: %q", lines)
	}
}

func TestAFailedTurnCanBeTriedAgain(t *testing.T) {
	t.Parallel()
	c, s, _, _ := setup(t,
		scripted.Turn{Status: 401, ErrorMessage: "no such key"},
		scripted.Turn{Steps: []scripted.Step{{Text: "Here."}}},
	)
	err := c.Say(t.Context(), "are you there?", s.Own)
	if !errors.Is(err, chat.ErrTurnFailed) || !strings.HasPrefix(s.out.String(), "error: ") {
		t.Fatalf("Say() = %v, screen %q", err, s.out.String())
	}
	s.out.Reset()
	if err := c.Retry(t.Context()); err != nil || s.out.String() != "Here.\n" {
		t.Errorf("Retry() = %v, screen %q", err, s.out.String())
	}
	if err := c.Retry(t.Context()); err == nil || errors.Is(err, chat.ErrTurnFailed) {
		t.Errorf("Retry() of a turn that succeeded = %v", err)
	}
}

func TestAnInterruptStopsTheTurnAndKeepsWhatWasSaid(t *testing.T) {
	t.Parallel()
	c, s, _, _ := setup(t,
		scripted.Turn{Steps: []scripted.Step{{Text: "It begins"}, {Gate: "never"}}},
		scripted.Turn{Steps: []scripted.Step{{Text: "Hello."}}},
	)
	s.shown = func(text string) {
		if text == "It begins" {
			c.Interrupt()
		}
	}
	if err := c.Say(t.Context(), "tell me a story", s.Own); !errors.Is(err, chat.ErrStopped) {
		t.Fatalf("Say() = %v", err)
	}
	if err := c.Say(t.Context(), "hello", s.Own); err != nil {
		t.Fatalf("Say() after a stop = %v", err)
	}
	if want := "It begins\nHello.\n"; s.out.String() != want {
		t.Errorf("screen %q, want %q", s.out.String(), want)
	}
}

func TestAMessageBehindAnotherTurnWaitsForItsAnswer(t *testing.T) {
	t.Parallel()
	c, s, h, m := setup(t,
		scripted.Turn{Steps: []scripted.Step{{Text: "One."}}},
		scripted.Turn{Steps: []scripted.Step{{Gate: "slow"}, {Text: "Two."}}},
		scripted.Turn{Steps: []scripted.Step{{Text: "Three."}}},
	)
	if err := c.Say(t.Context(), "first", s.Own); err != nil {
		t.Fatal(err)
	}
	elsewhere := make(chan error, 1)
	go func() {
		_, err := h.Send(c.SessionID(), "second, from elsewhere")
		elsewhere <- err
	}()
	<-m.Reached("slow")
	s.shown = func(text string) {
		if strings.Contains(text, `"third"`) {
			m.Open("slow")
		}
	}
	if err := c.Say(t.Context(), "third", s.Own); err != nil {
		t.Fatalf("Say() = %v", err)
	}
	if err := <-elsewhere; err != nil {
		t.Fatal(err)
	}
	got := s.out.String()
	if !strings.HasPrefix(got, "One.\n> second, from elsewhere\n") || !strings.HasSuffix(got, "Three.\n") {
		t.Errorf("screen %q", got)
	}
}

func TestARefusedMessageIsTheServersError(t *testing.T) {
	t.Parallel()
	h := servertest.Start(t, server.Config{})
	s := newStage(chat.Style{})
	c := chat.New(h.Client, "no-such-agent", s)
	defer c.Close()
	err := c.Say(t.Context(), "hello", s.Own)
	if refused, ok := errors.AsType[*client.Error](err); !ok || refused.Status != 404 {
		t.Errorf("Say() to nobody = %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Say(ctx, "hello", s.Own); !errors.Is(err, context.Canceled) {
		t.Errorf("Say() after the end of its context = %v", err)
	}
}

func TestATurnThatWaitsForChildrenIsShownToItsEnd(t *testing.T) {
	t.Parallel()
	c, s, _, m := setup(t,
		scripted.Turn{Match: scripted.Match{User: "go"}, Steps: []scripted.Step{{Text: "I hand it on."}, {Call: &scripted.Call{ID: "c1", Name: "delegate", Arguments: `{"title":"A task","brief":"Count THEM."}`}}}},
		scripted.Turn{Match: scripted.Match{User: "THEM"}, Steps: []scripted.Step{{Gate: "counted"}, {Text: "Three."}}},
		scripted.Turn{Match: scripted.Match{Result: "Three."}, Steps: []scripted.Step{{Text: "There are three."}}},
	)
	said := make(chan error, 1)
	go func() { said <- c.Say(t.Context(), "go", s.Own) }()
	<-m.Reached("counted")
	select {
	case err := <-said:
		t.Fatalf("Say() returned %v while a child works", err)
	default:
	}
	m.Open("counted")
	if err := <-said; err != nil {
		t.Fatalf("Say() = %v", err)
	}
	if out := s.out.String(); !strings.HasPrefix(out, "I hand it on.\n") || !strings.HasSuffix(out, "There are three.\n") {
		t.Errorf("screen: %q", out)
	}
}
