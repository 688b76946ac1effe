// Package verbs is the fixed surface through which an agent acts: read, write, call, delegate, plan, status and continue_session so far.
//
// Every verb is one file: its contract (a tool document that the model and ~/tools share), and what a call of it would do. A call is
// validated against the contract first; a miss is answered with the contract. Verbs do not write the log: the engine does, in the
// transaction in which it also applies what a verb prepared.
//
// verbs is tier 5. It imports space, callable, tooldoc and tier 2. The engine calls it; the composition root builds it.
package verbs

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/loam-agents/loam/internal/callable"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/govern"
	"github.com/loam-agents/loam/internal/runs"
	"github.com/loam-agents/loam/internal/space"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/tooldoc"
)

// Verb is one entry of the surface.
type Verb interface {
	// Document is the contract.
	Document() tooldoc.Document
	// Prepare says what a call with a validated input would do. It changes nothing.
	Prepare(ctx context.Context, scope space.Scope, input json.RawMessage) Action
}

// Action is a call that was understood and not yet carried out.
type Action struct {
	// Effect is its class.
	Effect tooldoc.Effect
	// Silent actions leave no events in the log: what they change is shown elsewhere (seeds/000 "plan").
	Silent bool
	// Parks says that a call may be answered later, with Result.Pending. It makes nothing that another call of the same answer
	// looks at.
	Parks bool
	// Again says that Run may carry out a call that an earlier execution of the turn has left without a result, because it finds
	// what that one has done. A call without it is answered with an error then. It is also how a call that waited for something
	// other than a child goes on.
	Again bool
	// Ends says that the change of the call ends the turn, with the result as the run's output. Such a call stands alone in its answer.
	Ends bool
	// Run carries it out. Work that must be atomic with the record of the call is returned as a Change.
	Run func(ctx context.Context) (Result, error)
}

// Result is what a call led to: a value, a Change whose Apply gives the value, or that the value comes later.
type Result struct {
	Value   space.Result
	Change  space.Change
	Pending Pending
}

// Pending begins what a call waits for, in the transaction that records the call, and says what that is: at least one wait. The turn
// is parked then. Whoever settles the waits appends the result of the call in the same transaction; when nobody does, the call is
// carried out once more if its Action allows it. On an error the transaction is given up, and the error is the result.
type Pending func(tx store.Tx) ([]runs.Wait, error)

// answer is an action that does nothing but answer.
func answer(value space.Result, err error) Action {
	return Action{Effect: tooldoc.Pure, Run: func(context.Context) (Result, error) { return Result{Value: value}, err }}
}

// Refuse is an action that only answers with an error.
func Refuse(err error) Action { return answer(nil, err) }

// Set is the surface of a server.
type Set struct {
	verbs      []Verb
	documents  []tooldoc.Document
	validators map[string]*tooldoc.Validator
	tools      *callable.Registry
	gate       *govern.Gate
}

// NewSet compiles the contracts of the verbs, in the order in which a provider sees them. tools are what agents can call besides;
// calls that a person has to approve wait at the gate.
func NewSet(tools *callable.Registry, gate *govern.Gate, verbs ...Verb) (*Set, error) {
	s := &Set{verbs: verbs, validators: map[string]*tooldoc.Validator{}, tools: tools, gate: gate}
	for _, v := range verbs {
		d := v.Document()
		validator, err := tooldoc.NewValidator(&d)
		if err != nil {
			return nil, err
		}
		s.documents = append(s.documents, d)
		s.validators[d.Name] = validator
	}
	return s, nil
}

// Documents are the contracts of the verbs, in order. The caller does not change them.
func (s *Set) Documents() []tooldoc.Document { return s.documents }

func (s *Set) find(name string) Verb {
	for i := range s.documents {
		if s.documents[i].Name == name {
			return s.verbs[i]
		}
	}
	return nil
}

// Prepare understands the arguments that a model wrote for a verb, or for a tool that the agent holds. A miss is answered with the
// contract; a name outside both is an error and reaches nothing.
func (s *Set) Prepare(ctx context.Context, scope space.Scope, name, arguments string) Action {
	if v := s.find(name); v != nil {
		return s.verb(ctx, scope, v, name, arguments)
	}
	held, err := s.tools.Of(ctx, scope)
	if err != nil {
		return answer(nil, err)
	}
	if t := held.Find(name); t != nil {
		return use(s.gate, scope, t, arguments)
	}
	return answer(nil, fault.Missing("There is no tool named %q", name))
}

func (s *Set) verb(ctx context.Context, scope space.Scope, v Verb, name, arguments string) Action {
	input, why := s.validators[name].Parse(arguments)
	if len(why) == 0 {
		return v.Prepare(ctx, scope, input)
	}
	if misser, ok := v.(interface {
		miss(ctx context.Context, scope space.Scope, arguments string) (Action, bool)
	}); ok {
		if a, meant := misser.miss(ctx, scope, arguments); meant {
			return a
		}
	}
	d := v.Document()
	return miss(&d, why)
}

// miss answers with a contract and the reasons.
func miss(d *tooldoc.Document, why []string) Action {
	value, err := d.Miss(why)
	if err != nil {
		err = fmt.Errorf("describe %s: %w", d.Name, err)
	}
	return answer(value, err)
}

// use is a call of a tool that the agent holds. Whoever decides approvals needs none, and nobody else gets around them by hand.
func use(gate *govern.Gate, scope space.Scope, t *callable.Tool, arguments string) Action {
	input, why := t.Parse(arguments)
	if len(why) > 0 {
		return miss(&t.Document, why)
	}
	if govern.Needs(scope.Definition, t.Document.Name, t.Effect()) && !scope.Decides {
		if scope.Call == "" {
			return Refuse(fault.New(fault.PermissionDenied, "%s needs an approval: only who decides on it can call it by hand", t.Document.Name))
		}
		return gated(gate, scope, t, input)
	}
	return Action{Effect: t.Effect(), Run: func(ctx context.Context) (Result, error) {
		value, err := t.Call(ctx, scope, input)
		return Result{Value: value}, err
	}}
}

// decode reads a validated input; the schema has already said that it fits.
func decode(input json.RawMessage, into any) error {
	if err := json.Unmarshal(input, into); err != nil {
		return fault.Invalid("The input could not be read: %v", err)
	}
	return nil
}

// change adapts a function to space.Change.
type change func(tx store.Tx) (space.Result, error)

// Apply implements space.Change.
func (c change) Apply(tx store.Tx) (space.Result, error) { return c(tx) }
