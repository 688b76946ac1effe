package operation

import (
	"github.com/loam-agents/loam/internal/agent"
	"github.com/loam-agents/loam/internal/agent/collaborator"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/runs"
	"github.com/loam-agents/loam/internal/sessionlog"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

// access is what an agent-scoped call may work with: rows are those of the agent's account, whoever calls.
type access struct {
	agent agent.Agent
	role  string
	// invited says that the role is not what everybody has.
	invited bool
}

// only is the account whose sessions alone may be seen; empty when all may. Public chat does not show what others said.
func (a access) only(c *Call) string {
	if a.role == collaborator.Chatter {
		return c.Caller.Account
	}
	return ""
}

// roleOn is what the caller is to an agent; without a role the agent does not exist for the caller (spec/agents-protocol.md §3.0).
func (c *Call) roleOn(tx store.Tx, a agent.Agent) (on access, err error) {
	on.agent = a
	if a.Account == c.Caller.Account {
		on.role = collaborator.Owner
		return on, nil
	}
	on.role, err = collaborator.RoleOf(tx, a.ID, c.Caller.Account)
	switch on.invited = on.role != ""; {
	case err != nil || on.invited:
	case a.PublicChat:
		on.role = collaborator.Chatter
	case a.PublicRead:
		on.role = collaborator.Reader
	}
	return on, err
}

// permit refuses a role that the operation's class is too much for. What of the caller's own account names an agent reads it.
func (c *Call) permit(role string) error {
	switch need := c.op.Access; {
	case role == collaborator.Owner, need == Read, need == Self:
		return nil
	case need == Owner:
		return fault.New(fault.PermissionDenied, wire.MsgOwnerOnly)
	case role == collaborator.Writer, role == collaborator.Chatter && need == Chat:
		return nil
	}
	return fault.New(fault.PermissionDenied, wire.MsgWriteAccess)
}

// mayWrite tells whether a role may change what belongs to an agent.
func mayWrite(role string) bool { return role == collaborator.Owner || role == collaborator.Writer }

// onAgent resolves the agent and checks the caller's role. An agent that the caller may not see does not exist for it.
func (c *Call) onAgent(tx store.Tx, agentID, notFound string) (access, error) {
	a, err := agent.Get(tx, agentID)
	found, err := c.visible(tx, a, err, notFound)
	if err != nil {
		return access{}, err
	}
	return found, c.permit(found.role)
}

// visible decides on an agent that was looked up whether the caller sees it.
func (c *Call) visible(tx store.Tx, a agent.Agent, err error, notFound string) (access, error) {
	if fault.CodeOf(err) == fault.NotFound {
		return access{}, fault.Missing("%s", notFound)
	}
	if err != nil {
		return access{}, err
	}
	on, err := c.roleOn(tx, a)
	if err == nil && on.role == "" {
		err = fault.Missing("%s", notFound)
	}
	return on, err
}

// onSession resolves a session and the head of its agent.
func (c *Call) onSession(tx store.Tx, sessionID string) (sessionlog.Session, access, error) {
	s, found, err := c.seesSession(tx, sessionID, wire.MsgSessionNotFound)
	if err == nil {
		err = c.permit(found.role)
	}
	return s, found, err
}

func (c *Call) seesSession(tx store.Tx, sessionID, notFound string) (sessionlog.Session, access, error) {
	s, err := sessionlog.Get(tx, sessionID)
	if err != nil {
		return s, access{}, err
	}
	a, err := agent.Head(tx, s.Agent)
	found, err := c.visible(tx, a, err, notFound)
	if only := found.only(c); err == nil && only != "" && s.CreatedBy != only {
		err = fault.Missing("%s", notFound)
	}
	return s, found, err
}

// onRun resolves a run and the head of its agent. A run whose agent is gone does not exist.
func (c *Call) onRun(tx store.Tx, runID string) (runs.Run, access, error) {
	r, err := runs.Get(tx, runID)
	if err != nil {
		return runs.Run{}, access{}, err
	}
	if r.Agent == "" {
		return runs.Run{}, access{}, fault.Missing("%s", wire.MsgRunNotFound)
	}
	a, err := agent.Head(tx, r.Agent)
	found, err := c.visible(tx, a, err, wire.MsgRunNotFound)
	if err != nil {
		return r, found, err
	}
	if sees, err := c.seesRun(tx, &r, found); err != nil || !sees {
		return r, found, orMissing(err, wire.MsgRunNotFound)
	}
	return r, found, c.permit(found.role)
}

// seesRun tells whether a run on a visible agent is one that the caller may see: it is when its session is.
func (c *Call) seesRun(tx store.Tx, r *runs.Run, on access) (bool, error) {
	only := on.only(c)
	if only == "" || r.Session == "" {
		return only == "", nil
	}
	s, err := sessionlog.Get(tx, r.Session)
	return s.CreatedBy == only, err
}

func orMissing(err error, notFound string) error {
	if err == nil || fault.CodeOf(err) == fault.NotFound {
		return fault.Missing("%s", notFound)
	}
	return err
}
