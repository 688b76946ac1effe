package runs_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/loam-agents/loam/internal/runs"
	"github.com/loam-agents/loam/internal/store"
)

func TestARunThatMayStartIsClaimedInTheTransactionThatInsertsIt(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.working(t, "p", nil)
		r := p.enqueue(t, spec("s"))[0]
		if r.Status != runs.Claimed || r.Attempt != 1 || r.LeaseOwner != "p" || r.LeaseEpoch != 1 || r.StartedAt == 0 || r.LeaseExpires <= r.CreatedAt {
			t.Errorf("the run was inserted as %+v", r)
		}
		e := p.nextOf(t, r.ID)
		if got := e.Run(); got.Status != r.Status || got.LeaseEpoch != r.LeaseEpoch {
			t.Errorf("its worker holds %+v", got)
		}
		if err := w.try(t, e.Check); err != nil {
			t.Errorf("the lease does not stand: %v", err)
		}
		p.end(t, e, succeeded)
	})
}

func TestARunWaitsBehindWhatHoldsItsSessionOrWaitsForIt(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.working(t, "p", nil)
		first := p.enqueue(t, spec("s"))[0]
		e := p.nextOf(t, first.ID)
		if r := p.enqueue(t, spec("s"))[0]; r.Status != runs.Queued || r.LeaseOwner != "" || r.Attempt != 0 {
			t.Errorf("behind a run that executes it was inserted as %+v", r)
		}
		w.cancel(t, p.Queue, first.ID)
		third := p.enqueue(t, spec("s"))[0]
		if third.Status != runs.Queued {
			t.Errorf("beside a canceled run whose worker has not let go it was inserted as %+v", third)
		}
		e.done <- result{err: runs.ErrCanceled}
		p.end(t, p.next(t), succeeded)
		p.end(t, p.nextOf(t, third.ID), succeeded)
	})
}

func TestARunIsNotClaimedByAProcessThatDoesNotWork(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.process("p", nil)
		if r := p.enqueue(t, spec("before"))[0]; r.Status != runs.Queued {
			t.Errorf("before Start it is %s", r.Status)
		}
		w.start(t, p)
		p.end(t, p.next(t), succeeded)
		p.stop()
		if r := p.enqueue(t, spec("after"))[0]; r.Status != runs.Queued {
			t.Errorf("after Stop it is %s", r.Status)
		}
	})
}

// One transaction may enqueue more than there are workers: it cannot know how many of its runs will find one.
func TestWhatIsClaimedForBusyWorkersIsQueuedAgainUnharmed(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.working(t, "p", one)
		ids := p.enqueue(t, spec("a"), spec("b"), spec("c"))
		e := p.nextOf(t, ids[0].ID)
		for _, r := range ids[1:] {
			p.until(t, r.ID, func(r runs.Run) bool { return r.Status == runs.Queued })
			if got := w.run(t, r.ID); got.Attempt != 0 || got.LeaseOwner != "" || got.Recoveries != 0 {
				t.Errorf("the run was handed back as %+v", got)
			}
		}
		p.end(t, e, succeeded)
		for _, r := range ids[1:] {
			if got := p.end(t, p.nextOf(t, r.ID), succeeded); got.Attempt != 1 {
				t.Errorf("the run ended in attempt %d", got.Attempt)
			}
		}
	})
}

func TestWhatIsNotCommittedIsNotExecuted(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.working(t, "p", nil)
		refused := errors.New("refused")
		err := w.try(t, func(tx store.Tx) error {
			_, err := p.Enqueue(tx, spec("s"))
			return errors.Join(err, refused)
		})
		if !errors.Is(err, refused) {
			t.Fatal(err)
		}
		next := p.enqueue(t, spec("s"))[0]
		p.end(t, p.nextOf(t, next.ID), succeeded)
	})
}

func TestAnAccountLeavesAnEighthOfTheWorkersToOthers(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.working(t, "p", nil) // 8 workers
		var greedy []*execution
		for i := range 7 {
			p.enqueue(t, spec(fmt.Sprint(i)))
			greedy = append(greedy, p.next(t))
		}
		waiting := p.enqueue(t, spec("seven"), spec("eight"))
		if waiting[0].Status != runs.Queued || waiting[1].Status != runs.Queued {
			t.Errorf("past its share an account got %s and %s", waiting[0].Status, waiting[1].Status)
		}
		other := spec("theirs")
		other.Account = "another"
		theirs := p.enqueue(t, other)[0]
		p.end(t, p.nextOf(t, theirs.ID), succeeded)
		for i := range waiting {
			p.end(t, greedy[i], succeeded)
			if id := p.next(t).Run().ID; id != waiting[0].ID && id != waiting[1].ID {
				t.Errorf("%s began when the account had a worker again", id)
			}
		}
	})
}

// Claims of the dispatcher keep to the shares too, and reach the runs of others behind a long line.
func TestALongLineOfOneAccountDoesNotKeepTheOthers(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.process("p", nil)
		for i := range 20 {
			p.enqueue(t, spec(fmt.Sprint(i)))
		}
		other := spec("theirs")
		other.Account = "another"
		p.enqueue(t, other)
		w.start(t, p)
		var accounts []string
		for range 8 {
			accounts = append(accounts, p.next(t).Run().Account)
		}
		if !slices.Contains(accounts, "another") {
			t.Errorf("the workers went to %v", accounts)
		}
	})
}
