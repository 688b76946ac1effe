// Package runs is the queue of everything that executes, and the record of it.
//
// A run is one row of a tree. It moves queued → claimed → running → succeeded | failed | canceled, back to queued when it is
// retried, when its lease is lost, or when what it waited for is settled (docs/architecture.md draws it). A worker holds a run through a lease that carries an
// epoch: every durable effect of the run checks that the lease still stands, inside the effect's own transaction, so a
// worker that was presumed dead cannot write. A lease also holds the run's session: at most one agent run of a session
// executes at a time, whoever claims it.
//
// What executes a run is an Executor of its kind, given by the composition root. Recovery is the same code as dispatch: a
// run whose lease died is queued again and claimed like any other.
//
// runs is tier 2. It imports store, wire and the seams; siblings learn of changes through Hooks.
package runs

import (
	"encoding/json"
	"time"

	"github.com/loam-agents/loam/wire"
)

// Status of a run. The values are stored and sent on the wire.
type Status string

// The states of a run (design §6).
const (
	Queued    Status = "queued"
	Claimed   Status = "claimed"
	Running   Status = "running"
	Waiting   Status = "waiting"
	Succeeded Status = "succeeded"
	Failed    Status = "failed"
	Canceled  Status = "canceled"
)

// Terminal tells whether nothing can happen to a run any more.
func (s Status) Terminal() bool { return s == Succeeded || s == Failed || s == Canceled }

// Live tells whether the run keeps its session busy: it executes, or it will without anybody doing anything.
func (s Status) Live() bool { return s == Queued || s == Claimed || s == Running }

// resting tells whether nothing happens to a run until somebody else acts.
func (s Status) resting() bool { return s.Terminal() || s == Waiting }

// The kinds of runs. KindAgent is a turn of an agent, the only kind that holds a session; KindWorkflow is a script.
const (
	KindAgent    = "agent"
	KindWorkflow = "workflow"
)

// Lane orders the queue: Interactive runs are claimed before Background ones.
type Lane string

// The lanes of the queue.
const (
	Interactive Lane = "interactive"
	Background  Lane = "background"
)

// Run is one row.
type Run struct {
	ID           string
	Account      string
	Root         string
	Parent       string
	Depth        int64
	Kind         string
	Agent        string
	AgentVersion int64
	Session      string
	Origin       string
	Title        string
	Status       Status
	Lane         Lane
	Attempt      int64
	MaxAttempts  int64
	Recoveries   int64
	NotBefore    int64
	LeaseOwner   string
	LeaseEpoch   int64
	LeaseExpires int64
	Input        json.RawMessage
	Output       json.RawMessage
	Error        *wire.RunError
	Usage        wire.Usage
	Children     wire.ChildUsage
	Plan         *wire.RunPlan
	// Wait is the most urgent thing that a waiting run waits for.
	Wait *wire.RunWait
	// Budget is how far the run's tree may grow. A run of before there were budgets has none, see Budget.OrNormal.
	Budget Budget
	// PlanStep and StepLabel are the step of the parent's plan that the run works on.
	PlanStep, StepLabel string
	// ParentCall is the call of the parent that began this run; ContinuedFrom is the run that this one goes on with.
	ParentCall    string
	ContinuedFrom string
	// Provider and Model are what an agent's run was executed on: the account's name of the provider, and the provider's id of
	// the model. They are empty before.
	Provider, Model string

	CreatedAt  int64
	StartedAt  int64
	FinishedAt int64
	UpdatedAt  int64
}

// Info is the run as its readers see it.
func (r *Run) Info() wire.RunInfo {
	info := wire.RunInfo{
		ID: r.ID, Account: r.Account, RootRunID: r.Root, ParentRunID: r.Parent, Depth: r.Depth, Kind: r.Kind,
		AgentID: r.Agent, SessionID: r.Session, Origin: r.Origin, Title: r.Title, Status: string(r.Status), Plan: r.Plan, Wait: r.Wait, PlanStepID: r.PlanStep, StepLabel: r.StepLabel, ParentToolCallID: r.ParentCall, ContinuedFromRunID: r.ContinuedFrom,
		Error: r.Error, Provider: r.Provider, Model: r.Model, CreatedAt: r.CreatedAt, StartedAt: r.StartedAt, FinishedAt: r.FinishedAt, UpdatedAt: r.UpdatedAt,
	}
	if r.Usage != (wire.Usage{}) || r.Children.Runs > 0 {
		info.Usage = &wire.RunUsage{Usage: r.Usage}
		if r.Children.Runs > 0 {
			children := r.Children
			info.Usage.Children = &children
		}
	}
	var out struct {
		UnmetObligations []wire.UnmetObligation `json:"unmetObligations"`
	}
	if len(r.Output) > 0 && json.Unmarshal(r.Output, &out) == nil {
		info.UnmetObligations = out.UnmetObligations
	}
	return info
}

// The named points of the queue. Each is reached when the commit that it names is durable.
const (
	// PointRenewed: leases were extended.
	PointRenewed = "lease-renewed"
	// PointRecovered: a run of a dead worker is queued again.
	PointRecovered = "run-recovered"
	// PointWoken: a parked run is queued again, since what it waited for is settled.
	PointWoken = "run-woken"
	// PointChildEnded: a child has ended, and its parent has the result.
	PointChildEnded = "child-ended"
	// PointSignaled: a signal has settled a wait.
	PointSignaled = "run-signaled"
)

// Limits of the queue.
const (
	// LeaseTime is how long a claim holds without renewal (design §6).
	LeaseTime = 15 * time.Second
	// renewEvery and leaseMargin: a worker renews early and stops this long before its lease would run out. It looks every
	// renewTick, which is also the pause before a failed renewal is tried again.
	renewEvery  = 5 * time.Second
	renewTick   = time.Second
	leaseMargin = 3 * time.Second
	// maxCollisions is how often in a row a claim that met another process in one session is repeated at once.
	maxCollisions = 10
	// maxRecoveries is how often a run may be taken over from a worker that died before it is failed as poisonous.
	maxRecoveries = 10
	// maxTitle bounds a run's title in bytes.
	maxTitle = 256
)

// Backoff is the wait before attempt+1 (spec/agents-protocol.md §6.1): 5 s doubled each time, at most 5 minutes, plus jitter.
// A longer wait that the provider asked for wins.
func Backoff(attempt int64, retryAfter, jitter time.Duration) time.Duration {
	d := 5 * time.Minute
	if attempt < 7 {
		d = min(d, 5*time.Second<<max(attempt-1, 0))
	}
	return max(d+jitter, retryAfter)
}
