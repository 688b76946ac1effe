// Package callable is everything that the verb `call` reaches: the builtin callables of this server, and the documents on an
// agent's shelf (authored tools, tools of MCP servers) with what carries them out.
//
// A builtin callable is one folder below this package, or any value that implements Callable; the composition root lists them.
// A kind of stored document is carried out by an Executor, which the composition root hands over as well. What an agent holds is
// decided in one place, Registry.Held: builtins that its definition grants, authored tools that are switched on, and tools of the
// MCP servers that it names. Nothing else ever reaches an executor (seeds/000 "Touch-expand and promotion").
//
// callable is tier 4. It imports tooldoc, space, agent and store. The verbs (tier 5) call it; operations list and edit with it.
package callable

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/loam-agents/loam/internal/agent"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/space"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/tooldoc"
	"github.com/loam-agents/loam/wire"
)

// Callable is a builtin: its contract and what carries it out.
type Callable interface {
	// Document is the contract. Kind and Binding are set by the registry; Summary is at most 140 characters.
	Document() tooldoc.Document
	// Effect is the class of every call.
	Effect() tooldoc.Effect
	// Call carries out an input that fits the contract. The result has a `summary`. Errors are *fault.Error with a text that tells
	// a model what to do; bad news is a result. It must respect ctx and bound what it returns.
	Call(ctx context.Context, scope space.Scope, input json.RawMessage) (space.Result, error)
}

// Executor carries out stored documents of one kind.
type Executor interface {
	// Effect is the class of calls of a document.
	Effect(d *tooldoc.Document) tooldoc.Effect
	// Call is that of Callable, for a document that the agent holds.
	Call(ctx context.Context, scope space.Scope, d *tooldoc.Document, input json.RawMessage) (space.Result, error)
}

// Options configure a Registry.
type Options struct {
	Store store.Store
	// Callables are the builtins of this server. One that can only fail here is left out.
	Callables []Callable
	// Executors carry out stored documents, by kind. A lambda without one answers that this server runs no code.
	Executors map[tooldoc.Kind]Executor
	// Always are the names of builtins that every agent holds without a grant: they reach nothing that it does not have.
	Always []string
	// Verbs are the names of the fixed surface, which no tool may take.
	Verbs []string
}

// Registry knows the builtins and keeps what agents hold. It is safe for concurrent use.
type Registry struct {
	opts     Options
	builtins []*Tool
	names    []string

	mu      sync.Mutex
	shelves map[string]*shelf
}

// maxShelves bounds the agents whose documents are kept in memory.
const maxShelves = 1000

// shelf is what was read of an agent, and what it holds under each of the definitions that were asked for.
type shelf struct {
	revision int64
	tools    []*Tool
	held     map[string]*Held
}

// maxDefinitions bounds the definitions of one agent that are kept.
const maxDefinitions = 8

// New returns a registry. It fails when a builtin's contract is broken or a name is used twice.
func New(opts Options) (*Registry, error) {
	r := &Registry{opts: opts, shelves: map[string]*shelf{}}
	taken := map[string]bool{}
	for _, name := range opts.Verbs {
		taken[name] = true
	}
	for _, c := range opts.Callables {
		d := c.Document()
		d.Kind, d.Binding = tooldoc.Builtin, d.Name
		if taken[d.Name] {
			return nil, fmt.Errorf("the name %q is used by two tools", d.Name)
		}
		taken[d.Name] = true
		cid, err := d.CID()
		if err != nil {
			return nil, err
		}
		t := &Tool{Stored: tooldoc.Stored{Document: d, CID: cid, Enabled: true}, effect: c.Effect(), call: c.Call}
		if err := t.compile(); err != nil {
			return nil, err
		}
		r.builtins, r.names = append(r.builtins, t), append(r.names, d.Name)
	}
	slices.SortFunc(r.builtins, byName)
	slices.Sort(r.names)
	return r, nil
}

func byName(a, b *Tool) int { return strings.Compare(a.Document.Name, b.Document.Name) }

// Names are those of the builtins, sorted.
func (r *Registry) Names() []string { return slices.Clone(r.names) }

// Reserved tells whether a name belongs to a builtin or a verb.
func (r *Registry) Reserved(name string) bool {
	return slices.Contains(r.names, name) || slices.Contains(r.opts.Verbs, name)
}

// Builtins are the contracts of the builtins, sorted by name.
func (r *Registry) Builtins() []tooldoc.Document {
	out := make([]tooldoc.Document, len(r.builtins))
	for i, t := range r.builtins {
		out[i] = t.Document
	}
	return out
}

// Normalize is a name as grants and calls understand it: names of earlier protocols have their new one.
func Normalize(name string) string {
	if name = strings.TrimSpace(name); name == "execute_code" {
		return "execute"
	}
	return name
}

// Granted tells whether a definition lets its agent call a document: a builtin that it grants, an authored tool when it may run
// code or names the tool, a tool of an MCP server that it names.
func (r *Registry) Granted(def wire.AgentDefinition, d *tooldoc.Document) bool {
	switch d.Kind {
	case tooldoc.Builtin:
		return slices.Contains(r.opts.Always, d.Name) || slices.Contains(agent.GrantsOf(def, r.names).Callables, d.Name)
	case tooldoc.Lambda:
		return mayRun(def, d.Name)
	case tooldoc.MCP:
		return agent.Reaches(def, d.Server, d.Name)
	}
	return false
}

// Effect is the class of calls of a stored document.
func (r *Registry) Effect(d *tooldoc.Document) tooldoc.Effect {
	if d.Kind == tooldoc.Builtin {
		for _, t := range r.builtins {
			if t.Document.Name == d.Name {
				return t.effect
			}
		}
	}
	if executor := r.opts.Executors[d.Kind]; executor != nil {
		return executor.Effect(d)
	}
	return tooldoc.SideEffecting
}

// mayRun tells whether a definition lets an authored tool run: writing one must not get around an owner who turned code off.
func mayRun(def wire.AgentDefinition, name string) bool {
	return def.Tools == nil || slices.ContainsFunc(*def.Tools, func(t string) bool {
		t = Normalize(t)
		return t == "execute" || t == name
	})
}

// Held is what an agent can call under a definition. tx must be that of a Read: what a transaction has not committed would be
// remembered.
func (r *Registry) Held(tx store.Tx, agentID string, def wire.AgentDefinition) (*Held, error) {
	revision, err := tooldoc.Revision(tx, agentID)
	if err != nil {
		return nil, err
	}
	key := grantKey(def)
	if h := r.cached(agentID, revision, key); h != nil {
		return h, nil
	}
	var tools []*Tool
	if revision > 0 {
		stored, err := tooldoc.List(tx, agentID)
		if err != nil {
			return nil, err
		}
		for i := range stored {
			if stored[i].Document.Kind != tooldoc.Builtin {
				tools = append(tools, r.stored(stored[i]))
			}
		}
	}
	return r.keep(agentID, revision, key, tools, def), nil
}

// Of is Held for a scope, read now.
func (r *Registry) Of(ctx context.Context, scope space.Scope) (h *Held, err error) {
	err = r.opts.Store.Read(ctx, func(tx store.Tx) error {
		h, err = r.Held(tx, scope.Agent, scope.Definition)
		return err
	})
	return h, err
}

func (r *Registry) cached(agentID string, revision int64, key string) *Held {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.shelves[agentID]
	if s == nil || s.revision != revision {
		return nil
	}
	return s.held[key]
}

func (r *Registry) keep(agentID string, revision int64, key string, tools []*Tool, def wire.AgentDefinition) *Held {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.shelves[agentID]
	switch {
	case s != nil && s.revision > revision:
		// Somebody has read a newer shelf meanwhile; this one is only for its caller.
		return r.hold(tools, def)
	case s == nil || s.revision < revision:
		if len(r.shelves) >= maxShelves {
			clear(r.shelves)
		}
		s = &shelf{revision: revision, tools: tools, held: map[string]*Held{}}
		r.shelves[agentID] = s
	case len(s.held) >= maxDefinitions:
		clear(s.held)
	}
	h := r.hold(s.tools, def)
	s.held[key] = h
	return h
}

// grantKey is all of a definition that decides what its agent holds.
func grantKey(def wire.AgentDefinition) string {
	key, err := json.Marshal([]any{def.Tools == nil, def.Tools, def.McpServers, pinned(def)})
	if err != nil {
		return ""
	}
	return string(key)
}

// stored gives a document of a shelf what carries it out.
func (r *Registry) stored(s tooldoc.Stored) *Tool {
	t := &Tool{Stored: s, effect: r.Effect(&s.Document)}
	executor := r.opts.Executors[s.Document.Kind]
	t.call = func(ctx context.Context, scope space.Scope, input json.RawMessage) (space.Result, error) {
		d := &t.Document
		switch {
		case executor == nil && d.Kind == tooldoc.Lambda:
			return nil, fault.Invalid("This server runs no code, so %q cannot be carried out here. Its contract can be read, and a person can switch execution on", d.Name)
		case executor == nil:
			return nil, fault.Invalid("This server cannot carry out %s tools", d.Kind)
		case !r.Granted(scope.Definition, d):
			return nil, fault.New(fault.PermissionDenied, "You are not granted to run %q: your owner can grant `execute`, or the tool by its name", d.Name)
		}
		return executor.Call(ctx, scope, d, input)
	}
	return t
}
