package crashtest_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/internal/crashtest/matrix"
	"github.com/loam-agents/loam/internal/engine"
	"github.com/loam-agents/loam/wire"
)

// works carry out each work of the matrix on a fresh rig: the process dies at the point, and what is left is checked.
var works = map[matrix.Work]func(r *rig, point string){
	matrix.Turns: turns, matrix.Long: longTurn, matrix.Tree: tree, matrix.Announced: announced, matrix.Approval: approved,
	matrix.Script: played, matrix.Succession: succession, matrix.Firing: firing, matrix.Waking: waking, matrix.Start: firstStart,
}

// full tells whether this is the run of all kills.
func full() bool { return os.Getenv(roundsVariable) != "" }

func TestAProcessKilledAtAnyPointOfTheMatrixLosesAndRepeatsNothing(t *testing.T) {
	t.Parallel()
	for _, w := range matrix.Works {
		for _, k := range matrix.Kills(w.Work, full()) {
			if testing.Short() && k.Time != 1 {
				// The everyday loop kills at the first occurrence only.
				continue
			}
			t.Run(fmt.Sprintf("%s %s %d", k.Work, k.Point, k.Time), func(t *testing.T) {
				each(t, func(t *testing.T, r *rig) {
					works[k.Work](r, k.String())
					if r.crashes != 1 {
						t.Errorf("the process died %d times at %s", r.crashes, k.String())
					}
				})
			})
		}
	}
}

func turns(r *rig, point string) {
	t := r.t
	r.start(point)
	r.found()
	session := r.session()
	sent := []message{must[message](t)(r.say(session, item(0))), must[message](t)(r.sayOnce(session, item(1)))}
	answers := r.deliverAll(sent...)
	r.audit(session, sent, answers)
	r.repeated(sent, answers)
	sent = append(sent, must[message](t)(r.say(session, item(2))))
	answers = append(answers, r.deliverAll(sent[2])...)
	r.audit(session, sent, answers)
	r.auditMemory(session)
}

// longTurn dies when the lease of a turn that waits for its model has been renewed.
func longTurn(r *rig, point string) {
	r.start(point)
	r.found()
	m := must[message](r.t)(r.hang())
	select {
	case <-r.process.Exited():
		r.died()
	case <-r.ctx.Done():
		r.t.Fatal("no lease was renewed")
	}
	r.finished(m)
}

// repeated: the same bytes, and the same client id in a new envelope, get the same answer and change nothing.
func (r *rig) repeated(sent []message, answers []wire.MessageSessionResponse) {
	r.t.Helper()
	for i, m := range sent {
		bodies := map[string][]byte{"the same bytes": m.body}
		if m.clientID != "" {
			bodies["the same client id"] = must[message](r.t)(r.sign(m)).body
		}
		for name, body := range bodies {
			answer, err := r.post(r.ctx, r.process.URL(), body)
			if err != nil || answer.AssistantEventID != answers[i].AssistantEventID {
				r.t.Errorf("%s again: %+v, %v; want %s", name, answer, err, answers[i].AssistantEventID)
			}
		}
	}
	if len(sent) > 0 {
		r.audit(sent[0].session, sent, answers)
	}
}

func TestARunThatKillsItsServerEachTimeFailsInTheEnd(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.start("")
		r.found()
		session := r.session()
		r.process.Kill()
		r.start(engine.PointMidStream)
		m := must[message](t)(r.say(session, item(0)))
		if _, err := r.post(r.ctx, r.process.URL(), m.body); err == nil {
			t.Fatal("the message was answered by a process that had to die")
		}
		starts := 1
		for range 20 {
			<-r.process.Exited()
			r.process.Kill()
			r.start(engine.PointMidStream)
			starts++
			answer, err := r.post(r.ctx, r.process.URL(), m.body)
			if err == nil {
				t.Fatalf("the poisonous run was answered: %+v", answer)
			}
			if strings.HasPrefix(err.Error(), "status 502") {
				break
			}
		}
		if starts < 5 || starts > 12 {
			t.Errorf("the run was given up after %d starts", starts)
		}
		got := call[wire.GetSessionResponse](r, "GetSession", map[string]any{"sessionId": session})
		if last := decode(t, got.Events[len(got.Events)-1]); got.Session.Status != "error" || last.Type != "error" || len(got.Events) != 2 {
			t.Errorf("a run that was given up leaves the session %s with %d events, the last %+v", got.Session.Status, len(got.Events), last)
		}
		r.process.Kill()
		r.start("")
		retried, err := client.Call[wire.MessageSessionResponse](r.ctx, r.client, "RetrySession", map[string]any{"sessionId": session})
		if err != nil || retried.AssistantEventID == "" {
			t.Errorf("retry on a healthy server: %+v, %v", retried, err)
		}
	})
}
