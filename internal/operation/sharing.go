package operation

import (
	"context"
	"slices"

	"github.com/loam-agents/loam/internal/account"
	"github.com/loam-agents/loam/internal/agent"
	"github.com/loam-agents/loam/internal/agent/collaborator"
	"github.com/loam-agents/loam/internal/bounded"
	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/notify"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/principal"
	"github.com/loam-agents/loam/wire"
)

func sharingOperations() []Operation {
	return []Operation{
		{Name: "ListAgentInvites", Response: "ListAgentInvitesResponse", Access: Self, Effect: Query, Since: "0.2", handle: listInvites,
			Route: &Route{Method: "GET", Path: "/invites", Summary: "List what I am invited to", Reply: wire.ListAgentInvitesResponse{}}},
		{Name: "AcceptAgentInvite", Response: "AcceptAgentInviteResponse", Access: Self, Effect: Mutation, Since: "0.2", handle: acceptInvite,
			Route: &Route{Method: "POST", Path: "/invites/{agentId}/accept", Summary: "Accept an invitation to an agent",
				Request: wire.AgentRequest{}, Reply: wire.AgentResponse{}}},
		{Name: "DeclineAgentInvite", Response: "DeclineAgentInviteResponse", Access: Self, Effect: Mutation, Since: "0.2", handle: declineInvite,
			Route: &Route{Method: "DELETE", Path: "/invites/{agentId}", Summary: "Decline an invitation to an agent",
				Request: wire.AgentRequest{}, Reply: wire.AgentRequest{}}},
		{Name: "ListAgentCollaborators", Response: "ListAgentCollaboratorsResponse", Access: Read, Effect: Query, Since: "0.2", handle: listCollaborators,
			Route: &Route{Method: "GET", Path: "/agents/{agentId}/collaborators", Summary: "List who works with an agent",
				Note:    "The owner comes first. Only the owner sees who has not accepted yet.",
				Request: wire.AgentRequest{}, Reply: wire.ListAgentCollaboratorsResponse{}}},
		{Name: "InviteAgentCollaborator", Response: "InviteAgentCollaboratorResponse", Access: Owner, Effect: Mutation, Since: "0.2",
			Scope: account.Admin, delegable: true, handle: inviteCollaborator,
			Route: &Route{Method: "PUT", Path: "/agents/{agentId}/collaborators/{accountId}", Summary: "Invite an account to an agent, or change its role",
				Note:    "The role is reader or writer. It counts once the account has accepted.",
				Request: wire.InviteAgentCollaboratorRequest{}, Reply: wire.CollaboratorResponse{}}},
		{Name: "RemoveAgentCollaborator", Response: "RemoveAgentCollaboratorResponse", Access: Owner, Effect: Mutation, Since: "0.2",
			handle: removeCollaborator,
			Route: &Route{Method: "DELETE", Path: "/agents/{agentId}/collaborators/{accountId}", Summary: "Take an account off an agent",
				Note:    "An account may take itself off; everybody else only the owner, which needs the scope admin.",
				Request: wire.CollaboratorRequest{}, Reply: wire.CollaboratorRequest{}}},
		{Name: "SetAgentPublicRead", Response: "SetAgentPublicReadResponse", Access: Owner, Effect: Mutation, Since: "0.2",
			Scope: account.Admin, delegable: true, handle: setPublicRead,
			Route: &Route{Method: "PUT", Path: "/agents/{agentId}/public-read", Summary: "Let every account read an agent, or not",
				Note:    "Whoever may act on the server and knows the agent's id sees it like an invited reader. Ending it ends public chat.",
				Request: wire.SetAgentPublicReadRequest{}, Reply: wire.AgentResponse{}}},
		{Name: "SetAgentPublicChat", Response: "SetAgentPublicChatResponse", Access: Owner, Effect: Mutation, Since: "0.2",
			Scope: account.Admin, delegable: true, handle: setPublicChat,
			Route: &Route{Method: "PUT", Path: "/agents/{agentId}/public-chat", Summary: "Let every account talk to an agent, or not",
				Note:    "It needs public read, and is at the owner's expense. Accounts that were not invited then see their own sessions only.",
				Request: wire.SetAgentPublicChatRequest{}, Reply: wire.AgentResponse{}}},
	}
}

func listInvites(ctx context.Context, c *Call) (Result, error) {
	out := wire.ListAgentInvitesResponse{}
	err := c.opts.Store.Read(ctx, func(tx store.Tx) error {
		out.Invites = []wire.InviteInfo{}
		rows, err := collaborator.With(tx, c.Caller.Account, collaborator.Pending)
		if err != nil {
			return err
		}
		for _, row := range rows {
			a, err := agent.Get(tx, row.Agent)
			if err != nil {
				return err
			}
			out.Invites = append(out.Invites, wire.InviteInfo{
				AgentID: a.ID, AgentName: a.Definition.Name, OwnerAccountID: a.Account, Role: row.Role, CreatedAt: row.CreatedAt, UpdatedAt: row.UpdatedAt,
			})
		}
		return nil
	})
	return Result{Value: out}, err
}

func acceptInvite(ctx context.Context, c *Call) (Result, error) {
	agentID, err := c.agentID()
	if err != nil {
		return Result{}, err
	}
	return c.commit(ctx, once{}, func(tx store.Tx) (any, error) {
		if _, err := collaborator.Accept(tx, agentID, c.Caller.Account, clock.Millis(c.opts.Clock)); err != nil {
			return nil, err
		}
		found, err := c.onAgent(tx, agentID, wire.MsgAgentNotFound)
		if err != nil {
			return nil, err
		}
		c.membersChanged(tx, found.agent, c.Caller.Account)
		info, err := c.info(tx, found)
		return wire.AgentResponse{Agent: info}, err
	})
}

func declineInvite(ctx context.Context, c *Call) (Result, error) {
	agentID, err := c.agentID()
	if err != nil {
		return Result{}, err
	}
	return c.commit(ctx, once{}, func(tx store.Tx) (any, error) {
		if err := collaborator.Decline(tx, agentID, c.Caller.Account); err != nil {
			return nil, err
		}
		a, err := agent.Head(tx, agentID)
		if err != nil {
			return nil, err
		}
		c.membersChanged(tx, a, c.Caller.Account)
		return wire.AgentRequest{AgentID: agentID}, nil
	})
}

// membersChanged tells those on an agent, the account that it is about, and whoever watches the agent.
func (c *Call) membersChanged(tx store.Tx, a agent.Agent, about string) {
	c.opts.Notify.AgentChanged(tx, a.Account, a.ID, notify.CollaboratorsChanged)
	c.opts.Notify.InvitesChanged(tx, about, a.ID)
	c.opts.Notify.AccessChanged(tx, a.ID)
}

func listCollaborators(ctx context.Context, c *Call) (Result, error) {
	agentID, err := c.agentID()
	if err != nil {
		return Result{}, err
	}
	var out wire.ListAgentCollaboratorsResponse
	err = c.opts.Store.Read(ctx, func(tx store.Tx) error {
		found, err := c.onAgent(tx, agentID, wire.MsgAgentNotFound)
		if err != nil {
			return err
		}
		a := found.agent
		owner := collaborator.Collaborator{
			Account: a.Account, Role: collaborator.Owner, Status: collaborator.Accepted, CreatedAt: a.CreatedAt, UpdatedAt: a.UpdatedAt,
		}
		out = wire.ListAgentCollaboratorsResponse{
			AgentID: a.ID, PublicRead: a.PublicRead, PublicChat: a.PublicChat, Collaborators: []wire.CollaboratorInfo{owner.Info()},
		}
		rows, err := collaborator.Of(tx, agentID)
		for _, row := range rows {
			if row.Status == collaborator.Accepted || found.role == collaborator.Owner {
				out.Collaborators = append(out.Collaborators, row.Info())
			}
		}
		return err
	})
	return Result{Value: out}, err
}

// collaboratorID reads the account of a request about a collaborator.
func collaboratorID(text string) (string, error) {
	name, err := bounded.Name(text, "Account ID")
	if err != nil {
		return "", err
	}
	id, err := principal.ParseID(name)
	if err != nil {
		return "", fault.Invalid("Account ID must be a public key, z6Mk…").With("field", "accountId")
	}
	return id.String(), nil
}

// maxCollaborators bounds the accounts on one agent, since a change of the agent is told to each.
const maxCollaborators = 200

func inviteCollaborator(ctx context.Context, c *Call) (Result, error) {
	var req wire.InviteAgentCollaboratorRequest
	if err := c.bind(&req); err != nil {
		return Result{}, err
	}
	agentID, err := bounded.Name(req.AgentID, "Agent ID")
	if err != nil {
		return Result{}, err
	}
	return c.commit(ctx, once{}, func(tx store.Tx) (any, error) {
		found, err := c.onAgent(tx, agentID, wire.MsgAgentNotFound)
		if err != nil {
			return nil, err
		}
		who, err := collaboratorID(req.AccountID)
		switch {
		case err != nil:
			return nil, err
		case req.Role != collaborator.Reader && req.Role != collaborator.Writer:
			return nil, fault.Invalid("Collaborator role must be reader or writer").With("field", "role")
		case who == found.agent.Account:
			return nil, fault.Invalid("The agent owner is already a member")
		}
		rows, err := collaborator.Of(tx, agentID)
		if err != nil {
			return nil, err
		}
		if len(rows) >= maxCollaborators && !slices.ContainsFunc(rows, func(row collaborator.Collaborator) bool { return row.Account == who }) {
			return nil, fault.New(fault.TooLarge, "Too many collaborators: at most %d on one agent", maxCollaborators).With("limit", maxCollaborators)
		}
		row, err := collaborator.Invite(tx, agentID, who, req.Role, clock.Millis(c.opts.Clock))
		if err != nil {
			return nil, err
		}
		c.membersChanged(tx, found.agent, who)
		return wire.CollaboratorResponse{Collaborator: row.Info()}, nil
	})
}

func removeCollaborator(ctx context.Context, c *Call) (Result, error) {
	var req wire.CollaboratorRequest
	if err := c.bind(&req); err != nil {
		return Result{}, err
	}
	agentID, err := bounded.Name(req.AgentID, "Agent ID")
	if err != nil {
		return Result{}, err
	}
	return c.commit(ctx, once{}, func(tx store.Tx) (any, error) {
		a, err := agent.Head(tx, agentID)
		found, err := c.visible(tx, a, err, wire.MsgAgentNotFound)
		if err != nil {
			return nil, err
		}
		who, err := collaboratorID(req.AccountID)
		switch {
		case who == c.Caller.Account && found.invited:
			// Whoever is on an agent may leave it.
		case c.permit(found.role) != nil:
			return nil, c.permit(found.role)
		case err != nil:
			return nil, err
		default:
			if err := c.sharesAgents(); err != nil {
				return nil, err
			}
		}
		if err := collaborator.Remove(tx, agentID, who); err != nil {
			return nil, err
		}
		c.membersChanged(tx, found.agent, who)
		return wire.CollaboratorRequest{AgentID: agentID, AccountID: who}, nil
	})
}

// sharesAgents decides whether a token that may leave agents may also decide who else is on one.
func (c *Call) sharesAgents() error {
	if c.Caller.Scopes == nil || slices.Contains(c.Caller.Scopes, account.Admin) {
		return nil
	}
	return lacks(account.Admin)
}

func setPublicRead(ctx context.Context, c *Call) (Result, error) {
	return c.setPublic(ctx, "publicRead", func(a agent.Agent, on bool) (read, chat bool, err error) {
		// Public chat only exists on top of it.
		return on, on && a.PublicChat, nil
	})
}

func setPublicChat(ctx context.Context, c *Call) (Result, error) {
	return c.setPublic(ctx, "publicChat", func(a agent.Agent, on bool) (read, chat bool, err error) {
		if on && !a.PublicRead {
			err = fault.Invalid("Enable public access before enabling public chat")
		}
		return a.PublicRead, on, err
	})
}

// setPublic changes one of the switches of an agent, as decide says.
func (c *Call) setPublic(ctx context.Context, field string, decide func(a agent.Agent, on bool) (read, chat bool, err error)) (Result, error) {
	agentID, err := c.agentID()
	if err != nil {
		return Result{}, err
	}
	return c.commit(ctx, once{}, func(tx store.Tx) (any, error) {
		found, err := c.onAgent(tx, agentID, wire.MsgAgentNotFound)
		if err != nil {
			return nil, err
		}
		on, ok := c.fields[field].(bool)
		if !ok {
			return nil, fault.Invalid("%s must be a boolean", field).With("field", field)
		}
		read, chat, err := decide(found.agent, on)
		if err != nil {
			return nil, err
		}
		if found.agent, err = agent.SetPublic(tx, agentID, read, chat, clock.Millis(c.opts.Clock)); err != nil {
			return nil, err
		}
		c.opts.Notify.AgentChanged(tx, found.agent.Account, agentID, notify.CollaboratorsChanged)
		c.opts.Notify.AccessChanged(tx, agentID)
		info, err := c.info(tx, found)
		return wire.AgentResponse{Agent: info}, err
	})
}
