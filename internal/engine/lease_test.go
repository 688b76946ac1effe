package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/loam-agents/loam/internal/agent"
	"github.com/loam-agents/loam/internal/bus"
	"github.com/loam-agents/loam/internal/callable"
	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/engine"
	"github.com/loam-agents/loam/internal/govern"
	"github.com/loam-agents/loam/internal/id"
	"github.com/loam-agents/loam/internal/model"
	"github.com/loam-agents/loam/internal/runs"
	"github.com/loam-agents/loam/internal/sessionlog"
	"github.com/loam-agents/loam/internal/space"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/store/storetest"
	"github.com/loam-agents/loam/internal/tooldoc"
	"github.com/loam-agents/loam/internal/verbs"
	"github.com/loam-agents/loam/wire"
)

// stage is an engine and its queue on a real database. The test is the model, the verb, and what happens meanwhile.
type stage struct {
	t       *testing.T
	store   store.Store
	log     *sessionlog.Log
	queue   *runs.Queue
	session string
	run     string
	// resolve, answer and act are called by the turn, on its goroutine.
	resolve func(ctx context.Context)
	answers []model.Message
	act     func(ctx context.Context) (verbs.Result, error)
	asked   int
	// action, when set, is what a call means. requests are what the model was asked.
	action   func(scope space.Scope) verbs.Action
	requests []model.Request
}

func (s *stage) Resolve(ctx context.Context, _ string, _ wire.AgentDefinition, _ *wire.ModelOverride) (engine.Model, error) {
	if s.resolve != nil {
		s.resolve(ctx)
	}
	return engine.Model{Provider: s, Type: "custom", ID: "m"}, ctx.Err()
}

// Stream gives the next answer.
func (s *stage) Stream(_ context.Context, req model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		s.requests = append(s.requests, req)
		m := s.answers[s.asked]
		s.asked++
		yield(model.Event{Kind: model.EventDone, Message: m, Usage: model.Usage{Input: 1, Total: 1}}, nil)
	}
}

func (*stage) Models(context.Context) ([]model.ModelRef, error) { return nil, nil }
func (*stage) Dialect() model.Dialect                           { return model.OpenAIChat }

func (*stage) Document() tooldoc.Document {
	return tooldoc.Document{Name: "act", Kind: tooldoc.Verb, Input: json.RawMessage(`{"type":"object"}`)}
}
func (s *stage) Prepare(_ context.Context, scope space.Scope, _ json.RawMessage) verbs.Action {
	if s.action != nil {
		return s.action(scope)
	}
	return verbs.Action{Effect: tooldoc.SideEffecting, Run: s.act}
}

func onStage(t *testing.T, fn func(s *stage)) {
	t.Helper()
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db store.Store) {
		s := &stage{t: t, store: db, answers: []model.Message{
			{Role: model.Assistant, Parts: []model.Part{{Kind: model.PartText, Text: "I act."}, {Kind: model.PartToolCall, CallID: "c1", Name: "act", Arguments: "{}"}}},
			{Role: model.Assistant, Parts: []model.Part{{Kind: model.PartText, Text: "Done."}}},
		}}
		ids := id.NewSource(clock.System{}, nil)
		s.log = sessionlog.New(sessionlog.Options{Clock: clock.System{}, IDs: ids, Bus: bus.NewLocal()})
		tools, err := callable.New(callable.Options{Store: db})
		if err != nil {
			t.Fatal(err)
		}
		set, err := verbs.NewSet(tools, &govern.Gate{}, s)
		if err != nil {
			t.Fatal(err)
		}
		e := engine.New(engine.Options{Store: db, Log: s.log, Bus: bus.NewLocal(), Models: s, Verbs: set, Tools: tools, Clock: clock.System{}, IDs: ids})
		s.queue = runs.New(runs.Options{Store: db, Clock: clock.System{}, IDs: ids, Owner: "p", Hooks: runs.Hooks{Abandoned: e.Abandoned}, Executors: map[string]runs.Executor{runs.KindAgent: e}})
		fn(s)
	})
}

func (s *stage) write(fn func(tx store.Tx) error) {
	if err := s.store.Write(context.WithoutCancel(s.t.Context()), store.Interactive, fn); err != nil {
		s.t.Error(err)
	}
}

// play carries out one turn, until it has ended or is parked, and returns the log in a line an event, and the run.
func (s *stage) play() (string, runs.Run) {
	s.t.Helper()
	s.begin()
	r, err := s.queue.Await(s.t.Context(), s.run)
	if err != nil {
		s.t.Fatal(err)
	}
	s.queue.Stop(s.t.Context())
	return s.events(), r
}

// begin enqueues the first run of a session and starts the queue.
func (s *stage) begin() {
	s.t.Helper()
	s.write(func(tx store.Tx) error {
		a, err := agent.Create(tx, agent.CreateParams{ID: "agent", Account: "account", Definition: wire.AgentDefinition{Name: "A", Model: "m", ModelProvider: "p"}})
		if err != nil {
			return err
		}
		session, err := s.log.Create(tx, sessionlog.CreateParams{Account: "account", Agent: a.ID})
		if err != nil {
			return err
		}
		s.session = session.ID
		s.run, err = s.enqueue(tx)
		return err
	})
	if err := s.queue.Start(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) enqueue(tx store.Tx) (string, error) {
	r, err := s.queue.Enqueue(tx, runs.Spec{Account: "account", Kind: runs.KindAgent, Agent: "agent", AgentVersion: 1, Session: s.session, Origin: "user", Title: "t", Lane: runs.Interactive})
	return r.ID, err
}

// events is the log in a line an event.
func (s *stage) events() string {
	s.t.Helper()
	var events []wire.SessionEvent
	err := s.store.Read(s.t.Context(), func(tx store.Tx) (err error) {
		events, err = sessionlog.Events(tx, s.session, 0, 0)
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	var out []string
	for _, e := range events {
		var p struct{ Type, Content, Error string }
		if err := json.Unmarshal(e.Event, &p); err != nil {
			s.t.Fatal(err)
		}
		out = append(out, strings.TrimSpace(p.Type+" "+p.Content+p.Error))
	}
	return strings.Join(out, "\n")
}

func (s *stage) cancel() {
	s.write(func(tx store.Tx) error {
		_, err := s.queue.Cancel(tx, s.run)
		return err
	})
}

func TestATurnThatIsStoppedBeforeItHasLoadedSaysSo(t *testing.T) {
	onStage(t, func(s *stage) {
		s.resolve = func(ctx context.Context) {
			s.cancel()
			<-ctx.Done()
		}
		if log, r := s.play(); log != "message Stopped." || r.Status != runs.Canceled || s.asked != 0 {
			s.t.Errorf("the run is %s, the log\n%s", r.Status, log)
		}
	})
}

func TestATurnThatIsStoppedInACallDoesNotRepeatWhatItSaid(t *testing.T) {
	onStage(t, func(s *stage) {
		s.act = func(ctx context.Context) (verbs.Result, error) {
			s.cancel()
			<-ctx.Done()
			return verbs.Result{Value: space.Result{"late": true}}, nil
		}
		log, r := s.play()
		if want := "message I act.\ntool_call\ntool_result The turn was stopped before this call had a result."; log != want || r.Status != runs.Canceled {
			s.t.Errorf("the run is %s, the log\n%s", r.Status, log)
		}
		if r := s.row(); r.Usage.Total != 1 {
			s.t.Errorf("the usage is %+v", r.Usage)
		}
	})
}

func (s *stage) row() (r runs.Run) {
	err := s.store.Read(s.t.Context(), func(tx store.Tx) (err error) {
		r, err = runs.Get(tx, s.run)
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

// change is a verb's effect: it renames the session, and may fail.
type change struct {
	s   *stage
	err error
}

func (c change) Apply(tx store.Tx) (space.Result, error) {
	if _, err := c.s.log.SetTitle(tx, c.s.session, "renamed", sessionlog.TitleAgent); err != nil {
		return nil, err
	}
	return space.Result{"ok": true}, c.err
}

func TestAWorkerThatLostItsLeaseWritesNothingMore(t *testing.T) {
	onStage(t, func(s *stage) {
		s.act = func(context.Context) (verbs.Result, error) {
			// Another process took the run over and ended it.
			s.write(func(tx store.Tx) error {
				_, err := tx.Exec(`UPDATE runs SET lease_owner = NULL, lease_epoch = lease_epoch + 1, status = 'failed' WHERE id = ?`, s.run)
				return err
			})
			return verbs.Result{Change: change{s: s}}, nil
		}
		log, r := s.play()
		if log != "message I act.\ntool_call" || r.Status != runs.Failed || s.title() != "" {
			s.t.Errorf("the run is %s, the title %q, the log\n%s", r.Status, s.title(), log)
		}
	})
}

func (s *stage) title() (title string) {
	err := s.store.Read(s.t.Context(), func(tx store.Tx) error {
		session, err := sessionlog.Get(tx, s.session)
		title = session.Title
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return title
}

func TestAChangeThatFailsLeavesNothingAndItsErrorLeaksNothing(t *testing.T) {
	onStage(t, func(s *stage) {
		s.act = func(context.Context) (verbs.Result, error) {
			return verbs.Result{Change: change{s: s, err: errors.New("dial 10.0.0.1: secret-canary")}}, nil
		}
		log, r := s.play()
		want := "message I act.\ntool_call\ntool_result The server failed while it carried out this call.\nmessage Done."
		if log != want || r.Status != runs.Succeeded || s.title() != "" || r.Usage.Total != 2 {
			s.t.Errorf("the run is %s, the title %q, the log\n%s", r.Status, s.title(), log)
		}
	})
}

func TestAResultSaysHowLongItsCallTook(t *testing.T) {
	onStage(t, func(s *stage) {
		s.act = func(context.Context) (verbs.Result, error) {
			<-clock.System{}.After(2 * time.Millisecond)
			return verbs.Result{Value: space.Result{"ok": true}}, nil
		}
		s.play()
		var result wire.ToolResultEvent
		err := s.store.Read(s.t.Context(), func(tx store.Tx) error {
			events, err := sessionlog.Events(tx, s.session, 2, 1)
			if err != nil {
				return err
			}
			return json.Unmarshal(events[0].Event, &result)
		})
		if err != nil || result.Type != sessionlog.TypeToolResult || result.Meta == nil || result.Meta.DurationMs < 1 {
			s.t.Errorf("the result is %+v with %+v, %v", result, result.Meta, err)
		}
	})
}
