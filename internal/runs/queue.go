package runs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/id"
	"github.com/loam-agents/loam/internal/store"
)

// Executor carries out the runs of one kind.
type Executor interface {
	// Execute works on a claimed run until it has ended. It ends the run itself with Lease.Finish, in the transaction of its
	// last effect, or returns an Outcome for the queue to write. When ctx ends it returns soon: context.Cause tells whether
	// the run was canceled (ErrCanceled), its lease lost (ErrLeaseLost) or the server is stopping (ErrStopping).
	Execute(ctx context.Context, lease *Lease) (Outcome, error)
}

// Hooks are told of changes inside the transaction that makes them. They may write to tx and register AfterCommit.
type Hooks struct {
	// Changed is called with the row as it stands after every change of status, usage or plan. A run that has ended changes
	// once more when a descendant that outlived it ends: its children's usage grows. busy tells, for a run that is not live,
	// that another one keeps its session busy. An error undoes the change.
	Changed func(tx store.Tx, r *Run, busy bool) error
	// Concluded is called once for every run, when it has ended for good: with the row as it stands then.
	Concluded func(tx store.Tx, r *Run) error
	// Delivered is called when the end of a child settles a wait of its parent, which is about to go on: it writes the child's
	// result where the parent looks for it.
	Delivered func(tx store.Tx, child *Run, w *Wait) error
	// Ended is called when a run has ended that has a parent and that nothing waits for.
	Ended func(tx store.Tx, r *Run) error
	// Abandoned is called when a parked run is canceled, with what it still waits for.
	Abandoned func(tx store.Tx, r *Run, waits []Wait) error
	// Journaled is called with what was appended to a run's journal, and with the root of its tree.
	Journaled func(tx store.Tx, root, runID string, entries []JournalEntry)
}

// Causes with which the context of an execution ends.
var (
	ErrCanceled  = errors.New("run was canceled")
	ErrLeaseLost = errors.New("lease of the run was lost")
	ErrStopping  = errors.New("server is stopping")
)

// Options configure a Queue.
type Options struct {
	Store     store.Store
	Clock     clock.Clock
	IDs       id.Source
	Log       *slog.Logger
	Hooks     Hooks
	Executors map[string]Executor
	// Workers is how many runs execute at once; 64 when zero (design §10.10). An account holds at most seven of eight.
	Workers int
	// Owner names this process in leases. It must be unique among processes and starts.
	Owner string
	// Exclusive says that no other process works on the database (SQLite): leases of other owners are dead at start.
	Exclusive bool
	// Gone tells whether the process behind another owner is certainly dead, so that its leases are taken over before they
	// run out. Nil waits for them to run out.
	Gone func(ctx context.Context, owner string) (bool, error)
	// Sweep is how often the queue looks for work and dead leases that no hint announced; 2 s when zero.
	Sweep time.Duration
	// Point is called at the named points of the queue; a crash test kills the process there. May be nil.
	Point func(name string)
	// Jitter returns a random wait below its argument; math/rand when nil.
	Jitter func(time.Duration) time.Duration
}

// Queue claims and executes runs.
type Queue struct {
	opts Options

	wake chan struct{}
	// halted is closed when Stop has waited for the work: no run of this process ends any more.
	halted chan struct{}

	// life is held by Start and Stop for as long as they take; it guards everything up to mu.
	life           sync.Mutex
	started        bool
	stopped        bool
	interruptAll   context.CancelCauseFunc
	stopDispatcher context.CancelFunc
	stopRenewer    context.CancelFunc
	dispatcher     sync.WaitGroup
	renewer        sync.WaitGroup
	work           sync.WaitGroup

	mu sync.Mutex
	// held are the leases of executions in progress. A run that was lost and claimed again may stand here twice.
	held    map[*Lease]struct{}
	waiters map[string][]chan Run
	// working is the context of executions while the queue takes work, and nil otherwise.
	working context.Context
	// surplus are leases that were taken for workers who were busy when the commit was durable.
	surplus []*Lease
}

// New returns a queue that does not work yet.
func New(opts Options) *Queue {
	if opts.Workers <= 0 {
		opts.Workers = 64
	}
	if opts.Sweep <= 0 {
		opts.Sweep = 2 * time.Second
	}
	if opts.Jitter == nil {
		opts.Jitter = func(d time.Duration) time.Duration { return rand.N(d) }
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	if opts.Point == nil {
		opts.Point = func(string) {}
	}
	return &Queue{opts: opts, wake: make(chan struct{}, 1), halted: make(chan struct{}), held: map[*Lease]struct{}{}, waiters: map[string][]chan Run{}}
}

// Spec describes a run to enqueue.
type Spec struct {
	// ID is optional; a run with that id is enqueued once.
	ID           string
	Account      string
	Parent       *Run
	Kind         string
	Agent        string
	AgentVersion int64
	Session      string
	Origin       string
	// ParentCall and ContinuedFrom are those of Run.
	ParentCall    string
	ContinuedFrom string
	// Title is required; it is cut at 256 bytes.
	Title       string
	Lane        Lane
	MaxAttempts int64
	Input       json.RawMessage
	// Budget, PlanStep and StepLabel are those of Run.
	Budget              Budget
	PlanStep, StepLabel string
}

// Enqueue inserts a run. When this process has a free worker and nothing stands before the run in its session, the run is
// claimed with its insertion and executes as soon as the transaction is durable; otherwise it waits in the queue.
func (q *Queue) Enqueue(tx store.Tx, s Spec) (Run, error) {
	title := strings.TrimSpace(s.Title)
	if title == "" {
		return Run{}, fault.Invalid("Run title is required")
	}
	now := clock.Millis(q.opts.Clock)
	r := Run{
		ID: s.ID, Account: s.Account, Kind: s.Kind, Agent: s.Agent, AgentVersion: s.AgentVersion, Session: s.Session,
		Origin: s.Origin, Title: cut(title, maxTitle), Status: Queued, Lane: s.Lane, MaxAttempts: max(s.MaxAttempts, 1),
		Input: s.Input, ParentCall: s.ParentCall, ContinuedFrom: s.ContinuedFrom,
		Budget: s.Budget, PlanStep: s.PlanStep, StepLabel: s.StepLabel, CreatedAt: now, UpdatedAt: now,
	}
	if r.ID == "" {
		r.ID = q.opts.IDs()
	}
	r.Root = r.ID
	if s.Parent != nil {
		r.Root, r.Parent, r.Depth = s.Parent.Root, s.Parent.ID, s.Parent.Depth+1
	}
	begun := q.opts.Clock.Now()
	if err := q.claimNew(tx, &r); err != nil {
		return Run{}, err
	}
	var input, budget any
	if len(r.Input) > 0 {
		input = string(r.Input)
	}
	if r.Budget != (Budget{}) {
		var err error
		if budget, err = jsonText(r.Budget); err != nil {
			return Run{}, err
		}
	}
	n, err := tx.Exec(`INSERT INTO runs (id, account_id, root_run_id, parent_run_id, depth, kind, agent_id, agent_version, session_id,
		origin, title, status, queue, attempt, max_attempts, lease_owner, lease_epoch, lease_expires_at, input,
		parent_tool_call_id, continued_from_run_id, budget, plan_step_id, step_label, created_at, started_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
		r.ID, r.Account, r.Root, nullable(r.Parent), r.Depth, r.Kind, nullable(r.Agent), r.AgentVersion, nullable(r.Session),
		r.Origin, r.Title, string(r.Status), string(r.Lane), r.Attempt, r.MaxAttempts, nullable(r.LeaseOwner), r.LeaseEpoch, r.LeaseExpires,
		input, r.ParentCall, r.ContinuedFrom, budget, r.PlanStep, r.StepLabel, now, nullableTime(r.StartedAt), now)
	if err != nil {
		return Run{}, fmt.Errorf("enqueue run: %w", err)
	}
	if n == 0 {
		return Get(tx, r.ID)
	}
	tx.AfterCommit(func() { q.enqueued(r, begun) })
	return r, q.changed(tx, &r)
}

// claimNew takes the lease of a run that is about to be inserted, if it may execute at once.
func (q *Queue) claimNew(tx store.Tx, r *Run) error {
	if !q.free(r.Account) {
		return nil
	}
	if r.Kind == KindAgent && r.Session != "" {
		// Whatever holds the session or waits for it stands before this run. Two queries in one, each with its index.
		held, err := exists(tx, `SELECT 1 WHERE EXISTS (SELECT 1 FROM runs WHERE session_id = ? AND kind = 'agent' AND lease_owner IS NOT NULL)
			OR EXISTS (SELECT 1 FROM runs WHERE session_id = ? AND kind = 'agent' AND status IN ('queued', 'claimed', 'running'))`,
			r.Session, r.Session)
		if err != nil || held {
			return err
		}
	}
	now := tx.Now()
	r.Status, r.Attempt, r.StartedAt = Claimed, 1, now
	r.LeaseOwner, r.LeaseEpoch, r.LeaseExpires = q.opts.Owner, 1, now+LeaseTime.Milliseconds()
	return nil
}

// free tells whether this process works and has a worker to spare for an account.
func (q *Queue) free(account string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.working != nil && len(q.held) < q.opts.Workers && q.heldBy()[account] < q.share()
}

// share is how many workers an account may hold at once: an eighth of them stays free for others.
func (q *Queue) share() int { return q.opts.Workers - q.opts.Workers/8 }

// heldBy counts the workers that each account holds. The caller holds q.mu.
func (q *Queue) heldBy() map[string]int {
	n := map[string]int{}
	for lease := range q.held {
		n[lease.account]++
	}
	return n
}

// enqueued goes on with a run whose insertion is durable. begun is a time before it was claimed, if it was.
func (q *Queue) enqueued(r Run, begun time.Time) {
	if r.Status == Queued {
		q.Wake()
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	lease := q.lease(r, begun)
	q.launch(lease)
}

// Wake makes the queue look for work now.
func (q *Queue) Wake() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// changed reports a row to the hook and to whoever waits until it has ended or is parked.
func (q *Queue) changed(tx store.Tx, r *Run) error {
	row := *r
	busy := false
	if !row.Status.Live() && row.Kind == KindAgent && row.Session != "" {
		var err error
		if busy, err = SessionBusy(tx, row.Session, row.ID); err != nil {
			return err
		}
		if busy {
			// What waited behind this run may be its turn now.
			tx.AfterCommit(q.Wake)
		}
	}
	if q.opts.Hooks.Changed != nil {
		if err := q.opts.Hooks.Changed(tx, &row, busy); err != nil {
			return err
		}
	}
	// Last, so that what the hook announces is announced before anybody who awaits the run goes on.
	if row.Status.Terminal() || row.Status == Waiting {
		tx.AfterCommit(func() { q.settle(row) })
	}
	return nil
}

func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && s[limit]&0xc0 == 0x80 {
		limit--
	}
	return s[:limit]
}
