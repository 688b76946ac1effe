package notify

import (
	"context"
	"errors"
	"time"

	"github.com/loam-agents/loam/internal/agent"
	"github.com/loam-agents/loam/internal/agent/collaborator"
	"github.com/loam-agents/loam/internal/bus"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/runs"
	"github.com/loam-agents/loam/internal/sessionlog"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

// change is something to announce.
type change struct {
	sessionlog.Change
	// rows are the collaborators of an agent that is gone.
	rows []collaborator.Collaborator
	// run is the frame of a run that changed, which those on its agent get too; nil for everything else.
	run *wire.Frame
}

// pace remembers, for sessions whose transcript grows, when the last hint went out and what waits for the next.
type pace struct {
	last    time.Time
	waiting *change
}

// readTimeout bounds the read of what changed, and so what Stop waits for.
const readTimeout = 5 * time.Second

func (n *Notifier) work(ctx context.Context) {
	paces := map[string]*pace{}
	for {
		due := n.due(paces)
		select {
		case <-n.wake:
		case <-due:
		case <-ctx.Done():
			return
		}
		n.mu.Lock()
		batch := n.queue
		n.queue = nil
		n.mu.Unlock()
		now := n.opts.Clock.Now()
		for _, c := range batch {
			if ctx.Err() != nil {
				return
			}
			if c.Reason == sessionlog.ReasonDeleted {
				delete(paces, c.Session)
			}
			if c.Reason != sessionlog.ReasonEvent {
				n.publish(ctx, c)
				continue
			}
			p := paces[c.Session]
			if p == nil {
				p = &pace{}
				paces[c.Session] = p
			}
			p.waiting = &c
		}
		for id, p := range paces {
			switch {
			case now.Sub(p.last) < Interval:
			case p.waiting != nil:
				c := *p.waiting
				p.waiting, p.last = nil, now
				n.publish(ctx, c)
			default:
				delete(paces, id)
			}
		}
	}
}

// due fires when the next merged hint may go out; nil when none waits.
func (n *Notifier) due(paces map[string]*pace) <-chan time.Time {
	var next time.Time
	for _, p := range paces {
		if at := p.last.Add(Interval); next.IsZero() || at.Before(next) {
			next = at
		}
	}
	if next.IsZero() {
		return nil
	}
	return n.opts.Clock.After(next.Sub(n.opts.Clock.Now()))
}

// watched tells whether anybody may watch an account or an agent: the rollup of an agent costs more than the rest of a short turn.
func (n *Notifier) watched() bool {
	return n.opts.Bus.WatchedBelow(wire.KeyAccount) || n.opts.Bus.WatchedBelow(wire.KeyAgent)
}

// publish reads the present state and sends it to the watchers of the agent and of the accounts that are on it, if there are any.
func (n *Notifier) publish(ctx context.Context, c change) {
	if !n.watched() {
		return
	}
	// A read that is under way when the notifier stops is finished: to break it off costs a connection of the database.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout)
	defer cancel()
	var to []audience
	hint := wire.AccountHint{Reason: c.Reason, AgentID: c.Agent, SessionID: c.Session}
	var now *state
	err := n.opts.Store.Read(ctx, func(tx store.Tx) (err error) {
		now, hint.Session, hint.Activity = nil, nil, nil
		if to, err = n.audiences(tx, c); err != nil || len(to) == 0 || c.run != nil {
			return err
		}
		now, err = n.read(tx, c, &hint)
		return err
	})
	if err != nil {
		n.opts.Logger.Error("read what changed", "reason", c.Reason, "account", c.Account, "agent", c.Agent, "session", c.Session, "error", err)
		return
	}
	for _, a := range to {
		if c.run != nil {
			n.opts.Bus.Publish(bus.New(wire.KeyAccount+a.account, *c.run))
			continue
		}
		n.send(c, a, hint, now)
	}
}

// state is an agent with its activity.
type state struct {
	agent    agent.Agent
	activity *wire.AgentActivity
}

// read fills the hint in; the state is nil when the agent is gone.
func (n *Notifier) read(tx store.Tx, c change, hint *wire.AccountHint) (*state, error) {
	a, err := agent.Get(tx, c.Agent)
	if err != nil {
		return nil, missing(err)
	}
	activity, err := Activity(tx, a.ID)
	if err != nil {
		return nil, err
	}
	now := &state{a, activity}
	if c.Session == "" || c.Reason == sessionlog.ReasonDeleted {
		return now, nil
	}
	s, err := sessionlog.Get(tx, c.Session)
	if err != nil {
		return now, missing(err)
	}
	session := s.Info()
	hint.Session, hint.Activity = &session, activity
	return now, nil
}

func (n *Notifier) send(c change, to audience, hint wire.AccountHint, now *state) {
	account := wire.Frame{Kind: wire.FrameChange, Key: wire.KeyAccount + to.hints, Value: hint}
	if to.account != "" {
		n.opts.Bus.Publish(bus.New(wire.KeyAccount+to.account, account))
	}
	n.opts.Bus.Publish(bus.New(to.topic, account))
	if hint.Session != nil && c.Reason != sessionlog.ReasonEvent {
		n.opts.Bus.Publish(bus.New(to.topic, wire.Frame{Kind: wire.FrameChange, Key: wire.KeySession + c.Session, Value: *hint.Session}))
	}
	if now != nil && (c.Reason == AgentCreated || c.Reason == AgentUpdated || c.Reason == CollaboratorsChanged) {
		value := n.opts.AgentInfo(now.agent, to.role, now.activity)
		n.opts.Bus.Publish(bus.New(to.topic, wire.Frame{Kind: wire.FrameChange, Key: wire.KeyAgent + c.Agent, Value: value}))
	}
}

// Activity is the rollup of an agent with its busy mark.
func Activity(tx store.Tx, agentID string) (*wire.AgentActivity, error) {
	a, err := sessionlog.Activity(tx, agentID)
	if err != nil || a == nil {
		return nil, err
	}
	a.Busy, err = runs.AgentBusy(tx, agentID)
	return a, err
}

// missing forgives that an agent or a session is gone: it was deleted in the meantime, or is in the same transaction.
func missing(err error) error {
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Code == fault.NotFound {
		return nil
	}
	return err
}
