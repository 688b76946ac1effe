package crashtest_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/crashtest/process"
	"github.com/loam-agents/loam/internal/model/scripted"
	"github.com/loam-agents/loam/internal/pgtest"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/store/storetest"
	"github.com/loam-agents/loam/wire"
)

// freshDatabase is one more database for the same test.
func freshDatabase(t testing.TB) string { return storetest.PostgresURL(t) }

func TestAFirstStartThatIsKilledIsFinishedByTheNextOne(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.emptied()
		random := rand.New(rand.NewPCG(2, 2))
		for range 6 {
			p, err := program.Launch(r.options)
			if err != nil {
				t.Fatal(err)
			}
			select {
			case <-clock.System{}.After(time.Duration(random.Int64N(int64(80 * time.Millisecond)))):
			case <-p.Exited():
				t.Error("a start after a killed one ended by itself")
			}
			p.Kill()
			r.died()
		}
		r.completed()
	})
}

// firstStart is killed while it makes the schema.
func firstStart(r *rig, point string) {
	r.emptied()
	o := r.options
	o.CrashAt = point
	p := must[*process.Process](r.t)(program.Launch(o))
	select {
	case <-p.Exited():
	case <-r.ctx.Done():
		r.t.Fatal("the first start reached no such point")
	}
	if !p.Signaled() {
		r.t.Fatal("the first start ended by itself")
	}
	p.Kill()
	r.died()
	r.completed()
}

// emptied gives the rig a database that holds nothing, not even a schema.
func (r *rig) emptied() {
	if r.options.DatabaseURL != "" {
		r.options.DatabaseURL = storetest.EmptyPostgresURL(r.t, pgtest.Shared(r.t))
	}
}

// completed starts the server after first starts that were killed, and finds all that a first start makes, once.
func (r *rig) completed() {
	t := r.t
	t.Helper()
	r.start("")
	agents := call[wire.ListAgentsResponse](r, "ListAgents", nil).Agents
	if len(agents) != 1 || agents[0].Definition.Name != server.FirstAgent {
		t.Fatalf("agents after an interrupted first start: %+v", agents)
	}
	session := call[wire.CreateSessionResponse](r, "CreateSession", map[string]any{"agentId": agents[0].ID}).SessionID
	r.deliverAll(must[message](t)(r.say(session, item(0))))
}

// hang starts a turn that waits for the model and returns when it does.
func (r *rig) hang() (message, error) {
	r.model.Push(scripted.Turn{
		Match: scripted.Match{User: "Remember nothing."},
		Steps: []scripted.Step{{Text: "Half a "}, {Gate: "never"}},
	}, scripted.Turn{
		Match: scripted.Match{User: "Remember nothing."}, Repeat: true,
		Steps: []scripted.Step{{Text: "A whole answer."}}, Usage: scriptUsage,
	})
	m, err := r.say(r.session(), "nothing")
	if err != nil {
		return m, err
	}
	url := r.process.URL()
	go func() { _, _ = r.post(r.ctx, url, m.body) }()
	select {
	case <-r.model.Reached("never"):
	case <-r.ctx.Done():
		return m, r.ctx.Err()
	}
	return m, nil
}

// stopTime is how long a clean stop may take, by the rule.
const stopTime = 10 * time.Second

func TestSIGTERMEndsCleanlyInTimeWhileATurnHangsAndTheTurnIsFinishedLater(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.start("")
		r.found()
		m := must[message](t)(r.hang())
		ctx, cancel := context.WithTimeout(r.ctx, stopTime)
		defer cancel()
		if err := r.process.Terminate(ctx); err != nil {
			t.Fatalf("SIGTERM ended the process with: %v", err)
		}
		r.finished(m)
	})
}

func TestAKillDuringTheDrainLosesNothing(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.options.Drain = time.Minute
		r.start("")
		r.found()
		m := must[message](t)(r.hang())
		sockets, subscribed := make(chan struct{}), make(chan struct{})
		closed, joined := sync.OnceFunc(func() { close(sockets) }), sync.OnceFunc(func() { close(subscribed) })
		noticed := must[*client.Client](t)(client.New(r.process.URL(), r.key, client.WithHTTPClient(r.http),
			client.WithOnDisconnect(func(string, error, time.Duration) { closed() })))
		ctx, cancel := context.WithCancel(r.ctx)
		defer cancel()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for f := range noticed.Subscribe(ctx, wire.KeySession+m.session, 0) {
				if f.Kind == wire.FrameSubscribed {
					joined()
				}
			}
		}()
		<-subscribed
		drained, stop := context.WithCancel(r.ctx)
		stop()
		if err := r.process.Terminate(drained); err == nil {
			t.Error("the process ended although a turn hangs and the drain is long")
		}
		// A socket that closes says that the drain has begun.
		select {
		case <-sockets:
		case <-r.ctx.Done():
			t.Fatal("the drain closed no socket")
		}
		cancel()
		<-ended
		r.process.Kill()
		r.finished(m)
	})
}

// finished starts the server again and finds the turn of a message carried out, once.
func (r *rig) finished(m message) {
	r.t.Helper()
	r.process.Kill()
	r.start("")
	answers := r.deliverAll(m)
	r.audit(m.session, []message{m}, answers)
	r.repeated([]message{m}, answers)
}
