package runs

import (
	"context"
	"slices"

	"github.com/loam-agents/loam/internal/store"
)

// Waiter waits until one run has ended or is parked. It is made before the run can end, so that nothing is missed.
type Waiter struct {
	q    *Queue
	run  string
	done chan Run
}

// Expect returns a waiter for a run that need not exist yet. The caller waits with it or closes it.
func (q *Queue) Expect(runID string) *Waiter {
	w := &Waiter{q: q, run: runID, done: make(chan Run, 1)}
	q.mu.Lock()
	q.waiters[runID] = append(q.waiters[runID], w.done)
	q.mu.Unlock()
	return w
}

// Close ends the wait. A second Close does nothing.
func (w *Waiter) Close() { w.q.forget(w.run, w.done) }

// Wait returns the run once it has ended, or is parked, and that was announced; a canceled one once its worker has written down what it had
// said and let go. A run that another process ends is found at the next sweep interval. When the queue has stopped and the run has
// not ended, the error is ErrStopping: the run goes on after the next start. The waiter is closed then.
func (w *Waiter) Wait(ctx context.Context) (Run, error) {
	defer w.Close()
	for {
		select {
		case r := <-w.done:
			if r.Status == Canceled {
				return r, w.q.letGo(ctx, &r)
			}
			return r, nil
		case <-w.q.halted:
			select {
			case r := <-w.done:
				return r, nil
			default:
				return Run{}, ErrStopping
			}
		case <-w.q.opts.Clock.After(w.q.opts.Sweep):
		case <-ctx.Done():
			return Run{}, ctx.Err()
		}
		if r, err := w.q.ended(ctx, w.run); err != nil || r.Status.resting() {
			return r, err
		}
	}
}

// Await waits for a run of which it is not known whether it has ended or is parked.
func (q *Queue) Await(ctx context.Context, runID string) (Run, error) {
	w := q.Expect(runID)
	if r, err := q.ended(ctx, runID); err != nil || r.Status.resting() {
		w.Close()
		return r, err
	}
	return w.Wait(ctx)
}

// ended reads a run, and waits until its worker has let go of it if it has ended.
func (q *Queue) ended(ctx context.Context, runID string) (Run, error) {
	r, err := q.read(ctx, runID)
	if err == nil && r.Status.Terminal() {
		err = q.letGo(ctx, &r)
	}
	return r, err
}

// letGo waits until no worker of this process holds a run that has ended: what a canceled one had said is written down then.
func (q *Queue) letGo(ctx context.Context, r *Run) error {
	q.mu.Lock()
	var gone <-chan struct{}
	for lease := range q.held {
		if lease.id == r.ID {
			gone = lease.gone
		}
	}
	q.mu.Unlock()
	if gone == nil {
		return nil
	}
	select {
	case <-gone:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (q *Queue) read(ctx context.Context, runID string) (r Run, err error) {
	err = q.opts.Store.Read(ctx, func(tx store.Tx) error {
		r, err = Get(tx, runID)
		return err
	})
	return r, err
}

func (q *Queue) settle(r Run) {
	q.mu.Lock()
	waiters := q.waiters[r.ID]
	delete(q.waiters, r.ID)
	q.mu.Unlock()
	for _, w := range waiters {
		w <- r
	}
}

func (q *Queue) forget(runID string, done chan Run) {
	q.mu.Lock()
	defer q.mu.Unlock()
	rest := slices.DeleteFunc(q.waiters[runID], func(c chan Run) bool { return c == done })
	if len(rest) == 0 {
		delete(q.waiters, runID)
		return
	}
	q.waiters[runID] = rest
}
