package runs_test

import (
	"errors"
	"testing"
	"time"

	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/id"
	"github.com/loam-agents/loam/internal/runs"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/store/storetest"
)

func TestAnExclusiveStartRecoversAtOnceWhatAKilledProcessLeft(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		killed := w.working(t, "killed", func(o *runs.Options) { o.Workers = 2 })
		ids := killed.enqueue(t, spec("a"), spec("b"), spec("a"))
		left := map[string]*execution{}
		for range 2 {
			e := killed.next(t)
			left[e.Run().ID] = e
		}
		canceled := ids[1].ID
		w.cancel(t, killed.Queue, canceled)
		heir := w.working(t, "heir", func(o *runs.Options) { o.Exclusive, o.Workers = true, 1 })
		e := heir.nextOf(t, ids[0].ID)
		if r := e.Run(); r.Recoveries != 1 || r.LeaseEpoch != 2 {
			t.Errorf("the heir's run is %+v", r)
		}
		if r := w.run(t, canceled); r.Status != runs.Canceled || r.LeaseOwner != "" {
			t.Errorf("the canceled run is %+v, want it to have let go of its session", r)
		}
		if err := w.try(t, left[ids[0].ID].Check); !errors.Is(err, runs.ErrLeaseLost) {
			t.Errorf("Check of the killed worker = %v", err)
		}
	})
}

func TestAStartBesideOthersLeavesLivingLeasesAlone(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.working(t, "p", nil)
		p.enqueue(t, spec("s"))
		e := p.next(t)
		w.working(t, "q", nil)
		if err := w.try(t, e.Check); err != nil {
			t.Errorf("Check after another process started = %v", err)
		}
	})
}

func TestAJumpOfTheDatabasesClockTakesNoWorkFromItsWorker(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		own := &world{store: w.store, clock: clock.NewFake(start), ids: w.ids}
		p := own.working(t, "p", nil)
		r := p.enqueue(t, spec("s"))[0]
		e := p.next(t)
		w.clock.Advance(time.Hour)
		for range 2 {
			// The second one is taken when the first has done its work.
			p.sweep <- time.Time{}
		}
		if err := w.try(t, e.Check); err != nil {
			t.Errorf("Check after the clock jumped = %v", err)
		}
		if got := w.run(t, r.ID); got.Recoveries != 0 || got.LeaseEpoch != 1 {
			t.Errorf("the run is %+v", got)
		}
	})
}

func TestASweepFindsDeadLeasesThoughHintsNeverEnd(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		dead := w.working(t, "dead", one)
		r := dead.enqueue(t, spec("s"))[0]
		dead.next(t)
		heir := w.working(t, "heir", func(o *runs.Options) { o.Clock = w.clock })
		for range 1000 {
			// The dead worker's process goes on and may renew the lease.
			w.crash(t, r.ID)
			w.clock.Advance(500 * time.Millisecond)
			heir.Wake()
			hint := heir.enqueue(t, spec("other"))[0]
			for id := ""; id != hint.ID; {
				e := heir.next(t)
				if id = e.Run().ID; id == r.ID {
					return
				}
				heir.end(t, e, succeeded)
			}
		}
		t.Error("a hint every 500 ms kept the sweep from happening")
	})
}

// The processes' own clocks are years apart and wrong; only the server's clock decides that a lease is dead.
func TestOnPostgreSQLLeasesAreMeasuredWithTheClockOfTheServer(t *testing.T) {
	t.Parallel()
	w := &world{store: storetest.Postgres(t), clock: clock.NewFake(start), ids: id.Sequence()}
	late := &world{store: w.store, clock: clock.NewFake(start.AddDate(20, 0, 0)), ids: w.ids}
	p := w.working(t, "p", one)
	ids := p.enqueue(t, spec("s"), spec("left"))
	e := p.nextOf(t, ids[0].ID)
	const lease = `UPDATE runs SET status = 'running', lease_owner = 'gone', lease_expires_at = ? WHERE id = ?`
	w.exec(t, lease, w.databaseTime(t)+time.Hour.Milliseconds(), ids[1].ID)
	q := late.working(t, "q", nil)
	w.exec(t, lease, w.databaseTime(t)-1, ids[1].ID)
	q.sweep <- time.Time{}
	q.end(t, q.nextOf(t, ids[1].ID), succeeded)
	if err := w.try(t, e.Check); err != nil {
		t.Fatalf("Check after the sweep of a process whose clock is ahead = %v", err)
	}
	w.exec(t, `UPDATE runs SET lease_expires_at = ? WHERE id = ?`, w.databaseTime(t)-1, ids[0].ID)
	q.sweep <- time.Time{}
	q.nextOf(t, ids[0].ID)
}

func (w *world) databaseTime(t *testing.T) (now int64) {
	t.Helper()
	w.write(t, func(tx store.Tx) error {
		now = tx.Now()
		return nil
	})
	return now
}

func TestARunThatKillsItsWorkersIsGivenUp(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.process("p", nil)
		s := spec("s")
		s.MaxAttempts = 3
		r, other := p.enqueue(t, s)[0], p.enqueue(t, spec("s"))[0]
		w.exec(t, `UPDATE runs SET status = 'running', lease_owner = 'dead', attempt = 11, recoveries = 10 WHERE id = ?`, r.ID)
		w.start(t, p)
		got := p.await(t, r.ID)
		if got.Status != runs.Failed || got.Error.Code != runs.CodeRunFailed || got.LeaseOwner != "" {
			t.Errorf("the run is %+v", got)
		}
		p.nextOf(t, other.ID)
	})
}

func TestRecoveriesUseUpNoAttempt(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.process("p", nil)
		s := spec("s")
		s.MaxAttempts = 2
		r := p.enqueue(t, s)[0]
		w.exec(t, `UPDATE runs SET status = 'running', lease_owner = 'dead', attempt = 6, recoveries = 5 WHERE id = ?`, r.ID)
		w.start(t, p)
		e := p.next(t)
		if !e.WillRetry(failed(true, 0).outcome) {
			t.Errorf("no attempt is left of %+v", e.Run())
		}
	})
}

func TestARunThatCannotBeRecoveredDoesNotKeepTheOthers(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		var bad string
		refused := errors.New("the hook refuses")
		hook := func(_ store.Tx, r *runs.Run, _ bool) error {
			if r.ID == bad {
				return refused
			}
			return nil
		}
		p := w.process("p", func(o *runs.Options) { o.Exclusive, o.Workers, o.Hooks.Changed = true, 1, hook })
		ids := p.enqueue(t, spec("a"), spec("b"))
		w.exec(t, `UPDATE runs SET status = 'running', lease_owner = 'dead', attempt = 1`)
		bad = ids[0].ID
		if err := p.Start(t.Context()); !errors.Is(err, refused) {
			t.Fatalf("Start = %v", err)
		}
		if r := w.run(t, ids[1].ID); r.Status != runs.Queued {
			t.Errorf("the other run is %+v", r)
		}
		bad = ""
		w.start(t, p)
		p.end(t, p.nextOf(t, ids[0].ID), succeeded)
	})
}
