package notify

import (
	"github.com/loam-agents/loam/internal/agent/collaborator"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

// audience is who gets what changes of an agent, in their own form: an agent says to each what role they have.
type audience struct {
	// account whose own hints are meant; empty for everybody who was not invited.
	account string
	// hints is the account that the hints on the agent's topic name, topic the bus topic of the agent for them, role what they are.
	hints, topic, role string
}

// AgentTopic is the bus topic of an agent for an account in a role. Who was not invited shares a topic with everybody like that.
func AgentTopic(agentID, account, role string, invited bool) string {
	switch topic := wire.KeyAgent + agentID; {
	case role == collaborator.Owner:
		return topic
	case invited:
		return topic + "@" + account
	default:
		return topic + "@" + role
	}
}

// audiences are those of a change that somebody watches. A change of a session is not for chatters, who see their own ones only.
func (n *Notifier) audiences(tx store.Tx, c change) ([]audience, error) {
	rows := c.rows
	if rows == nil {
		var err error
		if rows, err = collaborator.Of(tx, c.Agent); err != nil {
			return nil, err
		}
	}
	var out []audience
	add := func(a audience) {
		if n.opts.Bus.Watched(a.topic) || a.account != "" && n.opts.Bus.Watched(wire.KeyAccount+a.account) {
			out = append(out, a)
		}
	}
	for _, row := range rows {
		if row.Status == collaborator.Accepted {
			add(audience{row.Account, row.Account, AgentTopic(c.Agent, row.Account, row.Role, true), row.Role})
		}
	}
	if c.run != nil {
		// Its owner has it already.
		return out, nil
	}
	add(audience{c.Account, c.Account, wire.KeyAgent + c.Agent, collaborator.Owner})
	add(audience{"", c.Account, AgentTopic(c.Agent, "", collaborator.Reader, false), collaborator.Reader})
	if c.Session == "" {
		add(audience{"", c.Account, AgentTopic(c.Agent, "", collaborator.Chatter, false), collaborator.Chatter})
	}
	return out, nil
}
