package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/store"
)

// A batch takes what is queued, but not more than this.
const (
	maxBatchWrites   = 64
	defaultBatchTime = 2 * time.Millisecond
)

// writer owns the one connection that writes. A caller that finds it free leads: it opens a transaction, runs its own closure,
// gives queued ones their turn one after another, commits once for all of them, and passes the lead on. So a write that is alone
// never changes goroutines. A closure behind others gets a savepoint, so that undoing it undoes nothing of theirs; the first needs
// none. Every closure runs on its caller's goroutine while the leader waits for it, so a panic or a failed test ends the caller
// and never the batch.
type writer struct {
	conn   *sql.Conn
	clock  clock.Clock
	logger *slog.Logger
	queue  *queue
	// batchTime is Options.BatchTime.
	batchTime time.Duration
	committed func(writes int, took time.Duration)

	commits atomic.Int64
	writes  atomic.Int64
}

func newWriter(conn *sql.Conn, o *Options) *writer {
	return &writer{conn: conn, clock: o.Clock, logger: o.Logger, batchTime: o.BatchTime, committed: o.Committed, queue: newQueue()}
}

// write is Store.Write.
func (w *writer) write(ctx context.Context, p store.Priority, fn func(store.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r, err := w.queue.enter(p)
	if err != nil {
		return err
	}
	if r == nil {
		return w.lead(fn)
	}
	canceled := ctx.Done()
	for {
		select {
		case <-r.lead:
			return w.lead(fn)
		case t := <-r.turn:
			w.follow(t, fn, r.ran)
		case err := <-r.done:
			return err
		case <-canceled:
			if w.queue.remove(r) {
				return ctx.Err()
			}
			// Its turn has come.
			canceled = nil
		}
	}
}

var errGoexit = fmt.Errorf("%w: it ended its goroutine", store.ErrPanic)

// follow calls a closure in the batch of another caller and reports its result, whatever way it ends.
func (w *writer) follow(t *tx, fn func(store.Tx) error, ran chan<- error) {
	err := errGoexit
	defer func() {
		if value := recover(); value != nil {
			err = panicked(value)
		}
		ran <- err
	}()
	err = fn(t)
}

func panicked(value any) error { return fmt.Errorf("%w: %v\n%s", store.ErrPanic, value, debug.Stack()) }

// stop lets the queue drain.
func (w *writer) stop() { w.queue.close() }

// batch is what one commit covers: the leader's closure, and those of the callers that waited.
type batch struct {
	started time.Time
	// followers wait for all results but the first, which is the leader's.
	followers []*request
	results   []error
	after     []func()
	kept      int64
	// broken says why the transaction cannot be committed.
	broken error
}

// lead runs one batch that starts with a closure, and passes the lead on, also when the closure panics or ends the goroutine.
func (w *writer) lead(fn func(store.Tx) error) (err error) {
	defer w.queue.pass()
	b := &batch{started: time.Now()}
	if err := w.exec("BEGIN IMMEDIATE"); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	t, ran := &tx{conn: w.conn, clock: w.clock}, errGoexit
	defer func() {
		if value := recover(); value != nil {
			ran = panicked(value)
		}
		w.keep(b, t, ran, false)
		for b.broken == nil && len(b.results) < maxBatchWrites && time.Since(b.started) <= w.batchTime {
			r := w.queue.pop()
			if r == nil {
				break
			}
			w.turn(b, r)
		}
		w.commit(b)
		w.announce(b)
		err = b.results[0]
	}()
	ran = fn(t)
	return nil
}

// turn gives the closure of a caller that waits its turn.
func (w *writer) turn(b *batch, r *request) {
	b.followers = append(b.followers, r)
	shared := b.kept > 0
	if shared {
		if err := w.exec("SAVEPOINT closure"); err != nil {
			b.broken = err
			b.results = append(b.results, err)
			return
		}
	}
	t := &tx{conn: w.conn, clock: w.clock}
	r.turn <- t
	w.keep(b, t, <-r.ran, shared)
}

// keep ends the view of a closure that has run, and keeps what it did or takes it back.
func (w *writer) keep(b *batch, t *tx, err error, shared bool) {
	if failed := t.finish(); err == nil {
		err = failed
	}
	b.results = append(b.results, err)
	switch {
	case err != nil:
		b.broken = w.undo(shared, err)
		return
	case shared:
		b.broken = w.exec("RELEASE closure")
	}
	b.after = append(b.after, t.after...)
	b.kept++
}

// undo takes back what a closure did that failed with cause, and says why the batch cannot go on.
func (w *writer) undo(shared bool, cause error) error {
	if !shared {
		// Fails when SQLite has ended the transaction itself, which is what we want.
		_ = w.exec("ROLLBACK")
		return w.exec("BEGIN IMMEDIATE")
	}
	if err := w.exec("ROLLBACK TO closure"); err != nil {
		// SQLite gave up the whole transaction: a full disk or a failed read does that.
		return cause
	}
	return w.exec("RELEASE closure")
}

// commit ends the transaction durably, or turns every result of the batch into the error.
func (w *writer) commit(b *batch) {
	err := b.broken
	start := time.Now()
	if err == nil && b.kept > 0 {
		err = w.exec("COMMIT")
	}
	if err == nil && b.kept > 0 {
		w.commits.Add(1)
		w.writes.Add(b.kept)
		w.committed(int(b.kept), time.Since(start))
		return
	}
	// Fails when SQLite has ended the transaction itself, which is what we want.
	_ = w.exec("ROLLBACK")
	if err == nil {
		return
	}
	for i, own := range b.results {
		if !errors.Is(err, own) {
			b.results[i] = fmt.Errorf("commit: %w", err)
		}
	}
	b.after = nil
}

// announce runs the callbacks and then lets the callers go.
func (w *writer) announce(b *batch) {
	for _, fn := range b.after {
		w.call(fn)
	}
	for i, r := range b.followers {
		r.done <- b.results[1+i]
	}
}

// call runs one callback. The commit is durable, so a panic cannot fail the write any more: it is logged.
func (w *writer) call(fn func()) {
	defer func() {
		if value := recover(); value != nil {
			w.logger.Error("callback after commit panicked", "panic", value, "stack", string(debug.Stack()))
		}
	}()
	fn()
}

// exec runs a statement of the writer's own.
func (w *writer) exec(text string) error {
	_, err := w.conn.ExecContext(context.Background(), text)
	if err != nil {
		// The connection noted the failure for the next closure to find; it is reported here instead.
		_ = takeFailure(w.conn)
	}
	return err
}
