package live_test

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/loam-agents/loam/internal/account"
	"github.com/loam-agents/loam/internal/agent"
	"github.com/loam-agents/loam/internal/bus"
	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/id"
	"github.com/loam-agents/loam/internal/operation"
	"github.com/loam-agents/loam/internal/sessionlog"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/store/storetest"
	"github.com/loam-agents/loam/internal/transport/live"
	"github.com/loam-agents/loam/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, storetest.Leaks()) }

// sink keeps what it is sent, and lets a test act while an event is on its way.
type sink struct {
	frames []wire.Frame
	during func()
}

func (s *sink) Frame(_ context.Context, f *wire.Frame) error {
	s.frames = append(s.frames, *f)
	if f.Event != nil && s.during != nil {
		act := s.during
		s.during = nil
		act()
	}
	return nil
}

func (s *sink) Message(ctx context.Context, m *bus.Message) error { return s.Frame(ctx, &m.Frame) }
func (*sink) Gone(context.Context, string) error                  { return nil }
func (*sink) Ended(context.Context, string) error                 { return nil }

// TestAComparisonNeverShowsAStateAheadOfItsEvents: somebody who waits for a session to be idle would miss the words that it became
// idle with.
func TestAComparisonNeverShowsAStateAheadOfItsEvents(t *testing.T) {
	t.Parallel()
	st := storetest.SQLite(t)
	// Nobody here hears of what is written, as of what another server writes.
	log := sessionlog.New(sessionlog.Options{Clock: clock.System{}, IDs: id.Sequence(), Bus: bus.NewLocal(), Changed: func(sessionlog.Change) {}})
	write := func(fn func(tx store.Tx) error) {
		t.Helper()
		if err := st.Write(t.Context(), store.Interactive, fn); err != nil {
			t.Fatal(err)
		}
	}
	var session sessionlog.Session
	write(func(tx store.Tx) (err error) {
		if _, err = agent.Create(tx, agent.CreateParams{ID: "agent", Account: "account", Now: time.Now().UnixMilli()}); err != nil {
			return err
		}
		session, err = log.Create(tx, sessionlog.CreateParams{Account: "account", Agent: "agent"})
		return err
	})
	say := func(text, title string) {
		t.Helper()
		write(func(tx store.Tx) error {
			entry := sessionlog.Entry{Payload: wire.MessageEvent{Type: sessionlog.TypeMessage, Role: "user", Content: text}}
			if _, err := log.Append(tx, session.ID, nil, entry); err != nil {
				return err
			}
			_, err := log.SetTitle(tx, session.ID, title, sessionlog.TitleUser)
			return err
		})
	}
	ops := operation.New(operation.Options{Store: st, Policy: account.Policy{Open: true}, Clock: clock.System{}})
	out := &sink{}
	feed := live.NewFeed(ops, bus.NewLocal(), out)
	defer feed.Close()
	key := wire.KeySession + session.ID
	sub := operation.Subscription{Caller: operation.Caller{Account: "account"}, Key: key, Topic: key}
	if _, err := feed.Join(t.Context(), sub); err != nil {
		t.Fatal(err)
	}
	if err := feed.Replay(t.Context(), sub, 0); err != nil {
		t.Fatal(err)
	}
	say("one", "after one")
	out.during = func() { say("two", "after two") }
	for range 2 {
		if err := feed.Compare(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	sent := 0
	for _, f := range out.frames {
		if f.Event != nil {
			sent++
			continue
		}
		if info := f.Value.(wire.SessionInfo); info.Title == "after two" && sent < 2 {
			t.Errorf("the state %q was sent after %d events", info.Title, sent)
		}
	}
	if sent != 2 {
		t.Errorf("%d events were sent, want 2", sent)
	}
}
