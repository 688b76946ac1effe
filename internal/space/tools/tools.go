// Package tools serves ~/tools: the contracts of everything an agent can call, and guides for what it can write.
//
// It is a scheme of the Space (tier 4). The documents come from the composition root, since the verbs that they describe
// stand above it.
package tools

import (
	"context"
	"fmt"
	"sort"
	"strings"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/space"
	"github.com/loam-agents/loam/internal/tooldoc"
)

const root = "~/tools"

// Catalog tells which documents an agent may know.
type Catalog interface {
	// Documents lists the verbs and the callables that are granted in the scope.
	Documents(scope space.Scope) []tooldoc.Document
}

// Guide explains one kind of write at length.
type Guide struct {
	// Resource is the last segment of ~/tools/write/<resource>.
	Resource string
	Markdown string
}

// Scheme serves ~/tools.
type Scheme struct {
	catalog Catalog
	guides  []Guide
}

// New returns the scheme.
func New(catalog Catalog, guides ...Guide) *Scheme { return &Scheme{catalog: catalog, guides: guides} }

// Serves implements space.Scheme.
func (s *Scheme) Serves(address string) bool {
	_, ok := space.Under(address, root)
	return ok
}

// Forms implements space.Scheme.
func (s *Scheme) Forms() []space.Form {
	return []space.Form{
		{Address: root + "/", Read: "everything you can call"},
		{Address: root + "/<name>", Read: "the full contract of one of them"},
		{Address: root + "/write/<resource>", Read: "how to write one kind of thing: " + strings.Join(s.resources(), ", ")},
	}
}

// Read implements space.Scheme.
func (s *Scheme) Read(_ context.Context, scope space.Scope, req space.ReadRequest) (space.Result, error) {
	if err := space.KnownOptions(req.Options, root); err != nil {
		return nil, err
	}
	rest, _ := space.Under(req.Address, root)
	name := strings.Trim(rest, "/")
	if resource, ok := space.Under(name, "write"); ok && name != "write" {
		return s.guide(resource)
	}
	documents := s.catalog.Documents(scope)
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
	for _, g := range s.guides {
		if g.Resource == resource {
			return space.Result{"summary": "How to write " + resource, "name": "write/" + resource, "markdown": g.Markdown}, nil
		}
	}
	return nil, fault.Missing("No write guide for %q. There are guides for: %s", resource, strings.Join(s.resources(), ", "))
}

func (s *Scheme) resources() []string {
	var out []string
	for _, g := range s.guides {
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
