package runs

import (
	"context"
	"errors"
	"fmt"

	"github.com/loam-agents/loam/internal/store"
)

// Start recovers what dead workers left and begins to work. A second Start does nothing; one that failed may be repeated.
// The end of ctx does not end the work, Stop does.
func (q *Queue) Start(ctx context.Context) error {
	q.life.Lock()
	defer q.life.Unlock()
	if q.started {
		return nil
	}
	if err := q.recover(ctx, q.opts.Exclusive); err != nil {
		return fmt.Errorf("recover runs: %w", err)
	}
	if err := q.wakeDue(ctx); err != nil {
		return fmt.Errorf("wake runs: %w", err)
	}
	q.started = true
	base := context.WithoutCancel(ctx)
	work, interrupt := context.WithCancelCause(base)
	dispatching, stopDispatcher := context.WithCancel(base)
	renewing, stopRenewer := context.WithCancel(base)
	q.interruptAll, q.stopDispatcher, q.stopRenewer = interrupt, stopDispatcher, stopRenewer
	q.mu.Lock()
	q.working = work
	q.mu.Unlock()
	q.dispatcher.Go(func() { q.dispatch(dispatching) })
	q.renewer.Go(func() { q.renew(renewing) })
	return nil
}

// Stop claims nothing more, waits for executions until ctx ends, then interrupts them with ErrStopping and queues them again.
// When it returns, nothing of the queue runs any more. A second Stop waits for the first and does nothing else.
func (q *Queue) Stop(ctx context.Context) {
	q.life.Lock()
	defer q.life.Unlock()
	if !q.started || q.stopped {
		return
	}
	q.stopped = true
	// First nothing is launched any more, so that the work can be waited for.
	q.mu.Lock()
	q.working = nil
	q.mu.Unlock()
	q.stopDispatcher()
	q.dispatcher.Wait()
	q.handBackSurplus(context.WithoutCancel(ctx))
	idle := make(chan struct{})
	go func() {
		q.work.Wait()
		close(idle)
	}()
	select {
	case <-idle:
	case <-ctx.Done():
	}
	q.interruptAll(ErrStopping)
	<-idle
	close(q.halted)
	// Leases are renewed to the end, so that nobody takes over what still winds down.
	q.stopRenewer()
	q.renewer.Wait()
}

// Executing is the number of runs this process executes now.
func (q *Queue) Executing() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.held)
}

// dispatch claims whenever there is a hint, and sweeps at its interval however many hints come in between.
func (q *Queue) dispatch(ctx context.Context) {
	sweep := q.opts.Clock.After(q.opts.Sweep)
	for {
		q.handBackSurplus(context.WithoutCancel(ctx))
		q.fill(ctx)
		select {
		case <-q.wake:
		case <-sweep:
			sweep = q.opts.Clock.After(q.opts.Sweep)
			if err := q.recover(ctx, false); err != nil && ctx.Err() == nil {
				q.opts.Log.Error("sweep for dead leases", "error", err)
			}
			if err := q.wakeDue(ctx); err != nil && ctx.Err() == nil {
				q.opts.Log.Error("wake runs whose time has come", "error", err)
			}
		case <-ctx.Done():
			return
		}
	}
}

// fill claims until no slot or no work is left.
func (q *Queue) fill(ctx context.Context) {
	collisions := 0
	for ctx.Err() == nil {
		free := q.opts.Workers - q.Executing()
		if free <= 0 {
			return
		}
		n, more, err := q.claim(ctx, free)
		switch {
		case errors.Is(err, store.ErrUnique) && collisions < maxCollisions:
			// Another process took a different run of the same session at the same moment: now its lease is visible.
			collisions++
		case err != nil:
			if ctx.Err() == nil {
				q.opts.Log.Error("claim runs", "error", err)
			}
			return
		case n < free && !more:
			return
		}
	}
}

// handBackSurplus queues again what was claimed for workers that were not free.
func (q *Queue) handBackSurplus(ctx context.Context) {
	q.mu.Lock()
	surplus := q.surplus
	q.surplus = nil
	q.mu.Unlock()
	for _, lease := range surplus {
		if err := q.release(ctx, lease, nil, true); err != nil {
			// Nobody renews the lease: it runs out, and a sweep queues the run again.
			q.opts.Log.Error("hand back a run", "run", lease.id, "error", err)
		}
	}
}
