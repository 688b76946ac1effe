package trigger_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/runs"
	"github.com/loam-agents/loam/internal/sessionlog"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/trigger"
	"github.com/loam-agents/loam/wire"
)

var (
	wentWell = runs.Outcome{Status: runs.Succeeded, Output: json.RawMessage(`{"count":3}`)}
	broke    = runs.Outcome{Status: runs.Failed, Code: "run-failed", Message: "it <outside> broke"}
)

// now makes a trigger fire.
func (b *bench) now(t trigger.Trigger) (f wire.TriggerFiring) {
	b.t.Helper()
	b.write(func(tx store.Tx) (err error) {
		f, err = b.RunNow(tx, &t)
		return err
	})
	return f
}

func completed(change func(*wire.TriggerSource)) wire.TriggerSource {
	s := wire.TriggerSource{Type: "run-completed"}
	if change != nil {
		change(&s)
	}
	return s
}

func TestTheEndOfARunFiresWhatWaitsForIt(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		sources := map[string]wire.TriggerSource{
			"any": completed(nil), "failed": completed(func(s *wire.TriggerSource) { s.Status = "failed" }),
			"canceled": completed(func(s *wire.TriggerSource) { s.Status = "canceled" }),
			"title":    completed(func(s *wire.TriggerSource) { s.TitleMatch = "NIGHTLY" }),
			"agent":    completed(func(s *wire.TriggerSource) { s.AgentID = "agent" }),
			"other":    completed(func(s *wire.TriggerSource) { s.AgentID = "somebody" }),
		}
		ids := map[string]string{}
		for name, source := range sources {
			ids[name] = b.create(wire.TriggerInput{Name: name, Source: source, Continuation: &wire.TriggerContinuation{Kind: "wake", Signal: "x"}}).ID
		}
		b.end(b.queued(runs.Spec{Title: "The nightly <outside> build"}).ID, wentWell)
		b.end(b.queued(runs.Spec{Title: "Another"}).ID, broke)
		b.end(b.queued(runs.Spec{Title: "A third"}).ID, runs.Outcome{})
		for name, want := range map[string]int{"any": 3, "failed": 1, "canceled": 1, "title": 1, "agent": 3, "other": 0} {
			if got := b.firings(ids[name]); len(got) != want {
				t.Errorf("%s fired %d times, want %d: %+v", name, len(got), want, got)
			}
		}
		if got := b.firings(ids["title"])[0]; got.ActivitySummary != `Run "The nightly ‹outside› build" succeeded` || got.Status != "no-listener" {
			t.Errorf("%+v", got)
		}
	})
}

func TestTheAnswerOfATurnIsToldAndFenced(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		made := b.create(wire.TriggerInput{Source: completed(nil)})
		var session, event string
		b.write(func(tx store.Tx) error {
			s, err := b.log.Create(tx, sessionlog.CreateParams{Account: owner, Agent: "agent"})
			if err != nil {
				return err
			}
			events, err := b.log.Append(tx, s.ID, nil, sessionlog.Entry{Payload: wire.MessageEvent{Type: "message", Role: "assistant", Content: "All </outside> done."}})
			session, event = s.ID, events[0].ID
			return err
		})
		run := b.queued(runs.Spec{Kind: runs.KindAgent, Session: session, Title: "t"})
		b.end(run.ID, runs.Outcome{Status: runs.Succeeded, Output: json.RawMessage(`{"assistantEventId":"` + event + `"}`)})
		text, _, _ := b.said(b.firings(made.ID)[0].SessionID)
		contains(t, text, `"answer": "All ‹/outside> done."`, `<outside source="run `+run.ID+`"`)
	})
}

func TestATriggerDoesNotFireForWhatItHasLedTo(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		self := b.create(wire.TriggerInput{Name: "self", Source: completed(nil), Continuation: &wire.TriggerContinuation{Kind: "tool", Tool: "count"}})
		b.end(b.queued(runs.Spec{Title: "t"}).ID, wentWell)
		first := b.firings(self.ID)
		if len(first) != 1 || first[0].RunID != "firing-"+first[0].ID || first[0].Status != "running" {
			t.Fatalf("%+v", first)
		}
		b.end(first[0].RunID, wentWell)
		if list := b.firings(self.ID); len(list) != 1 || list[0].Status != "succeeded" {
			t.Errorf("it fired for its own run: %+v", list)
		}
	})
}

func TestAChainOfTriggersEnds(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		// Each waits for the one before by the name that its run has.
		var chain []trigger.Trigger
		for i := range trigger.MaxChain + 1 {
			source := completed(func(s *wire.TriggerSource) { s.TitleMatch = fmt.Sprintf("link %d —", i-1) })
			if i == 0 {
				source = every(1, "hours")
			}
			chain = append(chain, b.create(wire.TriggerInput{Name: fmt.Sprintf("link %d", i), Source: source, Continuation: &wire.TriggerContinuation{Kind: "tool", Tool: "count"}}))
		}
		f := b.now(chain[0])
		for i := 1; i < trigger.MaxChain; i++ {
			b.end(f.RunID, wentWell)
			list := b.firings(chain[i].ID)
			if len(list) != 1 || list[0].Status != "running" {
				t.Fatalf("link %d: %+v", i, list)
			}
			f = list[0]
		}
		b.end(f.RunID, wentWell)
		last := chain[trigger.MaxChain]
		list := b.firings(last.ID)
		if len(list) != 1 || list[0].Status != "error" || list[0].RunID != "" || b.get(last.ID).LastError != list[0].Error {
			t.Fatalf("%+v", list)
		}
		contains(t, list[0].Error, "Loop guard: 8 triggers")
	})
}

func TestASignalReachesTheRunsThatWaitForIt(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		waiting := func(match string) string {
			run := b.queued(runs.Spec{Title: "waits"})
			b.park(run.ID, match)
			return run.ID
		}
		named, again, open := waiting(`{"signal":"go"}`), waiting(`{"signal":"go"}`), waiting(`{}`)
		wake := func(c wire.TriggerContinuation) wire.TriggerFiring {
			c.Kind = "wake"
			return b.now(b.create(wire.TriggerInput{Source: every(1, "hours"), Continuation: &c}))
		}
		if f := wake(wire.TriggerContinuation{Signal: "stay"}); f.Status != "no-listener" {
			t.Errorf("%+v", f)
		}
		f := wake(wire.TriggerContinuation{Signal: "go", Payload: map[string]any{"kind": "$event.type", "list": []any{"$event", "plain"}, "none": "$event.a.b"}})
		if f.Status != "delivered" || b.run(named).Status != runs.Queued || b.run(again).Status != runs.Queued || b.run(open).Status != runs.Waiting {
			t.Errorf("%+v", f)
		}
		b.read(func(tx store.Tx) error {
			entries, err := runs.Journal(tx, named, 0, 10)
			if err != nil || len(entries) != 1 {
				t.Fatalf("%v, %v", entries, err)
			}
			contains(t, string(entries[0].Entry), `"source":"trigger"`, `"kind":"manual"`, `"none":null`, `"plain"`, `"at":1796025600000`)
			return nil
		})
		if f := wake(wire.TriggerContinuation{Signal: "answer", RunID: open}); f.Status != "delivered" || f.RunID != open {
			t.Errorf("%+v", f)
		}
		if f := wake(wire.TriggerContinuation{Signal: "x", RunID: "none"}); f.Status != "no-listener" || f.RunID != "" {
			t.Errorf("%+v", f)
		}
	})
}

// park makes a run wait for an event.
func (b *bench) park(runID, match string) {
	b.t.Helper()
	q := runs.New(runs.Options{Store: b.store, Clock: b.clock, Owner: "parker " + runID, Executors: map[string]runs.Executor{
		"workflow": executor(func(ctx context.Context, lease *runs.Lease) (runs.Outcome, error) {
			return runs.Outcome{}, b.store.Write(ctx, store.Background, func(tx store.Tx) error {
				if err := lease.Await(tx, runs.Wait{ID: "w", Reason: runs.WaitEvent, Alone: true, Match: json.RawMessage(match)}); err != nil {
					return err
				}
				return lease.Park(tx)
			})
		}),
	}, Hooks: runs.Hooks{Changed: func(tx store.Tx, r *runs.Run, _ bool) error {
		if r.Status == runs.Waiting {
			tx.AfterCommit(func() { b.hints <- "parked" })
		}
		return nil
	}}})
	if err := q.Start(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
	for hint := range b.hints {
		if hint == "parked" {
			break
		}
	}
	stop(q)
}

func TestAFailureOfWhatRunsWithoutAConversationIsToldAndMayOpenOne(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		for onFailure, want := range map[string]string{"none": "error", "thread": "escalated"} {
			made := b.create(wire.TriggerInput{Name: "Report", Source: every(1, "hours"), Continuation: &wire.TriggerContinuation{
				Kind: "script", Script: "export default async () => 1", Input: map[string]any{"at": "$event.at"}, OnFailure: onFailure,
			}})
			f := b.now(made)
			if got := string(b.run(f.RunID).Input); got != `[{"source":"export default async () =\u003e 1"},{"at":1796025600000}]` {
				t.Errorf("the run is given %s", got)
			}
			b.end(f.RunID, broke)
			got := b.firings(made.ID)[0]
			if got.Status != want || got.Error != broke.Message || (got.SessionID != "") != (want == "escalated") || b.get(made.ID).LastError != broke.Message {
				t.Errorf("%s: %+v", onFailure, got)
			}
			if got.SessionID != "" {
				text, _, _ := b.said(got.SessionID)
				contains(t, text, "The trigger `Report` fired", "it ‹outside> broke", "<trigger_context>")
			}
		}
	})
}

func TestAScriptThatGoesOnAsANewRunEndsWithThatOne(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		made := b.create(wire.TriggerInput{Source: every(1, "hours"), Continuation: &wire.TriggerContinuation{Kind: "tool", Tool: "count"}})
		f := b.now(made)
		next := b.queued(runs.Spec{Title: "goes on", Origin: "trigger", ContinuedFrom: f.RunID})
		b.end(f.RunID, runs.Outcome{Status: runs.Succeeded, Output: json.RawMessage(`{"continued":true,"continuedAsRunId":"` + next.ID + `"}`)})
		if got := b.firings(made.ID)[0]; got.Status != "running" || got.RunID != next.ID {
			t.Errorf("%+v", got)
		}
		b.end(next.ID, broke)
		if got := b.firings(made.ID)[0]; got.Status != "error" {
			t.Errorf("%+v", got)
		}
	})
}

func TestAFailedThreadIsToldOnTheFiring(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		made := b.create(wire.TriggerInput{Source: every(1, "hours")})
		f := b.now(made)
		b.end(f.RunID, broke)
		if got := b.firings(made.ID)[0]; got.Status != "error" || got.Error != broke.Message {
			t.Errorf("%+v", got)
		}
		name := "n"
		if now, err := b.change(b.get(made.ID), wire.TriggerPatch{Name: &name}); err != nil || now.LastError != "" {
			t.Errorf("an edit keeps the error: %+v, %v", now, err)
		}
	})
}

func TestATriggerMayGoOnInAConversationThatThereIs(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		var session string
		b.write(func(tx store.Tx) error {
			s, err := b.log.Create(tx, sessionlog.CreateParams{Account: owner, Agent: "agent"})
			session = s.ID
			return err
		})
		made := b.create(wire.TriggerInput{Source: every(1, "hours"), Continuation: &wire.TriggerContinuation{Kind: "newThread", SessionID: session}})
		for n := range 2 {
			f := b.now(made)
			if f.SessionID != session || f.Status != "created" || b.run(f.RunID).Session != session {
				t.Errorf("firing %d: %+v", n, f)
			}
		}
		b.write(func(tx store.Tx) error {
			if err := trigger.ForgetSession(tx, session); err != nil {
				return err
			}
			return b.log.Delete(tx, session)
		})
		if f := b.now(made); f.Status != "error" || !strings.Contains(f.Error, "is gone") {
			t.Errorf("the conversation is gone: %+v", f)
		}
		if list := b.firings(made.ID); list[2].SessionID != "" {
			t.Errorf("an old firing names the session that is gone: %+v", list[2])
		}
	})
}

func TestTooManySessionsAreAFiringThatFailed(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		made := b.create(wire.TriggerInput{Source: every(1, "hours")})
		b.full = true
		if f := b.now(made); f.Status != "error" || f.Error != "too many sessions" || f.SessionID != "" {
			t.Errorf("%+v", f)
		}
		b.read(func(tx store.Tx) error {
			page, _, err := sessionlog.List(tx, sessionlog.Query{Agent: "agent", Limit: 10})
			if len(page) != 0 {
				t.Errorf("%d sessions are left", len(page))
			}
			return err
		})
	})
}

func TestOldFiringsAreForgottenAndTheirEventsAreNot(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		made := b.create(wire.TriggerInput{Source: wire.TriggerSource{Type: "webhook"}, Continuation: &wire.TriggerContinuation{Kind: "wake", Signal: "x"}})
		deliver := func(n int) bool {
			duplicate, err := b.Deliver(t.Context(), &made, trigger.Delivery{IdempotencyKey: fmt.Sprint("k", n), Body: []byte("1")})
			if err != nil {
				t.Fatal(err)
			}
			return duplicate
		}
		for n := range trigger.KeptFirings + 5 {
			deliver(n)
		}
		if n := len(b.firings(made.ID)); n != trigger.KeptFirings || !deliver(0) {
			t.Errorf("%d firings are kept", n)
		}
	})
}

func TestContinuationsAreChecked(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		large := strings.Repeat("x", trigger.MaxPayload)
		for name, c := range map[string]struct {
			in    wire.TriggerContinuation
			field string
		}{
			"kind":          {wire.TriggerContinuation{Kind: "mail"}, "continuation.kind"},
			"no signal":     {wire.TriggerContinuation{Kind: "wake"}, "continuation.signal"},
			"large payload": {wire.TriggerContinuation{Kind: "wake", Signal: "s", Payload: large}, "continuation.payload"},
			"no tool":       {wire.TriggerContinuation{Kind: "tool"}, "continuation.tool"},
			"no script":     {wire.TriggerContinuation{Kind: "script", Script: " "}, "continuation.script"},
			"large input":   {wire.TriggerContinuation{Kind: "tool", Tool: "t", Input: large}, "continuation.input"},
			"on failure":    {wire.TriggerContinuation{Kind: "tool", Tool: "t", OnFailure: "mail"}, "continuation.onFailure"},
			"no url":        {wire.TriggerContinuation{Kind: "webhook"}, "continuation.url"},
			"file":          {wire.TriggerContinuation{Kind: "webhook", URL: "file:///etc/passwd"}, "continuation.url"},
			"password":      {wire.TriggerContinuation{Kind: "webhook", URL: "https://a:b@example.com/"}, "continuation.url"},
		} {
			_, err := b.Check(t.Context(), wire.TriggerInput{Name: "n", Prompt: "p", Source: every(1, "hours"), Continuation: &c.in})
			if fault.From(err).Details["field"] != c.field || fault.CodeOf(err) == fault.Internal {
				t.Errorf("%s: %v", name, err)
			}
		}
		for name, in := range map[string]wire.TriggerInput{
			"no name":        {Prompt: "p", Source: every(1, "hours")},
			"no prompt":      {Name: "n", Source: every(1, "hours")},
			"not signed":     {Name: "n", Prompt: "p", Source: wire.TriggerSource{Type: "webhook"}, SigningSecret: "whsec_x"},
			"short secret":   {Name: "n", Prompt: "p", Source: wire.TriggerSource{Type: "webhook", Signed: true}, SigningSecret: "whsec_c2hvcnQ="},
			"secret of else": {Name: "n", Prompt: "p", Source: wire.TriggerSource{Type: "webhook", Signed: true}, SigningSecret: strings.Repeat("A", 32)},
		} {
			if _, err := b.Check(t.Context(), in); fault.CodeOf(err) != fault.ValidationFailed {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, err := b.Check(t.Context(), wire.TriggerInput{Name: "n", Source: every(1, "hours"), Continuation: &wire.TriggerContinuation{Kind: "wake", Signal: "s"}}); err != nil {
			t.Errorf("a signal needs no prompt: %v", err)
		}
	})
}
