package runs

import (
	"context"
	"slices"

	"github.com/loam-agents/loam/internal/store"
)

// Await returns the run once it has ended. A run that another process ends is found at the next sweep interval.
func (q *Queue) Await(ctx context.Context, runID string) (Run, error) {
	done := make(chan Run, 1)
	q.mu.Lock()
	q.waiters[runID] = append(q.waiters[runID], done)
	q.mu.Unlock()
	defer q.forget(runID, done)
	for {
		r, err := q.read(ctx, runID)
		if err != nil || r.Status.Terminal() {
			return r, err
		}
		select {
		case r := <-done:
			return r, nil
		case <-q.opts.Clock.After(q.opts.Sweep):
		case <-ctx.Done():
			return Run{}, ctx.Err()
		}
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
