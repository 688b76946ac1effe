package callable

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/loam-agents/loam/internal/space"
	"github.com/loam-agents/loam/internal/tooldoc"
)

// Tool is a document together with what carries it out.
type Tool struct {
	tooldoc.Stored

	effect tooldoc.Effect
	call   func(ctx context.Context, scope space.Scope, input json.RawMessage) (space.Result, error)

	once      sync.Once
	validator *tooldoc.Validator
	broken    error
}

// compile prepares the check of inputs, once. A schema that cannot be used leaves the tool without one: what its server or author
// declared is theirs to enforce.
func (t *Tool) compile() error {
	t.once.Do(func() { t.validator, t.broken = tooldoc.NewValidator(&t.Document) })
	return t.broken
}

// Effect is the class of a call.
func (t *Tool) Effect() tooldoc.Effect { return t.effect }

// Parse checks what a model wrote as arguments. It returns the input, or why it is a miss.
func (t *Tool) Parse(arguments string) (json.RawMessage, []string) {
	if t.compile() != nil {
		return tooldoc.ParseObject(arguments)
	}
	return t.validator.Parse(arguments)
}

// Call carries out an input that Parse returned.
func (t *Tool) Call(ctx context.Context, scope space.Scope, input json.RawMessage) (space.Result, error) {
	return t.call(ctx, scope, input)
}

// maxOffered bounds the contract of a tool that a provider is given as one of its own, in bytes: a longer one is reached by `call`
// only.
const maxOffered = 16 << 10

// Offerable tells whether a provider can be given the tool: it checks schemas itself and refuses the whole request for one that it
// cannot read.
func (t *Tool) Offerable() bool {
	return len(t.Document.Description)+len(t.Document.Input) <= maxOffered && t.compile() == nil && tooldoc.ObjectRoot(t.Document.Input)
}
