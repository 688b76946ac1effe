// Package engine carries out one turn of an agent: it replays the log into a conversation, streams the model, lets the verbs
// act, and writes down what happened.
//
// Its promises:
//   - What is streamed is never the truth. The answer is durable when its event is; the partial that showed it ends first.
//   - A call, its effect and its result are one transaction when the verb can prepare its effect, so no crash separates them.
//     When calls are announced before they run, a crash leaves them unanswered and the next turn answers them with an error
//     before it asks the model anything.
//   - A call may wait: its turn is parked, holds no worker and no memory, and goes on when the log holds the result.
//   - Every write checks the run's lease, in its own transaction.
//   - The prefix of the provider payload is byte-stable from turn to turn: what changes stands in one block at the end.
//
// engine is tier 5. It imports verbs, callable, space, agent, memory, sessionlog, runs, model, bus and store. The composition root gives it
// to the queue as the executor of agent runs.
package engine

import (
	"context"
	"log/slog"

	"github.com/loam-agents/loam/internal/bus"
	"github.com/loam-agents/loam/internal/callable"
	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/id"
	"github.com/loam-agents/loam/internal/model"
	"github.com/loam-agents/loam/internal/sessionlog"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/verbs"
	"github.com/loam-agents/loam/wire"
)

// Models finds the model of a turn.
type Models interface {
	// Resolve returns the model that a definition names, or the session's override. A provider that no longer exists falls back
	// to the agent's own when it was the override's. Errors are *fault.Error and mean that the configuration is wrong.
	Resolve(ctx context.Context, account string, def wire.AgentDefinition, override *wire.ModelOverride) (Model, error)
}

// Model is a model that is ready to be asked.
type Model struct {
	Provider model.Provider
	// Name of the provider in the account, its type (openai, custom, …), and its id of the model.
	Name, Type, ID string
	// Reasoning is the level to ask for; empty leaves it to the provider.
	Reasoning model.ReasoningLevel
	// Window and MaxOutput are in tokens.
	Window, MaxOutput int64
	// Images tells whether the model sees images.
	Images bool
	// Defaults are merged over the provider payload.
	Defaults map[string]any
}

// Options configure an Engine.
type Options struct {
	Store  store.Store
	Log    *sessionlog.Log
	Bus    bus.Bus
	Models Models
	Verbs  *verbs.Set
	// Tools knows what agents can call besides the verbs.
	Tools  *callable.Registry
	Clock  clock.Clock
	IDs    id.Source
	Logger *slog.Logger
	// Point is called at the named points of a turn; a crash test kills the process there. May be nil.
	Point func(name string)
}

// The named points of a turn, in order.
const (
	PointClaimed = "claimed"
	// A turn that has said something before resumes: it was parked, or its server died.
	PointResumed       = "turn-resumed"
	PointMidStream     = "mid-stream"
	PointCallsAppended = "calls-appended"
	PointEffectReady   = "effect-ready"
	PointEffectDone    = "effect-done"
	// A call that waits is pending when its waits are registered, and its turn is parked after that.
	PointPending      = "pending"
	PointParked       = "parked"
	PointBeforeFinish = "before-finish"
)

// Engine executes agent runs. It implements runs.Executor.
type Engine struct {
	opts      Options
	histories *histories
}

// New returns an engine.
func New(opts Options) *Engine {
	if opts.Point == nil {
		opts.Point = func(string) {}
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	return &Engine{opts: opts, histories: newHistories()}
}

// Limits of a turn.
const (
	// MaxResultKept bounds what the log keeps of one result, MaxResultShown what a model sees of it, in bytes (seeds/000 "Size
	// limits").
	MaxResultKept  = 256 << 10
	MaxResultShown = 8 << 10
	// MaxImages bounds the images that a turn shows its model, each of at most model.MaxImageBytes.
	MaxImages = 8
	// MaxSteps bounds the model calls of one run, so that a model that only ever calls cannot run for ever.
	MaxSteps = 200
	// MaxAnswer bounds one answer of a model in bytes: what it says, thinks and calls for. MaxCalls bounds the calls in it.
	MaxAnswer = 4 << 20
	MaxCalls  = 256
)
