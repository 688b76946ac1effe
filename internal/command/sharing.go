package command

import (
	"context"
	"fmt"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/wire"
)

type agentsMembers struct {
	connection
	Agent string `arg:"" help:"Name or id."`
	JSON  bool   `help:"Print JSON."`
}

// Run lists who works with an agent.
func (c *agentsMembers) Run(ctx context.Context, a *app) error {
	cl, agent, err := c.onAgent(ctx, a, c.Agent)
	if err != nil {
		return err
	}
	reply, err := client.Call[wire.ListAgentCollaboratorsResponse](ctx, cl, "ListAgentCollaborators", wire.AgentRequest{AgentID: agent.ID})
	if err != nil {
		return err
	}
	if c.JSON {
		return a.printJSON(reply)
	}
	rows := make([][]string, len(reply.Collaborators))
	for i, m := range reply.Collaborators {
		rows[i] = []string{m.AccountID, m.Role, m.Status, when(m.CreatedAt)}
	}
	switch {
	case reply.PublicChat:
		rows = append(rows, []string{"everybody", "chatter", "public", ""})
	case reply.PublicRead:
		rows = append(rows, []string{"everybody", "reader", "public", ""})
	}
	return a.table("", []string{"ACCOUNT", "ROLE", "STATUS", "SINCE"}, rows)
}

type agentsShare struct {
	connection
	Agent   string `arg:"" help:"Name or id."`
	Account string `arg:"" help:"Account to invite, z6Mk…"`
	Role    string `help:"What it may do: reader sees everything of the agent, writer changes it and talks to it." enum:"reader,writer" default:"reader"`
}

// Run invites an account, or gives one that is on the agent another role.
func (c *agentsShare) Run(ctx context.Context, a *app) error {
	cl, agent, err := c.onAgent(ctx, a, c.Agent)
	if err != nil {
		return err
	}
	reply, err := client.Call[wire.CollaboratorResponse](ctx, cl, "InviteAgentCollaborator",
		wire.InviteAgentCollaboratorRequest{AgentID: agent.ID, AccountID: c.Account, Role: c.Role})
	if err != nil {
		return err
	}
	if reply.Collaborator.Status == "pending" {
		return a.say(fmt.Sprintf("invited %s as %s; it counts once they accept\n", c.Account, c.Role))
	}
	return a.say(fmt.Sprintf("%s is a %s now\n", c.Account, c.Role))
}

type agentsUnshare struct {
	connection
	Agent   string `arg:"" help:"Name or id."`
	Account string `arg:"" help:"Account to take off, z6Mk…"`
}

// Run takes an account off an agent, or an invitation back.
func (c *agentsUnshare) Run(ctx context.Context, a *app) error {
	cl, agent, err := c.onAgent(ctx, a, c.Agent)
	if err != nil {
		return err
	}
	return removeCollaborator(ctx, a, cl, agent.ID, c.Account)
}

func removeCollaborator(ctx context.Context, a *app, cl *client.Client, agentID, account string) error {
	gone, err := client.Call[wire.CollaboratorRequest](ctx, cl, "RemoveAgentCollaborator", wire.CollaboratorRequest{AgentID: agentID, AccountID: account})
	if err != nil {
		return err
	}
	return a.say("removed " + gone.AccountID + "\n")
}

type agentsLeave struct {
	connection
	Agent string `arg:"" help:"Name or id."`
}

// Run takes the caller off somebody else's agent.
func (c *agentsLeave) Run(ctx context.Context, a *app) error {
	cl, agent, err := c.onAgent(ctx, a, c.Agent)
	if err != nil {
		return err
	}
	me, err := client.Call[wire.CallerInfo](ctx, cl, "GetCaller", nil)
	if err != nil {
		return err
	}
	return removeCollaborator(ctx, a, cl, agent.ID, me.Account)
}

type agentsPublic struct {
	connection
	Agent string `arg:"" help:"Name or id."`
	What  string `arg:"" help:"What accounts that were not invited may do: read everything of the agent, chat with it in sessions of their own at the owner's expense, or nothing (off)." enum:"read,chat,off"`
}

// Run opens an agent to everybody who may act on the server, or closes it.
func (c *agentsPublic) Run(ctx context.Context, a *app) error {
	cl, agent, err := c.onAgent(ctx, a, c.Agent)
	if err != nil {
		return err
	}
	// Chat needs reading, and goes with it.
	reply, err := client.Call[wire.AgentResponse](ctx, cl, "SetAgentPublicRead", wire.SetAgentPublicReadRequest{AgentID: agent.ID, PublicRead: c.What != "off"})
	if err == nil && c.What != "off" {
		reply, err = client.Call[wire.AgentResponse](ctx, cl, "SetAgentPublicChat", wire.SetAgentPublicChatRequest{AgentID: agent.ID, PublicChat: c.What == "chat"})
	}
	if err != nil {
		return err
	}
	switch {
	case reply.Agent.PublicChat:
		return a.say("everybody who knows " + agent.ID + " can chat with it\n")
	case reply.Agent.PublicRead:
		return a.say("everybody who knows " + agent.ID + " can read it\n")
	}
	return a.say("only its collaborators see " + agent.ID + "\n")
}

type agentsInvites struct {
	connection
	JSON bool `help:"Print JSON."`
}

// Run lists invitations to the caller.
func (c *agentsInvites) Run(ctx context.Context, a *app) error {
	cl, err := c.open(ctx, a)
	if err != nil {
		return err
	}
	reply, err := client.Call[wire.ListAgentInvitesResponse](ctx, cl, "ListAgentInvites", nil)
	if err != nil {
		return err
	}
	if c.JSON {
		return a.printJSON(reply.Invites)
	}
	rows := make([][]string, len(reply.Invites))
	for i, in := range reply.Invites {
		rows[i] = []string{in.AgentID, in.AgentName, in.Role, in.OwnerAccountID, when(in.CreatedAt)}
	}
	return a.table("Nobody has invited you to an agent.", []string{"AGENT", "NAME", "ROLE", "OWNER", "SINCE"}, rows)
}

type agentsAccept struct {
	connection
	Agent string "arg:\"\" help:\"Id that `loam agents invites` shows.\""
}

// Run accepts an invitation.
func (c *agentsAccept) Run(ctx context.Context, a *app) error {
	cl, err := c.open(ctx, a)
	if err != nil {
		return err
	}
	reply, err := client.Call[wire.AgentResponse](ctx, cl, "AcceptAgentInvite", wire.AgentRequest{AgentID: c.Agent})
	if err != nil {
		return err
	}
	return a.say(fmt.Sprintf("you are a %s of %s now\n", reply.Agent.AccessRole, printable(reply.Agent.Definition.Name)))
}

type agentsDecline struct {
	connection
	Agent string "arg:\"\" help:\"Id that `loam agents invites` shows.\""
}

// Run declines an invitation.
func (c *agentsDecline) Run(ctx context.Context, a *app) error {
	cl, err := c.open(ctx, a)
	if err != nil {
		return err
	}
	if _, err := client.Call[wire.AgentRequest](ctx, cl, "DeclineAgentInvite", wire.AgentRequest{AgentID: c.Agent}); err != nil {
		return err
	}
	return a.say("declined " + c.Agent + "\n")
}
