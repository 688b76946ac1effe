package servertest

import (
	"crypto/rand"
	"encoding/json"
	"testing"

	"github.com/loam-agents/loam/internal/bus"
	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/id"
	"github.com/loam-agents/loam/internal/runs"
	"github.com/loam-agents/loam/internal/sessionlog"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/store/postgres"
	"github.com/loam-agents/loam/wire"
)

// Elsewhere writes to a PostgreSQL database as another server on it does, whose announcements reach nobody here.
type Elsewhere struct {
	t     testing.TB
	store store.Store
	log   *sessionlog.Log
	queue *runs.Queue
}

// NewElsewhere connects to the database of a server that a test has started.
func NewElsewhere(t testing.TB, databaseURL string) *Elsewhere {
	t.Helper()
	s, err := postgres.Open(t.Context(), postgres.Options{URL: databaseURL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	log := sessionlog.New(sessionlog.Options{
		Clock: clock.System{}, IDs: id.NewSource(clock.System{}, rand.Reader), Bus: bus.NewLocal(), Changed: func(sessionlog.Change) {},
	})
	return &Elsewhere{t: t, store: s, log: log, queue: runs.New(runs.Options{Store: s, Clock: clock.System{}})}
}

// Say appends a person's message to a session and gives the session a title.
func (e *Elsewhere) Say(session, text, title string) {
	e.t.Helper()
	e.write(func(tx store.Tx) error {
		if _, err := e.log.Append(tx, session, nil, sessionlog.Entry{
			Payload: wire.MessageEvent{Type: sessionlog.TypeMessage, Role: "user", Content: text, Actor: string(sessionlog.ActorUser)},
		}); err != nil {
			return err
		}
		_, err := e.log.SetTitle(tx, session, title, sessionlog.TitleUser)
		return err
	})
}

// Act notes that the other server carries out a person's verb on a session, and Acting tells whether any server does.
func (e *Elsewhere) Act(session string) {
	e.t.Helper()
	e.write(func(tx store.Tx) error {
		_, err := tx.Exec(`INSERT INTO person_actions (session_id, epoch, began_at) VALUES (?, ?, 1)`, session, e.store.Epoch())
		return err
	})
}

// Acting is told of at Act.
func (e *Elsewhere) Acting(session string) bool {
	e.t.Helper()
	n := 0
	e.write(func(tx store.Tx) error {
		return tx.QueryRow(`SELECT count(*) FROM person_actions WHERE session_id = ?`, session).Scan(&n)
	})
	return n > 0
}

// Die ends the other server.
func (e *Elsewhere) Die() {
	e.t.Helper()
	if err := e.store.Close(); err != nil {
		e.t.Error(err)
	}
}

// Note appends to the journal of a run.
func (e *Elsewhere) Note(run string, entries ...string) {
	e.t.Helper()
	e.write(func(tx store.Tx) error {
		for _, text := range entries {
			if _, err := e.queue.AppendJournal(tx, run, json.RawMessage(text)); err != nil {
				return err
			}
		}
		return nil
	})
}

// Delete deletes a session.
func (e *Elsewhere) Delete(session string) {
	e.t.Helper()
	e.write(func(tx store.Tx) error { return e.log.Delete(tx, session) })
}

func (e *Elsewhere) write(fn func(tx store.Tx) error) {
	e.t.Helper()
	if err := e.store.Write(e.t.Context(), store.Interactive, fn); err != nil {
		e.t.Fatal(err)
	}
}
