package operation

import (
	"context"
	"database/sql"
	"errors"
	"sync"

	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/store"
)

// acting are the sessions in which a person's verb is being carried out by this process. The zero value is
// empty. What other processes on the database are doing stands in the table person_actions.
type acting struct {
	mu       sync.Mutex
	sessions map[string]bool
}

func (a *acting) begin(session string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.sessions[session] {
		return false
	}
	if a.sessions == nil {
		a.sessions = map[string]bool{}
	}
	a.sessions[session] = true
	return true
}

func (a *acting) end(session string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.sessions, session)
}

func (a *acting) busy(session string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.sessions[session]
}

// actingElsewhere says that a process of another epoch has noted a person's verb on a session.
type actingElsewhere struct{ epoch int64 }

// Error implements error.
func (*actingElsewhere) Error() string { return msgPersonBusy }

// nobodyActs fails with actingElsewhere when another process carries out a person's verb on a session, or did when it died.
func (c *Call) nobodyActs(tx store.Tx, sessionID string) error {
	var epoch int64
	err := tx.QueryRow(`SELECT epoch FROM person_actions WHERE session_id = ? AND epoch <> ?`, sessionID, c.opts.Store.Epoch()).Scan(&epoch)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return err
	}
	return &actingElsewhere{epoch}
}

// beginsActing notes that this process carries out a person's verb on a session.
func (c *Call) beginsActing(tx store.Tx, sessionID string) error {
	if err := c.nobodyActs(tx, sessionID); err != nil {
		return err
	}
	_, err := tx.Exec(`INSERT INTO person_actions (session_id, epoch, began_at) VALUES (?, ?, ?)
		ON CONFLICT (session_id) DO UPDATE SET began_at = excluded.began_at`, sessionID, c.opts.Store.Epoch(), clock.Millis(c.opts.Clock))
	return err
}

// endedActing takes the note of beginsActing back. A note that stays because the database is away does not hinder this process, and
// others only while this one lives.
func (c *Call) endedActing(ctx context.Context, sessionID string) {
	err := c.opts.Store.Write(ctx, store.Interactive, func(tx store.Tx) error { return forget(tx, sessionID, c.opts.Store.Epoch()) })
	if err != nil {
		c.opts.Logger.WarnContext(ctx, "take back that a person acts", "session", sessionID, "error", err)
	}
}

func forget(tx store.Tx, sessionID string, epoch int64) error {
	_, err := tx.Exec(`DELETE FROM person_actions WHERE session_id = ? AND epoch = ?`, sessionID, epoch)
	return err
}

// whenNobodyActs carries out what fails with actingElsewhere, and once more when the process of that epoch turns out to be dead. While
// it lives the answer is a conflict.
func (c *Call) whenNobodyActs(ctx context.Context, sessionID string, fn func() error) error {
	err := fn()
	other, elsewhere := errors.AsType[*actingElsewhere](err)
	if !elsewhere {
		return err
	}
	alive, err := c.opts.Store.Alive(ctx, other.epoch)
	if err != nil {
		return err
	}
	if !alive {
		if err := c.opts.Store.Write(ctx, store.Interactive, func(tx store.Tx) error { return forget(tx, sessionID, other.epoch) }); err != nil {
			return err
		}
		if err = fn(); err == nil {
			return nil
		}
		if _, elsewhere = errors.AsType[*actingElsewhere](err); !elsewhere {
			return err
		}
	}
	return fault.New(fault.Conflict, msgPersonBusy)
}
