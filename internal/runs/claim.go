package runs

import (
	"context"
	"fmt"

	"github.com/loam-agents/loam/internal/store"
)

// claimable selects runs that may start: due, with no holder on their session, and the first of their session.
const claimable = `SELECT id FROM runs r WHERE r.status = 'queued' AND r.not_before <= ?
	AND (r.kind <> 'agent' OR r.session_id IS NULL OR (
		NOT EXISTS (SELECT 1 FROM runs h WHERE h.session_id = r.session_id AND h.kind = 'agent' AND h.lease_owner IS NOT NULL)
		AND NOT EXISTS (SELECT 1 FROM runs e WHERE e.session_id = r.session_id AND e.kind = 'agent' AND e.status = 'queued'
			AND e.not_before <= ? AND e.id <> r.id
			AND (e.queue > r.queue OR (e.queue = r.queue AND (e.created_at < r.created_at OR (e.created_at = r.created_at AND e.id < r.id)))))))
	ORDER BY r.queue DESC, r.created_at, r.id LIMIT ?`

// claim leases up to n runs to this process. Interactive runs come first, then the oldest. On PostgreSQL the selected rows
// are locked with SKIP LOCKED, so processes do not wait for one another; the unique index on a session's lease decides
// between two that picked different runs of one session.
func (q *Queue) claim(ctx context.Context, n int) ([]Run, error) {
	var claimed []Run
	err := q.opts.Store.Write(ctx, store.Interactive, func(tx store.Tx) error {
		claimed = claimed[:0]
		now := tx.Now()
		query := claimable
		if tx.Dialect() == store.Postgres {
			query += ` FOR UPDATE SKIP LOCKED`
		}
		ids, err := texts(tx, query, now, now, n)
		if err != nil {
			return err
		}
		for _, id := range ids {
			r, err := scan(tx.QueryRow(`UPDATE runs SET status = 'claimed', lease_owner = ?, lease_epoch = lease_epoch + 1,
				lease_expires_at = ?, attempt = attempt + 1, started_at = COALESCE(started_at, ?), updated_at = ?
				WHERE id = ? AND status = 'queued' RETURNING `+columns,
				q.opts.Owner, now+LeaseTime.Milliseconds(), now, now, id))
			if err != nil {
				return fmt.Errorf("claim run %s: %w", id, err)
			}
			if err := q.changed(tx, &r); err != nil {
				return err
			}
			claimed = append(claimed, r)
		}
		return nil
	})
	return claimed, err
}

// recover queues again what a dead worker left, and lets go of sessions that a dead worker held. A run that was taken over
// too often is failed: it probably kills the process that executes it.
func (q *Queue) recover(ctx context.Context, all bool) error {
	return q.opts.Store.Write(ctx, store.Background, func(tx store.Tx) error {
		now := tx.Now()
		where := `lease_owner IS NOT NULL AND lease_owner <> ? AND lease_expires_at <= ?`
		if all {
			where = `lease_owner IS NOT NULL AND lease_owner <> ? AND ? > 0`
		}
		dead, err := list(tx, `SELECT `+columns+` FROM runs WHERE `+where, q.opts.Owner, now)
		if err != nil {
			return err
		}
		for i := range dead {
			if err := q.takeOver(tx, &dead[i], now); err != nil {
				return err
			}
		}
		if len(dead) > 0 {
			tx.AfterCommit(q.Wake)
			tx.AfterCommit(func() { q.opts.Log.Info("recovered runs of a dead worker", "runs", len(dead)) })
		}
		return nil
	})
}

func (q *Queue) takeOver(tx store.Tx, r *Run, now int64) error {
	if r.Status.Terminal() {
		_, err := tx.Exec(`UPDATE runs SET lease_owner = NULL WHERE id = ?`, r.ID)
		return err
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
		return err
	}
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
