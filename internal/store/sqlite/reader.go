package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/loam-agents/loam/internal/store"
)

// Read implements store.Store. ctx bounds the wait for a free connection. Nothing is committed by a read, so callbacks
// that it registers run when it has succeeded.
func (s *db) Read(ctx context.Context, fn func(store.Tx) error) error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return store.ErrClosed
	}
	s.reading.Add(1)
	s.mu.Unlock()
	defer s.reading.Done()

	if err := ctx.Err(); err != nil {
		return err
	}
	c, err := s.readDB.Conn(ctx)
	if err != nil {
		return fmt.Errorf("open a connection for reading: %w", translate(err))
	}
	defer c.Close()
	after, err := s.snapshot(c, fn)
	if err != nil {
		return err
	}
	for _, fn := range after {
		fn()
	}
	return nil
}

// snapshot runs the closure in one deferred transaction, whose snapshot is that of its first query.
func (s *db) snapshot(c *sql.Conn, fn func(store.Tx) error) (after []func(), err error) {
	ctx := context.Background()
	if _, err := c.ExecContext(ctx, "BEGIN DEFERRED"); err != nil {
		return nil, errors.Join(err, takeFailure(c))
	}
	t := &tx{conn: c, clock: s.options.Clock, readOnly: true}
	// Also on panic and on the end of the goroutine, so that the connection goes back clean.
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("%w: %v\n%s", store.ErrPanic, value, debug.Stack())
		}
		if failed := t.finish(); err == nil {
			err = failed
		}
		_, undo := c.ExecContext(ctx, "ROLLBACK")
		if failed := errors.Join(undo, takeFailure(c)); err == nil {
			err = failed
		}
		after = t.after
	}()
	return nil, fn(t)
}
