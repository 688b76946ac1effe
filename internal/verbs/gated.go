package verbs

import (
	"context"
	"encoding/json"

	"github.com/loam-agents/loam/internal/callable"
	"github.com/loam-agents/loam/internal/govern"
	"github.com/loam-agents/loam/internal/runs"
	"github.com/loam-agents/loam/internal/space"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/tooldoc"
)

// gated is a call of a tool that a person has to approve. Until then it is pending; once it was approved, the turn carries it out by
// preparing it again. It is marked as begun before: when its execution leaves no result, a person is asked whether to repeat it.
func gated(gate *govern.Gate, scope space.Scope, t *callable.Tool, input json.RawMessage) Action {
	input, err := govern.Canonical(input)
	if err != nil {
		return answer(nil, err)
	}
	call := govern.Call{
		Account: scope.Account, Agent: scope.Agent, Session: scope.Session, Run: scope.Run, ID: scope.Call,
		Tool: t.Document.Name, ToolCID: t.CID, Arguments: input,
	}
	return Action{Effect: tooldoc.SideEffecting, Parks: true, Again: true, Run: func(ctx context.Context) (Result, error) {
		verdict, approval, err := gate.Look(ctx, call)
		if err != nil {
			return Result{}, err
		}
		switch verdict {
		case govern.Refused:
			return Result{Value: space.Result{"summary": approval.Refusal(), "refused": true}}, nil
		case govern.Permitted:
			first, err := gate.Begin(ctx, approval.ID)
			if err != nil {
				return Result{}, err
			}
			if first {
				value, err := t.Call(ctx, scope, input)
				return Result{Value: value}, err
			}
		}
		return Result{Pending: func(tx store.Tx) ([]runs.Wait, error) {
			wait, err := gate.Ask(tx, call)
			return []runs.Wait{wait}, err
		}}, nil
	}}
}
