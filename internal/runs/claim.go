package runs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/loam-agents/loam/internal/store"
)

// claimable selects runs of a lane that may start: due, with no holder on their session, and the first of their session.
const claimable = `SELECT r.id, r.account_id FROM runs r WHERE r.status = 'queued' AND r.queue = ? AND r.not_before <= ?
	AND (r.kind <> 'agent' OR r.session_id IS NULL OR (
		NOT EXISTS (SELECT 1 FROM runs h WHERE h.session_id = r.session_id AND h.kind = 'agent' AND h.lease_owner IS NOT NULL)
		AND NOT EXISTS (SELECT 1 FROM runs e WHERE e.session_id = r.session_id AND e.kind = 'agent' AND e.status = 'queued'
			AND e.status IN ('queued', 'claimed', 'running')
			AND e.not_before <= ? AND e.id <> r.id
			AND (e.queue > r.queue OR (e.queue = r.queue AND (e.created_at < r.created_at OR (e.created_at = r.created_at AND e.id < r.id)))))))`

// claim leases up to n runs to this process, launches them after the commit, and returns how many there were; more says that
// others may be found, which runs of an account that has its share of workers stood before. Interactive runs come first, then
// the oldest. On PostgreSQL the selected rows are locked with SKIP LOCKED, so processes do not wait for
// one another; the unique index on a session's lease decides between two that picked different runs of one session, and the
// loser fails with store.ErrUnique.
func (q *Queue) claim(ctx context.Context, n int) (count int, more bool, err error) {
	var claimed []Run
	begun := q.opts.Clock.Now()
	err = q.opts.Store.Write(ctx, store.Interactive, func(tx store.Tx) error {
		claimed, more = claimed[:0], false
		q.mu.Lock()
		held := q.heldBy()
		q.mu.Unlock()
		// A lane at a time, so that each is read in the order of the index and no further than needed.
		for _, lane := range []Lane{Interactive, Background} {
			runs, skipped, err := q.claimLane(tx, lane, n-len(claimed), held)
			if err != nil {
				return err
			}
			claimed, more = append(claimed, runs...), more || skipped
		}
		// In AfterCommit, so that a cancel that commits after this claim finds the lease.
		tx.AfterCommit(func() {
			q.mu.Lock()
			defer q.mu.Unlock()
			for _, r := range claimed {
				q.launch(q.lease(r, begun))
			}
		})
		return nil
	})
	return len(claimed), more, err
}

// claimLane claims runs of one lane and counts them in held. Those of accounts that have their share are skipped.
func (q *Queue) claimLane(tx store.Tx, lane Lane, n int, held map[string]int) (claimed []Run, skipped bool, err error) {
	if n <= 0 {
		return nil, false, nil
	}
	now := tx.Now()
	found, err := q.claimableOf(tx, lane, now, n, held)
	if err != nil {
		return nil, false, fmt.Errorf("select runs: %w", err)
	}
	for _, c := range found {
		if held[c.account] >= q.share() {
			skipped = true
			continue
		}
		held[c.account]++
		r, err := scan(tx.QueryRow(`UPDATE runs SET status = 'claimed', lease_owner = ?, lease_epoch = lease_epoch + 1,
			lease_expires_at = ?, attempt = attempt + 1, started_at = COALESCE(started_at, ?), updated_at = ?
			WHERE id = ? AND status = 'queued' RETURNING `+columns,
			q.opts.Owner, now+LeaseTime.Milliseconds(), now, now, c.id))
		if err != nil {
			return nil, false, fmt.Errorf("claim run %s: %w", c.id, err)
		}
		if err := q.changed(tx, &r); err != nil {
			return nil, false, err
		}
		claimed = append(claimed, r)
	}
	return claimed, skipped, nil
}

type candidate struct{ id, account string }

// claimableOf selects up to n runs of a lane, none of an account that has its share.
func (q *Queue) claimableOf(tx store.Tx, lane Lane, now int64, n int, held map[string]int) (out []candidate, err error) {
	query, args := claimable, []any{string(lane), now, now}
	for account, workers := range held {
		if workers >= q.share() {
			query, args = query+` AND r.account_id <> ?`, append(args, account)
		}
	}
	query += ` ORDER BY r.created_at, r.id LIMIT ?`
	if tx.Dialect() == store.Postgres {
		query += ` FOR UPDATE SKIP LOCKED`
	}
	rows, err := tx.Query(query, append(args, n)...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var c candidate
		if err := rows.Scan(&c.id, &c.account); err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, rows.Err()
}

// recover queues again what a dead worker left, and lets go of sessions that a dead worker held. A run that was taken over
// too often is failed: it probably kills the process that executes it. Every run has its own transaction, so that one that
// cannot be recovered does not keep the others.
func (q *Queue) recover(ctx context.Context, all bool) error {
	gone, err := q.goneOwners(ctx)
	if err != nil {
		return err
	}
	var dead []string
	condition := func(now int64) (string, []any) {
		if all {
			return `lease_owner IS NOT NULL`, nil
		}
		where, args := `lease_owner IS NOT NULL AND (lease_expires_at <= ?`, []any{now}
		for _, owner := range gone {
			where, args = where+` OR lease_owner = ?`, append(args, owner)
		}
		return where + `)`, args
	}
	err = q.opts.Store.Read(ctx, func(tx store.Tx) (err error) {
		where, args := condition(tx.Now())
		dead, err = texts(tx, `SELECT id FROM runs WHERE `+where+` ORDER BY created_at, id`, args...)
		return err
	})
	// The database's clock may jump, as after a suspend; what this process works on is watched with one that does not.
	dead = slices.DeleteFunc(dead, q.works)
	if err != nil || len(dead) == 0 {
		return err
	}
	q.opts.Log.Info("recovering runs of a dead worker", "runs", len(dead))
	var failed []error
	for _, id := range dead {
		failed = append(failed, q.opts.Store.Write(ctx, store.Background, func(tx store.Tx) error {
			now := tx.Now()
			where, args := condition(now)
			r, err := scan(tx.QueryRow(`SELECT `+columns+` FROM runs WHERE id = ? AND `+where, append([]any{id}, args...)...))
			if errors.Is(err, sql.ErrNoRows) {
				return nil
			}
			if err != nil {
				return err
			}
			tx.AfterCommit(q.Wake)
			return q.takeOver(tx, &r, now)
		}))
	}
	return errors.Join(failed...)
}

// works tells whether this process works on a run under a lease that it renewed in time.
func (q *Queue) works(runID string) bool {
	now := q.opts.Clock.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	for lease := range q.held {
		if age, ended := lease.age(now); lease.id == runID && !ended && age < LeaseTime-leaseMargin {
			return true
		}
	}
	return false
}

// goneOwners are the owners of leases of which it is certain that they will not come back: their leases need not run out.
func (q *Queue) goneOwners(ctx context.Context) ([]string, error) {
	if q.opts.Gone == nil {
		return nil, nil
	}
	var owners, gone []string
	err := q.opts.Store.Read(ctx, func(tx store.Tx) (err error) {
		owners, err = texts(tx, `SELECT DISTINCT lease_owner FROM runs WHERE lease_owner IS NOT NULL AND lease_owner <> ?`, q.opts.Owner)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list owners of leases: %w", err)
	}
	for _, owner := range owners {
		dead, err := q.opts.Gone(ctx, owner)
		if err != nil {
			return nil, err
		}
		if dead {
			gone = append(gone, owner)
		}
	}
	return gone, nil
}

func (q *Queue) takeOver(tx store.Tx, r *Run, now int64) error {
	if r.Status.Terminal() {
		return letGo(tx, r.ID)
	}
	if r.Recoveries >= maxRecoveries {
		return q.finish(tx, r, Outcome{
			Status: Failed, Code: CodeRunFailed,
			Message: fmt.Sprintf("The run was interrupted %d times by a server that stopped; it is not tried again.", r.Recoveries+1),
		}, now)
	}
	r.Status, r.LeaseOwner, r.Recoveries, r.UpdatedAt = Queued, "", r.Recoveries+1, now
	if _, err := tx.Exec(`UPDATE runs SET status = 'queued', lease_owner = NULL, recoveries = recoveries + 1, updated_at = ?
		WHERE id = ?`, now, r.ID); err != nil {
		return fmt.Errorf("take over run: %w", err)
	}
	tx.AfterCommit(func() { q.opts.Point(PointRecovered) })
	return q.changed(tx, r)
}

func texts(tx store.Tx, query string, args ...any) ([]string, error) {
	rows, err := tx.Query(query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, rows.Err()
}
