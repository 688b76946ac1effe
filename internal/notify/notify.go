// Package notify turns committed changes into what watchers of accounts, agents and runs receive.
//
// Sessions announce their own events and snapshots (sessionlog). This package adds what others want to know of them: small
// hints for account/<id>, which every window and tab holds and which therefore carry the fresh rollup instead of making the
// client ask for it; snapshots for agents/<id>; and the state of runs. Hints of a growing transcript are merged to about one
// per session per Interval (seeds/002 "account/<accountId>").
//
// Snapshots are read after the commit by one worker, so they are never older than the change that they announce. notify is
// tier 4; it imports tiers 0 to 2. The composition root connects it to sessionlog and runs; operations and schemes of the
// Space call it for agents and memory.
package notify

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/loam-agents/loam/internal/agent"
	"github.com/loam-agents/loam/internal/agent/collaborator"
	"github.com/loam-agents/loam/internal/bus"
	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/runs"
	"github.com/loam-agents/loam/internal/sessionlog"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

// Interval is the least time between two hints of a session whose transcript grows.
const Interval = 1500 * time.Millisecond

// The reasons of account hints that are not sessionlog's.
const (
	AgentCreated  = "agent-created"
	AgentUpdated  = "agent-updated"
	AgentDeleted  = "agent-deleted"
	MemoryChanged = "agent-memory-changed"
	ToolsChanged  = "agent-tools-changed"

	CollaboratorsChanged = "agent-collaborators-changed"
	InvitesChanged       = "agent-invites-changed"
	ProviderChanged      = "model-provider-changed"
)

// Options configure a Notifier.
type Options struct {
	Store  store.Store
	Bus    bus.Bus
	Clock  clock.Clock
	Logger *slog.Logger
	// Sessions mirrors the state of runs in their sessions.
	Sessions func() *sessionlog.Log
	// AgentInfo builds the view of an agent for a role.
	AgentInfo func(a agent.Agent, role string, activity *wire.AgentActivity) wire.AgentInfo
}

// Notifier publishes hints and snapshots.
type Notifier struct {
	opts Options

	mu      sync.Mutex
	queue   []change
	wake    chan struct{}
	started bool
	closed  bool
	done    sync.WaitGroup
	stop    context.CancelFunc
}

// New returns a notifier that does not work yet; changes are kept until Start.
func New(opts Options) *Notifier {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	return &Notifier{opts: opts, wake: make(chan struct{}, 1)}
}

// Start begins to publish. Stop ends it; both may be called twice.
func (n *Notifier) Start() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.started || n.closed {
		return
	}
	n.started = true
	ctx, cancel := context.WithCancel(context.Background())
	n.stop = cancel
	n.done.Go(func() { n.work(ctx) })
}

// Stop ends publishing and waits for the worker.
func (n *Notifier) Stop() {
	n.mu.Lock()
	n.closed = true
	stop := n.stop
	n.mu.Unlock()
	if stop != nil {
		stop()
	}
	n.done.Wait()
}

// SessionChanged takes a change that sessionlog announces. It never blocks.
func (n *Notifier) SessionChanged(c sessionlog.Change) { n.enqueue(change{Change: c}) }

func (n *Notifier) enqueue(c change) {
	n.mu.Lock()
	if !n.closed {
		n.queue = append(n.queue, c)
	}
	n.mu.Unlock()
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// AgentChanged announces, once the transaction is durable, that an agent or its memory changed.
func (n *Notifier) AgentChanged(tx store.Tx, account, agentID, reason string) {
	tx.AfterCommit(func() { n.SessionChanged(sessionlog.Change{Account: account, Agent: agentID, Reason: reason}) })
}

// AgentDeleted announces, once the transaction is durable, that an agent is gone, to its owner and to whoever is on it now or was
// invited: it is called before they are removed.
func (n *Notifier) AgentDeleted(tx store.Tx, account, agentID string) error {
	rows, err := collaborator.Of(tx, agentID)
	if err != nil {
		return err
	}
	gone := change{Change: sessionlog.Change{Account: account, Agent: agentID, Reason: AgentDeleted}, rows: rows}
	tx.AfterCommit(func() { n.enqueue(gone) })
	for _, row := range rows {
		if row.Status == collaborator.Pending {
			n.InvitesChanged(tx, row.Account, agentID)
		}
	}
	n.AccessChanged(tx, agentID)
	return nil
}

// InvitesChanged announces, once the transaction is durable, that what an account was invited to changed.
func (n *Notifier) InvitesChanged(tx store.Tx, account, agentID string) {
	n.hint(tx, account, wire.AccountHint{Reason: InvitesChanged, AgentID: agentID})
}

// ProviderChanged announces, once the transaction is durable, that an account's model providers changed.
func (n *Notifier) ProviderChanged(tx store.Tx, account string) {
	n.hint(tx, account, wire.AccountHint{Reason: ProviderChanged})
}

func (n *Notifier) hint(tx store.Tx, account string, value wire.AccountHint) {
	frame := wire.Frame{Kind: wire.FrameChange, Value: value}
	tx.AfterCommit(func() { n.opts.Bus.Publish(bus.New(wire.KeyAccount+account, frame)) })
}

// KeyAccess begins the bus topic that says when somebody may have lost access to an agent. No client can subscribe to it.
const KeyAccess = "access/"

// AccessChanged announces, once the transaction is durable, that who may see an agent changed: subscriptions of others than its owner
// are decided anew.
func (n *Notifier) AccessChanged(tx store.Tx, agentID string) {
	tx.AfterCommit(func() { n.opts.Bus.Publish(bus.New(KeyAccess+agentID, wire.Frame{Kind: wire.FrameChange})) })
}

// KeyCredential begins the bus topic of a token, a sign-in or a linked key. No client can subscribe to it.
const KeyCredential = "credential/"

// CredentialRevoked announces, once the transaction is durable, that a credential proves nothing any more: a frame on its topic
// ends the streams that it opened.
func (n *Notifier) CredentialRevoked(tx store.Tx, id string) {
	tx.AfterCommit(func() { n.opts.Bus.Publish(bus.New(KeyCredential+id, wire.Frame{Kind: wire.FrameChange})) })
}

// RunChanged is the hook of the run queue: it mirrors the run's state in its session, writes the error of a failed turn into
// the log, and announces the run.
func (n *Notifier) RunChanged(tx store.Tx, r *runs.Run, busy bool) error {
	if r.Kind == runs.KindAgent && r.Session != "" {
		if err := n.mirror(tx, r, busy); err != nil {
			return err
		}
	}
	info := r.Info()
	tx.AfterCommit(func() {
		frame := wire.Frame{Kind: wire.FrameChange, Key: wire.KeyRun + info.RootRunID, Value: info}
		n.opts.Bus.Publish(bus.New(wire.KeyRun+info.RootRunID, frame))
		n.opts.Bus.Publish(bus.New(wire.KeyAccount+info.Account, frame))
		if n.opts.Bus.WatchedBelow(wire.KeyAccount) {
			n.enqueue(change{Change: sessionlog.Change{Account: info.Account, Agent: info.AgentID}, run: &frame})
		}
	})
	return nil
}

// Journaled is the hook of the run queue: it announces, once the transaction is durable, what a run wrote into its journal.
func (n *Notifier) Journaled(tx store.Tx, root, runID string, entries []runs.JournalEntry) {
	tx.AfterCommit(func() {
		for _, e := range entries {
			n.opts.Bus.Publish(bus.New(wire.KeyRun+root, wire.Frame{
				Kind: wire.FrameAppend, Key: wire.KeyRun + root, RunID: runID, Seq: e.Seq, Entry: wire.Payload(e.Entry), CreatedAt: e.CreatedAt,
			}))
		}
	})
}

func (n *Notifier) mirror(tx store.Tx, r *runs.Run, busy bool) error {
	log := n.opts.Sessions()
	if r.Status == runs.Failed {
		entry := sessionlog.Entry{Run: r.ID, Payload: wire.ErrorEvent{
			Type: sessionlog.TypeError, Message: r.Error.Message, Actor: string(sessionlog.ActorSystem),
		}}
		if _, err := log.Append(tx, r.Session, nil, entry); err != nil {
			return missing(err)
		}
	}
	status := sessionlog.StatusStreaming
	switch {
	case r.Status.Live() || busy:
	case r.Status == runs.Failed:
		status = sessionlog.StatusError
	default:
		status = sessionlog.StatusIdle
	}
	return missing(log.SetStatus(tx, r.Session, status))
}
