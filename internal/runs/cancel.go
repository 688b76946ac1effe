package runs

import (
	"fmt"

	"github.com/loam-agents/loam/internal/store"
)

// subtree lists a run and its descendants, children first, so that usage rolls up through parents that still stand.
const subtree = `WITH RECURSIVE tree(id, depth) AS (
	SELECT id, depth FROM runs WHERE id = ?
	UNION ALL
	SELECT c.id, c.depth FROM runs c JOIN tree t ON c.parent_run_id = t.id)
	SELECT id FROM tree ORDER BY depth DESC, id`

// Cancel ends a run and all its descendants that have not ended. What executes is canceled at once as far as the database
// goes: its worker can write no further effect, notices, and lets go of the session. It tells whether anything was live.
func (q *Queue) Cancel(tx store.Tx, runID string) (bool, error) {
	ids, err := texts(tx, subtree, runID)
	if err != nil {
		return false, err
	}
	live := false
	for _, id := range ids {
		canceled, err := q.cancelOne(tx, id)
		if err != nil {
			return false, err
		}
		live = live || canceled
	}
	return live, nil
}

// CancelSession cancels the trees of every live run of a session.
func (q *Queue) CancelSession(tx store.Tx, session string) (bool, error) {
	return q.cancelWhere(tx, `session_id = ?`, session)
}

// CancelAgent cancels the trees of every live run of an agent.
func (q *Queue) CancelAgent(tx store.Tx, agent string) (bool, error) {
	return q.cancelWhere(tx, `agent_id = ?`, agent)
}

func (q *Queue) cancelWhere(tx store.Tx, condition, arg string) (bool, error) {
	// The newest first: what executes comes last, so that the renewal of its lease waits no longer than it must.
	ids, err := texts(tx, `SELECT id FROM runs WHERE status IN ('queued', 'claimed', 'running', 'waiting') AND `+condition+
		` ORDER BY created_at DESC, id DESC`, arg)
	if err != nil {
		return false, err
	}
	live := false
	for _, id := range ids {
		canceled, err := q.Cancel(tx, id)
		if err != nil {
			return false, err
		}
		live = live || canceled
	}
	return live, nil
}

func (q *Queue) cancelOne(tx store.Tx, runID string) (bool, error) {
	query := `SELECT ` + columns + ` FROM runs WHERE id = ?`
	if tx.Dialect() == store.Postgres {
		query += ` FOR UPDATE`
	}
	r, err := scan(tx.QueryRow(query, runID))
	if err != nil {
		return false, fmt.Errorf("cancel run: %w", err)
	}
	if r.Status.Terminal() {
		return false, nil
	}
	if err := q.abandon(tx, &r); err != nil {
		return false, err
	}
	now := tx.Now()
	r.Status, r.FinishedAt, r.UpdatedAt = Canceled, now, now
	if _, err := tx.Exec(`UPDATE runs SET status = 'canceled', wait = NULL, finished_at = ?, updated_at = ? WHERE id = ?`, now, now, runID); err != nil {
		return false, fmt.Errorf("cancel run: %w", err)
	}
	if err := q.conclude(tx, &r); err != nil {
		return false, err
	}
	tx.AfterCommit(func() { q.interrupt(runID, ErrCanceled) })
	return true, q.changed(tx, &r)
}

// abandon reports what a parked run that is about to be canceled waits for. One that executes is told by its worker.
func (q *Queue) abandon(tx store.Tx, r *Run) error {
	if r.Status != Waiting || q.opts.Hooks.Abandoned == nil {
		return nil
	}
	waits, err := Waits(tx, r.ID)
	if err != nil {
		return err
	}
	return q.opts.Hooks.Abandoned(tx, r, waits)
}

// interrupt ends the context of a run that executes in this process.
func (q *Queue) interrupt(runID string, cause error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for lease := range q.held {
		if lease.id == runID {
			lease.interrupt(cause)
		}
	}
}
