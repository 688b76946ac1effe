package trigger

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/loam-agents/loam/dagcbor"
	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

const columns = `id, account_id, agent_id, name, enabled, source, prompt, continuation, program, armed_at, next_at,
	last_checked_at, last_fired_at, last_error, merged_into, created_at, updated_at`

func scan(row interface{ Scan(dest ...any) error }) (Trigger, error) {
	var t Trigger
	var source, blocks string
	var continuation, program sql.NullString
	err := row.Scan(&t.ID, &t.Account, &t.Agent, &t.Name, &t.Enabled, &source, &blocks, &continuation, &program, &t.ArmedAt, &t.NextAt,
		&t.LastCheckedAt, &t.LastFiredAt, &t.LastError, &t.MergedInto, &t.CreatedAt, &t.UpdatedAt)
	if err != nil {
		return t, err
	}
	if err := json.Unmarshal([]byte(source), &t.Source); err != nil {
		return t, fmt.Errorf("trigger %s: decode source: %w", t.ID, err)
	}
	if t.Prompt, err = decodePrompt(blocks); err != nil {
		return t, fmt.Errorf("trigger %s: %w", t.ID, err)
	}
	if continuation.Valid {
		if err := json.Unmarshal([]byte(continuation.String), &t.Continuation); err != nil {
			return t, fmt.Errorf("trigger %s: decode continuation: %w", t.ID, err)
		}
	}
	if program.Valid {
		t.Program = json.RawMessage(program.String)
	}
	return t, nil
}

// encodePrompt keeps bytes inside of blocks in their DAG-JSON form.
func encodePrompt(blocks wire.PromptBlocks) (string, error) {
	text, err := dagcbor.ToJSON(blocks)
	if err != nil {
		return "", fmt.Errorf("encode prompt: %w", err)
	}
	return string(text), nil
}

func decodePrompt(text string) (blocks wire.PromptBlocks, err error) {
	value, err := dagcbor.FromDAGJSON([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("decode prompt: %w", err)
	}
	raw, err := dagcbor.Reencode(value)
	if err == nil {
		err = dagcbor.Unmarshal(raw, &blocks)
	}
	if err != nil {
		return nil, fmt.Errorf("decode prompt: %w", err)
	}
	return blocks, nil
}

// encoded are the values of a row that are kept as text.
type encoded struct{ source, prompt, continuation, program any }

func encode(t *Trigger) (e encoded, err error) {
	source, err := json.Marshal(t.Source)
	if err != nil {
		return e, fmt.Errorf("encode trigger source: %w", err)
	}
	e.source = string(source)
	if e.prompt, err = encodePrompt(t.Prompt); err != nil {
		return e, err
	}
	if t.Continuation != nil {
		continuation, err := json.Marshal(t.Continuation)
		if err != nil {
			return e, fmt.Errorf("encode trigger continuation: %w", err)
		}
		e.continuation = string(continuation)
	}
	if len(t.Program) > 0 {
		e.program = string(t.Program)
	}
	return e, nil
}

func missing() error { return fault.Missing("%s", wire.MsgTriggerNotFound) }

// Get finds a trigger, or returns fault.NotFound.
func Get(tx store.Tx, id string) (Trigger, error) {
	t, err := scan(tx.QueryRow(`SELECT `+columns+` FROM triggers WHERE id = ?`, id))
	if errors.Is(err, sql.ErrNoRows) {
		return t, missing()
	}
	return t, err
}

// List returns the triggers of an agent, newest update first.
func List(tx store.Tx, agentID string) ([]Trigger, error) {
	return list(tx, `agent_id = ? ORDER BY updated_at DESC, id DESC`, agentID)
}

func list(tx store.Tx, condition string, args ...any) ([]Trigger, error) {
	rows, err := tx.Query(`SELECT `+columns+` FROM triggers WHERE `+condition, args...)
	if err != nil {
		return nil, fmt.Errorf("read triggers: %w", err)
	}
	defer rows.Close()
	out := []Trigger{}
	for rows.Next() {
		t, err := scan(rows)
		if err != nil {
			return nil, fmt.Errorf("read triggers: %w", err)
		}
		out = append(out, t)
	}
	return out, rows.Err()
}

// Create saves a new trigger of an agent and announces it.
func (s *Service) Create(tx store.Tx, account, agentID string, d *Draft) (Trigger, error) {
	var n int
	if err := tx.QueryRow(`SELECT count(*) FROM triggers WHERE agent_id = ?`, agentID).Scan(&n); err != nil {
		return Trigger{}, fmt.Errorf("count triggers: %w", err)
	}
	if n >= MaxPerAgent {
		return Trigger{}, fault.New(fault.BudgetExceeded, "An agent has at most %d triggers", MaxPerAgent).With("limit", MaxPerAgent)
	}
	now := s.opts.Clock.Now()
	t := Trigger{ID: s.opts.IDs(), Account: account, Agent: agentID, CreatedAt: now.UnixMilli(), UpdatedAt: now.UnixMilli()}
	t.take(d)
	s.arm(&t, now)
	e, err := encode(&t)
	if err != nil {
		return t, err
	}
	_, err = tx.Exec(`INSERT INTO triggers (id, account_id, agent_id, name, enabled, source_type, source, prompt, continuation, program,
		armed_at, next_at, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		t.ID, account, agentID, t.Name, t.Enabled, t.Source.Type, e.source, e.prompt, e.continuation, e.program, t.ArmedAt, t.NextAt, t.CreatedAt, t.UpdatedAt)
	if err != nil {
		return t, fmt.Errorf("create trigger: %w", err)
	}
	if err := s.saveSecrets(tx, &t, d); err != nil {
		return t, err
	}
	s.changed(tx, &t, ReasonCreated)
	return t, nil
}

// Stale is how a change of a trigger is refused that was meant for an earlier state of it.
func Stale() error {
	return fault.New(fault.Conflict, "The trigger was changed elsewhere: read it again and repeat the change")
}

// Update replaces a trigger by a draft that was made from t, and announces it. It fails with fault.Conflict when t is not what is
// stored any more, or when the trigger was merged into another one.
func (s *Service) Update(tx store.Tx, t Trigger, d *Draft) (Trigger, error) {
	stored, err := Get(tx, t.ID)
	if err != nil {
		return t, err
	}
	if stored.UpdatedAt != t.UpdatedAt {
		return t, Stale()
	}
	if stored.MergedInto != "" {
		return t, fault.New(fault.Conflict, "This trigger was merged into another one and cannot be edited")
	}
	now := s.opts.Clock.Now()
	before, err := encode(&stored)
	if err != nil {
		return t, err
	}
	wasEnabled := stored.Enabled
	stored.take(d)
	e, err := encode(&stored)
	if err != nil {
		return t, err
	}
	if e.source != before.source || stored.Enabled != wasEnabled {
		s.arm(&stored, now)
	}
	// A later change has a later time, whatever the clock says: it is what tells a stale edit.
	stored.LastError, stored.UpdatedAt = "", max(now.UnixMilli(), stored.UpdatedAt+1)
	_, err = tx.Exec(`UPDATE triggers SET name = ?, enabled = ?, source_type = ?, source = ?, prompt = ?, continuation = ?, program = ?,
		armed_at = ?, next_at = ?, last_error = '', updated_at = ? WHERE id = ?`,
		stored.Name, stored.Enabled, stored.Source.Type, e.source, e.prompt, e.continuation, e.program, stored.ArmedAt, stored.NextAt, stored.UpdatedAt, t.ID)
	if err != nil {
		return t, fmt.Errorf("update trigger: %w", err)
	}
	if err := s.saveSecrets(tx, &stored, d); err != nil {
		return t, err
	}
	s.changed(tx, &stored, ReasonUpdated)
	return stored, nil
}

// Delete removes a trigger with its firings and secrets, and announces it. What it started goes on.
func (s *Service) Delete(tx store.Tx, t *Trigger) error {
	if err := s.remove(tx, t); err != nil {
		return err
	}
	s.changed(tx, t, ReasonDeleted)
	return nil
}

// DeleteAll removes the triggers of an agent that is deleted.
func (s *Service) DeleteAll(tx store.Tx, agentID string) error {
	all, err := List(tx, agentID)
	if err != nil {
		return err
	}
	for i := range all {
		if err := s.remove(tx, &all[i]); err != nil {
			return err
		}
	}
	if _, err := tx.Exec(`DELETE FROM trigger_firings WHERE agent_id = ?`, agentID); err != nil {
		return fmt.Errorf("delete firings: %w", err)
	}
	return nil
}

func (s *Service) remove(tx store.Tx, t *Trigger) error {
	for _, stmt := range []string{
		`DELETE FROM trigger_firings WHERE trigger_id = ?`, `DELETE FROM trigger_claims WHERE trigger_id = ?`, `DELETE FROM triggers WHERE id = ?`,
	} {
		if _, err := tx.Exec(stmt, t.ID); err != nil {
			return fmt.Errorf("delete trigger: %w", err)
		}
	}
	return s.dropSecrets(tx, t)
}

// changed announces a trigger, and makes the scheduler look at it.
func (s *Service) changed(tx store.Tx, t *Trigger, reason string) {
	s.opts.Changed(tx, t.Account, t.Agent, reason)
	tx.AfterCommit(s.Wake)
}

// ForgetSession forgets, in firings, a session that is deleted.
func ForgetSession(tx store.Tx, sessionID string) error {
	if _, err := tx.Exec(`UPDATE trigger_firings SET session_id = NULL WHERE session_id = ?`, sessionID); err != nil {
		return fmt.Errorf("forget the session of firings: %w", err)
	}
	return nil
}

func (s *Service) now() int64 { return clock.Millis(s.opts.Clock) }
