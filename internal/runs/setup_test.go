package runs_test

import (
	"context"
	"flag"
	"fmt"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/id"
	"github.com/loam-agents/loam/internal/runs"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/store/storetest"
	"github.com/loam-agents/loam/wire"
)

// A history takes about a tenth of a second, so an ordinary run plays few; -rapid.checks=1000 plays more.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "20"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m, storetest.Leaks())
}

var start = time.UnixMilli(1_800_000_000_000)

// world is a database and the clock that it and every queue on it tell time by.
type world struct {
	store store.Store
	clock *clock.Fake
	ids   id.Source
}

// each runs fn on both databases, each with a clock of its own that stands still.
func each(t *testing.T, fn func(t *testing.T, w *world)) {
	t.Helper()
	t.Parallel()
	for name, open := range map[string]func(testing.TB, ...storetest.Option) store.Store{"sqlite": storetest.SQLite, "postgres": storetest.Postgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := clock.NewFake(start)
			fn(t, &world{store: open(t, storetest.WithClock(c)), clock: c, ids: id.Sequence()})
		})
	}
}

// process is a queue with an executor that does what the test says.
type process struct {
	*runs.Queue
	*hands
	w *world
	// began receives every execution; the test answers it.
	began chan *execution
	// signal says that the hook was called.
	signal chan struct{}

	mu      sync.Mutex
	changes []runs.Run
	hookErr error
}

// hands are the clock of a process. Its timers fire when the test says so: a send returns when somebody waits for it.
type hands struct {
	*clock.Fake
	// tick is the timer with which leases are watched, sweep any other one.
	tick, sweep chan time.Time
}

// After implements clock.Clock.
func (h *hands) After(d time.Duration) <-chan time.Time {
	if d == time.Second {
		return h.tick
	}
	return h.sweep
}

// execution is one call of the executor. Its context is only looked at by the test.
type execution struct {
	*runs.Lease
	over  <-chan struct{}
	cause func() error
	ctx   func() context.Context
	done  chan result
}

type result struct {
	outcome runs.Outcome
	err     error
}

var succeeded = result{outcome: runs.Outcome{Status: runs.Succeeded}}

func failed(retry bool, after time.Duration) result {
	return result{outcome: runs.Outcome{Status: runs.Failed, Code: runs.CodeProviderError, Message: "it broke", Retry: retry, RetryAfter: after}}
}

// Execute implements runs.Executor.
func (p *process) Execute(ctx context.Context, lease *runs.Lease) (runs.Outcome, error) {
	e := &execution{Lease: lease, over: ctx.Done(), cause: func() error { return context.Cause(ctx) }, ctx: func() context.Context { return ctx }, done: make(chan result, 1)}
	p.began <- e
	r := <-e.done
	if r.err == errPanic {
		panic("the executor panics")
	}
	return r.outcome, r.err
}

var errPanic = fmt.Errorf("panic")

// process makes a queue that does not work yet. A change of the options comes last.
func (w *world) process(owner string, change func(*runs.Options)) *process {
	p := &process{w: w, hands: &hands{Fake: w.clock, tick: make(chan time.Time), sweep: make(chan time.Time)}, began: make(chan *execution, 1000), signal: make(chan struct{}, 1)}
	opts := runs.Options{
		Store: w.store, Clock: p.hands, IDs: w.ids, Owner: owner, Workers: 8,
		Executors: map[string]runs.Executor{runs.KindAgent: p, "script": p},
		Jitter:    func(time.Duration) time.Duration { return 7 * time.Millisecond },
		Hooks: runs.Hooks{Changed: func(tx store.Tx, r *runs.Run, _ bool) error {
			p.mu.Lock()
			err := p.hookErr
			p.mu.Unlock()
			row := *r
			tx.AfterCommit(func() {
				p.mu.Lock()
				defer p.mu.Unlock()
				p.changes = append(p.changes, row)
				select {
				case p.signal <- struct{}{}:
				default:
				}
			})
			return err
		}},
	}
	if change != nil {
		change(&opts)
	}
	p.Queue = runs.New(opts)
	return p
}

// working starts a process that is stopped when the test ends.
func (w *world) working(t *testing.T, owner string, change func(*runs.Options)) *process {
	t.Helper()
	p := w.process(owner, change)
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.stop() })
	return p
}

// stop interrupts everything and answers executions until the queue is gone.
func (p *process) stop() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		p.Stop(ctx)
	}()
	for {
		select {
		case e := <-p.began:
			<-e.over
			e.done <- result{err: context.Canceled}
		case <-stopped:
			return
		}
	}
}

// next is the next execution to begin.
func (p *process) next(t *testing.T) *execution {
	t.Helper()
	select {
	case e := <-p.began:
		t.Cleanup(func() {
			select {
			case e.done <- result{err: context.Canceled}:
			default:
			}
		})
		return e
	case <-t.Context().Done():
		t.Fatal("nothing began")
		return nil
	}
}

func (p *process) history(runID string) (out []runs.Status) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.changes {
		if r.ID == runID {
			out = append(out, r.Status)
		}
	}
	return out
}

func (p *process) failHook(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hookErr = err
}

func spec(session string) runs.Spec {
	return runs.Spec{Account: "account", Kind: runs.KindAgent, Agent: "agent", Session: session, Origin: "user", Title: "a turn", Lane: runs.Interactive}
}

func (p *process) enqueue(t testing.TB, specs ...runs.Spec) []runs.Run {
	t.Helper()
	var out []runs.Run
	p.w.write(t, func(tx store.Tx) error {
		out = nil
		for _, s := range specs {
			r, err := p.Enqueue(tx, s)
			if err != nil {
				return err
			}
			out = append(out, r)
		}
		return nil
	})
	return out
}

// end lets an execution return and waits until its run has ended.
func (p *process) end(t *testing.T, e *execution, r result) runs.Run {
	t.Helper()
	e.done <- r
	return p.await(t, e.Run().ID)
}

func (p *process) await(t *testing.T, runID string) runs.Run {
	t.Helper()
	r, err := p.Await(t.Context(), runID)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// until waits until the hook of this process has reported a row of the run that is as wanted.
func (p *process) until(t *testing.T, runID string, ok func(r runs.Run) bool) runs.Run {
	t.Helper()
	for {
		p.mu.Lock()
		for _, r := range p.changes {
			if r.ID == runID && ok(r) {
				p.mu.Unlock()
				return r
			}
		}
		p.mu.Unlock()
		select {
		case <-p.signal:
		case <-t.Context().Done():
			t.Fatal("the run never got there")
		}
	}
}

func (w *world) write(t testing.TB, fn func(tx store.Tx) error) {
	t.Helper()
	if err := w.store.Write(context.WithoutCancel(t.Context()), store.Interactive, fn); err != nil {
		t.Fatal(err)
	}
}

func (w *world) run(t testing.TB, runID string) (r runs.Run) {
	t.Helper()
	err := w.store.Read(context.WithoutCancel(t.Context()), func(tx store.Tx) (err error) {
		r, err = runs.Get(tx, runID)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (w *world) exec(t testing.TB, query string, args ...any) {
	t.Helper()
	w.write(t, func(tx store.Tx) error {
		_, err := tx.Exec(query, args...)
		return err
	})
}

func (w *world) cancel(t testing.TB, q *runs.Queue, runID string) (live bool) {
	t.Helper()
	w.write(t, func(tx store.Tx) (err error) {
		live, err = q.Cancel(tx, runID)
		return err
	})
	return live
}

// try runs one check of a lease in a transaction of its own.
func (w *world) try(t testing.TB, fn func(tx store.Tx) error) error {
	t.Helper()
	return w.store.Write(context.WithoutCancel(t.Context()), store.Interactive, fn)
}

func tokens(n int64) wire.Usage {
	return wire.Usage{Input: n, Output: 2 * n, CacheRead: 3 * n, CacheWrite: 4 * n, Total: 10 * n}
}

// start starts a process that was made before and stops it when the test ends.
func (w *world) start(t *testing.T, p *process) {
	t.Helper()
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.stop)
}

// ended waits until one of the processes has reported the end of a run.
func (w *world) ended(t *testing.T, runID string, processes ...*process) {
	t.Helper()
	over := make(chan struct{}, len(processes))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, p := range processes {
		go func() {
			if _, err := p.Await(ctx, runID); err == nil {
				over <- struct{}{}
			}
		}()
	}
	<-over
}

// nextOf is the next execution of a run that must be the next to begin.
func (p *process) nextOf(t *testing.T, runID string) *execution {
	t.Helper()
	e := p.next(t)
	if e.Run().ID != runID {
		t.Fatalf("%s began, want %s", e.Run().ID, runID)
	}
	return e
}
