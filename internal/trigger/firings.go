package trigger

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/loam-agents/loam/internal/agent/prompt"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

const firingColumns = `id, activity_key, activity_summary, status, error, run_id, session_id, matched, created_at`

// Firings are the newest firings of a trigger.
func Firings(tx store.Tx, triggerID string, limit int64) ([]wire.TriggerFiring, error) {
	rows, err := tx.Query(`SELECT `+firingColumns+` FROM trigger_firings WHERE trigger_id = ? ORDER BY created_at DESC, id DESC LIMIT ?`, triggerID, limit)
	if err != nil {
		return nil, fmt.Errorf("read firings: %w", err)
	}
	defer rows.Close()
	out := []wire.TriggerFiring{}
	for rows.Next() {
		f, err := scanFiring(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, rows.Err()
}

func scanFiring(row interface{ Scan(dest ...any) error }) (f wire.TriggerFiring, err error) {
	var run, session, matched sql.NullString
	if err := row.Scan(&f.ID, &f.ActivityKey, &f.ActivitySummary, &f.Status, &f.Error, &run, &session, &matched, &f.CreatedAt); err != nil {
		return f, fmt.Errorf("read a firing: %w", err)
	}
	f.RunID, f.SessionID = run.String, session.String
	if matched.Valid {
		if err := json.Unmarshal([]byte(matched.String), &f.MatchedConditions); err != nil {
			return f, fmt.Errorf("firing %s: decode conditions: %w", f.ID, err)
		}
	}
	return f, nil
}

// ContextOf is what is known of the firing that a session began with; nil when there is none, or when it was forgotten.
func ContextOf(tx store.Tx, started *wire.SessionTrigger) (*wire.SessionTriggerContext, error) {
	if started == nil {
		return nil, nil
	}
	out := wire.SessionTriggerContext{SessionTrigger: *started}
	var activity, blocks string
	err := tx.QueryRow(`SELECT activity, prompt, status, error FROM trigger_firings WHERE id = ?`, started.FiringID).
		Scan(&activity, &blocks, &out.Status, &out.Error)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the firing of a session: %w", err)
	}
	if out.PromptBlocks, err = decodePrompt(blocks); err != nil {
		return nil, err
	}
	out.Prompt, out.Activity = prompt.Markdown(out.PromptBlocks), wire.Payload(activity)
	return &out, nil
}
