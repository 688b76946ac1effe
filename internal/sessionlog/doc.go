// Package sessionlog keeps conversations: sessions, their append-only logs, and the files attached to them.
//
// A log is a dense sequence of immutable events from seq 1, each stamped with an actor and its provenance. Append gives the
// next seqs inside the caller's transaction and announces the events on the bus after the commit, never before. What a
// provider needs back byte for byte rides along as opaque state that no client sees.
//
// sessionlog is tier 2. It imports store, blobstore's bytes through Blobs, bus, wire and the seams. Whether a writer may still
// write is decided by a Fence that the caller brings; who is told that a session changed is decided by Options.Changed.
package sessionlog

import (
	"context"
	"encoding/json"
	"io"

	"github.com/loam-agents/loam/internal/blobstore"
	"github.com/loam-agents/loam/internal/bus"
	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/id"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

// Actor says who caused an event.
type Actor string

// The actors of the log. They are derived from an event's shape when a stored event names none (spec §4).
const (
	ActorUser    Actor = "user"
	ActorAgent   Actor = "agent"
	ActorSystem  Actor = "system"
	ActorTrigger Actor = "trigger"
)

// The types of events that Loam writes.
const (
	TypeMessage    = "message"
	TypeToolCall   = "tool_call"
	TypeToolResult = "tool_result"
	TypeToolSpawn  = "tool_spawn"
	TypeError      = "error"
)

// Fence decides, inside the transaction, whether its holder may write. A nil Fence always may.
type Fence interface {
	// Check returns nil when the holder may write in tx.
	Check(tx store.Tx) error
}

// Blobs is where attachment bytes are kept.
type Blobs interface {
	// Put keeps bytes durably under their SHA-256.
	Put(ctx context.Context, r io.Reader) (blobstore.Info, error)
	// ReadAll returns the bytes of a hash, or an error when they are more than maxBytes.
	ReadAll(ctx context.Context, hash string, maxBytes int64) ([]byte, error)
}

// Change says what happened to a session.
type Change struct {
	Session, Agent, Account string
	// Reason is the account hint's reason: one of those below.
	Reason string
}

// The reasons of a Change.
const (
	ReasonCreated = "session-created"
	ReasonUpdated = "session-updated"
	ReasonDeleted = "session-deleted"
	ReasonEvent   = "session-event"
	// ReasonContinued says that another session goes on with the work of this one.
	ReasonContinued = "session-continued"
)

// Options configure a Log.
type Options struct {
	Clock clock.Clock
	IDs   id.Source
	Bus   bus.Bus
	Blobs Blobs
	// Changed is called after the commit of every change. It must be quick and must not call the store. May be nil.
	Changed func(Change)
}

// Log writes and reads sessions.
type Log struct{ opts Options }

// New returns a Log.
func New(opts Options) *Log {
	if opts.Changed == nil {
		opts.Changed = func(Change) {}
	}
	return &Log{opts: opts}
}

// Session is a conversation's row.
type Session struct {
	ID      string
	Account string
	Agent   string
	// CreatedBy is the account that opened it; empty when that is not known.
	CreatedBy     string
	Title         string
	TitleSource   string
	Description   string
	Status        string
	Parent        string
	Run           string
	Plan          *wire.RunPlan
	ModelOverride *wire.ModelOverride
	Thoroughness  string
	// ContinuedFrom and ContinuedTo are the other sides of continuations, nil where there is none.
	ContinuedFrom, ContinuedTo *wire.SessionContinuationLink
	LastSeq                    int64
	LastEventAt                int64
	LastEventKind              string
	LastMessageAt              int64
	LastMessageFrom            string
	CreatedAt                  int64
	UpdatedAt                  int64
	Children                   int64
	// StartedByTrigger is the firing that the session began with, or nil.
	StartedByTrigger *wire.SessionTrigger
}

// Info is the session as its readers see it.
func (s *Session) Info() wire.SessionInfo {
	info := wire.SessionInfo{
		ID: s.ID, Account: s.Account, AgentID: s.Agent, Title: s.Title, Status: s.Status, CreatedAt: s.CreatedAt,
		UpdatedAt: s.UpdatedAt, ParentSessionID: s.Parent, RunID: s.Run, Plan: s.Plan, ModelOverride: s.ModelOverride,
		Description: s.Description, Thoroughness: s.Thoroughness, ChildSessionCount: s.Children,
		ContinuedFrom: s.ContinuedFrom, ContinuedTo: s.ContinuedTo, StartedByTrigger: s.StartedByTrigger,
	}
	if s.LastMessageAt > 0 {
		info.Activity = &wire.SessionActivity{MessageAt: s.LastMessageAt, MessageFrom: s.LastMessageFrom}
	}
	return info
}

// Entry is one event to append.
type Entry struct {
	// Payload is a wire.MessageEvent, wire.ToolCallEvent, wire.ToolResultEvent, wire.ToolSpawnEvent or wire.ErrorEvent.
	Payload any
	// Opaque is provider state of the assistant turn that this event begins, or nil.
	Opaque json.RawMessage
	// Run is the run that wrote the event, if any.
	Run string
	// Actor is who caused the event when its payload does not say so: a message of a trigger reads as a user's (seeds/000 "actor").
	Actor Actor
}

// Stored is one event of the log as the engine replays it.
type Stored struct {
	wire.SessionEvent
	Type   string
	Actor  Actor
	Opaque json.RawMessage
	Run    string
}
