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

// writer owns the one connection that writes. Its goroutine opens a transaction, gives queued closures their turn one
// after another, and commits once for all of them. A closure behind others gets a savepoint, so that undoing it undoes
// nothing of theirs; one that has the transaction for itself needs none. A closure runs on its caller's goroutine while
// the writer waits for it, so a panic or a failed test ends the caller and never the writer.
type writer struct {
	conn    *sql.Conn
	clock   clock.Clock
	logger  *slog.Logger
	queue   *queue
	stopped chan struct{}
	// batchTime is Options.BatchTime.
	batchTime time.Duration
	committed func(writes int, took time.Duration)

	commits atomic.Int64
	writes  atomic.Int64
}

func startWriter(conn *sql.Conn, o *Options) *writer {
	w := &writer{
		conn: conn, clock: o.Clock, logger: o.Logger, batchTime: o.BatchTime, committed: o.Committed, queue: newQueue(), stopped: make(chan struct{}),
	}
	go w.loop()
	return w
}

// write is Store.Write.
func (w *writer) write(ctx context.Context, p store.Priority, fn func(store.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r := newRequest()
	if !w.queue.push(p, r) {
		return store.ErrClosed
	}
	var t *tx
	select {
	case t = <-r.turn:
	case err := <-r.done:
		return err
	case <-ctx.Done():
		if w.queue.remove(r) {
			return ctx.Err()
		}
		select {
		case t = <-r.turn:
		case err := <-r.done:
			return err
		}
	}
	w.run(t, fn, r.ran)
	return <-r.done
}

// run calls the closure and reports its result, whatever way it ends.
func (w *writer) run(t *tx, fn func(store.Tx) error, ran chan<- error) {
	err := fmt.Errorf("%w: it ended its goroutine", store.ErrPanic)
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("%w: %v\n%s", store.ErrPanic, value, debug.Stack())
		}
		ran <- err
	}()
	err = fn(t)
}

// stop lets the queue drain and waits for the writer.
func (w *writer) stop() {
	w.queue.close()
	<-w.stopped
}

func (w *writer) loop() {
	defer close(w.stopped)
	for {
		first := w.queue.pop(true)
		if first == nil {
			return
		}
		w.serve(first)
	}
}

// batch is what one commit covers.
type batch struct {
	started  time.Time
	requests []*request
	results  []error
	after    []func()
	kept     int64
	// broken says why the transaction cannot be committed.
	broken error
}

// serve runs one batch that starts with first.
func (w *writer) serve(first *request) {
	b := &batch{started: time.Now()}
	if err := w.exec("BEGIN IMMEDIATE"); err != nil {
		first.done <- fmt.Errorf("begin: %w", err)
		return
	}
	for r := first; r != nil; r = w.queue.pop(false) {
		w.turn(b, r)
		if b.broken != nil || len(b.requests) == maxBatchWrites || time.Since(b.started) > w.batchTime {
			break
		}
	}
	w.commit(b)
	w.announce(b)
}

// turn gives one closure its turn.
func (w *writer) turn(b *batch, r *request) {
	b.requests = append(b.requests, r)
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
	err := <-r.ran
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
	for i, r := range b.requests {
		r.done <- b.results[i]
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
