package trigger

import (
	"cmp"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/fence"
	"github.com/loam-agents/loam/internal/runs"
	"github.com/loam-agents/loam/internal/sessionlog"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

const (
	// maxAnswer bounds what a firing tells of the answer of a turn, and maxOutput of the output of a script, in bytes.
	maxAnswer = 8 << 10
	maxOutput = 16 << 10
)

// RunEnded is the hook of the queue: it notes how a run ended on the firing that began it, and fires the triggers which wait for runs
// that end.
func (s *Service) RunEnded(tx store.Tx, r *runs.Run) error {
	if r.Origin == Origin {
		if err := s.concluded(tx, r); err != nil {
			return err
		}
	}
	waiting, err := list(tx, `account_id = ? AND source_type = ? AND enabled = 1 ORDER BY created_at, id`, r.Account, RunCompleted)
	if err != nil || len(waiting) == 0 {
		return err
	}
	var e *event
	for i := range waiting {
		t := &waiting[i]
		if !completes(&t.Source, r) || r.FinishedAt < t.ArmedAt {
			continue
		}
		if e == nil {
			if e, err = completed(tx, r); err != nil {
				return err
			}
		}
		if _, _, err := s.fire(tx, t, *e); err != nil {
			return err
		}
	}
	return nil
}

// completes tells whether the end of a run is what a source waits for.
func completes(source *wire.TriggerSource, r *runs.Run) bool {
	return (source.AgentID == "" || source.AgentID == r.Agent) && (source.Status == "" || source.Status == string(r.Status)) &&
		strings.Contains(strings.ToLower(r.Title), strings.ToLower(source.TitleMatch))
}

// completed is the event of a run that has ended.
func completed(tx store.Tx, r *runs.Run) (*event, error) {
	activity := map[string]any{
		"type": RunCompleted, "runId": r.ID, "agentId": r.Agent, "title": r.Title, "status": string(r.Status), "kind": r.Kind,
		"origin": r.Origin, "finishedAt": r.FinishedAt,
	}
	if r.Session != "" {
		activity["sessionId"] = r.Session
	}
	if r.Error != nil {
		activity["error"] = r.Error
	}
	if err := result(tx, r, activity); err != nil {
		return nil, err
	}
	return &event{
		key: "run:" + r.ID, summary: fmt.Sprintf("Run %q %s", fence.Inline(r.Title), r.Status), activity: activity,
		author: "run " + r.ID, cause: r,
	}, nil
}

// result adds what a run has led to: the answer of a turn, the output of a script.
func result(tx store.Tx, r *runs.Run, activity map[string]any) error {
	if len(r.Output) == 0 {
		return nil
	}
	if r.Kind != runs.KindAgent {
		if len(r.Output) <= maxOutput {
			activity["output"] = r.Output
		}
		return nil
	}
	var out struct {
		AssistantEventID string `json:"assistantEventId"`
	}
	if json.Unmarshal(r.Output, &out) != nil || out.AssistantEventID == "" {
		return nil
	}
	text, err := sessionlog.MessageText(tx, r.Session, out.AssistantEventID)
	if len(text) > maxAnswer {
		text = strings.ToValidUTF8(text[:maxAnswer], "") + "…"
	}
	activity["answer"] = text
	return err
}

// concluded notes on a firing how the run that it began has ended.
func (s *Service) concluded(tx store.Tx, r *runs.Run) error {
	var id, status, onFailure, triggerID string
	err := tx.QueryRow(`SELECT id, trigger_id, status, on_failure FROM trigger_firings WHERE run_id = ? AND status IN (?, ?)`,
		r.ID, StatusCreated, StatusRunning).Scan(&id, &triggerID, &status, &onFailure)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for the firing of a run: %w", err)
	}
	if r.Status == runs.Succeeded {
		if successor := continuedAs(r); successor != "" {
			return s.note(tx, id, "", "run_id = ?", successor)
		}
		if status == StatusCreated {
			return nil
		}
		return s.note(tx, id, triggerID, "status = ?", StatusSucceeded)
	}
	problem := "The run was canceled"
	if r.Error != nil {
		problem = r.Error.Message
	}
	if status == StatusRunning && onFailure == onFailureThread && r.Status == runs.Failed {
		return s.escalate(tx, id, triggerID, r, problem)
	}
	if err := s.note(tx, id, triggerID, "status = ?, error = ?", StatusError, problem); err != nil {
		return err
	}
	_, err = tx.Exec(`UPDATE triggers SET last_error = ? WHERE id = ?`, problem, triggerID)
	return err
}

// note changes a firing, and announces it when its trigger is given.
func (s *Service) note(tx store.Tx, firingID, triggerID, set string, args ...any) error {
	if _, err := tx.Exec(`UPDATE trigger_firings SET `+set+` WHERE id = ?`, append(args, firingID)...); err != nil {
		return fmt.Errorf("note the end of a firing: %w", err)
	}
	if triggerID == "" {
		return nil
	}
	t, err := Get(tx, triggerID)
	if fault.CodeOf(err) == fault.NotFound {
		return nil
	}
	if err == nil {
		s.opts.Changed(tx, t.Account, t.Agent, ReasonUpdated)
	}
	return err
}

// continuedAs is the run that took over when a script went on as a new one.
func continuedAs(r *runs.Run) string {
	var out struct {
		ContinuedAsRunID string `json:"continuedAsRunId"`
	}
	if r.Kind != runs.KindWorkflow || json.Unmarshal(r.Output, &out) != nil {
		return ""
	}
	return out.ContinuedAsRunID
}

// escalate opens a conversation about a run without one that failed.
func (s *Service) escalate(tx store.Tx, firingID, triggerID string, r *runs.Run, problem string) error {
	t, err := Get(tx, triggerID)
	if fault.CodeOf(err) == fault.NotFound {
		return nil
	}
	if err != nil {
		return err
	}
	f := &firing{s: s, tx: tx, t: &t, id: firingID, now: s.now()}
	var activity string
	err = tx.QueryRow(`SELECT activity_key, activity_summary, activity FROM trigger_firings WHERE id = ?`, firingID).Scan(&f.e.key, &f.e.summary, &activity)
	if err != nil {
		return fmt.Errorf("read a firing: %w", err)
	}
	f.activity = json.RawMessage(activity)
	if t.Source.Type != Schedule {
		f.e.author = "the event of " + t.Name
	}
	status := StatusEscalated
	err = f.thread(f.failure(cmp.Or(problem, string(r.Status))))
	if refused, ok := errors.AsType[*fault.Error](err); ok && refused.Code != fault.Internal {
		status, problem = StatusError, problem+"; no thread could be opened about it: "+refused.Message
	} else if err != nil {
		return err
	}
	if _, err := tx.Exec(`UPDATE triggers SET last_error = ? WHERE id = ?`, problem, triggerID); err != nil {
		return fmt.Errorf("note a failure: %w", err)
	}
	return s.note(tx, firingID, triggerID, "status = ?, error = ?, session_id = ?", status, problem, nullable(f.session))
}
