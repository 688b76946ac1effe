package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/loam-agents/loam/internal/store"
)

// Read implements store.Store. ctx bounds the wait for a connection. Nothing is committed by a read, so callbacks that it
// registers run when it has succeeded.
func (s *db) Read(ctx context.Context, fn func(store.Tx) error) error {
	if !s.enter() {
		return store.ErrClosed
	}
	defer s.working.Done()
	if err := ctx.Err(); err != nil {
		return err
	}
	t, err := s.beginRead(ctx)
	if err != nil {
		return err
	}
	defer t.conn.Close()
	if err := s.snapshot(t, fn); err != nil {
		return err
	}
	for _, fn := range t.after {
		fn()
	}
	return nil
}

// beginRead finds a connection that works: one that idled in the pool may have lost its server.
func (s *db) beginRead(ctx context.Context) (*tx, error) {
	for lost := 0; ; lost++ {
		t, err := s.tryBeginRead(ctx)
		if err == nil {
			return t, nil
		}
		if !errors.Is(err, store.ErrUnreachable) || lost == maxLost {
			return nil, err
		}
		if err := pause(ctx, lost, longestPause); err != nil {
			return nil, err
		}
	}
}

func (s *db) tryBeginRead(ctx context.Context) (*tx, error) {
	c, err := s.readDB.Conn(ctx)
	if err != nil {
		return nil, translate(err)
	}
	t := &tx{conn: c, clock: s.options.Clock, readOnly: true}
	if err := t.begin(); err != nil {
		discard(c)
		return nil, errors.Join(err, ignoreDone(c.Close()))
	}
	return t, nil
}

// ignoreDone drops the error of closing a connection that was discarded.
func ignoreDone(err error) error {
	if errors.Is(err, sql.ErrConnDone) {
		return nil
	}
	return err
}

func (s *db) snapshot(t *tx, fn func(store.Tx) error) (err error) {
	// Also on panic and on the end of the goroutine, so that the connection goes back clean.
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("%w: %v\n%s", store.ErrPanic, value, debug.Stack())
		}
		if failed := t.finish(); err == nil {
			err = failed
		}
		s.undo(t)
	}()
	return fn(t)
}
