package sessionlog_test

import (
	"errors"
	"flag"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/loam-agents/loam/internal/blobstore"
	"github.com/loam-agents/loam/internal/bus"
	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/id"
	"github.com/loam-agents/loam/internal/sessionlog"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/store/storetest"
	"github.com/loam-agents/loam/wire"
)

// Comparing a history takes many statements, so an ordinary run plays few; -rapid.checks=1000 plays more.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "30"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m, storetest.Leaks())
}

// bench is a log on a real store and a real bus, with a clock that stands still.
type bench struct {
	log   *sessionlog.Log
	store store.Store
	bus   *bus.Local
	clock *clock.Fake

	mu      sync.Mutex
	changes []sessionlog.Change
}

var start = time.UnixMilli(1_800_000_000_000)

func setup(t testing.TB, s store.Store) *bench {
	t.Helper()
	blobs, err := blobstore.OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = blobs.Close() })
	b := &bench{store: s, bus: bus.NewLocal(), clock: clock.NewFake(start)}
	b.log = sessionlog.New(sessionlog.Options{
		Clock: b.clock, IDs: id.Sequence(), Bus: b.bus, Blobs: blobs, Changed: func(c sessionlog.Change) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.changes = append(b.changes, c)
		},
	})
	return b
}

// each runs fn on both databases.
func each(t *testing.T, fn func(t *testing.T, b *bench)) {
	t.Helper()
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s store.Store) { fn(t, setup(t, s)) })
}

// reasons empties the list of changes and returns their reasons.
func (b *bench) reasons() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := []string{}
	for _, c := range b.changes {
		out = append(out, c.Reason)
	}
	b.changes = nil
	return out
}

func (b *bench) write(t testing.TB, fn func(tx store.Tx) error) {
	t.Helper()
	if err := b.store.Write(t.Context(), store.Interactive, fn); err != nil {
		t.Fatal(err)
	}
}

func (b *bench) create(t testing.TB, p sessionlog.CreateParams) (s sessionlog.Session) {
	t.Helper()
	if p.Agent == "" {
		p.Account, p.Agent = "account", "agent"
	}
	b.write(t, func(tx store.Tx) (err error) {
		s, err = b.log.Create(tx, p)
		return err
	})
	return s
}

func (b *bench) append(t testing.TB, session string, entries ...sessionlog.Entry) (out []wire.SessionEvent) {
	t.Helper()
	b.write(t, func(tx store.Tx) (err error) {
		out, err = b.log.Append(tx, session, nil, entries...)
		return err
	})
	return out
}

// read runs a read function on the store.
func read[T any](t testing.TB, b *bench, fn func(tx store.Tx) (T, error)) (out T) {
	t.Helper()
	err := b.store.Read(t.Context(), func(tx store.Tx) (err error) {
		out, err = fn(tx)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (b *bench) session(t testing.TB, id string) sessionlog.Session {
	t.Helper()
	return read(t, b, func(tx store.Tx) (sessionlog.Session, error) { return sessionlog.Get(tx, id) })
}

func (b *bench) events(t testing.TB, session string) []wire.SessionEvent {
	t.Helper()
	return read(t, b, func(tx store.Tx) ([]wire.SessionEvent, error) { return sessionlog.Events(tx, session, 0, 0) })
}

// frames returns what waits in a mailbox after everything that was published before the call.
func frames(t testing.TB, b *bench, s *bus.Subscription) []*bus.Message {
	t.Helper()
	s.Join("end")
	b.bus.Publish(bus.New("end", wire.Frame{}))
	all, err := s.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return all[:len(all)-1]
}

func (b *bench) watch(t testing.TB, session string) *bus.Subscription {
	s := b.bus.Subscribe()
	t.Cleanup(s.Close)
	s.Join(wire.KeySession + session)
	return s
}

func says(role, text string) sessionlog.Entry {
	return sessionlog.Entry{Payload: wire.MessageEvent{Type: sessionlog.TypeMessage, Role: role, Content: text}}
}

func wantCode(t testing.TB, err error, code fault.Code, text string) {
	t.Helper()
	if fault.CodeOf(err) != code || err.Error() != text {
		t.Errorf("error is %v (%s), want %q (%s)", err, fault.CodeOf(err), text, code)
	}
}

var errFence = errors.New("fenced off")

// fence counts how often it was asked.
type fence struct {
	err   error
	asked int
}

func (f *fence) Check(store.Tx) error { f.asked++; return f.err }

func system(text string) sessionlog.Entry {
	return sessionlog.Entry{Payload: wire.MessageEvent{Type: sessionlog.TypeMessage, Role: "user", Content: text, Actor: "system"}}
}
