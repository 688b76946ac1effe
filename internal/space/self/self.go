// Package self serves ~/self: an agent's own record, read-only. The definition is its owner's to edit, not the agent's.
//
// It is a scheme of the Space (tier 4).
package self

import (
	"cmp"
	"context"
	"fmt"

	"github.com/loam-agents/loam/internal/agent"
	"github.com/loam-agents/loam/internal/agent/prompt"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/memory"
	"github.com/loam-agents/loam/internal/runs"
	"github.com/loam-agents/loam/internal/sessionlog"
	"github.com/loam-agents/loam/internal/space"
	"github.com/loam-agents/loam/internal/store"
)

const root = "~/self"

// Scheme serves ~/self.
type Scheme struct {
	store     store.Store
	callables func() []string
}

// New returns the scheme. callables names what this server can offer for a grant.
func New(s store.Store, callables func() []string) *Scheme {
	return &Scheme{store: s, callables: callables}
}

// Serves implements space.Scheme.
func (s *Scheme) Serves(address string) bool { return address == root || address == root+"/" }

// Forms implements space.Scheme.
func (s *Scheme) Forms() []space.Form {
	return []space.Form{{Address: root, Read: "your own record: model, instructions, grants, memory"}}
}

// Read implements space.Scheme.
func (s *Scheme) Read(ctx context.Context, scope space.Scope, req space.ReadRequest) (space.Result, error) {
	if err := space.KnownOptions(req.Options, root); err != nil {
		return nil, err
	}
	if scope.Agent == "" {
		return nil, fault.Missing("There is no agent here")
	}
	var sessions int64
	var summary memory.Summary
	err := s.store.Read(ctx, func(tx store.Tx) (err error) {
		if sessions, err = sessionlog.CountTopLevel(tx, scope.Agent, ""); err != nil {
			return err
		}
		summary, err = memory.Summarize(tx, scope.Agent, 12)
		return err
	})
	if err != nil {
		return nil, err
	}
	def := scope.Definition
	grants := agent.GrantsOf(def, s.callables())
	budget := runs.BudgetOf(def.Thoroughness)
	out := space.Result{
		"summary": fmt.Sprintf("%s, on %s", def.Name, def.Model),
		"agentId": scope.Agent, "name": def.Name, "model": def.Model, "modelProvider": def.ModelProvider,
		"systemPrompt": prompt.Markdown(def.SystemPrompt),
		"grants":       map[string]any{"callableTools": grants.Callables, "publish": grants.Publish, "mcpServers": append([]string{}, def.McpServers...)},
		"memory":       map[string]any{"totalFiles": summary.Files, "topLevel": append([]string{}, summary.TopLevel...)},
		"delegation":   map[string]any{"thoroughness": cmp.Or(def.Thoroughness, runs.Normal), "maxDepth": budget.MaxDepth, "maxChildren": budget.MaxChildren},
		"sessionCount": sessions,
		"guidance":     "This record is your owner's to edit. Ask them when something in it should change.",
	}
	if def.ReasoningLevel != "" {
		out["reasoningLevel"] = def.ReasoningLevel
	}
	if keys := agent.SigningKeys(def); len(keys) > 0 {
		out["signingKeys"] = keys
	}
	if len(def.Metadata) > 0 {
		out["metadata"] = def.Metadata
	}
	return out, nil
}
