// Package verbs is the fixed surface through which an agent acts: read, write, plan and status so far.
//
// Every verb is one file: its contract (a tool document that the model and ~/tools share), its effect class, and what it
// does. A call is validated against the contract first; a miss is answered with the contract. Verbs do not write the log:
// the engine does, in the transaction in which it also applies what a verb prepared.
//
// verbs is tier 5. It imports space, tooldoc and tier 2. The engine calls it; the composition root builds it.
package verbs

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/space"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/tooldoc"
)

// Effect classes of what can be called (design §8).
type Effect string

// The classes: Pure may be repeated at will, Idempotent leads to the same state when repeated, SideEffecting does not.
const (
	Pure          Effect = "pure"
	Idempotent    Effect = "idempotent"
	SideEffecting Effect = "side-effecting"
)

// Verb is one entry of the surface.
type Verb interface {
	// Document is the contract.
	Document() tooldoc.Document
	// Effect is the class of a call.
	Effect() Effect
	// Silent verbs leave no events in the log: what they change is shown elsewhere (seeds/000 "plan").
	Silent() bool
	// Call carries out a validated input. Work that must be atomic with the record of the call is returned as a Change.
	Call(ctx context.Context, scope space.Scope, input json.RawMessage) (Result, error)
}

// Result is what a call led to: a value, or a Change whose Apply gives the value.
type Result struct {
	Value  space.Result
	Change space.Change
}

// Set is the surface of a server.
type Set struct {
	verbs      []Verb
	documents  []tooldoc.Document
	validators map[string]*tooldoc.Validator
}

// NewSet compiles the contracts of the verbs, in the order in which a provider sees them.
func NewSet(verbs ...Verb) (*Set, error) {
	s := &Set{verbs: verbs, validators: map[string]*tooldoc.Validator{}}
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

// Documents are the contracts, in order. The caller does not change them.
func (s *Set) Documents() []tooldoc.Document { return s.documents }

// Find returns a verb by name, or nil.
func (s *Set) Find(name string) Verb {
	for i := range s.documents {
		if s.documents[i].Name == name {
			return s.verbs[i]
		}
	}
	return nil
}

// Call validates the arguments that a model wrote and carries the call out. A miss is a Result with the contract; a name
// outside the set is an error and reaches nothing.
func (s *Set) Call(ctx context.Context, scope space.Scope, name, arguments string) (Result, error) {
	v := s.Find(name)
	if v == nil {
		return Result{}, fault.Missing("There is no tool named %q", name)
	}
	input, why := s.validators[name].Parse(arguments)
	if len(why) > 0 {
		d := v.Document()
		miss, err := d.Miss(why)
		if err != nil {
			return Result{}, fmt.Errorf("describe %s: %w", name, err)
		}
		return Result{Value: miss}, nil
	}
	return v.Call(ctx, scope, input)
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
