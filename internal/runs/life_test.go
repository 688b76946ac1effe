package runs_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/runs"
	"github.com/loam-agents/loam/internal/store"
)

func TestStopWaitsForWorkAndClaimsNothingMore(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.working(t, "p", nil)
		ids := p.enqueue(t, spec("s"), spec("s"))
		e := p.next(t)
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			p.Stop(context.Background())
		}()
		w.clock.Advance(time.Second)
		select {
		case <-stopped:
			t.Error("Stop returned before the work was done")
		case <-e.over:
			t.Errorf("the work was interrupted: %v", e.cause())
		case e.done <- succeeded:
		}
		<-stopped
		if a, b := w.run(t, ids[0].ID), w.run(t, ids[1].ID); !a.Status.Terminal() {
			t.Errorf("after Stop the runs are %+v and %+v", a, b)
		}
		if p.Executing() != 0 {
			t.Errorf("%d execute after Stop", p.Executing())
		}
	})
}

func TestStopInterruptsWhatTakesTooLongAndQueuesItAgainUnharmed(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.working(t, "p", nil)
		r := p.enqueue(t, spec("s"))[0]
		e := p.next(t)
		over, cancel := context.WithCancel(context.Background())
		cancel()
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			p.Stop(over)
		}()
		<-e.over
		if !errors.Is(e.cause(), runs.ErrStopping) {
			t.Errorf("the execution ended with %v, want ErrStopping", e.cause())
		}
		if err := w.try(t, e.Check); err != nil {
			t.Errorf("Check while the worker winds down = %v", err)
		}
		e.done <- result{err: errors.New("the connection to the provider broke")}
		<-stopped
		if got := w.run(t, r.ID); got.Status != runs.Queued || got.LeaseOwner != "" || got.Attempt != 0 || got.Recoveries != 0 || got.Error != nil {
			t.Errorf("the run is %+v", got)
		}
		q := w.working(t, "q", nil)
		if got := q.end(t, q.next(t), succeeded); got.Status != runs.Succeeded || got.Attempt != 1 || got.LeaseEpoch != 2 {
			t.Errorf("the next process ended it as %+v", got)
		}
	})
}

func TestWorkThatIsDoneWhenTheServerStopsIsNotDoneAgain(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.working(t, "p", nil)
		r := p.enqueue(t, spec("s"))[0]
		e := p.next(t)
		over, cancel := context.WithCancel(context.Background())
		cancel()
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			p.Stop(over)
		}()
		<-e.over
		e.done <- succeeded
		<-stopped
		if got := w.run(t, r.ID); got.Status != runs.Succeeded {
			t.Errorf("the run is %+v", got)
		}
	})
}

func TestStartAndStopMayBeCalledTwice(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.process("p", one)
		p.Stop(t.Context())
		for range 2 {
			if err := p.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		p.enqueue(t, spec("a"), spec("b"))
		e := p.next(t)
		if len(p.began) != 0 {
			t.Error("two Starts doubled the workers")
		}
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() { p.Stop(context.Background()) })
		}
		e.done <- succeeded
		stopped := make(chan struct{})
		go func() {
			wg.Wait()
			close(stopped)
		}()
		for over := false; !over; {
			select {
			case <-stopped:
				over = true
			case next := <-p.began:
				// The other run was claimed before the queue learned that it has to stop.
				next.done <- succeeded
			}
		}
		p.Stop(t.Context())
		if err := p.Start(t.Context()); err != nil || p.Executing() != 0 {
			t.Errorf("Start after Stop = %v with %d executions", err, p.Executing())
		}
	})
}

// Every round stops a process in the middle of its claims. Whatever it took is handed back before Stop returns.
func TestNothingIsLaunchedAfterStop(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for range 20 {
			p := w.process("p", one)
			if err := p.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			p.enqueue(t, spec("a"))
			p.stop()
			if n := p.Executing(); n > 0 {
				t.Fatalf("%d execute after Stop", n)
			}
			w.write(t, func(tx store.Tx) error {
				var n int
				err := tx.QueryRow(`SELECT count(*) FROM runs WHERE lease_owner IS NOT NULL OR status <> 'queued' OR attempt <> 0`).Scan(&n)
				if n > 0 {
					t.Errorf("%d runs were not handed back", n)
				}
				return err
			})
		}
	})
}

func TestAPanicOfAnExecutorFailsItsRunOnly(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.working(t, "p", one)
		s := spec("s")
		s.MaxAttempts = 3
		p.enqueue(t, s)
		r := p.end(t, p.next(t), result{err: errPanic})
		if r.Status != runs.Failed || r.Error.Code != runs.CodeExecutorError || r.Attempt != 1 {
			t.Errorf("the run ended as %+v", r)
		}
		p.enqueue(t, spec("s"))
		p.end(t, p.next(t), succeeded)
	})
}

func TestARunThatNobodyCanExecuteFails(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.working(t, "p", nil)
		s := spec("s")
		s.Kind, s.MaxAttempts = "dance", 3
		r := p.await(t, p.enqueue(t, s)[0].ID)
		if r.Status != runs.Failed || r.Error.Code != runs.CodeNoExecutor || r.Error.Message != `This server cannot execute runs of kind "dance".` {
			t.Errorf("the run ended as %+v", r)
		}
	})
}

func TestAnExecutorThatFailsOrSaysNothingFailsItsRun(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.working(t, "p", nil)
		for name, r := range map[string]result{
			"error": {err: errors.New("secret detail")}, "nothing": {}, "nonsense": {outcome: runs.Outcome{Status: runs.Waiting}},
		} {
			p.enqueue(t, spec("s"))
			got := p.end(t, p.next(t), r)
			if got.Status != runs.Failed || got.Error.Code != runs.CodeRunFailed || got.Error.Message != "The server failed while it worked on this run." {
				t.Errorf("%s: the run ended as %+v", name, got)
			}
		}
	})
}

func TestAwaitReturnsTheEndOfARun(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.working(t, "p", nil)
		r := p.enqueue(t, spec("s"))[0]
		e := p.next(t)
		ends := make(chan runs.Run, 3)
		for range cap(ends) {
			go func() { ends <- p.await(t, r.ID) }()
		}
		impatient, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := p.Await(impatient, r.ID); !errors.Is(err, context.Canceled) {
			t.Errorf("Await with a context that is over = %v", err)
		}
		e.done <- succeeded
		for range cap(ends) {
			if end := <-ends; end.Status != runs.Succeeded {
				t.Errorf("Await = %+v", end)
			}
		}
		if end := p.await(t, r.ID); end.Status != runs.Succeeded {
			t.Errorf("Await of a run that has ended = %+v", end)
		}
		if _, err := p.Await(t.Context(), "unknown"); fault.CodeOf(err) != fault.NotFound || err.Error() != "Run not found" {
			t.Errorf("Await of an unknown run = %v", err)
		}
	})
}

func TestAwaitFindsARunThatAnotherProcessEndedWithinASweep(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		worker, watcher := w.working(t, "worker", nil), w.process("watcher", nil)
		r := worker.enqueue(t, spec("s"))[0]
		e := worker.next(t)
		end := make(chan runs.Run, 1)
		go func() { end <- watcher.await(t, r.ID) }()
		worker.end(t, e, succeeded)
		for {
			select {
			case got := <-end:
				if got.Status != runs.Succeeded {
					t.Errorf("Await = %+v", got)
				}
				return
			case watcher.sweep <- time.Time{}:
			}
		}
	})
}

func TestTheHookSeesEveryChangeInsideItsTransaction(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.process("p", func(o *runs.Options) {
			report := o.Hooks.Changed
			o.Hooks.Changed = func(tx store.Tx, r *runs.Run, busy bool) error {
				inside, err := runs.Get(tx, r.ID)
				if err != nil {
					return err
				}
				if inside.Status != r.Status || inside.Usage != r.Usage || inside.LeaseOwner != r.LeaseOwner || inside.Attempt != r.Attempt ||
					inside.FinishedAt != r.FinishedAt || inside.UpdatedAt != r.UpdatedAt || inside.Children != r.Children {
					t.Errorf("the hook was given %+v, the transaction holds %+v", r, inside)
				}
				return report(tx, r, busy)
			}
		})
		w.start(t, p)
		s := spec("s")
		s.MaxAttempts = 2
		r := p.enqueue(t, s)[0]
		e := p.next(t)
		w.write(t, func(tx store.Tx) error { return e.AddUsage(tx, tokens(1)) })
		e.done <- failed(true, 0)
		p.until(t, r.ID, func(r runs.Run) bool { return r.NotBefore > 0 })
		w.clock.Advance(time.Minute)
		p.Wake()
		again := p.next(t)
		w.cancel(t, p.Queue, r.ID)
		again.done <- result{err: runs.ErrCanceled}
		p.await(t, r.ID)
		want := []runs.Status{runs.Claimed, runs.Running, runs.Queued, runs.Claimed, runs.Canceled}
		if got := p.history(r.ID); !slices.Equal(got, want) {
			t.Errorf("the hook saw %v, want %v", got, want)
		}
	})
}

func TestAHookThatFailsUndoesTheChange(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.working(t, "p", nil)
		r := p.enqueue(t, spec("s"))[0]
		e := p.next(t)
		refused := errors.New("refused")
		p.failHook(refused)
		for name, change := range map[string]func(tx store.Tx) error{
			"Enqueue":  func(tx store.Tx) error { _, err := p.Enqueue(tx, spec("x")); return err },
			"Cancel":   func(tx store.Tx) error { _, err := p.Cancel(tx, r.ID); return err },
			"AddUsage": func(tx store.Tx) error { return e.AddUsage(tx, tokens(1)) },
			"Finish":   func(tx store.Tx) error { return e.Finish(tx, runs.Outcome{Status: runs.Succeeded}) },
		} {
			if err := w.try(t, change); !errors.Is(err, refused) {
				t.Errorf("%s = %v", name, err)
			}
		}
		if got := w.run(t, r.ID); got.Status != runs.Claimed || got.UpdatedAt != e.Run().UpdatedAt {
			t.Errorf("the run is %+v", got)
		}
		p.failHook(nil)
		if got := p.end(t, e, succeeded); got.Status != runs.Succeeded {
			t.Errorf("the run ended as %+v", got)
		}
	})
}

func TestAnnouncementsOfTheHookComeBeforeTheEndIsAwaited(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.working(t, "p", nil)
		for range 20 {
			r := p.enqueue(t, spec("s"))[0]
			p.end(t, p.next(t), succeeded)
			if h := p.history(r.ID); h[len(h)-1] != runs.Succeeded {
				t.Fatalf("Await returned when the hook had announced %v", h)
			}
		}
	})
}
