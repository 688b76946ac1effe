package spawn

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/loam-agents/loam/internal/runs"
	"github.com/loam-agents/loam/internal/script"
	"github.com/loam-agents/loam/internal/sessionlog"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

// Verb is the name of the verb that starts children.
const Verb = "delegate"

// Output is what a run of an agent leaves behind.
type Output struct {
	// AssistantEventID is the event that ended the turn.
	AssistantEventID string `json:"assistantEventId,omitempty"`
	// Result is the typed result of a child that has to deliver one.
	Result json.RawMessage `json:"result,omitempty"`
	// ContinuedTo is the session in which the turn goes on, when it ended so.
	ContinuedTo string `json:"continuedToSessionId,omitempty"`
	// UnmetObligations is what the turn still owed when it ended.
	UnmetObligations []wire.UnmetObligation `json:"unmetObligations,omitempty"`
}

// The codes with which a script hears of a child that did not succeed (spec/agents-protocol.md §17).
const (
	codeCanceled = "canceled"
	codeFailed   = "agent-failed"
)

// Deliver is a hook of the queue: it writes what an ended child led to where its parent looks for it, in the log of its session or in
// its journal. A child that failed or was canceled is a result like any other.
func (s *Spawner) Deliver(tx store.Tx, child *runs.Run, w *runs.Wait) error {
	parent, err := runs.Get(tx, w.Run)
	if err != nil {
		return err
	}
	output, err := outputOf(tx, child)
	if err != nil {
		return err
	}
	if parent.Kind == runs.KindWorkflow {
		return s.journal(tx, child, w, output)
	}
	result, err := resultOf(tx, &parent, child, output)
	if err != nil {
		return err
	}
	_, err = s.opts.Log.Append(tx, parent.Session, nil, sessionlog.Entry{Run: parent.ID, Payload: wire.ToolResultEvent{
		Type: sessionlog.TypeToolResult, ToolCallID: w.ToolCall, Name: Verb, Output: result,
		Meta: &wire.EventMeta{DurationMs: max(child.FinishedAt-child.CreatedAt, 0)},
	}})
	if err != nil {
		return err
	}
	return s.settleStep(tx, &parent, child)
}

// outputOf is what a child that succeeded returned: its typed result, what its script returned, or its last words.
func outputOf(tx store.Tx, child *runs.Run) (json.RawMessage, error) {
	if child.Status != runs.Succeeded || child.Kind == runs.KindWorkflow {
		return child.Output, nil
	}
	var out Output
	if len(child.Output) > 0 {
		if err := json.Unmarshal(child.Output, &out); err != nil {
			return nil, fmt.Errorf("decode output of run %s: %w", child.ID, err)
		}
	}
	if len(out.Result) > 0 {
		return out.Result, nil
	}
	text, err := sessionlog.MessageText(tx, child.Session, out.AssistantEventID)
	if err != nil {
		return nil, err
	}
	return json.Marshal(spoken(text, child.Session))
}

// spoken is the output of a child that answered in words, cut to what a log keeps of a result.
func spoken(text, session string) map[string]any {
	if len(text) <= MaxResult/2 {
		return map[string]any{"text": text}
	}
	return map[string]any{"text": strings.ToValidUTF8(text[:MaxResult/2], ""), "truncated": true, "rest": "thread:" + session}
}

// result is the result of a call that started a child (spec/agents-protocol.md §8.5).
type result struct {
	Summary    string          `json:"summary"`
	Status     runs.Status     `json:"status"`
	Run        string          `json:"runId"`
	Session    string          `json:"sessionId,omitempty"`
	Output     json.RawMessage `json:"output,omitempty"`
	Truncated  bool            `json:"truncated,omitempty"`
	Error      *wire.RunError  `json:"error,omitempty"`
	Delegation delegation      `json:"delegation"`
}

// delegation tells a parent how far it may still go.
type delegation struct {
	Depth         int64  `json:"depth"`
	MaxDepth      int64  `json:"maxDepth"`
	Could         bool   `json:"childCouldDelegate"`
	Remaining     int64  `json:"parentChildrenRemaining"`
	Most          int64  `json:"parentMaxChildren"`
	WhenExhausted string `json:"note,omitempty"`
}

func resultOf(tx store.Tx, parent, child *runs.Run, output json.RawMessage) (json.RawMessage, error) {
	started, err := runs.Started(tx, parent.ID)
	if err != nil {
		return nil, err
	}
	budget, own := parent.Budget.OrNormal(), child.Budget.OrNormal()
	r := result{
		Summary: fmt.Sprintf("%s: %s", child.Title, child.Status), Status: child.Status, Run: child.ID, Session: child.Session, Error: child.Error,
		Delegation: delegation{
			Depth: own.Depth, MaxDepth: own.MaxDepth, Could: !own.Leaf(),
			Remaining: max(budget.MaxChildren-started, 0), Most: budget.MaxChildren,
		},
	}
	if r.Delegation.Remaining == 0 {
		r.Delegation.WhenExhausted = exhausted(budget.MaxChildren)
	}
	if child.Status == runs.Succeeded {
		r.Output, r.Truncated = output, len(output) > MaxResult
	}
	if r.Truncated {
		cut, err := json.Marshal(strings.ToValidUTF8(string(output[:MaxResult/4]), ""))
		if err != nil {
			return nil, fmt.Errorf("encode the result of a child: %w", err)
		}
		r.Output = cut
	}
	if e := r.Error; e != nil {
		r.Error = &wire.RunError{Code: e.Code, Message: e.Message}
	}
	text, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode the result of a child: %w", err)
	}
	return text, nil
}

// journal appends the end of a child to the journal of a script.
func (s *Spawner) journal(tx store.Tx, child *runs.Run, w *runs.Wait, output json.RawMessage) error {
	e := script.Entry{Kind: script.KindResult, CallSeq: w.CallSeq, Status: script.Succeeded, Output: output}
	if child.Status != runs.Succeeded {
		e.Status, e.Output, e.Error = script.Failed, nil, &script.Failure{Code: codeCanceled, Message: fmt.Sprintf("The child %q was canceled", child.Title)}
		if child.Status == runs.Failed && child.Error != nil {
			detail, err := json.Marshal(map[string]string{"code": child.Error.Code, "runId": child.ID})
			if err != nil {
				return fmt.Errorf("encode the failure of a child: %w", err)
			}
			e.Error = &script.Failure{Code: codeFailed, Message: child.Error.Message, Detail: detail}
		}
	}
	text, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("encode a journal entry: %w", err)
	}
	_, err = s.opts.Queue().AppendJournal(tx, w.Run, text)
	return err
}

// settleStep marks the step of the parent's plan that a child worked on as done, when every child for it has succeeded. What a failure
// means is for the model to say.
func (s *Spawner) settleStep(tx store.Tx, parent, child *runs.Run) error {
	if child.PlanStep == "" || child.Status != runs.Succeeded {
		return nil
	}
	done, err := runs.StepDone(tx, parent.ID, child.PlanStep)
	if err != nil || !done {
		return err
	}
	session, err := sessionlog.Get(tx, parent.Session)
	if err != nil || session.Plan == nil || session.Plan.OwnerRunID != parent.ID {
		return err
	}
	plan := *session.Plan
	for i := range plan.Steps {
		step := &plan.Steps[i]
		if step.ID != child.PlanStep || step.Status != "running" {
			continue
		}
		step.Status, step.ResolvedBy = "done", sessionlog.ByRuntime
		if sessionlog.Settled(&plan) {
			plan.SettledAt = child.FinishedAt
			if err := s.opts.Queue().KeepPlan(tx, parent.ID, &plan); err != nil {
				return err
			}
		}
		return s.opts.Log.SetPlan(tx, session.ID, &plan)
	}
	return nil
}

// late is what the log of a child says when it delivers a result that nobody waits for any more.
const late = "The result was delivered after the turn that had asked for it had gone on without it. It stands here and with the run."

// Ended is a hook of the queue for a run that has ended and that nothing waits for: it says so in the log of a child whose result came
// too late.
func (s *Spawner) Ended(tx store.Tx, r *runs.Run) error {
	if r.Kind != runs.KindAgent || r.ParentCall == "" || r.Session == "" || r.Status != runs.Succeeded {
		return nil
	}
	c, err := Of(tx, r)
	if err != nil || c.Detached || len(c.Output) == 0 {
		return err
	}
	_, err = s.opts.Log.Append(tx, r.Session, nil, sessionlog.Entry{Run: r.ID, Payload: wire.MessageEvent{
		Type: sessionlog.TypeMessage, Role: "user", Actor: string(sessionlog.ActorSystem), Content: late,
	}})
	return err
}
