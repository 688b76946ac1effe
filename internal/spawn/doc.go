// Package spawn starts the children of runs and brings their results back: one function for every door, whether a model delegates, a
// script does, or a later part of the server (seeds/000 "delegate").
//
// Its promises:
//   - A child is made, and what its parent waits for is known, in one transaction of the caller. A call starts one child, however
//     often it is carried out.
//   - A child never may do more than its parent: its contract holds what it is narrowed to, and its own children inherit that.
//   - The end of a child writes its result where the parent looks for it, in the transaction of the end.
//   - A tree follows one budget, that of its root.
//
// spawn is part of tier 4. It imports runs, sessionlog, agent, callable and script. The verbs, the engine and workflow (tier 5) call it;
// the composition root hands its Deliver to the queue.
package spawn

import (
	"context"

	"github.com/loam-agents/loam/internal/callable"
	"github.com/loam-agents/loam/internal/runs"
	"github.com/loam-agents/loam/internal/script"
	"github.com/loam-agents/loam/internal/sessionlog"
	"github.com/loam-agents/loam/internal/store"
)

// Limits of a child.
const (
	// MaxBrief bounds a brief in bytes, and MaxPersona a prompt.
	MaxBrief   = 64 << 10
	MaxPersona = 64 << 10
	// MaxTools bounds the tools that a child is narrowed to.
	MaxTools = 64
	// MaxSchema bounds the schema of a result in bytes, and MaxResult a result: what a log keeps of one holds it whole.
	MaxSchema = 16 << 10
	MaxResult = 192 << 10
	// maxTitle bounds a title in characters.
	maxTitle = 80
	// attempts is how often a turn of a child is tried when its provider fails.
	attempts = 3
)

// Options configure a Spawner.
type Options struct {
	Log   *sessionlog.Log
	Queue func() *runs.Queue
	Tools *callable.Registry
	IDs   func() string
	// Levels are the levels of reasoning that a model takes.
	Levels func(providerType, model string) []string
	// Compile checks a script.
	Compile func(ctx context.Context, source string) (*script.Program, error)
	// Opened is told of every session that is opened for an account, in its transaction; its error refuses the child.
	Opened func(tx store.Tx, account string) error
}

// Spawner starts children.
type Spawner struct{ opts Options }

// New returns a Spawner.
func New(opts Options) *Spawner { return &Spawner{opts} }
