package trigger_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/loam-agents/loam/internal/account"
	"github.com/loam-agents/loam/internal/agent"
	"github.com/loam-agents/loam/internal/bus"
	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/id"
	"github.com/loam-agents/loam/internal/runs"
	"github.com/loam-agents/loam/internal/sessionlog"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/store/storetest"
	"github.com/loam-agents/loam/internal/trigger"
	"github.com/loam-agents/loam/internal/vault"
	"github.com/loam-agents/loam/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, storetest.Leaks()) }

const (
	owner   = "z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK"
	someone = "z6MkmM42vxfqZQsv4ehtTjFFxQ4sQKS2w6WR7emozFAn5cxu"
)

// start is 2026-11-30 08:00 UTC, a Monday.
var start = time.UnixMilli(1_796_025_600_000)

// bench is a service over real parts, with an agent and a clock that stands still. Runs that it queues execute when a test ends them.
type bench struct {
	*trigger.Service
	t     *testing.T
	store store.Store
	clock *clock.Fake
	vault *vault.Vault
	log   *sessionlog.Log
	queue *runs.Queue
	opts  trigger.Options
	// hints are the reasons of announced changes; full makes every session one too many.
	hints chan string
	full  bool
}

// each runs fn on both databases.
func each(t *testing.T, fn func(t *testing.T, b *bench)) {
	t.Helper()
	t.Parallel()
	for name, open := range map[string]func(testing.TB, ...storetest.Option) store.Store{"sqlite": storetest.SQLite, "postgres": storetest.Postgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := clock.NewFake(start)
			fn(t, setup(t, open(t, storetest.WithClock(c)), c))
		})
	}
}

func setup(t *testing.T, s store.Store, c *clock.Fake) *bench {
	t.Helper()
	b := &bench{t: t, store: s, clock: c, hints: make(chan string, 1000)}
	ids := id.Sequence()
	var err error
	if b.vault, err = vault.Open(t.Context(), s, vault.FileKey{Path: filepath.Join(t.TempDir(), "vault.key")}, c, ids); err != nil {
		t.Fatal(err)
	}
	b.log = sessionlog.New(sessionlog.Options{Clock: c, IDs: ids, Bus: bus.NewLocal()})
	b.opts = trigger.Options{
		Store: s, Log: b.log, Vault: b.vault, Clock: c, IDs: ids, Runs: func() *runs.Queue { return b.queue },
		Turn: func(first, last int64) (json.RawMessage, error) { return json.Marshal([]int64{first, last}) },
		Compile: func(_ context.Context, source string) (json.RawMessage, error) {
			return json.Marshal(map[string]string{"source": source})
		},
		Workflow: func(program, input json.RawMessage) (json.RawMessage, error) {
			if strings.Contains(string(program), "unreadable") {
				return nil, errors.New("the program cannot be read")
			}
			return json.Marshal([]json.RawMessage{program, input})
		},
		Opened: func(store.Tx, string) error {
			if b.full {
				return fault.New(fault.RateLimited, "too many sessions")
			}
			return nil
		},
		Changed: func(tx store.Tx, _, agentID, reason string) {
			tx.AfterCommit(func() { b.hints <- reason + " " + agentID })
		},
	}
	b.Service = trigger.New(b.opts)
	b.queue = runs.New(runs.Options{Store: s, Clock: c, IDs: ids, Owner: "test", Hooks: runs.Hooks{Concluded: b.RunEnded}})
	b.write(func(tx store.Tx) error { return account.Ensure(tx, owner, start.UnixMilli()) })
	b.agent("agent")
	return b
}

func (b *bench) write(fn func(tx store.Tx) error) {
	b.t.Helper()
	if err := b.store.Write(b.t.Context(), store.Interactive, fn); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) read(fn func(tx store.Tx) error) {
	b.t.Helper()
	if err := b.store.Read(b.t.Context(), fn); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) agent(agentID string) {
	b.t.Helper()
	b.write(func(tx store.Tx) error {
		_, err := agent.Create(tx, agent.CreateParams{ID: agentID, Account: owner, Definition: wire.AgentDefinition{Name: agentID}, CreatedBy: owner, Now: start.UnixMilli()})
		return err
	})
}

// create makes a trigger of the agent.
func (b *bench) create(in wire.TriggerInput) trigger.Trigger {
	b.t.Helper()
	if in.Name == "" {
		in.Name = "Morning"
	}
	if in.Prompt == nil {
		in.Prompt = "Look around."
	}
	d, err := b.Check(b.t.Context(), in)
	if err != nil {
		b.t.Fatal(err)
	}
	var out trigger.Trigger
	b.write(func(tx store.Tx) (err error) {
		out, err = b.Create(tx, owner, "agent", &d)
		return err
	})
	return out
}

// change applies a patch.
func (b *bench) change(t trigger.Trigger, p wire.TriggerPatch) (out trigger.Trigger, err error) {
	b.t.Helper()
	d, err := b.CheckPatch(b.t.Context(), &t, p)
	if err != nil {
		return t, err
	}
	err = b.store.Write(b.t.Context(), store.Interactive, func(tx store.Tx) (err error) {
		out, err = b.Update(tx, t, &d)
		return err
	})
	return out, err
}

func (b *bench) get(triggerID string) (out trigger.Trigger) {
	b.t.Helper()
	b.read(func(tx store.Tx) (err error) {
		out, err = trigger.Get(tx, triggerID)
		return err
	})
	return out
}

func (b *bench) firings(triggerID string) (out []wire.TriggerFiring) {
	b.t.Helper()
	b.read(func(tx store.Tx) (err error) {
		out, err = trigger.Firings(tx, triggerID, 1000)
		return err
	})
	return out
}

func (b *bench) run(runID string) (out runs.Run) {
	b.t.Helper()
	b.read(func(tx store.Tx) (err error) {
		out, err = runs.Get(tx, runID)
		return err
	})
	return out
}

// said is the text of the last message of a session, the actor that its row names, and its payload.
func (b *bench) said(sessionID string) (text, actor, payload string) {
	b.t.Helper()
	b.read(func(tx store.Tx) error {
		stored, err := sessionlog.Replay(tx, sessionID, 0)
		if err != nil {
			return err
		}
		last := stored[len(stored)-1]
		var m wire.MessageEvent
		if err := json.Unmarshal(last.Event, &m); err != nil {
			return err
		}
		text, actor, payload = m.Content, string(last.Actor), string(last.Event)
		return nil
	})
	return text, actor, payload
}

// due fires what is due and returns the pause that the scheduler would make.
func (b *bench) due() time.Duration {
	b.t.Helper()
	pause, err := b.FireDue(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	return pause
}

func every(n int64, unit string) wire.TriggerSource {
	return wire.TriggerSource{Type: "schedule", Schedule: &wire.TriggerSchedule{Kind: "interval", Every: n, Unit: unit}}
}

// queued makes a run of the agent.
func (b *bench) queued(spec runs.Spec) runs.Run {
	b.t.Helper()
	spec.Account, spec.Agent, spec.AgentVersion = owner, "agent", 1
	if spec.Kind == "" {
		spec.Kind = "workflow"
	}
	spec.Lane = runs.Background
	if spec.Origin == "" {
		spec.Origin = "user"
	}
	var run runs.Run
	b.write(func(tx store.Tx) (err error) {
		run, err = b.queue.Enqueue(tx, spec)
		return err
	})
	return run
}

// end executes a run to an outcome; without one it is canceled.
func (b *bench) end(runID string, o runs.Outcome) runs.Run {
	b.t.Helper()
	if o.Status == "" {
		b.write(func(tx store.Tx) error {
			_, err := b.queue.Cancel(tx, runID)
			return err
		})
		return b.run(runID)
	}
	done := make(chan struct{})
	execute := executor(func(ctx context.Context, lease *runs.Lease) (runs.Outcome, error) {
		if lease.Run().ID == runID {
			return o, nil
		}
		// What was queued besides stays so.
		<-ctx.Done()
		return runs.Outcome{}, context.Cause(ctx)
	})
	q := runs.New(runs.Options{
		Log: slog.New(slog.NewTextHandler(b.t.Output(), nil)), Store: b.store, Clock: b.clock, IDs: id.Sequence(), Owner: "worker " + runID, Executors: map[string]runs.Executor{
			"agent": execute, "workflow": execute, "webhook": execute,
		},
		Hooks: runs.Hooks{Concluded: func(tx store.Tx, r *runs.Run) error {
			if r.ID == runID {
				tx.AfterCommit(func() { close(done) })
			}
			return b.RunEnded(tx, r)
		}},
	})
	if err := q.Start(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
	<-done
	stop(q)
	return b.run(runID)
}

// stop ends a queue without waiting for what it executes.
func stop(q *runs.Queue) {
	over, cancel := context.WithCancel(context.Background())
	cancel()
	q.Stop(over)
}

type executor func(ctx context.Context, lease *runs.Lease) (runs.Outcome, error)

// Execute implements runs.Executor.
func (f executor) Execute(ctx context.Context, lease *runs.Lease) (runs.Outcome, error) {
	return f(ctx, lease)
}

func contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in:\n%s", part, text)
		}
	}
}
