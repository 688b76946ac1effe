package operation

import (
	"context"
	"net/http"
	"reflect"
	"slices"

	"github.com/loam-agents/loam/internal/account"
	"github.com/loam-agents/loam/internal/agent"
	"github.com/loam-agents/loam/internal/agent/collaborator"
	"github.com/loam-agents/loam/internal/bounded"
	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/govern"
	"github.com/loam-agents/loam/internal/memory"
	"github.com/loam-agents/loam/internal/notify"
	"github.com/loam-agents/loam/internal/provider"
	"github.com/loam-agents/loam/internal/runs"
	"github.com/loam-agents/loam/internal/sessionlog"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/tooldoc"
	"github.com/loam-agents/loam/wire"
)

func agentOperations() []Operation {
	return []Operation{
		{Name: "ListAgents", Response: "ListAgentsResponse", Access: Self, Effect: Query, Since: "0.1", handle: listAgents,
			Route: &Route{Method: "GET", Path: "/agents", Summary: "List agents", Request: wire.PageRequest{}, Reply: wire.ListAgentsResponse{}}},
		{Name: "CreateAgent", Response: "CreateAgentResponse", Access: Self, Effect: Mutation, Since: "0.1", handle: createAgent,
			Route: &Route{Method: "POST", Path: "/agents", Summary: "Make an agent", Status: http.StatusCreated,
				Note:    "Without a list of tools the agent gets none.",
				Request: CreateAgentFields{}, Reply: wire.CreateAgentResponse{}}},
		{Name: "GetAgent", Response: "GetAgentResponse", Access: Read, Effect: Query, Since: "0.1", handle: getAgent,
			Route: &Route{Method: "GET", Path: "/agents/{agentId}", Summary: "Read an agent",
				Request: wire.AgentRequest{}, Reply: AgentShown{}, present: presentAgent}},
		{Name: "UpdateAgent", Response: "GetAgentResponse", Access: Write, Effect: Mutation, Since: "0.1", handle: updateAgent,
			Route: &Route{Method: "PUT", Path: "/agents/{agentId}", Summary: "Replace an agent's definition",
				Note:    "Without a list of tools the agent keeps those it has.",
				Request: UpdateAgentFields{}, Reply: wire.GetAgentResponse{}, Tagged: true}},
		{Name: "DeleteAgent", Response: "DeleteAgentResponse", Access: Owner, Effect: Mutation, Since: "0.1", handle: deleteAgent,
			Route: &Route{Method: "DELETE", Path: "/agents/{agentId}", Summary: "Delete an agent with its sessions and files",
				Request: wire.AgentRequest{}, Reply: wire.AgentRequest{}, Tagged: true}},
	}
}

func listAgents(ctx context.Context, c *Call) (Result, error) {
	page, err := c.page()
	if err != nil {
		return Result{}, err
	}
	if !c.Caller.Routed && c.fields["limit"] == nil && c.fields["cursor"] == nil {
		// Clients of the protocol expect all of them.
		page = store.Page{}
	}
	out := wire.ListAgentsResponse{Agents: []wire.AgentInfo{}}
	err = c.opts.Store.Read(ctx, func(tx store.Tx) error {
		out.Agents = out.Agents[:0]
		agents, more, err := agent.ListFor(tx, c.Caller.Account, page)
		if err != nil {
			return err
		}
		for _, a := range agents {
			on, err := c.roleOn(tx, a)
			if err != nil {
				return err
			}
			info, err := c.info(tx, on)
			if err != nil {
				return err
			}
			out.Agents = append(out.Agents, info)
		}
		out.NextCursor, err = next(agents, more, func(a *agent.Agent) store.Place { return store.Place{At: a.UpdatedAt, ID: a.ID} })
		return err
	})
	return Result{Value: out}, err
}

// info is an agent with its activity, as the caller sees it.
func (c *Call) info(tx store.Tx, on access) (wire.AgentInfo, error) {
	activity, err := notify.Activity(tx, on.agent.ID)
	return c.AgentInfo(on.agent, on.role, activity), err
}

func createAgent(ctx context.Context, c *Call) (Result, error) {
	var req wire.CreateAgentRequest
	if err := c.bind(&req); err != nil {
		return Result{}, err
	}
	def, err := agent.ParseDefinition(req.Definition)
	if err != nil {
		return Result{}, err
	}
	if def.Tools == nil && c.Caller.Routed {
		def.Tools = &[]string{}
	}
	same := once{id: req.ClientRequestID, label: "Client request ID", request: map[string]any{"definition": req.Definition}}
	return c.commit(ctx, same, func(tx store.Tx) (any, error) {
		if err := c.checkModel(tx, c.Caller.Account, def); err != nil {
			return nil, err
		}
		if err := c.checkKeys(tx, c.Caller.Account, nil, agent.SigningKeys(def)); err != nil {
			return nil, err
		}
		a, err := agent.Create(tx, agent.CreateParams{
			ID: c.opts.IDs(), Account: c.Caller.Account, Definition: def, CreatedBy: c.Caller.Account, Now: clock.Millis(c.opts.Clock),
		})
		if err != nil {
			return nil, err
		}
		c.opts.Notify.AgentChanged(tx, a.Account, a.ID, notify.AgentCreated)
		if err := c.opts.Triggers.GiveMention(tx, &a); err != nil {
			return nil, err
		}
		return wire.CreateAgentResponse{AgentID: a.ID}, c.opts.Equip(tx, a)
	})
}

func (c *Call) checkModel(tx store.Tx, owner string, def wire.AgentDefinition) error {
	return agent.CheckModel(tx, owner, def.ModelProvider, def.Model, def.ReasoningLevel, provider.Has, c.opts.Models.Levels)
}

func (c *Call) agentID() (string, error) {
	var req wire.AgentRequest
	if err := c.bind(&req); err != nil {
		return "", err
	}
	return bounded.Name(req.AgentID, "Agent ID")
}

func getAgent(ctx context.Context, c *Call) (Result, error) {
	agentID, err := c.agentID()
	if err != nil {
		return Result{}, err
	}
	var out wire.GetAgentResponse
	var tag string
	err = c.opts.Store.Read(ctx, func(tx store.Tx) error {
		found, err := c.onAgent(tx, agentID, wire.MsgAgentNotFound)
		if err != nil {
			return err
		}
		tag = agentTag(found.agent)
		out, err = c.agentResponse(tx, found)
		return err
	})
	return Result{Value: out, Tag: tag}, err
}

// maxV1Sessions is how many sessions a client of protocol 1 gets with an agent: it expects the list to be there.
const maxV1Sessions = 50

func (c *Call) agentResponse(tx store.Tx, on access) (out wire.GetAgentResponse, err error) {
	if out.Agent, err = c.info(tx, on); err != nil {
		return out, err
	}
	only := on.only(c)
	if out.SessionCount, err = sessionlog.CountTopLevel(tx, on.agent.ID, only); err != nil || c.Caller.Protocol >= wire.SinceSessionCount {
		return out, err
	}
	page, _, err := sessionlog.List(tx, sessionlog.Query{Agent: on.agent.ID, CreatedBy: only, TopLevel: true, Limit: maxV1Sessions})
	if err != nil {
		return out, err
	}
	sessions := sessionInfos(page)
	out.Sessions = &sessions
	return out, nil
}

func updateAgent(ctx context.Context, c *Call) (Result, error) {
	var req wire.UpdateAgentRequest
	if err := c.bind(&req); err != nil {
		return Result{}, err
	}
	agentID, err := bounded.Name(req.AgentID, "Agent ID")
	if err != nil {
		return Result{}, err
	}
	var tag string
	out, err := c.commit(ctx, once{}, func(tx store.Tx) (any, error) {
		found, err := c.onAgent(tx, agentID, wire.MsgAgentNotFound)
		if err != nil {
			return nil, err
		}
		if err := c.unchanged(agentTag(found.agent)); err != nil {
			return nil, err
		}
		def, err := c.replacement(tx, found, req.Definition)
		if err != nil {
			return nil, err
		}
		a, err := agent.Update(tx, agent.UpdateParams{
			ID: agentID, Definition: def, CreatedBy: c.Caller.Account, Now: clock.Millis(c.opts.Clock),
		})
		if err != nil {
			return nil, err
		}
		if err := c.opts.Equip(tx, a); err != nil {
			return nil, err
		}
		if err := c.opts.Triggers.GiveMention(tx, &a); err != nil {
			return nil, err
		}
		c.opts.Notify.AgentChanged(tx, a.Account, a.ID, notify.AgentUpdated)
		tag = agentTag(a)
		return c.agentResponse(tx, access{agent: a, role: found.role})
	})
	out.Tag = tag
	return out, err
}

// replacement reads the definition that replaces an agent's. Which accounts it signs for is the owner's to say.
func (c *Call) replacement(tx store.Tx, present access, fields map[string]any) (wire.AgentDefinition, error) {
	def, err := agent.ParseDefinition(fields)
	if err != nil {
		return def, err
	}
	before, after := agent.SigningKeys(present.agent.Definition), agent.SigningKeys(def)
	if present.role != collaborator.Owner && !slices.Equal(before, after) {
		return def, fault.New(fault.PermissionDenied, wire.MsgSigningGrant)
	}
	if err := c.checkKeys(tx, present.agent.Account, before, after); err != nil {
		return def, err
	}
	if def.Tools == nil && c.Caller.Routed {
		def.Tools = present.agent.Definition.Tools
	}
	if err := c.keepApproval(present, fields, &def); err != nil {
		return def, err
	}
	return def, c.checkModel(tx, present.agent.Account, def)
}

// keepApproval keeps which calls need an approval when a definition does not speak of it, and refuses a change by whoever may not
// decide approvals.
func (c *Call) keepApproval(present access, fields map[string]any, def *wire.AgentDefinition) error {
	before := present.agent.Definition.ToolApproval
	if _, set := fields["toolApproval"]; !set {
		def.ToolApproval = before
		return nil
	}
	if !c.decides(present) && !reflect.DeepEqual(before, def.ToolApproval) {
		return fault.New(fault.PermissionDenied, wire.MsgApprovalGrant)
	}
	return nil
}

// decides tells whether the caller may decide approvals of an agent, as DecideApproval does.
func (c *Call) decides(on access) bool {
	return on.role == collaborator.Owner && !c.Caller.Delegate && (c.Caller.Scopes == nil || slices.Contains(c.Caller.Scopes, account.Admin))
}

func deleteAgent(ctx context.Context, c *Call) (Result, error) {
	agentID, err := c.agentID()
	if err != nil {
		return Result{}, err
	}
	return c.commit(ctx, once{}, func(tx store.Tx) (any, error) {
		found, err := c.onAgent(tx, agentID, wire.MsgAgentNotFound)
		if err != nil {
			return nil, err
		}
		if err := c.unchanged(agentTag(found.agent)); err != nil {
			return nil, err
		}
		if _, err := c.opts.Runs.CancelAgent(tx, agentID); err != nil {
			return nil, err
		}
		if err := c.opts.Log.DeleteAgent(tx, agentID); err != nil {
			return nil, err
		}
		if err := runs.Detach(tx, "", agentID); err != nil {
			return nil, err
		}
		if err := memory.DeleteAll(tx, agentID); err != nil {
			return nil, err
		}
		if err := c.opts.Triggers.DeleteAll(tx, agentID); err != nil {
			return nil, err
		}
		if err := tooldoc.Clear(tx, agentID); err != nil {
			return nil, err
		}
		if err := govern.DeleteAgent(tx, agentID); err != nil {
			return nil, err
		}
		if err := c.opts.Notify.AgentDeleted(tx, found.agent.Account, agentID); err != nil {
			return nil, err
		}
		if err := collaborator.RemoveAll(tx, agentID); err != nil {
			return nil, err
		}
		if err := agent.Delete(tx, agentID); err != nil {
			return nil, err
		}
		return wire.AgentRequest{AgentID: agentID}, nil
	})
}
