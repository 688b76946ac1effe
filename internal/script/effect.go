package script

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/loam-agents/loam/internal/script/quickjs"
)

// execution is an Execution at work.
type execution struct {
	*Execution
	ctx    context.Context //nolint:containedctx // it lives as long as the execution does
	realm  quickjs.Realm
	record *record
	// asked are effects that the program has asked for and that are neither found in the journal nor begun.
	asked []*effect
	// pending are those that have a group in the journal, by its number.
	pending map[int64]*effect
	// unwritten are entries that the next append writes with its own.
	unwritten []Entry
	// working counts the effects that are being carried out.
	working  int
	finished chan finished
	// turns has room for the calls that are carried out at once.
	turns   chan struct{}
	effects sync.WaitGroup
	out     *Outcome
}

// effect is one thing that the program waits for.
type effect struct {
	// id is how the realm names it.
	id    int
	entry Entry
	// timeout is that of a wait, in milliseconds from when it is begun; nil is none.
	timeout *int64
	sleep   int64
	// begun says that an earlier execution has written its first entry.
	begun bool
	// held says that the call waits until somebody else lets it go on.
	held bool
	// action is what a tool call does, or failure why it cannot.
	action  Action
	failure *Failure
}

// finished is the end of an effect that was carried out: what to write of it, or why this execution cannot go on.
type finished struct {
	entries []Entry
	err     error
}

// request is what the prelude asks for.
type request struct {
	ID           int             `json:"id"`
	Op           string          `json:"op"`
	Tool         string          `json:"tool"`
	Input        json.RawMessage `json:"input"`
	Description  string          `json:"description"`
	Milliseconds *int64          `json:"ms"`
	Match        json.RawMessage `json:"match"`
	Label        string          `json:"label"`
}

// host answers the realm. It is called by the goroutine that runs the program.
func (x *execution) host(kind, payload string) (string, bool) {
	if x.out != nil {
		return "", false
	}
	switch kind {
	case "effect":
		return x.ask(payload)
	case "now":
		return strconv.FormatInt(x.now(), 10), true
	case "note":
		x.note(payload)
	case "progress":
		x.Effects.Progress(json.RawMessage(payload))
	case "done":
		x.done(payload)
	case "failed":
		var t thrown
		if err := json.Unmarshal([]byte(payload), &t); err != nil {
			t.Message = "the script failed in a way that cannot be told"
		}
		x.out = &Outcome{Failure: t.failure(x.Program)}
	}
	return "", false
}

func (x *execution) done(payload string) {
	if len(payload) > MaxResult {
		x.out = &Outcome{Failure: &Failure{Code: CodeWorkflow, Message: fmt.Sprintf("The script returned %d bytes, more than %d KiB.", len(payload), MaxResult>>10)}}
		return
	}
	x.out = &Outcome{Output: json.RawMessage(payload)}
}

// ask notes an effect. One that the journal has is pending from here on; what is refused at once is answered with why.
func (x *execution) ask(payload string) (refusal string, refused bool) {
	if len(payload) > MaxResult {
		return fmt.Sprintf(`{"code":"too_large","message":"The script asked for something of %d bytes, more than %d KiB."}`, len(payload), MaxResult>>10), true
	}
	var r request
	if err := json.Unmarshal([]byte(payload), &r); err != nil {
		x.out = &Outcome{Failure: &Failure{Code: CodeWorkflow, Message: "The script asked for something that cannot be read: " + err.Error()}}
		return "", false
	}
	if r.Op == "continue" {
		x.out = &Outcome{Continued: r.Input}
		return "", false
	}
	e := effectOf(&r)
	if known := x.record.find(e.entry.Key); known != nil {
		e.entry, e.begun = *known, true
		x.pending[known.CallSeq] = e
	} else {
		e.entry.CallSeq = x.next()
	}
	x.asked = append(x.asked, e)
	return "", false
}

// next is the number of a new group.
func (x *execution) next() int64 {
	x.record.last++
	x.record.own[x.record.last] = true
	return x.record.last
}

// effectOf gives a request its key (spec §9). What only people read stays out of it.
func effectOf(r *request) *effect {
	e := &effect{id: r.ID}
	switch r.Op {
	case "sleep":
		e.sleep = *r.Milliseconds
		e.entry = Entry{Kind: KindTimer, Key: "sleep|" + strconv.FormatInt(e.sleep, 10)}
	case "wait":
		e.timeout = r.Milliseconds
		e.entry = Entry{Kind: KindWait, Key: "wait|" + string(r.Match), Match: r.Match, Label: r.Label}
	case string(OpAgent):
		e.entry = Entry{Kind: KindCall, Op: OpAgent, Key: "agent|" + string(r.Input), Input: r.Input}
	default:
		e.entry = Entry{Kind: KindCall, Op: OpTool, Key: "tool|" + r.Tool + "|" + string(r.Input), Tool: r.Tool, Input: r.Input, Description: r.Description}
	}
	return e
}

// now is the time that the program is told: what it was told before, or what it is.
func (x *execution) now() int64 {
	const key = "now"
	if known := x.record.find(key); known != nil {
		return known.Value
	}
	at := x.Clock.Now().UnixMilli()
	x.unwritten = append(x.unwritten, Entry{Kind: KindNow, CallSeq: x.next(), Key: key, Value: at})
	return at
}

// note keeps what the program shows, once.
func (x *execution) note(payload string) {
	var e Entry
	if err := json.Unmarshal([]byte(payload), &e); err != nil {
		return
	}
	switch e.Kind {
	case KindLog:
		e.Key = "log|" + e.Level + "|" + e.Message
	case KindStep:
		e.Key = "step|" + e.StepID + "|" + e.Phase
	case KindPlan:
		e.Key = "plan|" + string(e.Plan)
	}
	if x.record.find(e.Key) != nil {
		return
	}
	e.CallSeq = x.next()
	x.unwritten = append(x.unwritten, e)
}

// launch begins what the program has asked for. First entries are durable before anything is carried out.
func (x *execution) launch() error {
	asked := x.asked
	x.asked = nil
	var announced []Entry
	now := x.Clock.Now()
	for _, e := range asked {
		if e.begun {
			continue
		}
		switch e.entry.Kind {
		case KindTimer:
			e.entry.WakeAt = now.UnixMilli() + e.sleep
		case KindWait:
			e.entry.WaitID = fmt.Sprintf("%s:%d", x.RunID, e.entry.CallSeq)
			if e.timeout != nil {
				e.entry.TimeoutAt = now.UnixMilli() + *e.timeout
			}
		}
		x.pending[e.entry.CallSeq] = e
	}
	for _, e := range asked {
		if err := x.prepare(e); err != nil {
			return err
		}
		if !e.begun && (e.entry.Op == "" || e.entry.Op == OpTool && !e.action.Pure) {
			announced = append(announced, e.entry)
		}
	}
	if len(announced) > 0 {
		if err := x.flush(announced...); err != nil {
			return err
		}
	}
	for _, e := range asked {
		if x.record.results[e.entry.CallSeq] != nil {
			continue
		}
		if err := x.carryOut(e); err != nil {
			return err
		}
	}
	return nil
}

// prepare finds out what a tool call does. One that cannot be made leads to nothing, like a pure one.
func (x *execution) prepare(e *effect) error {
	if e.entry.Op != OpTool || x.record.results[e.entry.CallSeq] != nil {
		return nil
	}
	action, err := x.Effects.Prepare(x.ctx, Call{
		Seq: e.entry.CallSeq, Tool: e.entry.Tool, Input: e.entry.Input, Description: e.entry.Description, Begun: e.begun,
	})
	if err == nil {
		e.action = action
		return nil
	}
	e.action.Pure = true
	e.failure, err = asFailure(err)
	return err
}

// release prepares the calls that are held once more, and carries out those that need not wait any longer.
func (x *execution) release() error {
	var held []*effect
	for _, e := range x.pending {
		if e.held {
			held = append(held, e)
		}
	}
	slices.SortFunc(held, func(a, b *effect) int { return int(a.entry.CallSeq - b.entry.CallSeq) })
	for _, e := range held {
		if err := x.prepare(e); err != nil {
			return err
		}
		if e.failure != nil || e.action.Hold == nil {
			e.held = false
			if err := x.carryOut(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// carryOut begins one effect.
func (x *execution) carryOut(e *effect) error {
	switch {
	case e.action.Hold != nil && e.failure == nil:
		// It stands in the journal already.
		e.begun, e.held = true, true
		return e.action.Hold(x.ctx)
	case e.entry.Op == OpTool:
		x.working++
		x.effects.Go(func() {
			select {
			case x.turns <- struct{}{}:
			case <-x.ctx.Done():
				return
			}
			f := x.call(e)
			<-x.turns
			select {
			case x.finished <- f:
			case <-x.ctx.Done():
			}
		})
	case e.entry.Op == OpAgent && e.entry.ChildRunID == "":
		return x.delegate(e)
	}
	return nil
}

// call carries out a tool call. That of a pure tool is not written before, but with its result.
func (x *execution) call(e *effect) finished {
	result := Entry{Kind: KindResult, CallSeq: e.entry.CallSeq, Status: Succeeded}
	f := e.failure
	if f == nil {
		output, change, err := e.action.Run(x.ctx)
		if err == nil && len(output) > MaxResult {
			err = &Failure{Code: "too_large", Message: fmt.Sprintf(
				"%s returned %d bytes, more than the %d KiB that a script gets at once.", e.entry.Tool, len(output), MaxResult>>10)}
		}
		if err != nil {
			if f, err = asFailure(err); err != nil {
				return finished{err: err}
			}
		}
		result.Output, result.Change = output, change
	}
	if f != nil {
		result.Status, result.Output, result.Change, result.Error = Failed, nil, nil, f
	}
	if !e.begun && e.action.Pure {
		return finished{entries: []Entry{e.entry, result}}
	}
	return finished{entries: []Entry{result}}
}

// delegate begins a child run. A refusal is a result like any other.
func (x *execution) delegate(e *effect) error {
	if err := x.flush(); err != nil {
		return err
	}
	entry, err := x.Effects.Delegate(x.ctx, e.entry)
	if err != nil {
		f, fatal := asFailure(err)
		if fatal != nil {
			return fatal
		}
		return x.flush(e.entry, Entry{Kind: KindResult, CallSeq: e.entry.CallSeq, Status: Failed, Error: f})
	}
	e.entry = entry
	return x.reload()
}

// soonest is when the next wait in memory is over: a short sleep, or the end of a wait that is near. ok is false when there is none.
func (x *execution) soonest() (at int64, ok bool) {
	for _, e := range x.pending {
		if due := e.due(); due > 0 && (!ok || due < at) {
			at, ok = due, true
		}
	}
	return at, ok
}

// due is when a timer or a wait ends by itself; zero is never.
func (e *effect) due() int64 {
	switch e.entry.Kind {
	case KindTimer:
		return e.entry.WakeAt
	case KindWait:
		return e.entry.TimeoutAt
	}
	return 0
}

// fire ends the timers and waits whose time has come, the earliest first.
func (x *execution) fire() error {
	now := x.Clock.Now().UnixMilli()
	var over []*effect
	for _, e := range x.pending {
		if due := e.due(); due > 0 && due <= now {
			over = append(over, e)
		}
	}
	slices.SortFunc(over, func(a, b *effect) int {
		if a.due() != b.due() {
			return int(a.due() - b.due())
		}
		return int(a.entry.CallSeq - b.entry.CallSeq)
	})
	entries := make([]Entry, 0, len(over))
	for _, e := range over {
		kind := KindFired
		if e.entry.Kind == KindWait {
			kind = KindEvent
		}
		entries = append(entries, Entry{Kind: kind, CallSeq: e.entry.CallSeq, WaitID: e.entry.WaitID})
	}
	return x.flush(entries...)
}

// parked is the outcome of a program that waits for nothing in memory; nil when something is about to happen.
func (x *execution) parked() *Outcome {
	if x.working > 0 {
		return nil
	}
	at, timed := x.soonest()
	if timed && at-x.Clock.Now().UnixMilli() < Resident.Milliseconds() {
		return nil
	}
	if len(x.pending) == 0 {
		return &Outcome{Failure: &Failure{Code: CodeDeadlock, Message: "The script waits for something that nothing will bring about: a promise of its own that is never resolved."}}
	}
	out := &Outcome{Parked: true, WakeAt: at}
	for _, e := range x.pending {
		out.Waits = append(out.Waits, e.entry)
	}
	slices.SortFunc(out.Waits, func(a, b Entry) int { return int(a.CallSeq - b.CallSeq) })
	return out
}
