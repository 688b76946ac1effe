package runs

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/loam-agents/loam/internal/store"
)

// Start recovers what dead workers left and begins to work. A second Start does nothing.
func (q *Queue) Start(ctx context.Context) error {
	q.mu.Lock()
	if q.started {
		q.mu.Unlock()
		return nil
	}
	q.started = true
	q.ctx, q.stop = context.WithCancelCause(context.WithoutCancel(ctx))
	q.mu.Unlock()
	if err := q.recover(ctx, q.opts.Exclusive); err != nil {
		return fmt.Errorf("recover runs: %w", err)
	}
	q.loop.Go(q.dispatch)
	q.loop.Go(q.renew)
	q.Wake()
	return nil
}

// Stop claims nothing more, waits for executions until ctx ends, then interrupts them with ErrStopping and queues them again.
// A second Stop does nothing.
func (q *Queue) Stop(ctx context.Context) {
	q.mu.Lock()
	if !q.started || q.stopping {
		q.mu.Unlock()
		return
	}
	q.stopping = true
	q.mu.Unlock()
	idle := make(chan struct{})
	go func() {
		q.work.Wait()
		close(idle)
	}()
	select {
	case <-idle:
	case <-ctx.Done():
	}
	q.stop(ErrStopping)
	<-idle
	q.loop.Wait()
}

// Executing is the number of runs this process executes now.
func (q *Queue) Executing() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.held)
}

func (q *Queue) dispatch() {
	for {
		q.fill()
		select {
		case <-q.wake:
		case <-q.opts.Clock.After(q.opts.Sweep):
			if err := q.recover(q.ctx, false); err != nil && q.ctx.Err() == nil {
				q.opts.Log.Error("sweep for dead leases", "error", err)
			}
		case <-q.ctx.Done():
			return
		}
	}
}

// fill claims until no slot or no work is left.
func (q *Queue) fill() {
	for {
		q.mu.Lock()
		free := q.opts.Workers - len(q.held)
		stopping := q.stopping
		q.mu.Unlock()
		if free <= 0 || stopping || q.ctx.Err() != nil {
			return
		}
		claimed, err := q.claim(q.ctx, free)
		if err != nil {
			if q.ctx.Err() == nil {
				q.opts.Log.Error("claim runs", "error", err)
			}
			return
		}
		for _, r := range claimed {
			q.launch(r)
		}
		if len(claimed) < free {
			return
		}
	}
}

func (q *Queue) launch(r Run) {
	ctx, cancel := context.WithCancelCause(q.ctx)
	lease := &Lease{q: q, epoch: r.LeaseEpoch, owner: q.opts.Owner, cancel: cancel, run: r}
	q.mu.Lock()
	q.held[r.ID] = lease
	q.mu.Unlock()
	q.work.Go(func() {
		defer cancel(nil)
		q.execute(ctx, lease)
		q.mu.Lock()
		delete(q.held, r.ID)
		q.mu.Unlock()
		q.Wake()
	})
}

func (q *Queue) execute(ctx context.Context, lease *Lease) {
	r := lease.Run()
	log := q.opts.Log.With("run", r.ID, "session", r.Session, "account", r.Account)
	outcome, err := q.runExecutor(ctx, lease)
	// The end of a run is written even when its context is over.
	end := context.WithoutCancel(ctx)
	if lease.ended() {
		return
	}
	if err != nil || ctx.Err() != nil {
		if e := q.release(end, lease, err); e != nil {
			log.Error("release run", "error", e)
		}
		return
	}
	err = q.opts.Store.Write(end, store.Interactive, func(tx store.Tx) error { return lease.Finish(tx, outcome) })
	switch {
	case errors.Is(err, ErrCanceled), errors.Is(err, ErrLeaseLost):
		if e := q.release(end, lease, err); e != nil {
			log.Error("release run", "error", e)
		}
	case err != nil:
		log.Error("end run", "error", err)
	}
}

// runExecutor turns a panic of an executor into a failed run.
func (q *Queue) runExecutor(ctx context.Context, lease *Lease) (out Outcome, err error) {
	r := lease.Run()
	defer func() {
		if p := recover(); p != nil {
			q.opts.Log.Error("executor panicked", "run", r.ID, "panic", p, "stack", string(debug.Stack()))
			out, err = Outcome{Status: Failed, Code: CodeExecutorError, Message: "The server failed while it worked on this run."}, nil
		}
	}()
	executor := q.opts.Executors[r.Kind]
	if executor == nil {
		return Outcome{Status: Failed, Code: CodeNoExecutor, Message: fmt.Sprintf("This server cannot execute runs of kind %q.", r.Kind)}, nil
	}
	return executor.Execute(ctx, lease)
}

func (l *Lease) ended() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.finished
}

// release lets go of a run that did not end: one that was canceled only frees its session, another one is queued again.
func (q *Queue) release(ctx context.Context, lease *Lease, cause error) error {
	return q.opts.Store.Write(ctx, store.Interactive, func(tx store.Tx) error {
		status, err := lease.status(tx)
		if errors.Is(err, ErrLeaseLost) {
			return nil
		}
		if err != nil {
			return err
		}
		r, err := Get(tx, lease.run.ID)
		if err != nil {
			return err
		}
		tx.AfterCommit(q.Wake)
		if status.Terminal() {
			_, err := tx.Exec(`UPDATE runs SET lease_owner = NULL WHERE id = ?`, r.ID)
			return err
		}
		if cause != nil && !errors.Is(cause, context.Canceled) && !errors.Is(cause, ErrStopping) {
			q.opts.Log.Error("execution failed", "run", r.ID, "error", cause)
			return q.finish(tx, &r, Outcome{Status: Failed, Code: CodeRunFailed, Message: "The server failed while it worked on this run.", Retry: true}, tx.Now())
		}
		return q.takeOver(tx, &r, tx.Now())
	})
}

// renew keeps the leases of this process alive, and interrupts what it no longer holds.
func (q *Queue) renew() {
	last := time.Now()
	for {
		select {
		case <-q.opts.Clock.After(renewEvery):
		case <-q.ctx.Done():
			return
		}
		held := q.leases()
		if len(held) == 0 {
			last = time.Now()
			continue
		}
		ctx, cancel := context.WithTimeout(q.ctx, LeaseTime-leaseMargin)
		alive, err := q.extend(ctx)
		cancel()
		switch {
		case err == nil:
			last = time.Now()
			for id, lease := range held {
				if status, ok := alive[id]; !ok {
					lease.cancel(ErrLeaseLost)
				} else if status == Canceled {
					lease.cancel(ErrCanceled)
				}
			}
		case time.Since(last) > LeaseTime-leaseMargin:
			q.opts.Log.Error("leases could not be renewed; stopping work", "error", err)
			for _, lease := range held {
				lease.cancel(ErrLeaseLost)
			}
		}
	}
}

func (q *Queue) leases() map[string]*Lease {
	q.mu.Lock()
	defer q.mu.Unlock()
	held := make(map[string]*Lease, len(q.held))
	for id, lease := range q.held {
		if !lease.ended() {
			held[id] = lease
		}
	}
	return held
}

func (q *Queue) extend(ctx context.Context) (map[string]Status, error) {
	alive := map[string]Status{}
	err := q.opts.Store.Write(ctx, store.Interactive, func(tx store.Tx) error {
		clear(alive)
		rows, err := tx.Query(`UPDATE runs SET lease_expires_at = ? WHERE lease_owner = ? RETURNING id, status`,
			tx.Now()+LeaseTime.Milliseconds(), q.opts.Owner)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var id string
			var status Status
			if err := rows.Scan(&id, &status); err != nil {
				return err
			}
			alive[id] = status
		}
		return rows.Err()
	})
	return alive, err
}
