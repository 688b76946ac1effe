package runs

import (
	"strings"

	"github.com/loam-agents/loam/internal/store"
)

// Place is a run in a list: the list goes on after it.
type Place struct {
	CreatedAt int64  `json:"createdAt"`
	ID        string `json:"id"`
}

// Query selects runs of an account; empty fields select all.
type Query struct {
	// Account is needed.
	Account string
	// Root selects a tree, oldest first. Session selects its root runs.
	Root, Session, Agent, Status string
	// After is the last run of the page before; nil for the first page.
	After *Place
	Limit int64
}

// Find lists runs, newest first unless they are a tree, and tells whether there are more. Runs whose agent is gone are left out.
func Find(tx store.Tx, q Query) (page []Run, more bool, err error) {
	where, args := "account_id = ? AND agent_id IS NOT NULL", []any{q.Account}
	for _, f := range []struct{ condition, value string }{
		{"root_run_id = ?", q.Root}, {"session_id = ? AND parent_run_id IS NULL", q.Session}, {"agent_id = ?", q.Agent},
		{"status = ?", q.Status},
	} {
		if f.value != "" {
			where, args = where+" AND "+f.condition, append(args, f.value)
		}
	}
	order, beyond := "DESC", "<"
	if q.Root != "" {
		order, beyond = "ASC", ">"
	}
	if q.After != nil {
		where += " AND (created_at, id) " + beyond + " (?, ?)"
		args = append(args, q.After.CreatedAt, q.After.ID)
	}
	query := strings.ReplaceAll(`SELECT `+columns+` FROM runs WHERE `+where+` ORDER BY created_at %, id % LIMIT ?`, "%", order)
	page, err = list(tx, query, append(args, q.Limit+1)...)
	if int64(len(page)) > q.Limit {
		return page[:q.Limit], true, err
	}
	return page, false, err
}
