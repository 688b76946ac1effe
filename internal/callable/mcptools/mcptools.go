// Package mcptools makes the tools of MCP servers tools of agents: it keeps the documents of an agent in step with the servers that its
// definition names, and carries calls out.
//
// It is an executor of callables (tier 4) over package mcp. The composition root hands its functions to whoever saves definitions and
// discoveries.
package mcptools

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/mcp"
	"github.com/loam-agents/loam/internal/space"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/tooldoc"
)

// Documents are the tools of a server as documents (spec §11).
func Documents(s *mcp.Server) []tooldoc.Document {
	out := make([]tooldoc.Document, len(s.Tools))
	for i, t := range s.Tools {
		d := tooldoc.Document{
			Name: t.Name, Kind: tooldoc.MCP, Description: t.Description, Input: t.Input, Server: s.Name, RemoteName: t.RemoteName,
		}
		if d.Description == "" {
			d.Description = fmt.Sprintf("The tool %s of the MCP server %s, which says no more about it.", t.RemoteName, s.Name)
		}
		d.Summary = tooldoc.Summarize("", d.Description)
		out[i] = d
	}
	return out
}

// Equip gives an agent the documents of the servers that its definition names, and takes those of all others. account owns both. It
// tells whether anything changed.
func Equip(tx store.Tx, account, agentID string, servers []string, now int64) (changed bool, err error) {
	before, err := tooldoc.Revision(tx, agentID)
	if err != nil {
		return false, err
	}
	present, err := tooldoc.List(tx, agentID)
	if err != nil {
		return false, err
	}
	known := slices.Clone(servers)
	for i := range present {
		if d := &present[i].Document; d.Kind == tooldoc.MCP && !slices.Contains(known, d.Server) {
			known = append(known, d.Server)
		}
	}
	for _, name := range known {
		var documents []tooldoc.Document
		if slices.Contains(servers, name) {
			s, err := mcp.Get(tx, account, name)
			if err != nil && fault.CodeOf(err) != fault.NotFound {
				return false, err
			}
			documents = Documents(&s)
		}
		// A name that another server's tool has is that tool's: the server's name is part of both, so it is the same server's.
		if _, err := tooldoc.Reconcile(tx, agentID, tooldoc.MCP, name, documents, now); err != nil {
			return false, err
		}
	}
	after, err := tooldoc.Revision(tx, agentID)
	return after != before, err
}

// Executor carries out the documents of kind MCP.
type Executor struct{ manager *mcp.Manager }

// New returns it.
func New(manager *mcp.Manager) *Executor { return &Executor{manager: manager} }

// Effect implements callable.Executor. What a server promises about its tools is not relied on: a call may have done anything.
func (*Executor) Effect(*tooldoc.Document) tooldoc.Effect { return tooldoc.SideEffecting }

// Call implements callable.Executor. A failure that the tool reports is a result with `isError`.
func (e *Executor) Call(ctx context.Context, scope space.Scope, d *tooldoc.Document, input json.RawMessage) (space.Result, error) {
	answer, err := e.manager.Call(ctx, scope.Account, d.Server, d.RemoteName, input)
	if err != nil {
		return nil, err
	}
	out := space.Result{"server": d.Server, "tool": d.RemoteName, "text": answer.Text}
	verb := "answered"
	switch {
	case answer.IsError:
		out["isError"], verb = true, "reported an error"
	case answer.Text == "":
		verb = "answered with nothing"
	}
	out["summary"] = fmt.Sprintf("%s %s", d.Name, verb)
	if answer.Truncated {
		out["truncated"] = true
	}
	return out, nil
}
