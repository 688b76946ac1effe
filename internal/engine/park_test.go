package engine_test

import (
	"context"
	"strings"
	"testing"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/model"
	"github.com/loam-agents/loam/internal/runs"
	"github.com/loam-agents/loam/internal/sessionlog"
	"github.com/loam-agents/loam/internal/space"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/tooldoc"
	"github.com/loam-agents/loam/internal/verbs"
	"github.com/loam-agents/loam/wire"
)

// waiting is a call that waits for an event with the name of the call.
func waiting(scope space.Scope) verbs.Action {
	return verbs.Action{Effect: tooldoc.Idempotent, Parks: true, Run: func(context.Context) (verbs.Result, error) {
		return verbs.Result{Pending: func(store.Tx) ([]runs.Wait, error) {
			return []runs.Wait{{ID: "wait-" + scope.Call, Reason: runs.WaitEvent, Match: []byte(`{"signal":"` + scope.Call + `"}`)}}, nil
		}}, nil
	}}
}

// acts is an answer that calls act under the given ids.
func acts(ids ...string) model.Message {
	m := model.Message{Role: model.Assistant, Parts: []model.Part{{Kind: model.PartText, Text: "I act."}}}
	for _, id := range ids {
		m.Parts = append(m.Parts, model.Part{Kind: model.PartToolCall, CallID: id, Name: "act", Arguments: "{}"})
	}
	return m
}

func speech(text string) model.Message {
	return model.Message{Role: model.Assistant, Parts: []model.Part{{Kind: model.PartText, Text: text}}}
}

// settle answers a call and settles what it waits for, as the end of a child does.
func (s *stage) settle(call, output string) {
	s.t.Helper()
	s.write(func(tx store.Tx) error {
		if output != "" {
			_, err := s.log.Append(tx, s.session, nil, sessionlog.Entry{Run: s.run, Payload: wire.ToolResultEvent{Type: sessionlog.TypeToolResult, ToolCallID: call, Name: "act", Output: []byte(output)}})
			if err != nil {
				return err
			}
		}
		settled, err := s.queue.Settle(tx, s.run, "wait-"+call)
		if !settled {
			s.t.Errorf("nothing waits for %s", call)
		}
		return err
	})
}

// await returns a run once it has ended or is parked.
func (s *stage) await(run string) runs.Run {
	s.t.Helper()
	r, err := s.queue.Await(s.t.Context(), run)
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

// given are the results in the newest request.
func (s *stage) given() string {
	var out []string
	for _, m := range s.requests[len(s.requests)-1].Messages {
		for _, p := range m.Parts {
			if p.Kind == model.PartToolResult {
				out = append(out, p.CallID+" "+p.Text)
			}
		}
	}
	return strings.Join(out, "\n")
}

func TestATurnIsParkedUntilAllItsCallsHaveResults(t *testing.T) {
	onStage(t, func(s *stage) {
		s.action, s.answers = waiting, []model.Message{acts("c1", "c2"), speech("Done.")}
		s.begin()
		if r := s.await(s.run); r.Status != runs.Waiting || r.LeaseOwner != "" || r.Wait == nil || r.Attempt != 0 || r.Usage.Total != 1 {
			s.t.Fatalf("the parked run is %+v", r)
		}
		if log := s.events(); log != "message I act.\ntool_call\ntool_call" {
			s.t.Errorf("the log is\n%s", log)
		}
		s.settle("c2", `{"n":2}`)
		if r := s.row(); r.Status != runs.Waiting || r.Wait.AnswerWith != "c1" {
			s.t.Errorf("after the first of two results the run is %s, waiting for %+v", r.Status, r.Wait)
		}
		s.settle("c1", `{"n":1}`)
		if r := s.await(s.run); r.Status != runs.Succeeded || r.Usage.Total != 2 {
			s.t.Errorf("the run is %+v", r)
		}
		s.queue.Stop(s.t.Context())
		if log := s.events(); log != "message I act.\ntool_call\ntool_call\ntool_result\ntool_result\nmessage Done." {
			s.t.Errorf("the log is\n%s", log)
		}
		if got := s.given(); got != "c1 {\"n\":1}\nc2 {\"n\":2}" || s.asked != 2 {
			s.t.Errorf("the model was asked %d times and saw\n%s", s.asked, got)
		}
	})
}

// A wait that is settled without a result, as an approval is, has its call carried out once more.
func TestACallGoesOnWhenWhatItWaitedForIsSettledWithoutAResult(t *testing.T) {
	for name, c := range map[string]struct {
		again bool
		want  string
	}{
		"carried out once more": {true, "tool_result\nmessage Done."},
		"not safe to repeat":    {false, "tool_result The server restarted before this call had a result. Whether it took effect is not known: check before you repeat it.\nmessage Done."},
	} {
		t.Run(name, func(t *testing.T) {
			onStage(t, func(s *stage) {
				s.answers = []model.Message{acts("c1"), speech("Done.")}
				settled := false
				s.action = func(scope space.Scope) verbs.Action {
					if !settled {
						return waiting(scope)
					}
					return verbs.Action{Effect: tooldoc.SideEffecting, Again: c.again, Run: func(context.Context) (verbs.Result, error) {
						return verbs.Result{Value: space.Result{"approved": true}}, nil
					}}
				}
				s.begin()
				s.await(s.run)
				settled = true
				s.settle("c1", "")
				s.await(s.run)
				s.queue.Stop(s.t.Context())
				if log := s.events(); log != "message I act.\ntool_call\n"+c.want {
					s.t.Errorf("the log is\n%s", log)
				}
			})
		})
	}
}

func TestACallMayWaitAfterOthersOfItsAnswerHaveActed(t *testing.T) {
	onStage(t, func(s *stage) {
		s.answers = []model.Message{acts("c1", "c2", "c3"), speech("Done.")}
		s.action = func(scope space.Scope) verbs.Action {
			if scope.Call == "c2" {
				return waiting(scope)
			}
			return verbs.Action{Effect: tooldoc.SideEffecting, Run: func(context.Context) (verbs.Result, error) {
				return verbs.Result{Value: space.Result{"call": scope.Call}}, nil
			}}
		}
		s.begin()
		if r := s.await(s.run); r.Status != runs.Waiting {
			s.t.Fatalf("the run is %s", r.Status)
		}
		s.settle("c2", `{"late":true}`)
		s.await(s.run)
		s.queue.Stop(s.t.Context())
		if got := s.given(); got != "c1 {\"call\":\"c1\"}\nc2 {\"late\":true}\nc3 {\"call\":\"c3\"}" {
			s.t.Errorf("the model saw\n%s", got)
		}
	})
}

func TestACallThatCannotWaitHasItsRefusalAsResult(t *testing.T) {
	onStage(t, func(s *stage) {
		s.answers = []model.Message{acts("c1", "c2"), speech("Done.")}
		s.action = func(scope space.Scope) verbs.Action {
			a := waiting(scope)
			if scope.Call == "c1" {
				a.Run = func(context.Context) (verbs.Result, error) {
					return verbs.Result{Pending: func(store.Tx) ([]runs.Wait, error) { return nil, fault.New(fault.BudgetExceeded, "No more") }}, nil
				}
			}
			return a
		}
		s.begin()
		if r := s.await(s.run); r.Status != runs.Waiting {
			s.t.Fatalf("the run is %s", r.Status)
		}
		s.settle("c2", `{}`)
		s.await(s.run)
		s.queue.Stop(s.t.Context())
		if got := s.given(); got != "c1 No more\nc2 {}" {
			s.t.Errorf("the model saw\n%s", got)
		}
	})
}

func TestAParkedTurnThatIsStoppedHasItsCallsAnswered(t *testing.T) {
	onStage(t, func(s *stage) {
		s.action, s.answers = waiting, []model.Message{acts("c1", "c2"), speech("Next.")}
		s.begin()
		s.await(s.run)
		s.settle("c2", `{"n":2}`)
		s.cancel()
		if r := s.row(); r.Status != runs.Canceled || r.Wait != nil {
			s.t.Errorf("the run is %+v", r)
		}
		var next string
		s.write(func(tx store.Tx) (err error) {
			next, err = s.enqueue(tx)
			return err
		})
		s.await(next)
		s.queue.Stop(s.t.Context())
		want := "message I act.\ntool_call\ntool_call\ntool_result\ntool_result The turn was stopped before this call had a result.\nmessage Next."
		if log := s.events(); log != want {
			s.t.Errorf("the log is\n%s", log)
		}
		var left []runs.Wait
		s.write(func(tx store.Tx) (err error) {
			left, err = runs.Waits(tx, s.run)
			return err
		})
		if len(left) > 0 {
			s.t.Errorf("waits of the canceled run are left: %+v", left)
		}
	})
}

// A turn that comes while another one of its session is parked sees the open calls as running, and answers none of them.
func TestAMessageIsAnsweredWhileAnotherTurnOfTheSessionIsParked(t *testing.T) {
	onStage(t, func(s *stage) {
		s.action, s.answers = waiting, []model.Message{acts("c1"), speech("Between."), speech("Done.")}
		s.begin()
		s.await(s.run)
		var between string
		s.write(func(tx store.Tx) (err error) {
			_, err = s.log.Append(tx, s.session, nil, sessionlog.Entry{Payload: wire.MessageEvent{Type: sessionlog.TypeMessage, Role: "user", Content: "And?"}})
			if err == nil {
				between, err = s.enqueue(tx)
			}
			return err
		})
		if r := s.await(between); r.Status != runs.Succeeded {
			s.t.Errorf("the turn between is %s", r.Status)
		}
		if got := s.given(); !strings.HasPrefix(got, `c1 {"status":"running"`) {
			s.t.Errorf("the turn between saw %s", got)
		}
		s.settle("c1", `{"n":1}`)
		s.await(s.run)
		s.queue.Stop(s.t.Context())
		if log := s.events(); log != "message I act.\ntool_call\nmessage And?\nmessage Between.\ntool_result\nmessage Done." {
			s.t.Errorf("the log is\n%s", log)
		}
		if got := s.given(); got != `c1 {"n":1}` {
			s.t.Errorf("the resumed turn saw %s", got)
		}
	})
}

// What a stopped turn waits for may be settled before its worker has let go: the result stands in the log once.
func TestACallIsAnsweredOnceWhenItsTurnIsStoppedAtThatMoment(t *testing.T) {
	onStage(t, func(s *stage) {
		s.answers = []model.Message{acts("c1", "c2")}
		s.action = func(scope space.Scope) verbs.Action {
			if scope.Call == "c1" {
				return waiting(scope)
			}
			return verbs.Action{Effect: tooldoc.SideEffecting, Run: func(ctx context.Context) (verbs.Result, error) {
				s.settle("c1", `{"n":1}`)
				s.cancel()
				<-ctx.Done()
				return verbs.Result{}, nil
			}}
		}
		log, r := s.play()
		if want := "message I act.\ntool_call\ntool_call\ntool_result\ntool_result The turn was stopped before this call had a result."; log != want || r.Status != runs.Canceled {
			s.t.Errorf("the run is %s, the log\n%s", r.Status, log)
		}
	})
}
