package runs

import (
	"context"
	"slices"

	"github.com/loam-agents/loam/internal/store"
)

// Await returns the run once it has ended and, when a worker of this process ended it, once its end was announced. A run that
// another process ends is found at the next sweep interval. When this queue has stopped and the run has not ended, the error is
// ErrStopping: the run goes on after the next start.
func (q *Queue) Await(ctx context.Context, runID string) (Run, error) {
	done := make(chan Run, 1)
	q.mu.Lock()
	q.waiters[runID] = append(q.waiters[runID], done)
	q.mu.Unlock()
	defer q.forget(runID, done)
	for {
		r, err := q.read(ctx, runID)
		if err != nil {
			return r, err
		}
		if r.Status.Terminal() {
			// The end may be durable and not yet announced; its worker lets go after it has announced it.
			return r, q.letGo(ctx, &r)
		}
		select {
		case r := <-done:
			return r, nil
		case <-q.halted:
			select {
			case r := <-done:
				return r, nil
			default:
				return Run{}, ErrStopping
			}
		case <-q.opts.Clock.After(q.opts.Sweep):
		case <-ctx.Done():
			return Run{}, ctx.Err()
		}
	}
}

// letGo waits until no worker of this process holds a run that came to its end by itself. The end of a canceled run was
// announced by whoever canceled it.
func (q *Queue) letGo(ctx context.Context, r *Run) error {
	if r.Status == Canceled {
		return nil
	}
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
