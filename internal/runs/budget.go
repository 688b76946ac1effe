package runs

import (
	"fmt"

	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

// Budget bounds a tree of runs (seeds/000 "Budget"). Every root has one, and children copy it, so that a whole tree follows one
// setting.
type Budget struct {
	// MaxDepth is how many model children may stand below one another, MaxChildren how many one run may start.
	MaxDepth    int64 `json:"maxDepth"`
	MaxChildren int64 `json:"maxChildren"`
	// Depth is that of the run, counting model children only: a script does not count.
	Depth int64 `json:"depth,omitempty"`
}

// The presets of thoroughness.
const (
	Quick  = "quick"
	Normal = "normal"
	Deep   = "deep"
)

// BudgetOf is the budget of a root with a thoroughness; an empty or unknown one is normal.
func BudgetOf(thoroughness string) Budget {
	switch thoroughness {
	case Quick:
		return Budget{MaxDepth: 1, MaxChildren: 4}
	case Deep:
		return Budget{MaxDepth: 5, MaxChildren: 16}
	}
	return Budget{MaxDepth: 3, MaxChildren: 10}
}

// OrNormal is the budget itself, or that of a normal root for a run that has none.
func (b Budget) OrNormal() Budget {
	if b == (Budget{}) {
		return BudgetOf(Normal)
	}
	return b
}

// Leaf tells whether a run with the budget may start no children.
func (b Budget) Leaf() bool { return b.Depth >= b.MaxDepth }

// Started is how many children a run has started: a call counts once, whatever became of its child.
func Started(tx store.Tx, id string) (n int64, err error) {
	err = tx.QueryRow(`SELECT count(DISTINCT parent_tool_call_id) FROM runs WHERE parent_run_id = ?`, id).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count children: %w", err)
	}
	return n, nil
}

// ChildOf is the newest run that a call of a run has started, or ok false when it has started none.
func ChildOf(tx store.Tx, id, call string) (r Run, ok bool, err error) {
	found, err := list(tx, `SELECT `+columns+` FROM runs WHERE parent_run_id = ? AND parent_tool_call_id = ? ORDER BY created_at DESC, id DESC LIMIT 1`, id, call)
	if err != nil || len(found) == 0 {
		return Run{}, false, err
	}
	return found[0], true, nil
}

// Children lists the runs that a session's unfinished turns have started and that have not ended, the oldest first, at most limit.
func Children(tx store.Tx, agent, session string, limit int64) ([]Run, error) {
	return list(tx, `SELECT `+columns+` FROM runs WHERE status IN ('queued', 'claimed', 'running', 'waiting') AND parent_run_id IN (
		SELECT p.id FROM runs p WHERE p.agent_id = ? AND p.session_id = ? AND p.kind = 'agent'
		AND p.status IN ('queued', 'claimed', 'running', 'waiting')) ORDER BY created_at, id LIMIT ?`, agent, session, limit)
}

// Handover lets what waits for the end of a run wait for another one, which goes on with its work.
func Handover(tx store.Tx, from, to string) error {
	if _, err := tx.Exec(`UPDATE run_waits SET child_run_id = ? WHERE child_run_id = ?`, to, from); err != nil {
		return fmt.Errorf("hand over waits: %w", err)
	}
	return nil
}

// StepDone tells whether every child that a run has started for a step of its plan has succeeded.
func StepDone(tx store.Tx, parent, step string) (bool, error) {
	open, err := exists(tx, `SELECT 1 FROM runs WHERE parent_run_id = ? AND plan_step_id = ? AND status <> 'succeeded' LIMIT 1`, parent, step)
	return !open, err
}

// KeepPlan copies a settled plan onto the run that owns it, whoever settled it.
func (q *Queue) KeepPlan(tx store.Tx, id string, plan *wire.RunPlan) error {
	text, err := jsonText(plan)
	if err != nil {
		return err
	}
	r, err := scan(tx.QueryRow(`UPDATE runs SET plan = ?, updated_at = ? WHERE id = ? RETURNING `+columns, text, tx.Now(), id))
	if err != nil {
		return fmt.Errorf("keep plan: %w", err)
	}
	return q.changed(tx, &r)
}
