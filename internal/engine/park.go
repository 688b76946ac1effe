package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/model"
	"github.com/loam-agents/loam/internal/runs"
	"github.com/loam-agents/loam/internal/sessionlog"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

// Errors of calls that end without the result that they were made for.
const (
	interrupted = "The server restarted before this call had a result. Whether it took effect is not known: check before you repeat it."
	abandoned   = "The turn was stopped before this call had a result."
)

// await begins what a pending call waits for, and registers it. It returns the events that say which children were started.
func (t *turn) await(tx store.Tx, c *call) ([]sessionlog.Entry, error) {
	waits, err := c.result.Pending(tx)
	if err != nil {
		return nil, &failedChange{c, err}
	}
	if len(waits) == 0 {
		return nil, fmt.Errorf("call %s of %s is pending and waits for nothing", c.part.CallID, c.part.Name)
	}
	var started []sessionlog.Entry
	for i := range waits {
		waits[i].ToolCall = c.part.CallID
		if waits[i].Reason != runs.WaitChild {
			continue
		}
		child, err := runs.Get(tx, waits[i].Child)
		if err != nil {
			return nil, err
		}
		started = append(started, t.entry(wire.ToolSpawnEvent{
			Type: sessionlog.TypeToolSpawn, ToolCallID: c.part.CallID, Name: c.part.Name, RunID: child.ID, SessionID: child.Session, Title: child.Title,
		}))
	}
	err = t.lease.Await(tx, waits...)
	if _, refused := errors.AsType[*fault.Error](err); refused {
		return nil, &failedChange{c, err}
	}
	return started, err
}

// park gives the run up until its waits are settled.
func (t *turn) park(ctx context.Context) error {
	err := t.engine.opts.Store.Write(ctx, store.Interactive, func(tx store.Tx) error { return t.lease.Park(tx) })
	if err == nil {
		t.engine.opts.Point(PointParked)
	}
	return err
}

// readWaits reads, on the snapshot of the log, who will still answer its open calls.
func (t *turn) readWaits(tx store.Tx, open []openCall) (err error) {
	if len(open) == 0 {
		return nil
	}
	if t.waits, err = runs.Waits(tx, t.run.ID); err != nil {
		return err
	}
	t.standing, err = runs.Standing(tx, t.run.Session)
	return err
}

// repair deals with the calls that have no result, before anything is asked of the model. Those that this run or another one waits
// for are left alone. What an earlier execution of this run left is carried out once more if that is safe, and all others are
// answered with an error: a killed process left them. A run that still waits is parked.
func (t *turn) repair(ctx context.Context) (parked bool, err error) {
	waited := waitedFor(t.waits)
	var again []*call
	var results []sessionlog.Entry
	for _, o := range t.log.open {
		if waited[o.ID] || o.run != t.run.ID && t.standing[o.run] {
			continue
		}
		c := &call{part: model.Part{Kind: model.PartToolCall, CallID: o.ID, Name: o.Name, Arguments: arguments(o.Input)}}
		if o.run == t.run.ID {
			c.action = t.prepare(ctx, c.part)
		}
		if c.action.Again {
			again = append(again, c)
			continue
		}
		results = append(results, t.entry(failedResult(o.ToolCallEvent, interrupted)))
	}
	if err := t.answer(ctx, results); err != nil {
		return false, err
	}
	parked = len(waited) > 0
	for _, c := range again {
		if err := t.execute(ctx, c); err != nil {
			return false, err
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

// waitedFor are the calls that waits belong to.
func waitedFor(waits []runs.Wait) map[string]bool {
	out := map[string]bool{}
	for i := range waits {
		if call := waits[i].ToolCall; call != "" {
			out[call] = true
		}
	}
	return out
}

func failedResult(c wire.ToolCallEvent, why string) wire.ToolResultEvent {
	return wire.ToolResultEvent{Type: sessionlog.TypeToolResult, ToolCallID: c.ID, Name: c.Name, Error: why}
}

// answer appends results of calls that nobody carries out any more, and takes a plan that was settled before from the session.
func (t *turn) answer(ctx context.Context, results []sessionlog.Entry) error {
	if len(results) == 0 && t.settledBefore() == nil {
		return nil
	}
	return t.engine.opts.Store.Write(ctx, store.Interactive, func(tx store.Tx) error {
		if err := t.retirePlan(tx); err != nil {
			return err
		}
		_, err := t.append(tx, t.lease, nil, results...)
		return err
	})
}

// unanswered is a failed result for every call of this run that has none. Others may have appended results since the log was read.
func (t *turn) unanswered(tx store.Tx) ([]sessionlog.Entry, error) {
	stored, err := sessionlog.Replay(tx, t.run.Session, t.log.upTo)
	if err != nil {
		return nil, err
	}
	fresh, err := read(stored)
	if err != nil {
		return nil, err
	}
	answered := map[string]bool{}
	for i := range fresh {
		if fresh[i].kind == sessionlog.TypeToolResult {
			answered[fresh[i].result.ToolCallID] = true
		}
	}
	var out []sessionlog.Entry
	for _, c := range t.log.open {
		if c.run == t.run.ID && !answered[c.ID] {
			out = append(out, t.entry(failedResult(c.ToolCallEvent, abandoned)))
		}
	}
	return out, nil
}

// stopped writes down what a canceled turn had said, or that it was stopped, and answers calls that it had announced.
func (t *turn) stopped(ctx context.Context) {
	text := t.partial.text.String()
	err := t.engine.opts.Store.Write(ctx, store.Interactive, func(tx store.Tx) error {
		if err := t.lease.CheckStopped(tx); err != nil {
			return err
		}
		entries, err := t.unanswered(tx)
		if err != nil {
			return err
		}
		switch {
		case text != "":
			entries = append(entries, t.entry(wire.MessageEvent{Type: sessionlog.TypeMessage, Role: "assistant", Content: text}))
		case t.said == "" && len(entries) == 0:
			entries = append(entries, t.entry(wire.MessageEvent{Type: sessionlog.TypeMessage, Role: "assistant", Content: "Stopped."}))
		}
		if _, err := t.append(tx, nil, nil, entries...); err != nil {
			return err
		}
		return t.addUsage(tx)
	})
	if err != nil {
		t.engine.opts.Logger.WarnContext(ctx, "write down a stopped turn", "error", err)
	}
}

// Abandoned is a hook of the queue: it answers the calls for which a parked run waited that is canceled.
func (e *Engine) Abandoned(tx store.Tx, r *runs.Run, waits []runs.Wait) error {
	if r.Kind != runs.KindAgent {
		return nil
	}
	waited := waitedFor(waits)
	calls, err := sessionlog.CallsOf(tx, r.Session, r.ID)
	if err != nil {
		return err
	}
	var results []sessionlog.Entry
	for _, c := range calls {
		if waited[c.ID] {
			results = append(results, sessionlog.Entry{Run: r.ID, Payload: failedResult(c, abandoned)})
		}
	}
	_, err = e.opts.Log.Append(tx, r.Session, nil, results...)
	return err
}
