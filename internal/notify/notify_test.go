package notify_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/loam-agents/loam/internal/agent"
	"github.com/loam-agents/loam/internal/blobstore"
	"github.com/loam-agents/loam/internal/bus"
	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/id"
	"github.com/loam-agents/loam/internal/notify"
	"github.com/loam-agents/loam/internal/sessionlog"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/store/storetest"
	"github.com/loam-agents/loam/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, storetest.Leaks()) }

// bench is a notifier on a real store, log and bus, with a clock that stands still.
type bench struct {
	t       testing.TB
	store   store.Store
	clock   *clock.Fake
	log     *sessionlog.Log
	notify  *notify.Notifier
	sub     *bus.Subscription
	waiting []*bus.Message
}

func each(t *testing.T, fn func(b *bench)) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s store.Store) {
		b := &bench{t: t, store: s, clock: clock.NewFake(time.UnixMilli(1_800_000_000_000))}
		blobs, err := blobstore.OpenDir(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = blobs.Close() })
		local := bus.NewLocal()
		b.notify = notify.New(notify.Options{
			Store: s, Bus: local, Clock: b.clock, Sessions: func() *sessionlog.Log { return b.log },
			AgentInfo: func(a agent.Agent, role string, activity *wire.AgentActivity) wire.AgentInfo {
				return agent.Info(a, role, "", activity)
			},
		})
		b.log = sessionlog.New(sessionlog.Options{Clock: b.clock, IDs: id.Sequence(), Bus: local, Blobs: blobs, Changed: b.notify.SessionChanged})
		b.sub = local.Subscribe()
		b.sub.Join("account/z1")
		b.notify.Start()
		b.notify.Start()
		t.Cleanup(func() {
			b.notify.Stop()
			b.notify.Stop()
			b.sub.Close()
		})
		b.write(func(tx store.Tx) error {
			_, err := agent.Create(tx, agent.CreateParams{ID: "a1", Account: "z1", CreatedBy: "z1", Now: 1})
			return err
		})
		fn(b)
	})
}

func (b *bench) write(fn func(tx store.Tx) error) {
	b.t.Helper()
	if err := b.store.Write(b.t.Context(), store.Interactive, fn); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) session() string {
	b.t.Helper()
	var s sessionlog.Session
	b.write(func(tx store.Tx) (err error) {
		s, err = b.log.Create(tx, sessionlog.CreateParams{Account: "z1", Agent: "a1"})
		return err
	})
	return s.ID
}

func (b *bench) say(session, text string) {
	b.t.Helper()
	b.write(func(tx store.Tx) error {
		_, err := b.log.Append(tx, session, nil, sessionlog.Entry{Payload: wire.MessageEvent{Type: "message", Role: "user", Content: text}})
		return err
	})
}

// marker makes a change that is announced at once: what was announced before it stands before it.
func (b *bench) marker() {
	b.t.Helper()
	b.write(func(tx store.Tx) error {
		b.notify.AgentChanged(tx, "z1", "a1", notify.MemoryChanged)
		return nil
	})
}

// hints reads hints until one has the reason, and returns them with it last.
func (b *bench) hints(reason string) []wire.AccountHint {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), time.Minute)
	defer cancel()
	var out []wire.AccountHint
	for {
		if len(b.waiting) == 0 {
			batch, err := b.sub.Next(ctx)
			if err != nil {
				b.t.Fatalf("no hint %q after %v", reason, out)
			}
			b.waiting = batch
		}
		m := b.waiting[0]
		b.waiting = b.waiting[1:]
		hint, ok := m.Frame.Value.(wire.AccountHint)
		if !ok || m.Frame.Kind != wire.FrameChange {
			continue
		}
		out = append(out, hint)
		if hint.Reason == reason {
			return out
		}
	}
}

func reasons(hints []wire.AccountHint) string {
	var out []string
	for _, h := range hints {
		out = append(out, h.Reason)
	}
	return strings.Join(out, " ")
}

func TestHintsOfAGrowingTranscriptAreMergedToOneInAnInterval(t *testing.T) {
	each(t, func(b *bench) {
		session, other := b.session(), b.session()
		b.hints(sessionlog.ReasonCreated)
		b.hints(sessionlog.ReasonCreated)
		b.say(session, "first")
		first := b.hints(sessionlog.ReasonEvent)
		if h := first[len(first)-1]; h.AgentID != "a1" || h.SessionID != session || h.Session == nil || h.Activity == nil || h.Activity.MessageFrom != "user" {
			b.t.Errorf("the first hint is %+v", h)
		}
		for i := range 20 {
			b.say(session, fmt.Sprint(i))
		}
		b.marker()
		if got := b.hints(notify.MemoryChanged); len(got) != 1 {
			b.t.Errorf("within the interval came %s", reasons(got))
		}
		b.say(other, "elsewhere")
		if got := b.hints(sessionlog.ReasonEvent); len(got) != 1 || got[0].SessionID != other {
			b.t.Errorf("another session had to wait: %+v", got)
		}
		// The worker may still be on its way to its wait; time passes until it notices.
		b.clock.Advance(notify.Interval)
		b.marker()
		merged := 0
		for _, h := range append(b.hints(notify.MemoryChanged), b.drain()...) {
			if h.Reason == sessionlog.ReasonEvent && h.SessionID == session {
				merged++
			}
		}
		if merged != 1 {
			b.t.Errorf("twenty events made %d hints", merged)
		}
	})
}

// drain is everything up to a further marker.
func (b *bench) drain() []wire.AccountHint {
	b.t.Helper()
	b.marker()
	got := b.hints(notify.MemoryChanged)
	return got[:len(got)-1]
}

func TestADeletedSessionIsNotSpokenOfAgain(t *testing.T) {
	each(t, func(b *bench) {
		session := b.session()
		b.say(session, "first")
		b.hints(sessionlog.ReasonEvent)
		b.say(session, "second")
		b.write(func(tx store.Tx) error { return b.log.Delete(tx, session) })
		deleted := b.hints(sessionlog.ReasonDeleted)
		if h := deleted[len(deleted)-1]; h.SessionID != session || h.Session != nil {
			b.t.Errorf("the deletion is announced as %+v", h)
		}
		b.clock.Advance(2 * notify.Interval)
		if got := b.drain(); len(got) != 0 {
			b.t.Errorf("after the deletion came %s", reasons(got))
		}
	})
}

func TestWhatHappenedBeforeAStopIsNotAnnouncedAfterIt(t *testing.T) {
	each(t, func(b *bench) {
		b.notify.Stop()
		b.notify.Start()
		b.marker()
		if got, err := b.sub.Take(); err != nil || len(got) != 0 {
			b.t.Errorf("a stopped notifier published %d frames, %v", len(got), err)
		}
	})
}
