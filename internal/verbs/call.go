package verbs

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/loam-agents/loam/internal/callable"
	"github.com/loam-agents/loam/internal/govern"
	"github.com/loam-agents/loam/internal/space"
	"github.com/loam-agents/loam/internal/tooldoc"
)

// Call is the verb `call`: it reaches everything that is callable. An unknown name is answered with the list of tools, and an input
// that does not fit with the contract of the tool (seeds/000 "Touch-expand and promotion").
type Call struct {
	tools  *callable.Registry
	router *space.Router
	gate   *govern.Gate
}

// NewCall returns the verb. The router serves the list of tools at ~/tools/. Calls that a person has to approve wait at the gate.
func NewCall(tools *callable.Registry, router *space.Router, gate *govern.Gate) *Call {
	return &Call{tools: tools, router: router, gate: gate}
}

// Document implements Verb.
func (*Call) Document() tooldoc.Document {
	return tooldoc.Document{
		Name: "call", Kind: tooldoc.Verb, Summary: "Use a tool by its name.",
		Description: "Use a tool by its name; <space> names yours. An input that does not fit is answered with the tool's contract, so " +
			"call with {} to learn what it takes. `description` is one short line for the user and never reaches the tool.",
		Input: json.RawMessage(`{"type":"object","properties":{` +
			`"tool":{"type":"string"},"input":{"type":"object"},"description":{"type":"string"}},` +
			`"required":["tool"],"additionalProperties":false}`),
	}
}

// request is the input of `call`.
type request struct {
	Tool  string          `json:"tool"`
	Input json.RawMessage `json:"input"`
}

// Prepare implements Verb.
func (v *Call) Prepare(ctx context.Context, scope space.Scope, input json.RawMessage) Action {
	var req request
	if err := decode(input, &req); err != nil {
		return answer(nil, err)
	}
	held, err := v.tools.Of(ctx, scope)
	if err != nil {
		return answer(nil, err)
	}
	if t := held.Find(req.Tool); t != nil {
		return use(v.gate, scope, t, string(req.Input))
	}
	return v.listing(scope, req.Tool)
}

// listing answers a name that is not in the agent's set. The tool may be written by a call before this one, so it is not taken to be
// harmless.
func (v *Call) listing(scope space.Scope, name string) Action {
	return Action{Effect: tooldoc.SideEffecting, Run: func(ctx context.Context) (Result, error) {
		value, err := v.router.Read(ctx, scope, space.ReadRequest{Address: "~/tools/"})
		if err != nil {
			return Result{}, err
		}
		value["summary"] = fmt.Sprintf("No callable tool named %.100q. These can be called:", name)
		if v.tools.Reserved(callable.Normalize(name)) {
			value["summary"] = fmt.Sprintf("%q is not a tool that you can `call`: a verb is used directly, and a builtin needs a grant. These can be called:", name)
		}
		return Result{Value: value}, nil
	}}
}

// miss answers arguments that name a tool and have no object for it with that tool's contract.
func (v *Call) miss(ctx context.Context, scope space.Scope, arguments string) (Action, bool) {
	var req request
	if json.Unmarshal([]byte(arguments), &req) != nil || req.Tool == "" || len(req.Input) == 0 || req.Input[0] == '{' {
		return Action{}, false
	}
	held, err := v.tools.Of(ctx, scope)
	if err != nil {
		return answer(nil, err), true
	}
	t := held.Find(req.Tool)
	if t == nil {
		return v.listing(scope, req.Tool), true
	}
	return miss(&t.Document, []string{"$.input: the input must be an object"}), true
}
