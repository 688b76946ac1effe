package verbs

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/runs"
	"github.com/loam-agents/loam/internal/space"
	"github.com/loam-agents/loam/internal/spawn"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/tooldoc"
)

// Delegate is the verb `delegate`: it starts a child run, a model's or a script's, and its call is answered when the child has ended.
type Delegate struct{ spawner *spawn.Spawner }

// NewDelegate returns the verb.
func NewDelegate(s *spawn.Spawner) *Delegate { return &Delegate{s} }

// Document implements Verb.
func (*Delegate) Document() tooldoc.Document {
	return tooldoc.Document{
		Name: spawn.Verb, Kind: tooldoc.Verb, Summary: "Start a child run and get its result.",
		Description: "Hand work to a child that runs on its own, as you. Make independent calls in one reply: they run at the same time, and " +
			"you go on when all have ended.\n" +
			"Model child: `brief` is all it knows, as Markdown that the user can review. `prompt` gives it a persona, `tools` narrows yours, " +
			"`output` (a JSON schema with an object root) makes it return a checked value instead of {text}. `model` and `reasoningLevel` go " +
			"together; leave out both to use your own. `await: false` starts it and returns nothing.\n" +
			"Script child: `script` is a module `export default async function (input, ctx) {…}`, `input` its input. ctx.call(tool, input) uses " +
			"read, write and your tools; ctx.delegate({brief, …}), ctx.parallel([() => …]), ctx.sleep(ms), ctx.waitForEvent(match, {timeoutMs}).",
		Input: json.RawMessage(`{"type":"object","properties":{` +
			`"title":{"type":"string"},"brief":{"type":"string"},"prompt":{"type":"string"},` +
			`"tools":{"type":"array","items":{"type":"string"}},"output":{"type":"object"},` +
			`"model":{"type":"string"},"reasoningLevel":{"type":"string"},"await":{"type":"boolean"},` +
			`"script":{"type":"string"},"input":{}}}`),
	}
}

// Prepare implements Verb.
func (v *Delegate) Prepare(_ context.Context, scope space.Scope, input json.RawMessage) Action {
	return Action{Effect: tooldoc.Idempotent, Parks: true, Again: true, Run: func(ctx context.Context) (Result, error) {
		spec, err := spawn.ParseSpec(input)
		if err != nil {
			return Result{}, err
		}
		if err := v.spawner.Compile(ctx, spec); err != nil {
			return Result{}, err
		}
		start := func(tx store.Tx) (spawn.Child, error) { return v.start(tx, scope, spec) }
		if spec.Detached() {
			return Result{Change: change(func(tx store.Tx) (space.Result, error) {
				child, err := start(tx)
				return space.Result{
					"summary": fmt.Sprintf("Started %q on its own", child.Title), "status": "detached", "sessionId": child.Session, "title": child.Title,
				}, err
			})}, nil
		}
		return Result{Pending: func(tx store.Tx) ([]runs.Wait, error) {
			child, err := start(tx)
			if err == nil && child.Ended {
				err = fault.New(fault.Conflict, "The child %s of this call has ended, and its result was lost: read run:%s", child.Run, child.Run)
			}
			return []runs.Wait{{ID: scope.Call, Reason: runs.WaitChild, Child: child.Run, Label: child.Title}}, err
		}}, nil
	}}
}

func (v *Delegate) start(tx store.Tx, scope space.Scope, spec *spawn.Spec) (spawn.Child, error) {
	parent, err := runs.Get(tx, scope.Run)
	if err != nil {
		return spawn.Child{}, err
	}
	return v.spawner.Spawn(tx, spawn.Request{
		Parent: scope.Run, Call: scope.Call, Account: scope.Account, Agent: scope.Agent, Version: parent.AgentVersion,
		Definition: scope.Definition, Spec: spec,
	})
}

// miss answers a brief that is no text, and other things that models write for one: they are rescued rather than sent back.
func (v *Delegate) miss(ctx context.Context, scope space.Scope, arguments string) (Action, bool) {
	input, why := tooldoc.ParseObject(arguments)
	if len(why) > 0 {
		return Action{}, false
	}
	if _, err := spawn.ParseSpec(input); err != nil {
		return Action{}, false
	}
	return v.Prepare(ctx, scope, input), true
}
