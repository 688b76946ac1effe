package operation

import (
	"context"
	"strings"

	"github.com/loam-agents/loam/internal/agent/collaborator"
	"github.com/loam-agents/loam/internal/bounded"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/notify"
	"github.com/loam-agents/loam/internal/runs"
	"github.com/loam-agents/loam/internal/sessionlog"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

// maxTree bounds the runs that a subscription to a tree sends at first.
const maxTree = 1000

// watching is to read.
var watching = Operation{Name: wire.SubscribeAction, Access: Read, Effect: Query}

// Subscription is a key that a caller may watch.
type Subscription struct {
	// Caller is who watches: the account that a linked key acts for.
	Caller Caller
	// Key is what was asked for, and Topic the bus topic that carries its frames. The tree of a run that is no root is published
	// under its root, and a linked key's own account is that which it acts for.
	Key, Topic string
	// Guard is the bus topic that says when the caller may have lost access; empty when nobody takes it away.
	Guard string
}

// Admit decides whether the caller may watch a subscription key.
func (s *Service) Admit(ctx context.Context, caller Caller, key string) (Subscription, error) {
	if err := watching.Permits(caller); err != nil {
		return Subscription{}, err
	}
	c := &Call{Service: s, Caller: caller, op: &watching}
	if err := c.admit(ctx); err != nil {
		return Subscription{}, err
	}
	if err := c.pace(); err != nil {
		return Subscription{}, err
	}
	return s.Again(ctx, Subscription{Caller: c.Caller, Key: key})
}

// Again decides on a subscription that Admit has admitted anew. Its topic may be another one, since the caller's role is.
func (s *Service) Again(ctx context.Context, sub Subscription) (Subscription, error) {
	c := &Call{Service: s, Caller: sub.Caller, op: &watching}
	err := s.opts.Store.Read(ctx, func(tx store.Tx) error { return c.topic(tx, &sub) })
	return sub, err
}

// topic finds the topics of a subscription.
func (c *Call) topic(tx store.Tx, sub *Subscription) error {
	kind, rest, ok := strings.Cut(sub.Key, "/")
	if !ok || rest == "" || len(rest) > bounded.MaxName || strings.ContainsRune(rest, 0) {
		return fault.New(fault.PermissionDenied, wire.MsgKeyNotAuthorized)
	}
	var on access
	var err error
	sub.Topic, sub.Guard = sub.Key, ""
	switch kind + "/" {
	case wire.KeyAccount:
		if rest != c.Caller.Account && rest != c.Caller.Credential {
			return fault.New(fault.PermissionDenied, wire.MsgKeyNotAuthorized)
		}
		sub.Topic = wire.KeyAccount + c.Caller.Account
		return nil
	case wire.KeyAgent:
		if on, err = c.onAgent(tx, rest, wire.MsgAgentNotFound); err == nil {
			sub.Topic = notify.AgentTopic(rest, c.Caller.Account, on.role, on.invited)
		}
	case wire.KeySession:
		_, on, err = c.onSession(tx, rest)
	case wire.KeyRun:
		var r runs.Run
		r, on, err = c.onRun(tx, rest)
		sub.Topic = wire.KeyRun + r.Root
	default:
		return fault.New(fault.PermissionDenied, wire.MsgKeyNotAuthorized)
	}
	if on.role != collaborator.Owner {
		sub.Guard = notify.KeyAccess + on.agent.ID
	}
	return err
}

// AgentState is the frame that tells the present state of an agent to whom Again has let watch it.
func (s *Service) AgentState(ctx context.Context, sub Subscription) (frame wire.Frame, err error) {
	c := &Call{Service: s, Caller: sub.Caller, op: &watching}
	err = s.opts.Store.Read(ctx, func(tx store.Tx) error {
		on, err := c.onAgent(tx, strings.TrimPrefix(sub.Key, wire.KeyAgent), wire.MsgAgentNotFound)
		if err != nil {
			return err
		}
		info, err := c.info(tx, on)
		frame = wire.Frame{Kind: wire.FrameChange, Key: sub.Key, Value: info}
		return err
	})
	return frame, err
}

// Snapshot is what a new subscription gets before its events: the session, or every run of the tree, oldest first.
func (s *Service) Snapshot(ctx context.Context, sub Subscription) ([]wire.Frame, error) {
	c, key := &Call{Service: s, Caller: sub.Caller, op: &watching}, sub.Key
	var out []wire.Frame
	err := s.opts.Store.Read(ctx, func(tx store.Tx) error {
		out = nil
		if id, ok := strings.CutPrefix(key, wire.KeySession); ok {
			session, _, err := c.onSession(tx, id)
			out = append(out, wire.Frame{Kind: wire.FrameChange, Key: key, Value: session.Info()})
			return err
		}
		id, ok := strings.CutPrefix(key, wire.KeyRun)
		if !ok {
			return nil
		}
		r, _, err := c.onRun(tx, id)
		if err != nil {
			return err
		}
		tree, err := runs.Tree(tx, r.Root, maxTree)
		for i := range tree {
			out = append(out, wire.Frame{Kind: wire.FrameChange, Key: wire.KeyRun + r.Root, Value: tree[i].Info()})
		}
		return err
	})
	return out, err
}

// LastSeq is the seq of the newest event of a session that Admit has admitted, zero when there is none.
func (s *Service) LastSeq(ctx context.Context, sessionID string) (last int64, err error) {
	err = s.opts.Store.Read(ctx, func(tx store.Tx) error {
		session, err := sessionlog.Get(tx, sessionID)
		last = session.LastSeq
		return err
	})
	return last, err
}

// LastSeqs are the seqs of the newest events of sessions that Admit has admitted, by their ids; those that were deleted are left
// out.
func (s *Service) LastSeqs(ctx context.Context, sessionIDs []string) (last map[string]int64, err error) {
	err = s.opts.Store.Read(ctx, func(tx store.Tx) error {
		last, err = sessionlog.LastSeqs(tx, sessionIDs)
		return err
	})
	return last, err
}

// SessionState is the frame that tells the present state of a session that Admit has admitted.
func (s *Service) SessionState(ctx context.Context, sessionID string) (frame wire.Frame, err error) {
	err = s.opts.Store.Read(ctx, func(tx store.Tx) error {
		session, err := sessionlog.Get(tx, sessionID)
		frame = wire.Frame{Kind: wire.FrameChange, Key: wire.KeySession + sessionID, Value: session.Info()}
		return err
	})
	return frame, err
}

// EventsAfter is a page of a session's events for a subscription that Admit has admitted.
func (s *Service) EventsAfter(ctx context.Context, sessionID string, after, limit int64) (events []wire.SessionEvent, err error) {
	err = s.opts.Store.Read(ctx, func(tx store.Tx) error {
		events, err = sessionlog.Events(tx, sessionID, after, limit)
		return err
	})
	return events, err
}

// Journals are the runs of a tree that Admit has admitted which have a journal, and the seqs of their last entries.
func (s *Service) Journals(ctx context.Context, root string) (last map[string]int64, err error) {
	err = s.opts.Store.Read(ctx, func(tx store.Tx) error {
		last, err = runs.Journals(tx, root, maxTree)
		return err
	})
	return last, err
}

// EntriesAfter is a page of a run's journal, of a tree that Admit has admitted.
func (s *Service) EntriesAfter(ctx context.Context, runID string, after, limit int64) (entries []wire.RunJournalEntry, err error) {
	err = s.opts.Store.Read(ctx, func(tx store.Tx) error {
		entries, err = journal(tx, runID, after, limit)
		return err
	})
	return entries, err
}
