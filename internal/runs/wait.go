package runs

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

// Reason is what kind of thing a run waits for. The values are stored; the wire shows an approval as an event.
type Reason string

// The reasons, the most urgent first: that is the one which the wire shows.
const (
	// WaitApproval is a call that a person has to approve. Only whoever decides approvals settles it.
	WaitApproval Reason = "approval"
	// WaitBudget is a run that has used what it may use.
	WaitBudget Reason = "budget-pause"
	// WaitEvent is an event that a signal or a trigger brings.
	WaitEvent Reason = "event"
	// WaitChild is the end of a child run.
	WaitChild Reason = "children"
	// WaitTimer is a moment.
	WaitTimer Reason = "timer"
)

// urgency orders reasons.
var urgency = map[Reason]int{WaitApproval: 0, WaitBudget: 1, WaitEvent: 2, WaitChild: 3, WaitTimer: 4}

// maxWaits bounds what one run waits for.
const maxWaits = 1000

// Wait is one thing that a run waits for.
type Wait struct {
	// ID is unique in its run.
	ID     string
	Run    string
	Reason Reason
	// Alone says that the run goes on when this wait is settled, whatever else it waits for.
	Alone bool
	// Child is the run whose end settles a WaitChild.
	Child string
	// ToolCall is the call of an agent that waits, CallSeq the number of the group in a script's journal.
	ToolCall string
	CallSeq  int64
	// WakeAt is when the wait settles by itself, in milliseconds since the epoch; zero is never.
	WakeAt int64
	// Match says which events settle a WaitEvent: {"signal": name}, or {} for any signal.
	Match json.RawMessage
	// Label says for people what is waited for.
	Label     string
	CreatedAt int64
}

// answerWith is the signal that settles a wait for an event; empty when no signal does.
func (w *Wait) answerWith() string {
	if w.Reason != WaitEvent {
		return ""
	}
	var m map[string]json.RawMessage
	if len(w.Match) == 0 || json.Unmarshal(w.Match, &m) != nil || len(m) == 0 {
		return "answer"
	}
	var signal string
	if json.Unmarshal(m["signal"], &signal) != nil {
		return ""
	}
	return signal
}

// takes tells whether a signal settles the wait.
func (w *Wait) takes(signal string) bool {
	with := w.answerWith()
	return w.Reason == WaitEvent && (with == signal && with != "" || len(w.Match) == 0 || string(w.Match) == "{}")
}

// Await registers waits of a run that its worker holds. They may be settled from then on, whether or not the run is parked.
func (l *Lease) Await(tx store.Tx, waits ...Wait) error {
	if err := l.Check(tx); err != nil {
		return err
	}
	var n int
	if err := tx.QueryRow(`SELECT count(*) FROM run_waits WHERE run_id = ?`, l.id).Scan(&n); err != nil {
		return fmt.Errorf("count waits: %w", err)
	}
	if n+len(waits) > maxWaits {
		return fault.New(fault.BudgetExceeded, "A run waits for at most %d things at once", maxWaits)
	}
	now := tx.Now()
	for i := range waits {
		w := &waits[i]
		var match any
		if len(w.Match) > 0 {
			match = string(w.Match)
		}
		alone := 0
		if w.Alone {
			alone = 1
		}
		_, err := tx.Exec(`INSERT INTO run_waits (run_id, id, reason, alone, child_run_id, tool_call_id, call_seq, wake_at, match, label, created_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (run_id, id) DO NOTHING`,
			l.id, w.ID, string(w.Reason), alone, nullable(w.Child), w.ToolCall, w.CallSeq, w.WakeAt, match, w.Label, now)
		if err != nil {
			return fmt.Errorf("register wait: %w", err)
		}
	}
	return nil
}

// Forget drops a wait of the run that its worker has settled itself.
func (l *Lease) Forget(tx store.Tx, id string) error {
	if err := l.Check(tx); err != nil {
		return err
	}
	if _, err := tx.Exec(`DELETE FROM run_waits WHERE run_id = ? AND id = ?`, l.id, id); err != nil {
		return fmt.Errorf("forget wait: %w", err)
	}
	return nil
}

// Park gives up the run until what it waits for is settled: it holds no worker, no session and no memory. A run whose waits
// were settled in the meantime goes on at once. Nothing of it may be written under the lease afterwards.
func (l *Lease) Park(tx store.Tx) error { return l.ParkOn(tx, 1) }

// ParkOn is Park for a run that knows of n waits, each of which is enough alone: when fewer are left, one was settled in the meantime, and
// the run goes on at once.
func (l *Lease) ParkOn(tx store.Tx, n int) error {
	if err := l.Check(tx); err != nil {
		return err
	}
	r, err := l.row(tx)
	if err != nil {
		return err
	}
	l.stamp(&r)
	waits, err := Waits(tx, l.id)
	if err != nil {
		return err
	}
	// Parking is not a failure: it uses up no attempt.
	r.LeaseOwner, r.Attempt, r.UpdatedAt = "", r.Attempt-1, tx.Now()
	if len(waits) < n {
		r.Status, r.Wait = Queued, nil
		tx.AfterCommit(l.q.Wake)
	} else {
		r.Status, r.Wait = Waiting, shown(waits)
	}
	wait, err := waitText(r.Wait)
	if err != nil {
		return err
	}
	_, err = tx.Exec(`UPDATE runs SET status = ?, wait = ?, lease_owner = NULL, attempt = ?, provider = ?, model = ?, updated_at = ? WHERE id = ?`,
		string(r.Status), wait, r.Attempt, r.Provider, r.Model, r.UpdatedAt, r.ID)
	if err != nil {
		return fmt.Errorf("park run: %w", err)
	}
	tx.AfterCommit(func() {
		l.mu.Lock()
		l.finished, l.run = true, r
		l.mu.Unlock()
	})
	return l.q.changed(tx, &r)
}

// Waits lists what a run waits for, the oldest first.
func Waits(tx store.Tx, runID string) ([]Wait, error) {
	return waitsWhere(tx, `run_id = ? ORDER BY created_at, call_seq, id`, runID)
}

const waitColumns = `run_id, id, reason, alone, child_run_id, tool_call_id, call_seq, wake_at, match, label, created_at`

func waitsWhere(tx store.Tx, condition string, args ...any) ([]Wait, error) {
	rows, err := tx.Query(`SELECT `+waitColumns+` FROM run_waits WHERE `+condition, args...)
	if err != nil {
		return nil, fmt.Errorf("read waits: %w", err)
	}
	defer rows.Close()
	var out []Wait
	for rows.Next() {
		var w Wait
		var alone int64
		var child, match sql.NullString
		if err := rows.Scan(&w.Run, &w.ID, &w.Reason, &alone, &child, &w.ToolCall, &w.CallSeq, &w.WakeAt, &match, &w.Label, &w.CreatedAt); err != nil {
			return nil, fmt.Errorf("read waits: %w", err)
		}
		w.Alone, w.Child = alone != 0, child.String
		if match.Valid {
			w.Match = json.RawMessage(match.String)
		}
		out = append(out, w)
	}
	return out, rows.Err()
}

// shown is the most urgent of waits as the wire has it.
func shown(waits []Wait) *wire.RunWait {
	first := &waits[0]
	for i := range waits {
		if urgency[waits[i].Reason] < urgency[first.Reason] {
			first = &waits[i]
		}
	}
	out := &wire.RunWait{Reason: string(first.Reason), WakeAt: first.WakeAt, Label: first.Label}
	switch first.Reason {
	case WaitApproval, WaitEvent:
		out.Reason, out.WaitID, out.AnswerWith = string(WaitEvent), first.ID, first.answerWith()
	case WaitTimer:
		for i := range waits {
			if waits[i].Reason == WaitTimer {
				out.WakeAt = min(out.WakeAt, waits[i].WakeAt)
			}
		}
	case WaitChild:
		for i := range waits {
			if waits[i].Reason == WaitChild {
				out.PendingChildren++
			}
		}
	}
	return out
}

func waitText(w *wire.RunWait) (any, error) {
	if w == nil {
		return nil, nil
	}
	return jsonText(w)
}

// Settle ends a wait of a run, which goes on if that was what it waited for. It tells whether there was such a wait; approvals
// and money are settled by whoever names their reason, so that nothing else does by mistake.
func (q *Queue) Settle(tx store.Tx, runID, waitID string, reasons ...Reason) (bool, error) {
	waits, err := waitsWhere(tx, `run_id = ? AND id = ?`, runID, waitID)
	if err != nil || len(waits) == 0 {
		return false, err
	}
	w := &waits[0]
	allowed := w.Reason != WaitApproval && w.Reason != WaitBudget
	for _, r := range reasons {
		allowed = allowed || r == w.Reason
	}
	if !allowed {
		return false, nil
	}
	return true, q.settleWait(tx, w)
}

// settleWait removes a wait, and queues its run when it was parked on it.
func (q *Queue) settleWait(tx store.Tx, w *Wait) error {
	if _, err := tx.Exec(`DELETE FROM run_waits WHERE run_id = ? AND id = ?`, w.Run, w.ID); err != nil {
		return fmt.Errorf("settle wait: %w", err)
	}
	tx.AfterCommit(func() { q.poke(w.Run) })
	query := `SELECT ` + columns + ` FROM runs WHERE id = ?`
	if tx.Dialect() == store.Postgres {
		// Two waits that are settled at once must not both think that the other one is left.
		query += ` FOR UPDATE`
	}
	r, err := scan(tx.QueryRow(query, w.Run))
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil || r.Status != Waiting {
		return err
	}
	left, err := Waits(tx, w.Run)
	if err != nil {
		return err
	}
	r.UpdatedAt = tx.Now()
	if len(left) > 0 && !w.Alone {
		r.Wait = shown(left)
	} else {
		r.Status, r.NotBefore, r.Wait = Queued, 0, nil
		tx.AfterCommit(func() {
			q.opts.Point(PointWoken)
			q.Wake()
		})
	}
	text, err := waitText(r.Wait)
	if err != nil {
		return err
	}
	if _, err := tx.Exec(`UPDATE runs SET status = ?, wait = ?, not_before = ?, updated_at = ? WHERE id = ?`, string(r.Status), text, r.NotBefore, r.UpdatedAt, r.ID); err != nil {
		return fmt.Errorf("wake run: %w", err)
	}
	return q.changed(tx, &r)
}

// maxDue is how many timers one sweep settles in a transaction.
const maxDue = 100

// wakeDue settles the waits whose time has come, the earliest first.
func (q *Queue) wakeDue(ctx context.Context) error {
	for {
		var due []Wait
		err := q.opts.Store.Read(ctx, func(tx store.Tx) (err error) {
			due, err = waitsWhere(tx, `wake_at > 0 AND wake_at <= ? ORDER BY wake_at, run_id, id LIMIT ?`, clock.Millis(q.opts.Clock), maxDue)
			return err
		})
		if err != nil || len(due) == 0 {
			return err
		}
		err = q.opts.Store.Write(ctx, store.Background, func(tx store.Tx) error {
			for i := range due {
				// It may have been settled since it was read.
				if _, err := q.Settle(tx, due[i].Run, due[i].ID, due[i].Reason); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil || len(due) < maxDue {
			return err
		}
	}
}

// childEnded settles what waits for the end of a run, and has the hook deliver its result.
func (q *Queue) childEnded(tx store.Tx, r *Run) error {
	if r.Parent == "" {
		return nil
	}
	waits, err := waitsWhere(tx, `child_run_id = ?`, r.ID)
	if err != nil {
		return err
	}
	if len(waits) == 0 && q.opts.Hooks.Ended != nil {
		return q.opts.Hooks.Ended(tx, r)
	}
	tx.AfterCommit(func() { q.opts.Point(PointChildEnded) })
	for i := range waits {
		if q.opts.Hooks.Delivered != nil {
			if err := q.opts.Hooks.Delivered(tx, r, &waits[i]); err != nil {
				return err
			}
		}
		if err := q.settleWait(tx, &waits[i]); err != nil {
			return err
		}
	}
	return nil
}

// forgetWaits drops what an ended run was waiting for.
func forgetWaits(tx store.Tx, runID string) error {
	if _, err := tx.Exec(`DELETE FROM run_waits WHERE run_id = ?`, runID); err != nil {
		return fmt.Errorf("forget waits: %w", err)
	}
	return nil
}
