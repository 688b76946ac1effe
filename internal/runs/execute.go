package runs

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/loam-agents/loam/internal/logctx"
	"github.com/loam-agents/loam/internal/store"
)

var errNoOutcome = errors.New("executor returned without an outcome")

// lease is the lease of a claimed run that nobody works on yet. begun is a time before the claim.
func (q *Queue) lease(r Run, begun time.Time) *Lease {
	return &Lease{
		q: q, id: r.ID, account: r.Account, epoch: r.LeaseEpoch, owner: q.opts.Owner, cancel: func(error) {}, gone: make(chan struct{}), changed: make(chan struct{}, 1), run: r, renewed: begun,
	}
}

// launch begins to execute a claimed run. When others have taken the workers since it was claimed, the dispatcher queues it
// again. The caller holds q.mu.
func (q *Queue) launch(lease *Lease) {
	if q.working == nil || len(q.held) >= q.opts.Workers {
		q.surplus = append(q.surplus, lease)
		q.Wake()
		return
	}
	ctx, cancel := context.WithCancelCause(q.working)
	lease.cancel = cancel
	q.held[lease] = struct{}{}
	q.work.Go(func() {
		defer q.drop(lease)
		defer cancel(nil)
		q.execute(ctx, lease)
	})
}

// drop forgets a lease. Work that found no worker for its account is claimed now; all other work was claimed when it came.
func (q *Queue) drop(lease *Lease) {
	q.mu.Lock()
	full := len(q.held) >= q.opts.Workers || q.heldBy()[lease.account] >= q.share()
	delete(q.held, lease)
	q.mu.Unlock()
	close(lease.gone)
	if full {
		q.Wake()
	}
}

func (q *Queue) execute(ctx context.Context, lease *Lease) {
	r := lease.Run()
	ctx = logging(ctx, &r)
	outcome, err := q.runExecutor(ctx, lease)
	if lease.ended() {
		return
	}
	// The end of a run is written even when its context is over: what was carried out is not carried out again.
	end := context.WithoutCancel(ctx)
	switch {
	case err != nil:
	case outcome.Status != "":
		err = q.opts.Store.Write(end, store.Interactive, func(tx store.Tx) error { return lease.Finish(tx, outcome) })
		if err == nil {
			return
		}
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	default:
		err = errNoOutcome
	}
	if e := q.release(end, lease, err, ctx.Err() != nil); e != nil {
		// The lease is not renewed any more: it runs out, and a sweep queues the run again.
		q.opts.Log.ErrorContext(ctx, "release run", "error", errors.Join(err, e))
	}
}

// logging returns a context whose log lines name a run and whose it is.
func logging(ctx context.Context, r *Run) context.Context {
	ctx = logctx.With(ctx, logctx.Run, r.ID)
	ctx = logctx.With(ctx, logctx.Session, r.Session)
	ctx = logctx.With(ctx, logctx.Agent, r.Agent)
	return logctx.With(ctx, logctx.Account, r.Account)
}

// runExecutor turns a panic of an executor into a failed run.
func (q *Queue) runExecutor(ctx context.Context, lease *Lease) (out Outcome, err error) {
	r := lease.Run()
	defer func() {
		if p := recover(); p != nil {
			q.opts.Log.ErrorContext(ctx, "executor panicked", "panic", p, "stack", string(debug.Stack()))
			out, err = Outcome{Status: Failed, Code: CodeExecutorError, Message: "The server failed while it worked on this run."}, nil
		}
	}()
	executor := q.opts.Executors[r.Kind]
	if executor == nil {
		return Outcome{Status: Failed, Code: CodeNoExecutor, Message: fmt.Sprintf("This server cannot execute runs of kind %q.", r.Kind)}, nil
	}
	return executor.Execute(ctx, lease)
}

// release lets go of a run that did not end: one that was canceled only frees its session, one that was interrupted is queued
// again as if it had not been claimed, and any other one failed.
func (q *Queue) release(ctx context.Context, lease *Lease, cause error, interrupted bool) error {
	return q.opts.Store.Write(ctx, store.Interactive, func(tx store.Tx) error {
		status, err := lease.status(tx)
		if errors.Is(err, ErrLeaseLost) {
			return nil
		}
		if err != nil {
			return err
		}
		if status.Terminal() {
			tx.AfterCommit(q.Wake)
			return letGo(tx, lease.id)
		}
		r, err := Get(tx, lease.id)
		if err != nil {
			return err
		}
		if interrupted {
			return q.handBack(tx, &r)
		}
		q.opts.Log.ErrorContext(ctx, "execution failed", "error", cause)
		lease.stamp(&r)
		return q.finish(tx, &r, Outcome{Status: Failed, Code: CodeRunFailed, Message: "The server failed while it worked on this run.", Retry: true}, tx.Now())
	})
}

// letGo frees the session of a run that has ended.
func letGo(tx store.Tx, runID string) error {
	if _, err := tx.Exec(`UPDATE runs SET lease_owner = NULL WHERE id = ?`, runID); err != nil {
		return fmt.Errorf("let go of run: %w", err)
	}
	return nil
}

// handBack queues a run again that its worker gives up unharmed: neither an attempt nor a recovery is used up.
func (q *Queue) handBack(tx store.Tx, r *Run) error {
	r.Status, r.LeaseOwner, r.Attempt, r.UpdatedAt = Queued, "", r.Attempt-1, tx.Now()
	_, err := tx.Exec(`UPDATE runs SET status = 'queued', lease_owner = NULL, attempt = ?, updated_at = ? WHERE id = ?`,
		r.Attempt, r.UpdatedAt, r.ID)
	if err != nil {
		return fmt.Errorf("hand back run: %w", err)
	}
	tx.AfterCommit(q.Wake)
	return q.changed(tx, r)
}
