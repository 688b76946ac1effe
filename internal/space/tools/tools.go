// Package tools serves ~/tools: the contracts of everything an agent can call, guides for what it can write, and the tools that it
// writes itself.
//
// It is a scheme of the Space (tier 4). The documents come from the composition root, since the verbs that they describe
// stand above it.
package tools

import (
	"context"
	"fmt"
	"sort"
	"strings"

	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/space"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/tooldoc"
)

const root = "~/tools"

// Catalog tells which documents an agent may know.
type Catalog interface {
	// Documents lists the verbs and what the agent of the scope can call.
	Documents(ctx context.Context, scope space.Scope) ([]tooldoc.Document, error)
	// Reserved tells whether a name belongs to a verb or a builtin.
	Reserved(name string) bool
}

// Guide explains one kind of write at length.
type Guide struct {
	// Resource is the last segment of ~/tools/write/<resource>.
	Resource string
	Markdown string
}

// Options configure the scheme.
type Options struct {
	Catalog Catalog
	Clock   clock.Clock
	Guides  []Guide
	// Changed is called inside the transaction of every write; it may be nil.
	Changed func(tx store.Tx, scope space.Scope)
}

// Scheme serves ~/tools.
type Scheme struct{ opts Options }

// New returns the scheme.
func New(opts Options) *Scheme {
	if opts.Changed == nil {
		opts.Changed = func(store.Tx, space.Scope) {}
	}
	return &Scheme{opts: opts}
}

// Serves implements space.Scheme.
func (s *Scheme) Serves(address string) bool {
	_, ok := space.Under(address, root)
	return ok
}

// Forms implements space.Scheme.
func (s *Scheme) Forms() []space.Form {
	return []space.Form{
		{Address: root + "/", Read: "everything you can call"},
		{Address: root + "/<name>", Read: "the full contract of one of them", Write: "content is a tool of your own as JSON; options.delete removes it"},
		{Address: root + "/write/<resource>", Read: "how to write one kind of thing: " + strings.Join(s.resources(), ", ")},
	}
}

// Read implements space.Scheme.
func (s *Scheme) Read(ctx context.Context, scope space.Scope, req space.ReadRequest) (space.Result, error) {
	if err := space.KnownOptions(req.Options, root); err != nil {
		return nil, err
	}
	rest, _ := space.Under(req.Address, root)
	name := strings.Trim(rest, "/")
	if resource, ok := space.Under(name, "write"); ok && name != "write" {
		return s.guide(resource)
	}
	documents, err := s.opts.Catalog.Documents(ctx, scope)
	if err != nil {
		return nil, err
	}
	if name == "" {
		return listing(documents, fmt.Sprintf("%d tools", len(documents))), nil
	}
	for i := range documents {
		if documents[i].Name == name {
			return contract(&documents[i])
		}
	}
	return listing(documents, fmt.Sprintf("No tool named %q. These can be called:", name)), nil
}

func (s *Scheme) guide(resource string) (space.Result, error) {
	for _, g := range s.opts.Guides {
		if g.Resource == resource {
			return space.Result{"summary": "How to write " + resource, "name": "write/" + resource, "markdown": g.Markdown}, nil
		}
	}
	return nil, fault.Missing("No write guide for %q. There are guides for: %s", resource, strings.Join(s.resources(), ", "))
}

func (s *Scheme) resources() []string {
	var out []string
	for _, g := range s.opts.Guides {
		out = append(out, g.Resource)
	}
	sort.Strings(out)
	return out
}

func contract(d *tooldoc.Document) (space.Result, error) {
	markdown, err := d.Contract()
	if err != nil {
		return nil, err
	}
	out := space.Result{"summary": "Contract of " + d.Name, "name": d.Name, "markdown": markdown}
	if d.Kind != tooldoc.Verb {
		cid, err := d.CID()
		if err != nil {
			return nil, err
		}
		out["cid"], out["kind"] = cid, string(d.Kind)
	}
	return out, nil
}

// listing lists callables in `tools`, and the verbs in the Markdown only (spec §16).
func listing(documents []tooldoc.Document, summary string) space.Result {
	var verbs, callables strings.Builder
	names := []string{}
	for i := range documents {
		d := &documents[i]
		if d.Kind == tooldoc.Verb {
			fmt.Fprintf(&verbs, "- `%s` — %s\n", d.Name, d.Summary)
			continue
		}
		names = append(names, d.Name)
		fmt.Fprintf(&callables, "- `%s` — %s\n", d.Name, d.Summary)
	}
	markdown := "Verbs\n\n" + verbs.String()
	if callables.Len() > 0 {
		markdown += "\nTools, through `call`\n\n" + callables.String()
	}
	return space.Result{"summary": summary, "markdown": markdown, "tools": names}
}
