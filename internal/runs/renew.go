package runs

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/loam-agents/loam/internal/store"
)

// renewal is what the database said about leases that were to be extended.
type renewal struct {
	asked []*Lease
	// begun is a time before the database was asked: the new term is counted from here.
	begun time.Time
	alive map[leaseKey]Status
	err   error
}

type leaseKey struct {
	run   string
	epoch int64
}

// renew extends the leases of this process, and interrupts what it no longer holds. It keeps watching the time while the
// database is silent, so that a worker stops before others may take its runs over.
func (q *Queue) renew(ctx context.Context) {
	answers := make(chan renewal, 1)
	asking := false
	for {
		select {
		case r := <-answers:
			asking = false
			q.apply(r)
			continue
		case <-q.opts.Clock.After(renewTick):
		case <-ctx.Done():
			if asking {
				<-answers
			}
			return
		}
		// An answer that is there counts before anything is given up.
		select {
		case r := <-answers:
			asking = false
			q.apply(r)
		default:
		}
		due := q.due()
		if !asking && len(due) > 0 {
			asking = true
			go func() { answers <- q.extend(ctx, due) }()
		}
	}
}

// due interrupts leases that were not renewed in time, and returns all others once the first of them is old enough.
func (q *Queue) due() []*Lease {
	now := q.opts.Clock.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	var live []*Lease
	old := false
	for lease := range q.held {
		age, ended := lease.age(now)
		switch {
		case ended:
		case age >= LeaseTime-leaseMargin:
			if lease.interrupt(ErrLeaseLost) {
				run := lease.Run()
				q.opts.Log.ErrorContext(logging(context.Background(), &run), "lease could not be renewed in time; stopping work")
			}
		default:
			live = append(live, lease)
			old = old || age >= renewEvery
		}
	}
	if !old {
		return nil
	}
	return live
}

// extend renews exactly the given leases. A lease that this process took but does not hold, because it never learned that
// the claim was committed, is left to run out.
func (q *Queue) extend(ctx context.Context, held []*Lease) renewal {
	out := renewal{asked: held, begun: q.opts.Clock.Now()}
	args := make([]any, 0, len(held)+2)
	args = append(args, int64(0), q.opts.Owner)
	for _, lease := range held {
		args = append(args, lease.id)
	}
	query := `UPDATE runs SET lease_expires_at = ? WHERE lease_owner = ? AND id IN (?` + strings.Repeat(", ?", len(held)-1) +
		`) RETURNING id, lease_epoch, status`
	out.err = q.opts.Store.Write(ctx, store.Interactive, func(tx store.Tx) error {
		out.alive = map[leaseKey]Status{}
		args[0] = tx.Now() + LeaseTime.Milliseconds()
		rows, err := tx.Query(query, args...)
		if err != nil {
			return fmt.Errorf("renew leases: %w", err)
		}
		defer rows.Close()
		for rows.Next() {
			var key leaseKey
			var status Status
			if err := rows.Scan(&key.run, &key.epoch, &status); err != nil {
				return err
			}
			out.alive[key] = status
		}
		return rows.Err()
	})
	q.opts.Point(PointRenewed)
	return out
}

func (q *Queue) apply(r renewal) {
	if r.err != nil {
		q.opts.Log.Warn("renew leases", "error", r.err)
		return
	}
	for _, lease := range r.asked {
		status, ok := r.alive[leaseKey{lease.id, lease.epoch}]
		switch {
		case !ok:
			// A run that has just ended is interrupted too, which nobody notices: its worker returns what it did.
			lease.interrupt(ErrLeaseLost)
		case status == Canceled:
			lease.renew(r.begun)
			lease.interrupt(ErrCanceled)
		default:
			lease.renew(r.begun)
			// Another server may have settled a wait.
			lease.poke()
		}
	}
}
