package workflow

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/loam-agents/loam/internal/bus"
	"github.com/loam-agents/loam/internal/callable"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/govern"
	"github.com/loam-agents/loam/internal/runs"
	"github.com/loam-agents/loam/internal/script"
	"github.com/loam-agents/loam/internal/space"
	"github.com/loam-agents/loam/internal/spawn"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/tooldoc"
	"github.com/loam-agents/loam/internal/verbs"
	"github.com/loam-agents/loam/wire"
)

// Codes of calls that are not made.
const (
	codeUnknown = "unknown-tool"
	codeInvalid = "invalid-input"
	codeInDoubt = "in_doubt"
	codeRefused = "permission_denied"
)

// Prepare implements script.Effects: a script has the verbs read and write, and what its agent holds.
func (x *execution) Prepare(ctx context.Context, c script.Call) (script.Action, error) {
	effect, run, gated, err := x.find(ctx, c)
	if err != nil {
		return script.Action{}, err
	}
	if gated != nil {
		return x.ask(ctx, gated, run)
	}
	if c.Begun && effect == tooldoc.SideEffecting {
		return script.Action{}, &script.Failure{Code: codeInDoubt, Message: fmt.Sprintf(
			"The server stopped while %s was carried out. Whether it took effect is not known: check before it is called again.", c.Tool)}
	}
	return script.Action{Pure: effect == tooldoc.Pure, Run: x.acting(run)}, nil
}

// running carries out a call.
type running = func(ctx context.Context) (json.RawMessage, script.Change, error)

// find returns what a call does, and as what a person has to be asked about it, if at all.
func (x *execution) find(ctx context.Context, c script.Call) (tooldoc.Effect, running, *govern.Call, error) {
	name := callable.Normalize(strings.TrimPrefix(c.Tool, "functions."))
	switch name {
	case "read", "write":
		a := x.opts.Verbs.Prepare(ctx, x.scope, name, string(c.Input))
		return a.Effect, func(ctx context.Context) (json.RawMessage, script.Change, error) { return carryOut(ctx, a.Run) }, nil, nil
	}
	held, err := x.opts.Tools.Of(ctx, x.scope)
	if err != nil {
		return "", nil, nil, err
	}
	tool := held.Find(name)
	if tool == nil {
		return "", nil, nil, &script.Failure{Code: codeUnknown, Message: fmt.Sprintf("The agent has no tool named %.100q that a script can call.", c.Tool)}
	}
	input, why := tool.Parse(string(c.Input))
	if len(why) > 0 {
		detail, err := json.Marshal(why)
		if err != nil {
			return "", nil, nil, fmt.Errorf("encode details: %w", err)
		}
		return "", nil, nil, &script.Failure{Code: codeInvalid, Message: fmt.Sprintf("The input of %s is not valid: %s", name, strings.Join(why, "; ")), Detail: detail}
	}
	var gated *govern.Call
	if govern.Needs(x.scope.Definition, tool.Document.Name, tool.Effect()) {
		if input, err = govern.Canonical(input); err != nil {
			return "", nil, nil, err
		}
		gated = &govern.Call{
			Account: x.scope.Account, Agent: x.scope.Agent, Session: x.scope.Session, Run: x.run.ID, ID: strconv.FormatInt(c.Seq, 10),
			Tool: tool.Document.Name, ToolCID: tool.CID, Arguments: input,
		}
	}
	return tool.Effect(), func(ctx context.Context) (json.RawMessage, script.Change, error) {
		return carryOut(ctx, func(ctx context.Context) (verbs.Result, error) {
			value, err := tool.Call(ctx, x.scope, input)
			return verbs.Result{Value: value}, err
		})
	}, gated, nil
}

// ask is a call that a person has to approve: it is held until there is an answer.
func (x *execution) ask(ctx context.Context, c *govern.Call, run running) (script.Action, error) {
	verdict, approval, err := x.opts.Gate.Look(ctx, *c)
	if err != nil {
		return script.Action{}, err
	}
	hold := func(ctx context.Context) error {
		return x.write(ctx, func(tx store.Tx) error {
			if err := x.lease.Check(tx); err != nil {
				return err
			}
			wait, err := x.opts.Gate.Ask(tx, *c)
			if err != nil {
				return err
			}
			wait.Alone = true
			return x.lease.Await(tx, wait)
		})
	}
	switch verdict {
	case govern.Refused:
		return script.Action{}, &script.Failure{Code: codeRefused, Message: approval.Refusal()}
	case govern.Permitted:
		return script.Action{Run: func(ctx context.Context) (json.RawMessage, script.Change, error) {
			first, err := x.opts.Gate.Begin(ctx, approval.ID)
			if err != nil {
				return nil, nil, err
			}
			if !first {
				// Another worker that took itself for the holder of this run has begun it.
				return nil, nil, runs.ErrLeaseLost
			}
			return x.acting(run)(ctx)
		}}, nil
	}
	return script.Action{Hold: hold}, nil
}

// acting is run with its named point behind it.
func (x *execution) acting(run running) running {
	return func(ctx context.Context) (json.RawMessage, script.Change, error) {
		output, change, err := run(ctx)
		x.opts.Point(PointActed)
		return output, change, err
	}
}

// carryOut runs an action of the verbs and tells its result in the words of a script.
func carryOut(ctx context.Context, run func(ctx context.Context) (verbs.Result, error)) (json.RawMessage, script.Change, error) {
	result, err := run(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil, nil, context.Cause(ctx)
		}
		failure, err := failureOf(err)
		if err != nil {
			return nil, nil, err
		}
		return nil, nil, failure
	}
	if result.Change != nil {
		return nil, func(tx store.Tx) (json.RawMessage, error) {
			value, err := result.Change.Apply(tx)
			if err != nil {
				return nil, err
			}
			return encode(value)
		}, nil
	}
	if why, missed := result.Value["validationErrors"]; missed && result.Value["contract"] != nil {
		detail, err := json.Marshal(why)
		return nil, nil, failed(err, &script.Failure{Code: codeInvalid, Message: fmt.Sprint(result.Value["summary"]), Detail: detail})
	}
	output, err := encode(result.Value)
	return output, nil, err
}

// failed is a failure, unless there was an error on the way to it.
func failed(err error, f *script.Failure) error {
	if err != nil {
		return err
	}
	return f
}

func encode(value space.Result) (json.RawMessage, error) {
	output, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encode a result: %w", err)
	}
	return output, nil
}

// Delegate implements script.Effects.
func (x *execution) Delegate(ctx context.Context, e script.Entry) (script.Entry, error) {
	spec, err := spawn.ParseSpec(e.Input)
	switch {
	case err != nil:
	case spec.Script != "":
		err = fault.Invalid("ctx.delegate starts model children: a script calls functions of its own")
	case spec.Detached():
		err = fault.Invalid("ctx.delegate always awaits: leave out await")
	}
	if err == nil {
		err = x.write(ctx, func(tx store.Tx) error { return x.spawn(tx, &e, spec) })
	}
	if err == nil {
		x.opts.Point(PointDelegated)
		return e, nil
	}
	f, err := failureOf(err)
	if err != nil {
		return script.Entry{}, err
	}
	return script.Entry{}, f
}

// spawn starts a child, registers the wait for it and appends the entry that names it.
func (x *execution) spawn(tx store.Tx, e *script.Entry, spec *spawn.Spec) error {
	if err := x.lease.Check(tx); err != nil {
		return err
	}
	child, err := x.opts.Spawner.Spawn(tx, spawn.Request{
		Parent: x.run.ID, Call: strconv.FormatInt(e.CallSeq, 10), Account: x.run.Account, Agent: x.run.Agent, Version: x.run.AgentVersion,
		Definition: x.scope.Definition, Spec: spec,
	})
	if err != nil {
		return err
	}
	e.ChildRunID = child.Run
	text, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("encode a journal entry: %w", err)
	}
	if err := x.lease.Await(tx, waitOf(e)); err != nil {
		return err
	}
	_, err = x.opts.Queue().AppendJournal(tx, x.run.ID, text)
	return err
}

// maxProgress bounds what a script reports of itself, in bytes.
const maxProgress = 4 << 10

// Progress implements script.Effects: whoever follows the run sees it, and nobody else.
func (x *execution) Progress(patch json.RawMessage) {
	key := wire.KeyRun + x.run.Root
	if len(patch) > maxProgress || !x.opts.Bus.Watched(key) {
		return
	}
	frame := wire.Frame{Kind: wire.FrameAppendPartial, Key: key, RunID: x.run.ID, PartialID: x.run.ID, Patch: &wire.PartialPatch{Activity: &wire.RunActivity{Phase: "progress", Detail: string(patch)}}}
	x.opts.Bus.Publish(bus.New(key, frame))
}
