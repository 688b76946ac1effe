package workflow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/runs"
	"github.com/loam-agents/loam/internal/script"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

// journal is the run's journal in the database, as its worker sees it. It implements script.Journal.
type journal struct{ x *execution }

// Load implements script.Journal.
func (j *journal) Load(ctx context.Context, n int) ([]script.Entry, error) {
	var stored []runs.JournalEntry
	err := j.x.opts.Store.Read(ctx, func(tx store.Tx) (err error) {
		stored, err = runs.Journal(tx, j.x.run.ID, int64(n), 2*script.MaxEntries)
		return err
	})
	if err != nil {
		return nil, err
	}
	out := make([]script.Entry, len(stored))
	for i := range stored {
		if err := json.Unmarshal(stored[i].Entry, &out[i]); err != nil {
			return nil, fmt.Errorf("run %s: journal entry %d cannot be read: %w", j.x.run.ID, stored[i].Seq, err)
		}
	}
	return out, nil
}

// Changed implements script.Journal.
func (j *journal) Changed() <-chan struct{} { return j.x.lease.Changed() }

// failedChange says which entry's change could not be made: the transaction is given up, and the entry gets the error instead.
type failedChange struct {
	entry *script.Entry
	err   error
}

// Error implements error.
func (f *failedChange) Error() string { return f.err.Error() }

// Unwrap lets the store see that the change only lost against another transaction.
func (f *failedChange) Unwrap() error { return f.err }

// Append implements script.Journal.
func (j *journal) Append(ctx context.Context, entries ...*script.Entry) (total int, err error) {
	for {
		err = j.x.write(ctx, func(tx store.Tx) (err error) {
			total, err = j.append(tx, entries)
			return err
		})
		f, ok := errors.AsType[*failedChange](err)
		if !ok {
			j.x.opts.Point(PointJournaled)
			return total, err
		}
		failure, err := failureOf(f.err)
		if err != nil {
			return 0, err
		}
		f.entry.Change, f.entry.Output, f.entry.Status, f.entry.Error = nil, nil, script.Failed, failure
	}
}

// append writes entries with what belongs to them, under the lease.
func (j *journal) append(tx store.Tx, entries []*script.Entry) (int, error) {
	if err := j.x.lease.Check(tx); err != nil {
		return 0, err
	}
	texts := make([]json.RawMessage, len(entries))
	for i, e := range entries {
		if e.Change != nil {
			output, err := e.Change(tx)
			if err != nil {
				return 0, &failedChange{e, err}
			}
			e.Output = output
		}
		if err := j.belongings(tx, e); err != nil {
			return 0, err
		}
		text, err := json.Marshal(e)
		if err != nil {
			return 0, fmt.Errorf("encode a journal entry: %w", err)
		}
		texts[i] = text
	}
	total, err := j.x.opts.Queue().AppendJournal(tx, j.x.run.ID, texts...)
	return int(total), err
}

// belongings keeps what other parts of the server look at: the waits that a signal may settle, and the plan on the run.
func (j *journal) belongings(tx store.Tx, e *script.Entry) error {
	switch e.Kind {
	case script.KindWait:
		return j.x.lease.Await(tx, waitOf(e))
	case script.KindFired, script.KindEvent:
		return j.x.lease.Forget(tx, waitID(e))
	case script.KindPlan:
		var plan wire.RunPlan
		if json.Unmarshal(e.Plan, &plan) != nil || len(plan.Steps) == 0 || len(plan.Steps) > maxSteps {
			return nil
		}
		return j.x.lease.SetPlan(tx, &plan)
	}
	return nil
}

// maxSteps bounds a plan that is shown on the run.
const maxSteps = 100

// failureOf is an error as a script gets it, when it is one that it may get.
func failureOf(err error) (*script.Failure, error) {
	if f, ok := errors.AsType[*script.Failure](err); ok {
		return f, nil
	}
	f, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return nil, err
	}
	out := &script.Failure{Code: string(f.Code), Message: f.Message, Retryable: f.Code == fault.Unavailable || f.Code == fault.RateLimited}
	if len(f.Details) > 0 {
		if out.Detail, err = json.Marshal(f.Details); err != nil {
			return nil, fmt.Errorf("encode details: %w", err)
		}
	}
	return out, nil
}
