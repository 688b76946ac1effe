// Package trigger starts agents by themselves: on a schedule, when a webhook is called, when a run ends, or when something happens on
// the hypermedia network.
//
// A trigger has a source (what makes it fire), a prompt and a continuation (what it does then). Its promises:
//   - An event makes a trigger fire once. The claim on the event, the firing, and what it starts are one transaction, so it makes no
//     difference who hears of the event, how often, or where the process is killed.
//   - Times that a schedule has missed come to one firing, which is told how many they were.
//   - A trigger does not fire for what it has itself led to, and a chain of triggers ends after MaxChain of them.
//   - What strangers wrote is fenced in what a model reads.
//
// trigger is tier 4. It imports store, runs, sessionlog, agent, vault, fence and the seams. Operations and ~/triggers write triggers;
// the queue of runs tells it of runs that end; transports bring deliveries; the composition root starts its scheduler.
package trigger

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/id"
	"github.com/loam-agents/loam/internal/runs"
	"github.com/loam-agents/loam/internal/sessionlog"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/vault"
	"github.com/loam-agents/loam/wire"
)

// Limits of triggers.
const (
	// MaxPerAgent bounds the triggers of an agent.
	MaxPerAgent = 100
	// MaxConditions bounds the activities that one trigger waits for, MaxAccounts and MaxEventTypes the lists inside of one.
	MaxConditions, MaxAccounts, MaxEventTypes = 16, 32, 32
	// MaxResource bounds an address, MaxTitleMatch a text to look for in titles, MaxURL where a webhook is sent, in bytes.
	MaxResource, MaxTitleMatch, MaxURL = 2048, 256, 2048
	// MaxPayload bounds the payload of a signal and the input of a tool or script, in bytes of JSON.
	MaxPayload = 64 << 10
	// MaxChain is how many triggers may stand behind one another.
	MaxChain = 8
	// MaxActivity bounds what a firing keeps of the event, in bytes of JSON.
	MaxActivity = 128 << 10
	// KeptFirings is how many firings of a trigger are kept, and ClaimLife how long an event is known to have made it fire.
	KeptFirings = 200
	ClaimLife   = 30 * 24 * time.Hour
)

// ActivitySource brings what happens on the hypermedia network.
type ActivitySource interface {
	// Follow calls deliver for what happens, in order, until ctx ends. An activity may be delivered more than once, and has to be
	// delivered again when deliver returned an error.
	Follow(ctx context.Context, deliver func(ctx context.Context, account string, a Activity) error) error
}

// Options configure a Service.
type Options struct {
	Store store.Store
	Log   *sessionlog.Log
	Vault *vault.Vault
	Clock clock.Clock
	IDs   id.Source
	// Runs is the queue that executes what triggers start. It is asked for when it is needed, since it tells the service of runs.
	Runs func() *runs.Queue
	// Turn is the input of the run that answers events of a session, from one seq to another.
	Turn func(first, last int64) (json.RawMessage, error)
	// Compile turns the source of a script into the program of a run. Its errors are faults.
	Compile func(ctx context.Context, source string) (json.RawMessage, error)
	// Workflow is the input of a run of a program.
	Workflow func(program, input json.RawMessage) (json.RawMessage, error)
	// Opened counts a session that was opened for an account; it fails when that has too many.
	Opened func(tx store.Tx, account string) error
	// Changed announces, after the commit, that the triggers of an agent changed.
	Changed func(tx store.Tx, account, agent, reason string)
	// Activities is where activities come from; nil when there is no such place.
	Activities ActivitySource
	// Point is called at the named points of a firing; a crash test kills the process there. May be nil.
	Point  func(name string)
	Logger *slog.Logger
}

// The reasons of Options.Changed, which are those of account hints.
const (
	ReasonCreated = "trigger-created"
	ReasonUpdated = "trigger-updated"
	ReasonDeleted = "trigger-deleted"
)

// PointFired is reached when a firing is durable and what it started may begin.
const PointFired = "trigger-fired"

// Service keeps and fires triggers.
type Service struct {
	opts Options
	// wake makes the scheduler look again.
	wake chan struct{}

	// rates guards limiters, one for each webhook that had a delivery.
	rates    sync.Mutex
	limiters map[string]*rate.Limiter

	mu   sync.Mutex
	stop context.CancelFunc
	done sync.WaitGroup
}

// New returns a service whose scheduler does not run yet.
func New(opts Options) *Service {
	if opts.Point == nil {
		opts.Point = func(string) {}
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	return &Service{opts: opts, wake: make(chan struct{}, 1), limiters: map[string]*rate.Limiter{}}
}

// Trigger is one row.
type Trigger struct {
	ID, Account, Agent string
	Name               string
	Enabled            bool
	Source             wire.TriggerSource
	Prompt             wire.PromptBlocks
	// Continuation is nil when a new thread begins.
	Continuation *wire.TriggerContinuation
	// Program is what a continuation runs without a conversation, compiled.
	Program json.RawMessage
	// ArmedAt is since when what happens counts, in epoch milliseconds; NextAt is when a schedule is due, zero is never.
	ArmedAt, NextAt            int64
	LastCheckedAt, LastFiredAt int64
	LastError, MergedInto      string
	CreatedAt, UpdatedAt       int64
}

// kind is that of the continuation.
func (t *Trigger) kind() string {
	if t.Continuation == nil {
		return NewThread
	}
	return t.Continuation.Kind
}
