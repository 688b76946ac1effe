package runs_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/loam-agents/loam/internal/runs"
	"github.com/loam-agents/loam/internal/store"
)

// machine plays random histories against a database and checks after every step what must always hold.
type machine struct {
	w         *world
	processes []*process
	ids       []string
	// working are executions that were not answered yet, fenced ones included.
	working []*execution
	// over are runs that have ended, as they ended.
	over map[string]runs.Run
	// epochs are the highest ones seen.
	epochs map[string]int64
}

// Random enqueues, ends, retries, cancels, crashes and restarts keep the promises of the queue: at most one leased agent run a
// session, an ended run stays as it ended, epochs grow, and once the workers are left alone every run ends.
func TestRandomHistoriesKeepTheInvariants(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		rapid.Check(t, func(rt *rapid.T) {
			w.exec(t, `DELETE FROM runs`)
			m := &machine{w: w, over: map[string]runs.Run{}, epochs: map[string]int64{}}
			for i := range 2 {
				m.processes = append(m.processes, m.begin(t, fmt.Sprint("p", i)))
			}
			rt.Repeat(map[string]func(*rapid.T){
				"":        func(rt *rapid.T) { m.check(t, rt) },
				"enqueue": func(rt *rapid.T) { m.enqueue(t, rt) },
				"work":    func(*rapid.T) { m.collect() },
				"answer":  func(rt *rapid.T) { m.answer(rt) },
				"cancel":  func(rt *rapid.T) { m.cancel(t, rt) },
				"crash":   func(rt *rapid.T) { m.crash(t, rt) },
				"wait":    func(*rapid.T) { m.pass() },
				"restart": func(rt *rapid.T) { m.restart(t, rt) },
			})
			m.drain(t, rt)
		})
	})
}

func (m *machine) begin(t *testing.T, owner string) *process {
	p := m.w.process(owner, func(o *runs.Options) { o.Workers = 3 })
	if err := p.Start(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	return p
}

// pass lets time go on: backoffs and sweeps become due.
func (m *machine) pass() {
	m.w.clock.Advance(2 * time.Second)
	for _, p := range m.processes {
		for _, timer := range []chan time.Time{p.tick, p.sweep} {
			select {
			case timer <- time.Time{}:
			default:
			}
		}
		p.Wake()
	}
}

func (m *machine) enqueue(t *testing.T, rt *rapid.T) {
	s := spec(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "session"))
	s.Kind = rapid.SampledFrom([]string{runs.KindAgent, runs.KindAgent, "script"}).Draw(rt, "kind")
	s.Lane = rapid.SampledFrom([]runs.Lane{runs.Interactive, runs.Background}).Draw(rt, "lane")
	s.MaxAttempts = rapid.Int64Range(1, 3).Draw(rt, "attempts")
	if len(m.ids) > 0 && rapid.Bool().Draw(rt, "child") {
		parent := m.w.run(t, rapid.SampledFrom(m.ids).Draw(rt, "parent"))
		s.Parent = &parent
	}
	p := rapid.SampledFrom(m.processes).Draw(rt, "process")
	m.ids = append(m.ids, p.enqueue(t, s)[0].ID)
}

// collect takes in what has begun.
func (m *machine) collect() {
	for _, p := range m.processes {
		for more := true; more; {
			select {
			case e := <-p.began:
				m.working = append(m.working, e)
			default:
				more = false
			}
		}
	}
}

func (m *machine) answer(rt *rapid.T) {
	m.collect()
	if len(m.working) == 0 {
		return
	}
	i := rapid.IntRange(0, len(m.working)-1).Draw(rt, "execution")
	e := m.working[i]
	m.working = append(m.working[:i], m.working[i+1:]...)
	e.done <- rapid.SampledFrom([]result{succeeded, failed(true, 0), failed(false, 0), {err: errors.New("broken")}, {err: errPanic}}).Draw(rt, "result")
}

func (m *machine) cancel(t *testing.T, rt *rapid.T) {
	if len(m.ids) > 0 {
		m.w.cancel(t, rapid.SampledFrom(m.processes).Draw(rt, "process").Queue, rapid.SampledFrom(m.ids).Draw(rt, "run"))
	}
}

// crash makes leases look dead while their workers go on.
func (m *machine) crash(t *testing.T, rt *rapid.T) {
	if len(m.ids) > 0 {
		m.w.crash(t, rapid.SampledFrom(m.ids).Draw(rt, "run"))
	}
	m.pass()
}

func (m *machine) restart(t *testing.T, rt *rapid.T) {
	m.collect()
	i := rapid.IntRange(0, len(m.processes)-1).Draw(rt, "process")
	owner := fmt.Sprint("r", len(m.ids), "-", m.w.ids())
	m.release()
	m.processes[i].stop()
	m.processes[i] = m.begin(t, owner)
}

// release answers everything that executes once it is interrupted, so that a process can stop.
func (m *machine) release() {
	for _, e := range m.working {
		e.done <- result{err: errors.New("stopped")}
	}
	m.working = nil
}

func (m *machine) check(t *testing.T, rt *rapid.T) {
	t.Helper()
	var all []runs.Run
	err := m.w.store.Read(context.WithoutCancel(t.Context()), func(tx store.Tx) error {
		all = nil
		for _, id := range m.ids {
			r, err := runs.Get(tx, id)
			if err != nil {
				return err
			}
			all = append(all, r)
		}
		return nil
	})
	if err != nil {
		rt.Fatal(err)
	}
	holders := map[string]string{}
	for _, r := range all {
		if r.LeaseOwner != "" && r.Kind == runs.KindAgent {
			if other := holders[r.Session]; other != "" {
				rt.Fatalf("runs %s and %s hold session %s", other, r.ID, r.Session)
			}
			holders[r.Session] = r.ID
		}
		if r.LeaseEpoch < m.epochs[r.ID] {
			rt.Fatalf("the epoch of %+v was %d", r, m.epochs[r.ID])
		}
		m.epochs[r.ID] = r.LeaseEpoch
		if end, ok := m.over[r.ID]; ok && (r.Status != end.Status || r.FinishedAt != end.FinishedAt || r.Attempt != end.Attempt) {
			rt.Fatalf("run ended as %+v and is now %+v", end, r)
		}
		if r.Status.Terminal() {
			m.over[r.ID] = r
		}
		if executing := r.Status == runs.Claimed || r.Status == runs.Running; executing != (r.LeaseOwner != "") && r.Status != runs.Canceled {
			rt.Fatalf("status and lease of %+v do not go together", r)
		}
	}
}

// drain lets every worker succeed until all runs have ended, and stops.
func (m *machine) drain(t *testing.T, rt *rapid.T) {
	for len(m.over) < len(m.ids) {
		m.collect()
		for _, e := range m.working {
			e.done <- succeeded
		}
		m.working = nil
		m.pass()
		m.check(t, rt)
	}
	// Workers that lost their runs are still at it.
	m.collect()
	m.release()
	for _, p := range m.processes {
		p.stop()
	}
	for _, id := range m.ids {
		if r := m.w.run(t, id); r.LeaseOwner != "" {
			rt.Fatalf("after the end %+v still holds its session", r)
		}
	}
}
