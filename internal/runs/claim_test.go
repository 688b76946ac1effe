package runs_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/runs"
	"github.com/loam-agents/loam/internal/store"
)

func one(o *runs.Options) { o.Workers = 1 }

func TestInteractiveRunsAreClaimedFirstAndThenTheOldest(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.process("p", one)
		var want []string
		for i, lane := range []runs.Lane{runs.Background, runs.Interactive, runs.Background, runs.Interactive} {
			s := spec(fmt.Sprint("s", i))
			s.Lane = lane
			want = append(want, p.enqueue(t, s)[0].ID)
			w.clock.Advance(time.Millisecond)
		}
		want = []string{want[1], want[3], want[0], want[2]}
		w.start(t, p)
		for i, id := range want {
			e := p.next(t)
			if e.Run().ID != id {
				t.Fatalf("run %d to begin is %s, want %s", i, e.Run().ID, id)
			}
			if r := p.end(t, e, succeeded); r.Status != runs.Succeeded || r.Attempt != 1 || r.StartedAt == 0 || r.FinishedAt == 0 || r.LeaseOwner != "" {
				t.Errorf("the run ended as %+v", r)
			}
		}
	})
}

func TestRunsOfASessionExecuteOneAfterAnother(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.working(t, "p", nil)
		ids := p.enqueue(t, spec("s"), spec("s"), spec("s"))
		for i := range ids {
			e := p.next(t)
			if e.Run().ID != ids[i].ID || len(p.began) > 0 {
				t.Fatalf("%s executes and %d others, want %s alone", e.Run().ID, len(p.began), ids[i].ID)
			}
			p.end(t, e, succeeded)
		}
	})
}

func TestSessionsExecuteInParallelUpToWorkers(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.working(t, "p", func(o *runs.Options) { o.Workers = 3 })
		p.enqueue(t, spec("a"), spec("b"), spec("c"), spec("d"))
		first := []*execution{p.next(t), p.next(t), p.next(t)}
		if n := p.Executing(); n != 3 || len(p.began) > 0 {
			t.Errorf("%d execute and %d more began, want 3", n, len(p.began))
		}
		p.end(t, first[0], succeeded)
		if e := p.next(t); e.Run().Session != "d" {
			t.Errorf("%s began, want d", e.Run().Session)
		}
	})
}

func TestOtherKindsDoNotHoldASession(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.working(t, "p", nil)
		script := spec("s")
		script.Kind = "script"
		p.enqueue(t, spec("s"), script, script)
		if a, b, c := p.next(t), p.next(t), p.next(t); a.Run().Session+b.Run().Session+c.Run().Session != "sss" {
			t.Error("the runs are not of one session")
		}
	})
}

// Two processes claim at the same time. Whatever they take, a session has one worker and every run is executed once.
func TestTwoProcessesNeverShareASession(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		var mu sync.Mutex
		inSession, executed := map[string]int{}, map[string]int{}
		const sessions, each = 4, 5
		p, q := w.working(t, "p", nil), w.working(t, "q", nil)
		var wg sync.WaitGroup
		for _, process := range []*process{p, q} {
			wg.Go(func() {
				for {
					var e *execution
					select {
					case e = <-process.began:
					case <-t.Context().Done():
						return
					}
					if e == nil {
						return
					}
					r := e.Run()
					mu.Lock()
					inSession[r.Session]++
					executed[r.ID]++
					if inSession[r.Session] > 1 {
						t.Errorf("two workers in session %s", r.Session)
					}
					mu.Unlock()
					mu.Lock()
					inSession[r.Session]--
					mu.Unlock()
					e.done <- succeeded
				}
			})
		}
		var ids []string
		for i := range each {
			for s := range sessions {
				background := spec(fmt.Sprint(s))
				if i%2 == 0 {
					background.Lane = runs.Background
				}
				// The first process hears of half of the runs, the second of the other half.
				ids = append(ids, []*process{p, q}[s%2].enqueue(t, background)[0].ID)
			}
			p.Wake()
			q.Wake()
		}
		for _, id := range ids {
			w.ended(t, id, p, q)
		}
		p.began <- nil
		q.began <- nil
		wg.Wait()
		for _, id := range ids {
			if r := w.run(t, id); executed[id] != 1 || r.Attempt != 1 || r.Status != runs.Succeeded {
				t.Errorf("run %s was executed %d times: %+v", id, executed[id], r)
			}
		}
	})
}

func TestARunWithAKnownIDIsEnqueuedOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.process("p", nil)
		s := spec("s")
		s.ID, s.Title = "fixed", "first"
		p.enqueue(t, s)
		s.Title = "second"
		if again := p.enqueue(t, s)[0]; again.Title != "first" || again.ID != "fixed" {
			t.Errorf("the second Enqueue returned %+v", again)
		}
		w.start(t, p)
		p.end(t, p.next(t), succeeded)
		if again := p.enqueue(t, s)[0]; again.Status != runs.Succeeded {
			t.Errorf("a third Enqueue made of the ended run %+v", again)
		}
		if got := p.history("fixed"); !slices.Equal(got, []runs.Status{runs.Queued, runs.Claimed, runs.Succeeded}) {
			t.Errorf("the run went through %v", got)
		}
	})
}

func TestATitleIsRequiredAndCutBetweenCharacters(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.process("p", nil)
		s := spec("s")
		s.Title = " \n "
		err := w.try(t, func(tx store.Tx) error {
			_, err := p.Enqueue(tx, s)
			return err
		})
		if fault.CodeOf(err) != fault.ValidationFailed || err.Error() != "Run title is required" {
			t.Errorf("Enqueue = %v", err)
		}
		long := ""
		for len(long) < 255 {
			long += "a"
		}
		for title, want := range map[string]string{long + "é!": long, long + "b!": long + "b", " x ": "x"} {
			s.Title = title
			if r := p.enqueue(t, s)[0]; r.Title != want {
				t.Errorf("title of %d bytes is kept as %q", len(title), r.Title)
			}
		}
	})
}

func TestChildrenKnowTheirRootAndDepth(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.process("p", nil)
		root := p.enqueue(t, spec("s"))[0]
		s := spec("s2")
		s.Parent = &root
		child := p.enqueue(t, s)[0]
		s.Parent = &child
		grandchild := p.enqueue(t, s)[0]
		if grandchild.Root != root.ID || grandchild.Parent != child.ID || grandchild.Depth != 2 || root.Root != root.ID {
			t.Errorf("the grandchild is %+v", grandchild)
		}
	})
}
