package runs_test

import (
	"context"
	"errors"
	"testing"

	"github.com/loam-agents/loam/internal/runs"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

// family enqueues a root in session s, two children and a grandchild in sessions of their own.
func (p *process) family(t *testing.T) (root, child, other, grandchild runs.Run) {
	t.Helper()
	root = p.enqueue(t, spec("s"))[0]
	below := func(parent runs.Run, session string) runs.Run {
		s := spec(session)
		s.Parent = &parent
		return p.enqueue(t, s)[0]
	}
	child, other = below(root, "s1"), below(root, "s2")
	return root, child, other, below(child, "s3")
}

func TestCancelEndsASubtreeAtOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.process("p", nil)
		root, child, other, grandchild := p.family(t)
		if !w.cancel(t, p.Queue, child.ID) {
			t.Error("Cancel found nothing live")
		}
		for r, want := range map[string]runs.Status{root.ID: runs.Queued, child.ID: runs.Canceled, other.ID: runs.Queued, grandchild.ID: runs.Canceled} {
			if got := w.run(t, r); got.Status != want || (got.FinishedAt > 0) != want.Terminal() {
				t.Errorf("run is %+v, want %s", got, want)
			}
		}
		if w.cancel(t, p.Queue, child.ID) {
			t.Error("a second Cancel found something live")
		}
		if w.cancel(t, p.Queue, "unknown") {
			t.Error("Cancel of an unknown run found something live")
		}
	})
}

func TestACanceledExecutionIsInterruptedAndHoldsItsSessionUntilItLetsGo(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.working(t, "p", nil)
		ids := p.enqueue(t, spec("s"), spec("s"))
		e := p.next(t)
		if err := w.try(t, e.CheckStopped); !errors.Is(err, runs.ErrLeaseLost) {
			t.Errorf("CheckStopped of a run that was not canceled = %v", err)
		}
		if !w.cancel(t, p.Queue, ids[0].ID) {
			t.Error("Cancel found nothing live")
		}
		<-e.over
		if !errors.Is(e.cause(), runs.ErrCanceled) {
			t.Errorf("the execution ended with %v", e.cause())
		}
		for name, effect := range map[string]func(tx store.Tx) error{
			"Check":  e.Check,
			"Finish": func(tx store.Tx) error { return e.Finish(tx, runs.Outcome{Status: runs.Succeeded}) },
		} {
			if err := w.try(t, effect); !errors.Is(err, runs.ErrCanceled) {
				t.Errorf("%s after the cancel = %v, want ErrCanceled", name, err)
			}
		}
		if err := w.try(t, e.CheckStopped); err != nil {
			t.Errorf("CheckStopped after the cancel = %v", err)
		}
		// The queue looks and finds another session only.
		other := p.enqueue(t, spec("other"))[0]
		p.end(t, p.nextOf(t, other.ID), succeeded)
		e.done <- result{err: runs.ErrCanceled}
		p.nextOf(t, ids[1].ID)
		if err := w.try(t, e.CheckStopped); !errors.Is(err, runs.ErrLeaseLost) {
			t.Errorf("CheckStopped after the worker let go = %v", err)
		}
	})
}

func TestACanceledRunStaysCanceledWhateverItsWorkerReturns(t *testing.T) {
	for name, r := range map[string]result{"success": succeeded, "retry": failed(true, 0), "error": {err: errors.New("broken")}, "nothing": {}} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, w *world) {
				p := w.working(t, "p", nil)
				s := spec("s")
				s.MaxAttempts = 3
				ids := p.enqueue(t, s, s)
				e := p.next(t)
				w.cancel(t, p.Queue, ids[0].ID)
				e.done <- r
				p.nextOf(t, ids[1].ID)
				if got := w.run(t, ids[0].ID); got.Status != runs.Canceled || got.LeaseOwner != "" || got.Error != nil {
					t.Errorf("the run is %+v", got)
				}
			})
		})
	}
}

func TestACancelByAnotherProcessIsNoticedWithTheNextRenewal(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.working(t, "p", nil)
		r := p.enqueue(t, spec("s"))[0]
		e := p.next(t)
		w.cancel(t, w.process("q", nil).Queue, r.ID)
		p.renewed(t, r.ID)
		<-e.over
		if !errors.Is(e.cause(), runs.ErrCanceled) {
			t.Errorf("the execution ended with %v", e.cause())
		}
	})
}

func TestCancelOfASessionOrAnAgentEndsTheTreesOfItsLiveRuns(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.process("p", nil)
		for name, cancel := range map[string]func(tx store.Tx) (bool, error){
			"session": func(tx store.Tx) (bool, error) { return p.CancelSession(tx, "s") },
			"agent":   func(tx store.Tx) (bool, error) { return p.CancelAgent(tx, "agent") },
		} {
			root, child, other, grandchild := p.family(t)
			foreign := spec("elsewhere")
			foreign.Agent = "somebody"
			stranger := p.enqueue(t, foreign)[0]
			for _, want := range []bool{true, false} {
				var live bool
				w.write(t, func(tx store.Tx) (err error) {
					live, err = cancel(tx)
					return err
				})
				if live != want {
					t.Errorf("%s: found live runs: %v, want %v", name, live, want)
				}
			}
			for _, r := range []runs.Run{root, child, other, grandchild} {
				if got := w.run(t, r.ID); got.Status != runs.Canceled {
					t.Errorf("%s: run is %+v", name, got)
				}
			}
			if got := w.run(t, stranger.ID); got.Status != runs.Queued {
				t.Errorf("%s: a foreign run is %+v", name, got)
			}
		}
	})
}

func TestUsageRollsUpThroughAllAncestors(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.working(t, "p", nil)
		root, child, other, grandchild := p.family(t)
		executions := map[string]*execution{}
		for range 4 {
			e := p.next(t)
			executions[e.Run().ID] = e
		}
		use := func(r runs.Run, n int64) {
			w.write(t, func(tx store.Tx) error { return executions[r.ID].AddUsage(tx, tokens(n)) })
		}
		use(root, 1)
		use(child, 10)
		use(other, 100)
		use(grandchild, 1000)
		use(grandchild, 2000)
		for _, r := range []runs.Run{grandchild, child, other} {
			p.end(t, executions[r.ID], succeeded)
		}
		got := p.end(t, executions[root.ID], succeeded)
		want := wire.RunUsage{Usage: tokens(1), Children: &wire.ChildUsage{Usage: tokens(3110), Runs: 3}}
		if u := got.Info().Usage; u == nil || u.Usage != want.Usage || u.Children == nil || *u.Children != *want.Children {
			t.Errorf("the root's usage is %+v, want %+v and %+v", u, want.Usage, want.Children)
		}
		if c := w.run(t, child.ID).Children; c != (wire.ChildUsage{Usage: tokens(3000), Runs: 1}) {
			t.Errorf("the child's children used %+v", c)
		}
	})
}

func TestUsageOfAChildThatOutlivesItsParentReachesTheRoot(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.working(t, "p", nil)
		root, child, _, grandchild := p.family(t)
		executions := map[string]*execution{}
		for range 4 {
			e := p.next(t)
			executions[e.Run().ID] = e
		}
		p.end(t, executions[child.ID], succeeded)
		w.write(t, func(tx store.Tx) error { return executions[grandchild.ID].AddUsage(tx, tokens(7)) })
		p.end(t, executions[grandchild.ID], succeeded)
		for _, r := range []struct {
			id   string
			runs int64
		}{{child.ID, 1}, {root.ID, 2}} {
			if got := w.run(t, r.id).Children; got != (wire.ChildUsage{Usage: tokens(7), Runs: r.runs}) {
				t.Errorf("an ancestor's children used %+v, want 7 and %d runs", got, r.runs)
			}
		}
	})
}

func TestUsageSurvivesRetriesRecoveriesAndCancel(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.working(t, "p", func(o *runs.Options) { o.Workers = 4 })
		root, child, _, _ := p.family(t)
		var e *execution
		for range 4 {
			if began := p.next(t); began.Run().ID == child.ID {
				e = began
			}
		}
		w.write(t, func(tx store.Tx) error { return e.AddUsage(tx, tokens(1)) })
		w.crash(t, child.ID)
		again := w.working(t, "q", nil).nextOf(t, child.ID)
		e.done <- result{err: runs.ErrLeaseLost}
		w.write(t, func(tx store.Tx) error { return again.AddUsage(tx, tokens(2)) })
		w.cancel(t, p.Queue, child.ID)
		// The provider bills what was under way.
		w.write(t, func(tx store.Tx) error { return again.AddUsage(tx, tokens(4)) })
		if got := w.run(t, child.ID).Usage; got != tokens(7) {
			t.Errorf("the child used %+v", got)
		}
		if got := w.run(t, root.ID).Children; got != (wire.ChildUsage{Usage: tokens(7), Runs: 2}) {
			t.Errorf("the root's children used %+v, want 7 in two canceled runs", got)
		}
	})
}

func TestWhoAwaitsACanceledRunGoesOnWhenItsWorkerHasLetGo(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.working(t, "p", nil)
		r := p.enqueue(t, spec("s"))[0]
		e := p.nextOf(t, r.ID)
		waiter := p.Expect(r.ID)
		w.cancel(t, p.Queue, r.ID)
		over, stop := context.WithCancel(t.Context())
		stop()
		if got, err := waiter.Wait(over); !errors.Is(err, context.Canceled) {
			t.Errorf("with a worker that still writes it returned %+v, %v", got, err)
		}
		e.done <- result{err: runs.ErrCanceled}
		if got := p.await(t, r.ID); got.Status != runs.Canceled || p.Executing() != 0 {
			t.Errorf("it returned %+v while %d execute", got, p.Executing())
		}
	})
}
