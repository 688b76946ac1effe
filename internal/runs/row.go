package runs

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/store"
)

const columns = `id, account_id, root_run_id, parent_run_id, depth, kind, agent_id, agent_version, session_id, origin, title, status,
	queue, attempt, max_attempts, recoveries, not_before, lease_owner, lease_epoch, lease_expires_at, input, output, error, usage,
	child_usage, plan, wait, parent_tool_call_id, continued_from_run_id, budget, plan_step_id, step_label, provider, model, created_at, started_at, finished_at, updated_at`

type scanner interface{ Scan(dest ...any) error }

func scan(row scanner) (Run, error) {
	var r Run
	var parent, agent, session, owner, input, output, runErr, usage, children, plan, wait, budget sql.NullString
	var version, started, finished sql.NullInt64
	err := row.Scan(&r.ID, &r.Account, &r.Root, &parent, &r.Depth, &r.Kind, &agent, &version, &session, &r.Origin, &r.Title,
		&r.Status, &r.Lane, &r.Attempt, &r.MaxAttempts, &r.Recoveries, &r.NotBefore, &owner, &r.LeaseEpoch, &r.LeaseExpires,
		&input, &output, &runErr, &usage, &children, &plan, &wait, &r.ParentCall, &r.ContinuedFrom, &budget, &r.PlanStep, &r.StepLabel, &r.Provider, &r.Model, &r.CreatedAt, &started, &finished, &r.UpdatedAt)
	if err != nil {
		return Run{}, err
	}
	r.Parent, r.Agent, r.Session, r.LeaseOwner = parent.String, agent.String, session.String, owner.String
	r.AgentVersion, r.StartedAt, r.FinishedAt = version.Int64, started.Int64, finished.Int64
	if input.Valid {
		r.Input = json.RawMessage(input.String)
	}
	if output.Valid {
		r.Output = json.RawMessage(output.String)
	}
	for _, f := range []struct {
		text sql.NullString
		into any
	}{{runErr, &r.Error}, {usage, &r.Usage}, {children, &r.Children}, {plan, &r.Plan}, {wait, &r.Wait}, {budget, &r.Budget}} {
		if !f.text.Valid {
			continue
		}
		if err := json.Unmarshal([]byte(f.text.String), f.into); err != nil {
			return Run{}, fmt.Errorf("run %s: decode row: %w", r.ID, err)
		}
	}
	return r, nil
}

func list(tx store.Tx, query string, args ...any) ([]Run, error) {
	rows, err := tx.Query(query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := []Run{}
	for rows.Next() {
		r, err := scan(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, rows.Err()
}

// nullable turns an empty string into NULL.
func nullable(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// nullableTime turns a time that was not reached into NULL.
func nullableTime(ms int64) any {
	if ms == 0 {
		return nil
	}
	return ms
}

// exists tells whether a query has a row.
func exists(tx store.Tx, query string, args ...any) (bool, error) {
	var one int
	err := tx.QueryRow(query, args...).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

func jsonText(v any) (any, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode run: %w", err)
	}
	return string(b), nil
}

// Get reads a run. It fails with not_found "Run not found".
func Get(tx store.Tx, id string) (Run, error) {
	r, err := scan(tx.QueryRow(`SELECT `+columns+` FROM runs WHERE id = ?`, id))
	if errors.Is(err, sql.ErrNoRows) {
		return Run{}, fault.Missing("Run not found")
	}
	return r, err
}

// ChildCount is the number of direct children of a run.
func ChildCount(tx store.Tx, id string) (int64, error) {
	var n int64
	err := tx.QueryRow(`SELECT count(*) FROM runs WHERE parent_run_id = ?`, id).Scan(&n)
	return n, err
}

// Tree lists the runs of a root, oldest first.
func Tree(tx store.Tx, root string, limit int64) ([]Run, error) {
	return list(tx, `SELECT `+columns+` FROM runs WHERE root_run_id = ? ORDER BY created_at, id LIMIT ?`, root, limit)
}

// OfSession lists the root runs of a session, newest first.
func OfSession(tx store.Tx, session string, limit int64) ([]Run, error) {
	return list(tx, `SELECT `+columns+` FROM runs WHERE session_id = ? AND parent_run_id IS NULL
		ORDER BY created_at DESC, id DESC LIMIT ?`, session, limit)
}

// OfAgent lists the runs of an agent, newest first.
func OfAgent(tx store.Tx, agent string, limit int64) ([]Run, error) {
	return list(tx, `SELECT `+columns+` FROM runs WHERE agent_id = ? ORDER BY created_at DESC, id DESC LIMIT ?`, agent, limit)
}

// Latest is the newest run of a session, or ok false when it never had one.
func Latest(tx store.Tx, session string) (r Run, ok bool, err error) {
	r, err = scan(tx.QueryRow(`SELECT `+columns+` FROM runs WHERE session_id = ? ORDER BY created_at DESC, id DESC LIMIT 1`, session))
	if errors.Is(err, sql.ErrNoRows) {
		return Run{}, false, nil
	}
	return r, err == nil, err
}

// SessionBusy tells whether an agent run of the session is queued, claimed or running, not counting the run `except`.
func SessionBusy(tx store.Tx, session, except string) (bool, error) {
	return exists(tx, `SELECT 1 FROM runs WHERE session_id = ? AND kind = 'agent' AND status IN ('queued', 'claimed', 'running')
		AND id <> ? LIMIT 1`, session, except)
}

// Standing are the ids of a session's runs of agents that have not ended.
func Standing(tx store.Tx, session string) (map[string]bool, error) {
	ids, err := texts(tx, `SELECT id FROM runs WHERE session_id = ? AND kind = 'agent' AND status IN ('queued', 'claimed', 'running', 'waiting')`, session)
	if err != nil {
		return nil, fmt.Errorf("read the runs of a session: %w", err)
	}
	out := make(map[string]bool, len(ids))
	for _, id := range ids {
		out[id] = true
	}
	return out, nil
}

// AgentBusy tells whether any run of the agent is live or waiting.
func AgentBusy(tx store.Tx, agent string) (bool, error) {
	return exists(tx, `SELECT 1 FROM runs WHERE agent_id = ? AND status IN ('queued', 'claimed', 'running', 'waiting') LIMIT 1`, agent)
}

// Detach forgets the session or the agent of runs whose session or agent is deleted: their history stays, unreachable.
func Detach(tx store.Tx, session, agent string) error {
	if session != "" {
		if _, err := tx.Exec(`UPDATE runs SET session_id = NULL WHERE session_id = ?`, session); err != nil {
			return err
		}
	}
	if agent != "" {
		if _, err := tx.Exec(`UPDATE runs SET agent_id = NULL, session_id = NULL WHERE agent_id = ?`, agent); err != nil {
			return err
		}
	}
	return nil
}
