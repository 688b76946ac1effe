package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"time"

	"github.com/loam-agents/loam/internal/store"
)

// A closure that loses against others runs again, after a pause that grows from about a millisecond to about fifty. One
// whose connection broke before COMMIT was sent runs again on another, but not as often. One that locks after its first
// statement runs again for each key, and one that asks for ever new keys is a mistake.
const (
	maxConflicts  = 30
	maxLost       = 3
	maxRestarts   = 100
	shortestPause = time.Millisecond
	longestPause  = 50 * time.Millisecond
)

// errUnknownOutcome says that the connection broke while COMMIT was under way.
var errUnknownOutcome = errors.New("the connection was lost during the commit: the write may or may not have happened")

// Write implements store.Store.
func (s *db) Write(ctx context.Context, p store.Priority, fn func(store.Tx) error) error {
	if !s.enter() {
		return store.ErrClosed
	}
	defer s.working.Done()
	if s.writeDB == nil {
		return store.ErrReadOnly
	}
	if err := s.gate.enter(ctx, p); err != nil {
		return err
	}
	defer s.gate.leave()

	var keys []string
	var conflicts, lost, restarts int
	for {
		r, err := s.attempt(ctx, keys, fn)
		keys = r.keys
		switch {
		case err == nil:
			for _, fn := range r.after {
				s.call(fn)
			}
			return nil
		case r.restart && restarts < maxRestarts:
			restarts++
			continue
		case conflicted(err) && conflicts < maxConflicts:
			conflicts++
		case errors.Is(err, store.ErrUnreachable) && !r.committing && lost < maxLost:
			lost++
		default:
			return err
		}
		s.retries.Add(1)
		if err := pause(ctx, conflicts+lost, longestPause); err != nil {
			return err
		}
	}
}

// pause waits before attempt n+1, for about longest at most.
func pause(ctx context.Context, n int, longest time.Duration) error {
	d := min(shortestPause<<min(n, 20), longest)
	timer := time.NewTimer(d/2 + rand.N(d))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// run says how one attempt went.
type run struct {
	// keys are the locks to take first when the closure runs again, in the order that every process uses.
	keys       []string
	after      []func()
	restart    bool
	committing bool
}

// attempt runs the closure once, with the given keys locked from the start.
func (s *db) attempt(ctx context.Context, keys []string, fn func(store.Tx) error) (r run, err error) {
	r.keys = keys
	c, err := s.writeDB.Conn(ctx)
	if err != nil {
		return r, translate(err)
	}
	defer c.Close()
	t := &tx{conn: c, clock: s.options.Clock}
	finished := false
	// Also when the closure ends its goroutine, so that no lock and no transaction stays behind on the connection.
	defer func() {
		if !finished {
			_ = t.finish()
			s.undo(t)
		}
	}()
	err = closure(t, keys, fn)
	finished = true
	err = verdict(err, t.finish())
	r.restart = len(t.missing) > 0
	r.keys = slices.Sorted(slices.Values(append(slices.Clone(t.locked), t.missing...)))
	if err == nil && !r.restart {
		r.committing = t.begun
		r.after = t.after
		return r, s.commit(t)
	}
	s.undo(t)
	if r.restart {
		err = errRestart
	}
	return r, err
}

// verdict chooses between what the closure returned and what failed beneath it. A failure that another run may cure
// counts even when the closure made something else of it.
func verdict(returned, failed error) error {
	switch {
	case failed == nil:
		return returned
	case returned == nil, errors.Is(returned, context.Canceled), conflicted(failed), errors.Is(failed, store.ErrUnreachable):
		return failed
	}
	return returned
}

// closure takes the locks and calls fn. A panic becomes an error.
func closure(t *tx, keys []string, fn func(store.Tx) error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("%w: %v\n%s", store.ErrPanic, value, debug.Stack())
		}
	}()
	for _, key := range keys {
		if err := t.Lock(key); err != nil {
			return err
		}
	}
	return fn(t)
}

// commit makes the run durable and then releases its locks, in one round trip.
func (s *db) commit(t *tx) error {
	const unlock = "SELECT pg_advisory_unlock_all()"
	text := ""
	switch {
	case t.begun && len(t.locked) > 0:
		text = "COMMIT; " + unlock
	case t.begun:
		text = "COMMIT"
	case len(t.locked) > 0:
		text = unlock
	}
	start := time.Now()
	if text != "" {
		if _, err := t.conn.ExecContext(context.Background(), text); err != nil {
			s.undo(t)
			if errors.Is(err, store.ErrUnreachable) {
				return fmt.Errorf("%w: %w", errUnknownOutcome, err)
			}
			return err
		}
	}
	if t.begun {
		s.commits.Add(1)
		s.options.Committed(1, time.Since(start))
	}
	s.writes.Add(1)
	return nil
}

// undo rolls back and releases the locks, or throws the connection away, which does the same.
func (s *db) undo(t *tx) {
	_, err := t.conn.ExecContext(context.Background(), "ROLLBACK; SELECT pg_advisory_unlock_all()")
	_ = takeFailure(t.conn)
	if err != nil {
		discard(t.conn)
	}
}

// discard makes the pool drop a connection.
func discard(c *sql.Conn) { _ = c.Raw(func(any) error { return driver.ErrBadConn }) }

// call runs one callback. The commit is durable, so a panic cannot fail the write any more: it is logged.
func (s *db) call(fn func()) {
	defer func() {
		if value := recover(); value != nil {
			s.options.Logger.Error("callback after commit panicked", "panic", value, "stack", string(debug.Stack()))
		}
	}()
	fn()
}
