package operation

import (
	"context"
	"slices"
	"strings"

	"github.com/loam-agents/loam/internal/bounded"
	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/notify"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/tooldoc"
	"github.com/loam-agents/loam/wire"
)

func toolOperations() []Operation {
	return []Operation{
		{Name: "ListAgentTools", Response: "ListAgentToolsResponse", Access: Read, Effect: Query, Since: "0.1", handle: listAgentTools,
			Route: &Route{Method: "GET", Path: "/agents/{agentId}/tools", Summary: "List what an agent can call",
				Request: wire.AgentRequest{}, Reply: wire.ListAgentToolsResponse{}}},
		{Name: "SaveAgentTool", Response: "SaveAgentToolResponse", Access: Write, Effect: Mutation, Since: "0.3", handle: saveAgentTool,
			Route: &Route{Method: "POST", Path: "/agents/{agentId}/tools", Summary: "Author or change a tool of an agent",
				Note:    "Without previousName a new tool is made; with it, the tool of that name is replaced and, when the names differ, renamed.",
				Request: wire.SaveAgentToolRequest{}, Reply: wire.SaveAgentToolResponse{}, Tagged: true}},
		{Name: "DeleteAgentTool", Response: "DeleteAgentToolResponse", Access: Write, Effect: Mutation, Since: "0.3", handle: deleteAgentTool,
			Route: &Route{Method: "DELETE", Path: "/agents/{agentId}/tools/{name}", Summary: "Delete an authored tool of an agent",
				Request: wire.AgentToolRequest{}, Reply: wire.DeleteAgentToolResponse{}, Tagged: true}},
	}
}

// listAgentTools refreshes the copies of builtin contracts before it lists: they follow the server.
func listAgentTools(ctx context.Context, c *Call) (Result, error) {
	agentID, err := c.agentID()
	if err != nil {
		return Result{}, err
	}
	var found access
	var stored []tooldoc.Stored
	read := func(tx store.Tx) (err error) {
		if found, err = c.onAgent(tx, agentID, wire.MsgAgentNotFound); err != nil {
			return err
		}
		stored, err = tooldoc.List(tx, agentID)
		return err
	}
	if err := c.opts.Store.Read(ctx, read); err != nil {
		return Result{}, err
	}
	if c.drifted(stored) {
		err := c.opts.Store.Write(ctx, store.Interactive, func(tx store.Tx) error {
			if err := read(tx); err != nil {
				return err
			}
			_, err := tooldoc.Reconcile(tx, agentID, tooldoc.Builtin, "", c.opts.Tools.Builtins(), clock.Millis(c.opts.Clock))
			if err == nil {
				stored, err = tooldoc.List(tx, agentID)
			}
			return err
		})
		if err != nil {
			return Result{}, err
		}
	}
	out := wire.ListAgentToolsResponse{AgentID: agentID, Tools: []wire.ToolInfo{}}
	for i := range stored {
		out.Tools = append(out.Tools, c.toolInfo(found, &stored[i]))
	}
	return Result{Value: out}, nil
}

// drifted tells whether the stored builtins are others than those of this server.
func (c *Call) drifted(stored []tooldoc.Stored) bool {
	var present, shipped []string
	for i := range stored {
		if stored[i].Document.Kind == tooldoc.Builtin {
			present = append(present, stored[i].Document.Name+" "+stored[i].CID)
		}
	}
	for _, d := range c.opts.Tools.Builtins() {
		cid, err := d.CID()
		if err != nil {
			return true
		}
		shipped = append(shipped, d.Name+" "+cid)
	}
	return !slices.Equal(present, shipped)
}

func (c *Call) toolInfo(on access, s *tooldoc.Stored) wire.ToolInfo {
	d := &s.Document
	return wire.ToolInfo{
		Name: d.Name, Kind: string(d.Kind), Summary: d.Summary, Description: d.Description, Input: d.Input, Output: d.Output,
		Source: d.Source, Runtime: d.Runtime, Server: d.Server, RemoteName: d.RemoteName, CID: s.CID, Enabled: s.Enabled,
		Granted: c.opts.Tools.Granted(on.agent.Definition, d), Effect: string(c.opts.Tools.Effect(d)), Author: string(s.Author),
		CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt,
	}
}

func saveAgentTool(ctx context.Context, c *Call) (Result, error) {
	var req wire.SaveAgentToolRequest
	if err := c.bind(&req); err != nil {
		return Result{}, err
	}
	agentID, err := bounded.Name(req.AgentID, "Agent ID")
	if err != nil {
		return Result{}, err
	}
	previous, name := strings.TrimSpace(req.PreviousName), strings.TrimSpace(req.Tool.Name)
	if c.opts.Tools.Reserved(previous) {
		return Result{}, fault.Invalid("Builtin tools cannot be edited")
	}
	document, err := tooldoc.NewLambda(tooldoc.Authored{
		Name: name, Summary: req.Tool.Summary, Description: req.Tool.Description, Input: req.Tool.Input, Output: req.Tool.Output,
		Source: req.Tool.Source, Runtime: req.Tool.Runtime,
	}, c.opts.Tools.Reserved)
	if err != nil {
		return Result{}, err
	}
	var tag string
	out, err := c.commit(ctx, once{}, func(tx store.Tx) (any, error) {
		found, err := c.onAgent(tx, agentID, wire.MsgAgentNotFound)
		if err != nil {
			return nil, err
		}
		enabled, err := c.toolSwitch(tx, agentID, previous, req.Tool.Enabled)
		if err != nil {
			return nil, err
		}
		saved, err := tooldoc.Save(tx, agentID, document, previous, enabled, tooldoc.ByPerson, clock.Millis(c.opts.Clock))
		if err != nil {
			return nil, err
		}
		tag = toolTag(saved)
		c.opts.Notify.AgentChanged(tx, found.agent.Account, agentID, notify.ToolsChanged)
		return wire.SaveAgentToolResponse{AgentID: agentID, Tool: c.toolInfo(found, &saved)}, nil
	})
	out.Tag = tag
	return out, err
}

// toolSwitch is whether a tool is on after a change, which must be meant for the tool as it is.
func (c *Call) toolSwitch(tx store.Tx, agentID, name string, asked *bool) (bool, error) {
	before, found, err := tooldoc.Find(tx, agentID, name)
	if err != nil {
		return false, err
	}
	tag := ""
	if found {
		tag = toolTag(before)
	}
	if err := c.unchanged(tag); err != nil {
		return false, err
	}
	if asked != nil {
		return *asked, nil
	}
	return !found || before.Enabled, nil
}

func deleteAgentTool(ctx context.Context, c *Call) (Result, error) {
	var req wire.AgentToolRequest
	if err := c.bind(&req); err != nil {
		return Result{}, err
	}
	agentID, err := bounded.Name(req.AgentID, "Agent ID")
	if err != nil {
		return Result{}, err
	}
	name, err := bounded.Name(req.Name, "Tool name")
	if err != nil {
		return Result{}, err
	}
	return c.commit(ctx, once{}, func(tx store.Tx) (any, error) {
		found, err := c.onAgent(tx, agentID, wire.MsgAgentNotFound)
		if err != nil {
			return nil, err
		}
		if c.opts.Tools.Reserved(name) {
			return nil, fault.Invalid("Builtin tools cannot be deleted: the agent's grants decide whether it has them")
		}
		before, there, err := tooldoc.Find(tx, agentID, name)
		if err != nil {
			return nil, err
		}
		tag := ""
		if there {
			if err := tooldoc.Editable(&before.Document); err != nil {
				return nil, err
			}
			tag = toolTag(before)
		}
		if err := c.unchanged(tag); err != nil {
			return nil, err
		}
		deleted, err := tooldoc.Remove(tx, agentID, name)
		if err != nil {
			return nil, err
		}
		if deleted {
			c.opts.Notify.AgentChanged(tx, found.agent.Account, agentID, notify.ToolsChanged)
		}
		return wire.DeleteAgentToolResponse{AgentID: agentID, Name: name, Deleted: deleted}, nil
	})
}
