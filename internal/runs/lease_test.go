package runs_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/loam-agents/loam/internal/runs"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

// crash makes the worker of a run look dead to everybody else: its lease runs out.
func (w *world) crash(t *testing.T, runID string) {
	t.Helper()
	w.exec(t, `UPDATE runs SET lease_expires_at = 0 WHERE id = ?`, runID)
}

func TestAWorkerWhoseLeaseWasTakenOverCanDoNothing(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		dead := w.working(t, "dead", one)
		r := dead.enqueue(t, spec("s"))[0]
		before := dead.next(t)
		w.crash(t, r.ID)
		heir := w.working(t, "heir", nil)
		after := heir.nextOf(t, r.ID)
		if a, b := after.Run(), before.Run(); a.LeaseEpoch <= b.LeaseEpoch || a.Recoveries != 1 || a.Attempt != 2 || a.LeaseOwner != "heir" {
			t.Errorf("the heir's run is %+v after %+v", a, b)
		}
		outcome := runs.Outcome{Status: runs.Succeeded}
		for name, effect := range map[string]func(tx store.Tx) error{
			"Check":        before.Check,
			"CheckStopped": before.CheckStopped,
			"Finish":       func(tx store.Tx) error { return before.Finish(tx, outcome) },
			"AddUsage":     func(tx store.Tx) error { return before.AddUsage(tx, tokens(1)) },
			"SetPlan":      func(tx store.Tx) error { return before.SetPlan(tx, &wire.RunPlan{Title: "late"}) },
		} {
			if err := w.try(t, effect); !errors.Is(err, runs.ErrLeaseLost) {
				t.Errorf("%s of the dead worker = %v, want ErrLeaseLost", name, err)
			}
		}
		if err := before.Start(t.Context()); err != nil {
			t.Error(err)
		}
		if got := w.run(t, r.ID); got.Status != runs.Claimed || got.Usage != (wire.Usage{}) || got.Plan != nil {
			t.Errorf("the dead worker changed the run to %+v", got)
		}
		before.done <- succeeded
		if err := w.try(t, after.Check); err != nil {
			t.Errorf("Check of the heir = %v", err)
		}
		if r := heir.end(t, after, succeeded); r.Status != runs.Succeeded {
			t.Errorf("the run ended as %+v", r)
		}
	})
}

func TestARunIsMarkedRunningOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.working(t, "p", nil)
		r := p.enqueue(t, spec("s"))[0]
		e := p.next(t)
		for range 2 {
			if err := e.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		p.end(t, e, succeeded)
		if got := p.history(r.ID); !slices.Equal(got, []runs.Status{runs.Claimed, runs.Running, runs.Succeeded}) {
			t.Errorf("the run went through %v", got)
		}
	})
}

func TestAnExecutorMayEndItsRunItself(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.working(t, "p", nil)
		p.enqueue(t, spec("s"))
		e := p.next(t)
		plan := &wire.RunPlan{Title: "plan", Steps: []wire.PlanStep{{ID: "1", Label: "go", Status: "done"}}}
		w.write(t, func(tx store.Tx) error {
			if err := e.AddUsage(tx, tokens(5)); err != nil {
				return err
			}
			if err := e.SetPlan(tx, plan); err != nil {
				return err
			}
			return e.Finish(tx, runs.Outcome{Status: runs.Succeeded, Output: json.RawMessage(`{"unmetObligations":[{"kind":"typed-result"}]}`)})
		})
		r := p.end(t, e, failed(false, 0))
		info := r.Info()
		if r.Status != runs.Succeeded || r.Error != nil || r.Usage != tokens(5) || r.Plan.Title != "plan" || len(info.UnmetObligations) != 1 {
			t.Errorf("the run ended as %+v", r)
		}
		if err := w.try(t, e.Check); !errors.Is(err, runs.ErrLeaseLost) {
			t.Errorf("Check after the end = %v", err)
		}
	})
}

func TestRetryIsOnlyForRetryableOutcomesWithAttemptsLeft(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.working(t, "p", nil)
		s := spec("s")
		s.MaxAttempts = 3
		id := p.enqueue(t, s)[0].ID
		for attempt, want := range []time.Duration{5*time.Second + 7*time.Millisecond, time.Minute} {
			e := p.next(t)
			outcome := failed(true, []time.Duration{time.Second, time.Minute}[attempt])
			if !e.WillRetry(outcome.outcome) || e.WillRetry(failed(false, 0).outcome) || e.WillRetry(succeeded.outcome) {
				t.Error("WillRetry tells another thing than what happens")
			}
			due := w.clock.Now().Add(want).UnixMilli()
			e.done <- outcome
			r := p.until(t, id, func(r runs.Run) bool { return r.NotBefore == due })
			if r.Status != runs.Queued || r.LeaseOwner != "" || r.Error == nil || r.Error.Message != "it broke" || r.FinishedAt != 0 {
				t.Errorf("the run waits as %+v", r)
			}
			w.clock.Advance(want - time.Millisecond)
			p.Wake()
			// Another run shows that the queue has looked and left the one that is not due.
			p.end(t, p.nextOf(t, p.enqueue(t, spec("other"))[0].ID), succeeded)
			w.clock.Advance(time.Millisecond)
			p.Wake()
		}
		e := p.next(t)
		if e.WillRetry(failed(true, 0).outcome) {
			t.Error("WillRetry though no attempt is left")
		}
		if r := p.end(t, e, failed(true, 0)); r.Status != runs.Failed || r.Error.Code != runs.CodeProviderError || r.Attempt != 3 {
			t.Errorf("the run ended as %+v", r)
		}
	})
}

func TestAFailureThatIsNotRetryableEndsTheRun(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.working(t, "p", nil)
		s := spec("s")
		s.MaxAttempts = 3
		p.enqueue(t, s)
		if r := p.end(t, p.next(t), failed(false, time.Hour)); r.Status != runs.Failed || r.Attempt != 1 {
			t.Errorf("the run ended as %+v", r)
		}
	})
}

func TestASuccessForgetsTheErrorOfAnEarlierAttempt(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.working(t, "p", nil)
		s := spec("s")
		s.MaxAttempts = 2
		id := p.enqueue(t, s)[0].ID
		p.next(t).done <- failed(true, 0)
		p.until(t, id, func(r runs.Run) bool { return r.NotBefore > 0 })
		w.clock.Advance(time.Minute)
		p.Wake()
		if r := p.end(t, p.next(t), succeeded); r.Status != runs.Succeeded || r.Error != nil {
			t.Errorf("the run ended as %+v", r)
		}
	})
}

func TestBackoffDoublesUpToFiveMinutes(t *testing.T) {
	t.Parallel()
	for attempt, want := range map[int64]time.Duration{
		0: 5 * time.Second, 1: 5 * time.Second, 2: 10 * time.Second, 5: 80 * time.Second, 6: 160 * time.Second, 7: 5 * time.Minute, 1000: 5 * time.Minute,
	} {
		if got := runs.Backoff(attempt, time.Second, time.Millisecond); got != want+time.Millisecond {
			t.Errorf("Backoff(%d) = %v, want %v and the jitter", attempt, got, want)
		}
	}
	if got := runs.Backoff(1, time.Hour, time.Second); got != time.Hour {
		t.Errorf("Backoff with a longer wait of the provider = %v", got)
	}
}

func TestLeasesAreRenewedAsLongAsTheWorkTakes(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.working(t, "p", nil)
		r := p.enqueue(t, spec("s"))[0]
		e := p.next(t)
		for range 4 {
			p.renewed(t, r.ID)
		}
		select {
		case <-e.over:
			t.Fatalf("the execution was interrupted: %v", e.cause())
		default:
		}
		if got := p.end(t, e, succeeded); got.Status != runs.Succeeded || got.Recoveries != 0 {
			t.Errorf("the run ended as %+v", got)
		}
	})
}

// renewed lets so much time pass that the lease is extended.
func (p *process) renewed(t *testing.T, runID string) {
	t.Helper()
	expires := p.w.run(t, runID).LeaseExpires
	p.w.clock.Advance(5 * time.Second)
	for p.w.run(t, runID).LeaseExpires == expires {
		p.tick <- time.Time{}
	}
}

func TestALeaseThatThisProcessDoesNotKnowRunsOut(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.process("p", one)
		r := p.enqueue(t, spec("s"))[0]
		// The claim was committed, but its process never heard of it.
		w.exec(t, `UPDATE runs SET status = 'claimed', lease_owner = 'p', lease_epoch = 1, attempt = 1, lease_expires_at = ? WHERE id = ?`,
			w.clock.Now().Add(runs.LeaseTime).UnixMilli(), r.ID)
		w.start(t, p)
		held := p.enqueue(t, spec("other"))[0]
		p.next(t)
		for range 3 {
			p.renewed(t, held.ID)
		}
		if e := w.working(t, "q", nil).nextOf(t, r.ID); e.Run().Recoveries != 1 {
			t.Errorf("%+v began", e.Run())
		}
	})
}

func TestAWorkerStopsBeforeItsLeaseRunsOutWhenTheDatabaseIsSilent(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.working(t, "p", nil)
		p.enqueue(t, spec("s"))
		e := p.next(t)
		release := make(chan struct{})
		blocked := make(chan struct{})
		finished := make(chan struct{})
		go func() {
			defer close(finished)
			// Nobody can write this row before the transaction ends.
			_ = w.try(t, func(tx store.Tx) error {
				_, err := tx.Exec(`UPDATE runs SET updated_at = updated_at WHERE id = ?`, e.Run().ID)
				select {
				case <-blocked:
				default:
					close(blocked)
				}
				<-release
				return err
			})
		}()
		<-blocked
		for range 2 {
			w.clock.Advance(6 * time.Second)
			p.tick <- time.Time{}
		}
		<-e.over
		if !errors.Is(e.cause(), runs.ErrLeaseLost) {
			t.Errorf("the execution ended with %v, want ErrLeaseLost", e.cause())
		}
		close(release)
		<-finished
		// The lease still stood, so the run is handed back, and no attempt is lost.
		e.done <- result{err: e.cause()}
		if again := p.next(t); again.Run().Attempt != 1 || again.Run().LeaseEpoch != 2 {
			t.Errorf("the run goes on as %+v", again.Run())
		}
	})
}
