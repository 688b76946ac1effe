package operation

import (
	"context"
	"strings"

	"github.com/loam-agents/loam/internal/bounded"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/runs"
	"github.com/loam-agents/loam/internal/sessionlog"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

// maxTree bounds the runs that a subscription to a tree sends at first.
const maxTree = 1000

// watching is to read.
var watching = Operation{Name: wire.SubscribeAction, Effect: Query}

// Topic decides whether the caller may watch a subscription key, and returns the bus topic that carries its frames. The tree
// of a run that is no root is published under its root.
func (s *Service) Topic(ctx context.Context, caller Caller, key string) (topic string, err error) {
	c := &Call{Service: s, Caller: caller}
	if err := watching.Permits(caller); err != nil {
		return "", err
	}
	if err := c.admit(ctx); err != nil {
		return "", err
	}
	err = s.opts.Store.Read(ctx, func(tx store.Tx) error {
		topic, err = c.topic(tx, key)
		return err
	})
	return topic, err
}

func (c *Call) topic(tx store.Tx, key string) (string, error) {
	kind, rest, ok := strings.Cut(key, "/")
	if !ok || rest == "" || len(rest) > bounded.MaxName || strings.ContainsRune(rest, 0) {
		return "", fault.New(fault.PermissionDenied, wire.MsgKeyNotAuthorized)
	}
	switch kind + "/" {
	case wire.KeyAccount:
		if rest == c.Caller.Account {
			return key, nil
		}
	case wire.KeyAgent:
		_, err := c.onAgent(tx, rest, wire.MsgAgentNotFound)
		return key, err
	case wire.KeySession:
		_, _, err := c.onSession(tx, rest)
		return key, err
	case wire.KeyRun:
		r, _, err := c.onRun(tx, rest)
		return wire.KeyRun + r.Root, err
	}
	return "", fault.New(fault.PermissionDenied, wire.MsgKeyNotAuthorized)
}

// Snapshot is what a new subscription gets before its events: the session, or every run of the tree, oldest first.
func (s *Service) Snapshot(ctx context.Context, caller Caller, key string) ([]wire.Frame, error) {
	c := &Call{Service: s, Caller: caller}
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

// LastSeq is the seq of the newest event of a session that Topic has admitted, zero when there is none.
func (s *Service) LastSeq(ctx context.Context, sessionID string) (last int64, err error) {
	err = s.opts.Store.Read(ctx, func(tx store.Tx) error {
		session, err := sessionlog.Get(tx, sessionID)
		last = session.LastSeq
		return err
	})
	return last, err
}

// EventsAfter is a page of a session's events for a subscription that Topic has admitted.
func (s *Service) EventsAfter(ctx context.Context, sessionID string, after, limit int64) (events []wire.SessionEvent, err error) {
	err = s.opts.Store.Read(ctx, func(tx store.Tx) error {
		events, err = sessionlog.Events(tx, sessionID, after, limit)
		return err
	})
	return events, err
}
