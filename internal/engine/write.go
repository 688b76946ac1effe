package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/model"
	"github.com/loam-agents/loam/internal/runs"
	"github.com/loam-agents/loam/internal/sessionlog"
	"github.com/loam-agents/loam/internal/spawn"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/tooldoc"
	"github.com/loam-agents/loam/internal/verbs"
	"github.com/loam-agents/loam/wire"
)

// finish writes the answer and ends the run in one transaction. A turn that has spoken before its last call may end without
// another word. What it owes is said in the log and stays with the run.
func (t *turn) finish(ctx context.Context, answer model.Event, owed []wire.UnmetObligation) error {
	if t.speechless(answer) {
		return &model.Error{Kind: model.ErrEmptyAnswer, Message: "The model ended its turn without an answer."}
	}
	t.engine.opts.Point(PointBeforeFinish)
	t.partial.done()
	return t.engine.opts.Store.Write(ctx, store.Interactive, func(tx store.Tx) error {
		// Finish checks the lease for both.
		said, err := t.speak(tx, answer, owed, true)
		if err != nil {
			return err
		}
		return t.end(tx, spawn.Output{AssistantEventID: said, UnmetObligations: owed})
	})
}

// end ends the run, in the transaction of its last words. A typed child that has not delivered has failed.
func (t *turn) end(tx store.Tx, o spawn.Output) error {
	output, err := json.Marshal(o)
	if err != nil {
		return fmt.Errorf("encode output: %w", err)
	}
	outcome := runs.Outcome{Status: runs.Succeeded, Output: output, Usage: wire.Usage(t.unrecorded)}
	if t.typed != nil && len(o.Result) == 0 {
		outcome.Status = runs.Failed
		outcome.Error = &wire.RunError{
			Code: runs.CodeOutputSchema, Message: "The child did not return the result that it was asked for.",
			Detail: map[string]any{"unmetObligations": o.UnmetObligations},
		}
	}
	return t.lease.Finish(tx, outcome)
}

// settlePlan copies a plan that this run has just settled onto the run, where it stays when a later turn replaces the session's.
func (t *turn) settlePlan(tx store.Tx) error {
	session, err := sessionlog.Get(tx, t.session.ID)
	if err != nil {
		return err
	}
	if p := session.Plan; p != nil && p.SettledAt > 0 && p.OwnerRunID == t.run.ID {
		return t.lease.SetPlan(tx, p)
	}
	return nil
}

// spoken is the assistant message of an answer.
func (t *turn) spoken(answer model.Event, text string) sessionlog.Entry {
	usage := wire.Usage(answer.Usage)
	now := t.engine.opts.Clock.Now()
	place := wire.TurnMeta{Index: int64(t.step), TTFTMs: between(t.started, t.first), TurnMs: between(t.began, now)}
	return t.entry(wire.MessageEvent{
		Type: sessionlog.TypeMessage, Role: "assistant", Content: text,
		Meta: &wire.EventMeta{
			Model: t.model.ID, Provider: t.model.Type, Usage: &usage, DurationMs: between(t.started, now),
			ReasoningLevel: cmp.Or(string(t.model.Reasoning), "default"), Turn: &place,
		},
	})
}

// between is a time span in milliseconds, 0 if the clock was set back.
func between(from, to time.Time) int64 { return max(to.Sub(from).Milliseconds(), 0) }

// whole is the message itself when events cannot give it back: it holds provider state, or calls that leave no events.
func whole(m model.Message, calls []*call) *model.Message {
	for _, p := range m.Parts {
		if p.Kind == model.PartOpaque {
			return &m
		}
	}
	for _, c := range calls {
		if c.silent() {
			return &m
		}
	}
	return nil
}

// call is one call of an answer and what became of it.
type call struct {
	part   model.Part
	action verbs.Action
	result verbs.Result
	err    error
	// took is how long it was carried out, in milliseconds, and output its result as the log keeps it.
	took   int64
	output json.RawMessage
}

// silent calls leave no events once they are sure to take effect. One that missed or failed is written down like any other,
// so that the model learns of it.
func (c *call) silent() bool { return c.action.Silent && c.err == nil && c.result.Change != nil }

// pure calls change nothing that a later call could look at.
func (c *call) pure() bool {
	return c.action.Effect == tooldoc.Pure || c.action.Silent || c.action.Parks
}

// ends tells whether the call has ended the turn.
func (c *call) ends() bool { return c.action.Ends && c.err == nil && c.result.Change != nil }

// pending calls have no result yet.
func (c *call) pending() bool { return c.err == nil && c.result.Pending != nil }

// elsewhere tells whether a call acts before its result is recorded, so that a crash may come between the two.
func (c *call) elsewhere() bool { return c.action.Effect == tooldoc.SideEffecting }

// act writes what was said, carries out the calls, and writes their results, all in one transaction if that loses nothing. Calls
// that act elsewhere, or that change what a later one of the same answer looks at, are announced first, and each takes effect in
// a transaction of its own that records its result. When calls wait, the turn is parked.
func (t *turn) act(ctx context.Context, answer model.Event, parts []model.Part) (parked bool, err error) {
	calls := make([]*call, len(parts))
	announce := false
	for i, p := range parts {
		calls[i] = &call{part: p, action: t.prepare(ctx, p)}
		if calls[i].action.Ends && len(parts) > 1 {
			calls[i].action = notAlone(p.Name)
		}
		announce = announce || calls[i].elsewhere() || !calls[i].pure() && i < len(parts)-1
	}
	t.partial.done()
	if !announce {
		for _, c := range calls {
			if err := t.execute(ctx, c); err != nil {
				return false, err
			}
		}
		return t.write(ctx, answer, calls, calls)
	}
	// Whether a silent call will be silent must be known before anything is announced; preparing it changes nothing.
	for _, c := range calls {
		if c.action.Silent {
			if err := t.execute(ctx, c); err != nil {
				return false, err
			}
		}
	}
	if _, err := t.write(ctx, answer, calls, nil); err != nil {
		return false, err
	}
	t.engine.opts.Point(PointCallsAppended)
	for _, c := range calls {
		if !c.action.Silent {
			// A call before this one may have changed what it means: the tool that it names may be new.
			if c.action = t.prepare(ctx, c.part); c.action.Ends {
				c.action = notAlone(c.part.Name)
			}
			if err := t.execute(ctx, c); err != nil {
				return false, err
			}
		}
		if err := t.settle(ctx, c); err != nil {
			return false, err
		}
		parked = parked || c.pending()
	}
	if parked {
		err = t.park(ctx)
	}
	return parked, err
}

// write appends the answer's text and calls, and the results of those that have one, and counts the usage. It parks the turn when
// one of results is pending, and ends it when a call did: over says that nothing is left to do.
func (t *turn) write(ctx context.Context, answer model.Event, calls, results []*call) (over bool, err error) {
	parked := false
	err = t.commit(ctx, func(tx store.Tx) error {
		parked, over = false, false
		if err := t.lease.Check(tx); err != nil {
			return err
		}
		var outcomes []sessionlog.Entry
		for _, c := range results {
			events, err := t.outcome(tx, c)
			if err != nil {
				return err
			}
			parked = parked || c.pending()
			outcomes = append(outcomes, events...)
		}
		message := whole(answer.Message, calls)
		entries := append(t.announcement(answer, calls), outcomes...)
		if _, err := t.append(tx, nil, message, entries...); err != nil {
			return err
		}
		if len(entries) == 0 {
			tx.AfterCommit(func() { t.before = append(t.before, exchange(answer.Message)...) })
		}
		if over = len(calls) == 1 && len(results) == 1 && calls[0].ends(); over {
			return t.lease.Finish(tx, runs.Outcome{Status: runs.Succeeded, Output: calls[0].output, Usage: wire.Usage(t.unrecorded)})
		}
		if err := t.addUsage(tx); err != nil || !parked {
			return err
		}
		over = true
		return t.lease.Park(tx)
	})
	if err != nil {
		return false, err
	}
	t.partial.text.Reset()
	if len(results) > 0 {
		t.engine.opts.Point(PointEffectDone)
	}
	if parked {
		t.engine.opts.Point(PointParked)
	}
	return over, nil
}

// notAlone refuses a call that ends the turn beside others, which would then have no turn to come back to.
func notAlone(name string) verbs.Action {
	return verbs.Action{Effect: tooldoc.Pure, Run: func(context.Context) (verbs.Result, error) {
		return verbs.Result{}, fault.New(fault.PreconditionFailed, "%s ends the turn: call it alone, when the other calls have their results", name)
	}}
}

// announcement is what an answer says and asks for, as events.
func (t *turn) announcement(answer model.Event, calls []*call) []sessionlog.Entry {
	var entries []sessionlog.Entry
	if text := textOf(answer.Message); text != "" {
		entries = append(entries, t.spoken(answer, text))
	}
	for _, c := range calls {
		if !c.silent() {
			entries = append(entries, t.entry(wire.ToolCallEvent{
				Type: sessionlog.TypeToolCall, ID: c.part.CallID, Name: c.part.Name, Input: loggable(c.part.Arguments),
			}))
		}
	}
	return entries
}

// exchange is a message of silent calls only, and their results.
func exchange(m model.Message) []model.Message {
	var results []model.Part
	for _, p := range callsOf(m) {
		results = append(results, model.Part{Kind: model.PartToolResult, CallID: p.CallID, Name: p.Name, Text: nothing})
	}
	return []model.Message{m, {Role: model.Tool, Parts: results}}
}

func (t *turn) prepare(ctx context.Context, p model.Part) verbs.Action {
	switch {
	case t.typed != nil && p.Name == t.typed.document.Name:
		return t.typed.miss(p.Arguments)
	case p.Name == spawn.Verb && t.run.Budget.OrNormal().Leaf():
		return verbs.Refuse(fault.Missing("There is no tool named %q: you are a leaf worker", p.Name))
	}
	scope := t.scope
	scope.Call = p.CallID
	return t.engine.opts.Verbs.Prepare(ctx, scope, p.Name, p.Arguments)
}

// execute carries out a call as far as that goes without a transaction. It fails only when the turn is over.
func (t *turn) execute(ctx context.Context, c *call) error {
	t.partial.activity(wire.RunActivity{Phase: "tool", ToolName: c.part.Name, ToolCallID: c.part.CallID, Detail: detail(c.part.Arguments)}, nil)
	begun := t.engine.opts.Clock.Now()
	c.result, c.err = c.action.Run(ctx)
	c.took = between(begun, t.engine.opts.Clock.Now())
	t.engine.opts.Point(PointEffectReady)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// settle makes the effect of an announced call and records its result.
func (t *turn) settle(ctx context.Context, c *call) error {
	err := t.commit(ctx, func(tx store.Tx) error {
		if err := t.lease.Check(tx); err != nil {
			return err
		}
		events, err := t.outcome(tx, c)
		if err != nil {
			return err
		}
		_, err = t.append(tx, nil, nil, events...)
		return err
	})
	t.engine.opts.Point(PointEffectDone)
	if err == nil && c.pending() {
		t.engine.opts.Point(PointPending)
	}
	return err
}

// failedChange says that a call's change could not be made: the transaction is given up, so that nothing of it stays.
type failedChange struct {
	call *call
	err  error
}

// Error implements error.
func (f *failedChange) Error() string { return f.err.Error() }

// Unwrap lets the store see that the change only lost against another transaction.
func (f *failedChange) Unwrap() error { return f.err }

// commit writes. When the change of a call fails, its result becomes that failure and the rest is written again: at most once
// for every call.
func (t *turn) commit(ctx context.Context, fn func(store.Tx) error) error {
	for {
		err := t.engine.opts.Store.Write(ctx, store.Interactive, fn)
		f, ok := errors.AsType[*failedChange](err)
		if !ok {
			return err
		}
		f.call.result, f.call.err = verbs.Result{}, f.err
	}
}

// outcome applies a call's change, if it has one, and returns the event of its result, which a silent call has none of; it begins what
// a pending call waits for. The caller has checked the lease.
func (t *turn) outcome(tx store.Tx, c *call) ([]sessionlog.Entry, error) {
	if c.pending() {
		return t.await(tx, c)
	}
	event := wire.ToolResultEvent{Type: sessionlog.TypeToolResult, ToolCallID: c.part.CallID, Name: c.part.Name}
	if c.took > 0 {
		// Call and result may be written at once, so the times of their events do not tell.
		event.Meta = &wire.EventMeta{DurationMs: c.took}
	}
	value, err := c.result.Value, c.err
	if err == nil && c.result.Change != nil {
		if value, err = c.result.Change.Apply(tx); err != nil {
			return nil, &failedChange{c, err}
		}
		if c.silent() {
			return nil, t.settlePlan(tx)
		}
	}
	if err != nil {
		event.Error = t.explain(c, err)
		return []sessionlog.Entry{t.entry(event)}, nil
	}
	output, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encode result of %s: %w", c.part.Name, err)
	}
	event.Output = kept(output)
	c.output = event.Output
	return []sessionlog.Entry{t.entry(event)}, nil
}
