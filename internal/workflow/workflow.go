// Package workflow executes runs of kind "workflow": scripts that act with what an agent may do (seeds/000 "Script child").
//
// It gives package script its journal, which is the run's in the database, and its effects: the verbs read and write, and what the
// agent holds. Everything that a script causes is written in the transaction that checks the run's lease, so a worker that was
// presumed dead writes nothing. A script that waits is parked: it holds no worker and no memory, and starts again from the top when
// something that it waits for is settled.
//
// workflow is part of tier 5. It imports script, runs, the verbs and callable; the composition root hands it to the queue.
package workflow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/loam-agents/loam/internal/agent"
	"github.com/loam-agents/loam/internal/bus"
	"github.com/loam-agents/loam/internal/callable"
	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/govern"
	"github.com/loam-agents/loam/internal/runs"
	"github.com/loam-agents/loam/internal/script"
	"github.com/loam-agents/loam/internal/space"
	"github.com/loam-agents/loam/internal/spawn"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/verbs"
	"github.com/loam-agents/loam/wire"
)

// Options configure an Executor.
type Options struct {
	Store store.Store
	Queue func() *runs.Queue
	Verbs *verbs.Set
	Tools *callable.Registry
	// Spawner starts the children of scripts.
	Spawner *spawn.Spawner
	Gate    *govern.Gate
	Bus     bus.Bus
	Clock   clock.Clock
	// Point is called at the named points of a script; a crash test kills the process there. May be nil.
	Point func(name string)
}

// The named points of a script.
const (
	// PointStarted: a worker begins it, from the top.
	PointStarted = "script-started"
	// PointActed: a call was carried out, and its result is not in the journal yet.
	PointActed = "script-acted"
	// PointJournaled: entries are in the journal, with what they change.
	PointJournaled = "script-journaled"
	// PointDelegated: a child is made, and the journal names it.
	PointDelegated = "script-delegated"
	// PointParked: it waits without a worker.
	PointParked = "script-parked"
	// PointContinued: the run has ended, and the one that takes over is queued.
	PointContinued = "script-continued"
)

// Executor carries out scripts. It implements runs.Executor.
type Executor struct{ opts Options }

// New returns an executor.
func New(opts Options) *Executor {
	if opts.Point == nil {
		opts.Point = func(string) {}
	}
	return &Executor{opts}
}

// execution is one run at work.
type execution struct {
	*Executor
	lease *runs.Lease
	run   runs.Run
	input script.Start
	scope space.Scope
}

// Execute implements runs.Executor.
func (e *Executor) Execute(ctx context.Context, lease *runs.Lease) (runs.Outcome, error) {
	x := &execution{Executor: e, lease: lease, run: lease.Run()}
	if err := json.Unmarshal(x.run.Input, &x.input); err != nil || x.input.Program == nil {
		return runs.Outcome{}, fmt.Errorf("read the input of workflow %s: %w", x.run.ID, errors.Join(err, errors.New("it names no program")))
	}
	if err := x.load(ctx); err != nil {
		return runs.Outcome{}, err
	}
	if err := lease.Start(ctx); err != nil {
		return runs.Outcome{}, err
	}
	x.opts.Point(PointStarted)
	w := script.Execution{Program: x.input.Program, Input: x.input.Input, RunID: x.run.ID, Journal: &journal{x}, Effects: x, Clock: e.opts.Clock}
	out, err := w.Execute(ctx)
	if err != nil {
		return runs.Outcome{}, err
	}
	return x.end(ctx, out)
}

// load reads for whom the script acts.
func (x *execution) load(ctx context.Context) error {
	return x.opts.Store.Read(ctx, func(tx store.Tx) error {
		version, err := agent.VersionOf(tx, x.run.Agent, x.run.AgentVersion)
		if err != nil {
			return err
		}
		contract, err := spawn.Of(tx, &x.run)
		if err != nil {
			return err
		}
		x.scope = space.Scope{
			Account: x.run.Account, Agent: x.run.Agent, Session: x.run.Session, Run: x.run.ID, Definition: contract.Apply(version.Definition),
		}
		return nil
	})
}

// end writes how the execution ended.
func (x *execution) end(ctx context.Context, out script.Outcome) (runs.Outcome, error) {
	switch {
	case out.Parked:
		return runs.Outcome{}, x.write(ctx, func(tx store.Tx) error {
			tx.AfterCommit(func() { x.opts.Point(PointParked) })
			if err := x.lease.Await(tx, timersOf(out.Waits)...); err != nil {
				return err
			}
			return x.lease.ParkOn(tx, len(out.Waits))
		})
	case out.Continued != nil:
		return runs.Outcome{}, x.write(ctx, func(tx store.Tx) error { return x.continueAsNew(tx, out.Continued) })
	case out.Failure != nil:
		f := out.Failure
		failed := &wire.RunError{Code: f.Code, Message: f.Message, Stack: f.Stack, Tool: f.Tool, CallSeq: f.CallSeq}
		if len(f.Detail) > 0 {
			if err := json.Unmarshal(f.Detail, &failed.Detail); err != nil {
				return runs.Outcome{}, fmt.Errorf("read the detail of a failure: %w", err)
			}
		}
		return runs.Outcome{Status: runs.Failed, Error: failed}, nil
	}
	return runs.Outcome{Status: runs.Succeeded, Output: out.Output}, nil
}

func (x *execution) write(ctx context.Context, fn func(tx store.Tx) error) error {
	return x.opts.Store.Write(ctx, store.Background, fn)
}

// continueAsNew ends the run and begins the one that takes over, with an empty journal.
func (x *execution) continueAsNew(tx store.Tx, state json.RawMessage) error {
	input, err := json.Marshal(script.Start{Program: x.input.Program, Input: state, Contract: x.input.Contract})
	if err != nil {
		return fmt.Errorf("encode the input of a workflow: %w", err)
	}
	next := runs.Spec{
		Account: x.run.Account, Kind: runs.KindWorkflow, Agent: x.run.Agent, AgentVersion: x.run.AgentVersion, Session: x.run.Session, Origin: x.run.Origin,
		ParentCall: x.run.ParentCall, ContinuedFrom: x.run.ID, Title: x.run.Title, Lane: x.run.Lane, MaxAttempts: x.run.MaxAttempts, Input: input,
		Budget: x.run.Budget, PlanStep: x.run.PlanStep, StepLabel: x.run.StepLabel,
	}
	if x.run.Parent != "" {
		parent, err := runs.Get(tx, x.run.Parent)
		if err != nil {
			return err
		}
		next.Parent = &parent
	}
	successor, err := x.opts.Queue().Enqueue(tx, next)
	if err != nil {
		return err
	}
	// The parent is answered by the last of them only.
	if err := runs.Handover(tx, x.run.ID, successor.ID); err != nil {
		return err
	}
	output, err := json.Marshal(map[string]any{"continued": true, "continuedAsRunId": successor.ID})
	if err != nil {
		return fmt.Errorf("encode the output of a workflow: %w", err)
	}
	tx.AfterCommit(func() { x.opts.Point(PointContinued) })
	return x.lease.Finish(tx, runs.Outcome{Status: runs.Succeeded, Output: output})
}

// timersOf are the rows for the sleeps of a parked script. Waits for events, children and decisions were registered when they began: here they would
// come back when they have been settled in the meantime.
func timersOf(entries []script.Entry) []runs.Wait {
	var out []runs.Wait
	for i := range entries {
		if entries[i].Kind == script.KindTimer {
			out = append(out, waitOf(&entries[i]))
		}
	}
	return out
}

// waitOf is the row for what a script waits for. It is enough alone: the script itself knows what it goes on with.
func waitOf(e *script.Entry) runs.Wait {
	w := runs.Wait{ID: waitID(e), Alone: true, CallSeq: e.CallSeq, Label: e.Label}
	switch e.Kind {
	case script.KindTimer:
		w.Reason, w.WakeAt = runs.WaitTimer, e.WakeAt
	case script.KindWait:
		w.Reason, w.WakeAt, w.Match = runs.WaitEvent, e.TimeoutAt, e.Match
	case script.KindCall:
		w.Reason, w.Child = runs.WaitChild, e.ChildRunID
	}
	return w
}

func waitID(e *script.Entry) string {
	if e.WaitID != "" {
		return e.WaitID
	}
	return strconv.FormatInt(e.CallSeq, 10)
}
