package engine

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/model"
	"github.com/loam-agents/loam/internal/sessionlog"
	"github.com/loam-agents/loam/internal/space"
	"github.com/loam-agents/loam/internal/spawn"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/tooldoc"
	"github.com/loam-agents/loam/internal/verbs"
	"github.com/loam-agents/loam/wire"
)

// MaxMisses is how many results that do not fit a typed child may return; the last of them ends its run (spec/agents-protocol.md §17
// "return_result").
const MaxMisses = 3

// typed is the tool of a child that has to return a value: its input is the value.
type typed struct {
	document  tooldoc.Document
	validator *tooldoc.Validator
}

// expectTyped makes the tool of a typed child.
func (t *turn) expectTyped() error {
	if len(t.contract.Output) == 0 {
		return nil
	}
	d := tooldoc.Document{
		Name: "return_result", Kind: tooldoc.Verb, Summary: "Return the result.",
		Description: "Return the result that you were asked for. It is checked, and ends your turn.", Input: t.contract.Output,
	}
	validator, err := tooldoc.NewValidator(&d)
	if err != nil {
		return fault.Wrap(err, fault.ValidationFailed, "The schema of the result is invalid")
	}
	t.typed = &typed{d, validator}
	return nil
}

// check is the value of a call, or why it is not taken.
func (y *typed) check(arguments string) (value json.RawMessage, why []string) {
	if value, why = y.validator.Parse(arguments); len(why) == 0 && len(value) > spawn.MaxResult {
		why = []string{fmt.Sprintf("$: the result has %d bytes, at most %d KiB", len(value), spawn.MaxResult>>10)}
	}
	return value, why
}

// miss answers a value that is not taken with the reasons.
func (y *typed) miss(arguments string) verbs.Action {
	_, why := y.check(arguments)
	return verbs.Action{Effect: tooldoc.Pure, Run: func(context.Context) (verbs.Result, error) {
		return verbs.Result{Value: missed(why)}, nil
	}}
}

func missed(why []string) space.Result {
	return space.Result{"summary": "The result does not fit its schema and was not taken. Correct it and return it again.", "validationErrors": why}
}

// giveBack ends the run of a typed child with an answer that returns the result, or with the last miss that it may make. Other calls of
// such an answer are not carried out.
func (t *turn) giveBack(ctx context.Context, answer model.Event, parts []model.Part) (ended bool, err error) {
	if t.typed == nil {
		return false, nil
	}
	for i := range parts {
		if parts[i].Name != t.typed.document.Name {
			continue
		}
		value, why := t.typed.check(parts[i].Arguments)
		if len(why) == 0 {
			return true, t.conclude(ctx, answer, parts, parts[i].CallID, space.Result{"summary": "The result was returned", "ok": true}, value)
		}
		if t.misses()+1 >= MaxMisses {
			return true, t.conclude(ctx, answer, parts, parts[i].CallID, missed(why), nil)
		}
	}
	return false, nil
}

// misses is how many results this run has returned that were not taken: one that is taken ends it.
func (t *turn) misses() (n int) {
	for i := range t.log.entries {
		if e := &t.log.entries[i]; e.run == t.run.ID && e.kind == sessionlog.TypeToolCall && e.call.Name == t.typed.document.Name {
			n++
		}
	}
	return n
}

// conclude writes down the answer and what became of its calls, and ends the run with the result; without one it has failed.
func (t *turn) conclude(ctx context.Context, answer model.Event, parts []model.Part, deciding string, said space.Result, value json.RawMessage) error {
	output, err := json.Marshal(said)
	if err != nil {
		return fmt.Errorf("encode result: %w", err)
	}
	calls := make([]*call, len(parts))
	for i, p := range parts {
		calls[i] = &call{part: p}
	}
	t.engine.opts.Point(PointBeforeFinish)
	t.partial.done()
	return t.engine.opts.Store.Write(ctx, store.Interactive, func(tx store.Tx) error {
		entries := t.announcement(answer, calls)
		spoke := len(entries) > len(calls)
		for _, p := range parts {
			result := wire.ToolResultEvent{Type: sessionlog.TypeToolResult, ToolCallID: p.CallID, Name: p.Name, Output: output}
			if p.CallID != deciding {
				result.Output, result.Error = nil, "This call was not carried out: the turn ended with the result."
			}
			entries = append(entries, t.entry(result))
		}
		// Finish checks the lease for both.
		events, err := t.append(tx, nil, whole(answer.Message, nil), entries...)
		if err != nil {
			return err
		}
		o := spawn.Output{AssistantEventID: t.said, Result: value}
		if spoke {
			o.AssistantEventID = events[0].ID
		}
		if len(value) == 0 {
			o.UnmetObligations = append([]wire.UnmetObligation{{Kind: owesResult}}, t.owesSteps()...)
		}
		return t.end(tx, o)
	})
}

// owesSteps is the obligation of the plan, if its steps are open.
func (t *turn) owesSteps() []wire.UnmetObligation {
	if open := t.openSteps(); len(open) > 0 {
		return []wire.UnmetObligation{{Kind: owesPlan, Steps: open}}
	}
	return nil
}
