package runs

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

// Lease is a worker's right to act for a run. It is safe for concurrent use.
type Lease struct {
	q       *Queue
	id      string
	account string
	epoch   int64
	owner   string
	cancel  context.CancelCauseFunc
	// gone is closed when the worker has let go.
	gone chan struct{}

	mu  sync.Mutex
	run Run
	// provider and model are those that Uses was told.
	provider, model string
	// renewed is a time before the database last extended the lease.
	renewed     time.Time
	finished    bool
	interrupted bool
	// changed has a value when a wait of the run was settled, or may have been.
	changed chan struct{}
}

// Changed has a value when somebody else may have settled a wait of the run, or appended to its journal. Another server is
// noticed with the next renewal of the lease.
func (l *Lease) Changed() <-chan struct{} { return l.changed }

func (l *Lease) poke() {
	select {
	case l.changed <- struct{}{}:
	default:
	}
}

// poke tells the worker of a run, if it is one of this process.
func (q *Queue) poke(runID string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for lease := range q.held {
		if lease.id == runID {
			lease.poke()
		}
	}
}

// Run is the row as the worker knows it.
func (l *Lease) Run() Run {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.run
}

// Uses says on which model the run executes: the account's name of the provider, and the provider's id of the model. It writes
// nothing itself: the next change of the run does.
func (l *Lease) Uses(provider, model string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.provider, l.model = provider, model
}

// stamp puts on a row what Uses was told.
func (l *Lease) stamp(r *Run) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.provider != "" {
		r.Provider, r.Model = l.provider, l.model
	}
}

func (l *Lease) ended() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.finished
}

func (l *Lease) age(now time.Time) (age time.Duration, ended bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return now.Sub(l.renewed), l.finished
}

func (l *Lease) renew(at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.renewed = at
}

// interrupt ends the execution's context and tells whether it was the first to do so.
func (l *Lease) interrupt(cause error) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.interrupted {
		return false
	}
	l.interrupted = true
	l.cancel(cause)
	return true
}

// Check fails with ErrCanceled or ErrLeaseLost when the worker may no longer write for the run. Every durable effect of a run
// calls it in its own transaction.
func (l *Lease) Check(tx store.Tx) error {
	status, err := l.status(tx)
	if err != nil {
		return err
	}
	return status.writable()
}

// writable tells why a run in this state takes no effects from its worker; nil when it does.
func (s Status) writable() error {
	switch s {
	case Claimed, Running:
		return nil
	case Canceled:
		return ErrCanceled
	}
	return ErrLeaseLost
}

// row is the whole row of a run that the worker holds, whatever its status.
func (l *Lease) row(tx store.Tx) (Run, error) {
	query := `SELECT ` + columns + ` FROM runs WHERE id = ? AND lease_owner = ? AND lease_epoch = ?`
	if tx.Dialect() == store.Postgres {
		query += ` FOR UPDATE`
	}
	r, err := scan(tx.QueryRow(query, l.id, l.owner, l.epoch))
	if errors.Is(err, sql.ErrNoRows) {
		return Run{}, ErrLeaseLost
	}
	return r, err
}

// CheckStopped fails unless the run was canceled and this worker still holds its session: the moment in which what a
// stopped turn had already said may be written down.
func (l *Lease) CheckStopped(tx store.Tx) error {
	status, err := l.status(tx)
	if err == nil && status != Canceled {
		err = ErrLeaseLost
	}
	return err
}

func (l *Lease) status(tx store.Tx) (Status, error) {
	query := `SELECT status FROM runs WHERE id = ? AND lease_owner = ? AND lease_epoch = ?`
	if tx.Dialect() == store.Postgres {
		query += ` FOR SHARE`
	}
	var status Status
	err := tx.QueryRow(query, l.id, l.owner, l.epoch).Scan(&status)
	if errors.Is(err, sql.ErrNoRows) {
		return "", ErrLeaseLost
	}
	return status, err
}

// Start marks the run as running, with one background write. It does nothing when the run is no longer the worker's.
func (l *Lease) Start(ctx context.Context) error {
	return l.q.opts.Store.Write(ctx, store.Background, func(tx store.Tx) error {
		run := l.Run()
		l.stamp(&run)
		r, err := scan(tx.QueryRow(`UPDATE runs SET status = 'running', provider = ?, model = ?, updated_at = ?
			WHERE id = ? AND lease_owner = ? AND lease_epoch = ? AND status = 'claimed' RETURNING `+columns,
			run.Provider, run.Model, tx.Now(), l.id, l.owner, l.epoch))
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("start run: %w", err)
		}
		return l.q.changed(tx, &r)
	})
}

// AddUsage adds a generation's tokens to the run, which is running by now. It is called in the transaction that appends what was generated, so a
// resumed run never counts twice and never forgets. What a run that was canceled meanwhile still used reaches its parents. It
// fails with ErrLeaseLost when the worker does not hold the run.
func (l *Lease) AddUsage(tx store.Tx, u wire.Usage) error {
	r, err := l.row(tx)
	if err != nil {
		return err
	}
	if r.Status == Claimed {
		r.Status = Running
	}
	r.Usage, r.UpdatedAt = addUsage(r.Usage, u), tx.Now()
	l.stamp(&r)
	text, err := jsonText(r.Usage)
	if err != nil {
		return err
	}
	if _, err := tx.Exec(`UPDATE runs SET usage = ?, status = ?, provider = ?, model = ?, updated_at = ? WHERE id = ?`,
		text, string(r.Status), r.Provider, r.Model, r.UpdatedAt, r.ID); err != nil {
		return fmt.Errorf("add usage: %w", err)
	}
	if r.Status.Terminal() {
		if err := l.q.rollUp(tx, r.Parent, wire.ChildUsage{Usage: u}); err != nil {
			return err
		}
	}
	return l.q.changed(tx, &r)
}

// SetPlan copies a settled plan onto the run. It fails with ErrLeaseLost when the worker does not hold the run.
func (l *Lease) SetPlan(tx store.Tx, plan *wire.RunPlan) error {
	text, err := jsonText(plan)
	if err != nil {
		return err
	}
	r, err := scan(tx.QueryRow(`UPDATE runs SET plan = ?, updated_at = ? WHERE id = ? AND lease_owner = ? AND lease_epoch = ?
		RETURNING `+columns, text, tx.Now(), l.id, l.owner, l.epoch))
	if errors.Is(err, sql.ErrNoRows) {
		return ErrLeaseLost
	}
	if err != nil {
		return fmt.Errorf("set plan: %w", err)
	}
	return l.q.changed(tx, &r)
}

// The codes of failed runs, as the wire spells them (spec/agents-protocol.md §6.1).
const (
	CodeConfigError   = "config-error"
	CodeProviderError = "provider-error"
	CodeExecutorError = "executor-error"
	CodeNoExecutor    = "no-executor"
	CodeRunFailed     = "run-failed"
	CodeOutputSchema  = "output-schema"
)

// Outcome is how an execution ended.
type Outcome struct {
	// Status is Succeeded or Failed.
	Status Status
	Output json.RawMessage
	// Code and Message of a failure.
	Code    string
	Message string
	// Error is the failure when there is more to say of it than a code and a message.
	Error *wire.RunError
	// Retry says that another attempt may succeed, not before RetryAfter.
	Retry      bool
	RetryAfter time.Duration
	// Usage is what the last generation used and AddUsage has not been told.
	Usage wire.Usage
}

// Finish ends the run, or queues it again when the outcome may be retried and attempts are left. It fails with ErrCanceled or
// ErrLeaseLost when the run is no longer the worker's.
func (l *Lease) Finish(tx store.Tx, o Outcome) error {
	if o.Status != Succeeded && o.Status != Failed {
		return fmt.Errorf("a run cannot end as %q", o.Status)
	}
	r, err := l.row(tx)
	if err == nil {
		err = r.Status.writable()
	}
	if err != nil {
		return err
	}
	l.stamp(&r)
	if err := l.q.finish(tx, &r, o, tx.Now()); err != nil {
		return err
	}
	tx.AfterCommit(func() {
		l.mu.Lock()
		l.finished, l.run = true, r
		l.mu.Unlock()
	})
	return nil
}

// WillRetry tells whether an outcome would queue the run again.
func (l *Lease) WillRetry(o Outcome) bool {
	r := l.Run()
	return willRetry(&r, o)
}

func willRetry(r *Run, o Outcome) bool {
	return o.Status == Failed && o.Retry && r.Attempt-r.Recoveries < r.MaxAttempts
}

func (q *Queue) finish(tx store.Tx, r *Run, o Outcome, now int64) error {
	r.LeaseOwner, r.UpdatedAt, r.Usage = "", now, addUsage(r.Usage, o.Usage)
	if o.Status == Failed {
		if r.Error = o.Error; r.Error == nil {
			r.Error = &wire.RunError{Code: o.Code, Message: o.Message}
		}
	} else {
		r.Error = nil
	}
	if willRetry(r, o) {
		r.Status = Queued
		r.NotBefore = now + Backoff(r.Attempt-r.Recoveries, o.RetryAfter, q.opts.Jitter(time.Second)).Milliseconds()
	} else {
		r.Status, r.Output, r.FinishedAt = o.Status, o.Output, now
	}
	if err := q.saveEnd(tx, r); err != nil {
		return err
	}
	if r.Status.Terminal() {
		if err := q.conclude(tx, r); err != nil {
			return err
		}
	}
	if !r.Status.Terminal() {
		tx.AfterCommit(q.Wake)
	}
	return q.changed(tx, r)
}

func (q *Queue) saveEnd(tx store.Tx, r *Run) error {
	var runErr, output, finished any
	var err error
	if r.Error != nil {
		if runErr, err = jsonText(r.Error); err != nil {
			return err
		}
	}
	if len(r.Output) > 0 {
		output = string(r.Output)
	}
	if r.FinishedAt > 0 {
		finished = r.FinishedAt
	}
	usage, err := jsonText(r.Usage)
	if err != nil {
		return err
	}
	_, err = tx.Exec(`UPDATE runs SET status = ?, lease_owner = NULL, not_before = ?, output = ?, error = ?, usage = ?,
		provider = ?, model = ?, finished_at = ?, updated_at = ? WHERE id = ?`,
		string(r.Status), r.NotBefore, output, runErr, usage, r.Provider, r.Model, finished, r.UpdatedAt, r.ID)
	if err != nil {
		return fmt.Errorf("end run: %w", err)
	}
	return nil
}

// conclude does what the end of a run brings with it, however it ended.
func (q *Queue) conclude(tx store.Tx, r *Run) error {
	// A turn that succeeds is one that was not parked: it waits for nothing, and most turns are such.
	if r.Kind != KindAgent || r.Status != Succeeded {
		r.Wait = nil
		if err := forgetWaits(tx, r.ID); err != nil {
			return err
		}
	}
	if err := q.rollUpEnd(tx, r); err != nil {
		return err
	}
	if err := q.childEnded(tx, r); err != nil || q.opts.Hooks.Concluded == nil {
		return err
	}
	return q.opts.Hooks.Concluded(tx, r)
}

// rollUpEnd adds an ended run's own and descendants' usage to its parent.
func (q *Queue) rollUpEnd(tx store.Tx, r *Run) error {
	return q.rollUp(tx, r.Parent, wire.ChildUsage{Usage: addUsage(r.Usage, r.Children.Usage), Runs: 1 + r.Children.Runs})
}

// rollUp adds usage to a parent, and past parents that have ended and rolled up before: a child may outlive them.
func (q *Queue) rollUp(tx store.Tx, parentID string, u wire.ChildUsage) error {
	for parentID != "" {
		parent, err := Get(tx, parentID)
		if err != nil {
			return err
		}
		parent.Children.Usage = addUsage(parent.Children.Usage, u.Usage)
		parent.Children.Runs += u.Runs
		text, err := jsonText(parent.Children)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(`UPDATE runs SET child_usage = ? WHERE id = ?`, text, parent.ID); err != nil {
			return fmt.Errorf("roll up usage: %w", err)
		}
		if err := q.changed(tx, &parent); err != nil {
			return err
		}
		if !parent.Status.Terminal() {
			return nil
		}
		parentID = parent.Parent
	}
	return nil
}

func addUsage(a, b wire.Usage) wire.Usage {
	return wire.Usage{
		Input: a.Input + b.Input, Output: a.Output + b.Output, CacheRead: a.CacheRead + b.CacheRead,
		CacheWrite: a.CacheWrite + b.CacheWrite, Total: a.Total + b.Total,
	}
}
