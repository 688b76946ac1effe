package runs_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/runs"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

// park registers waits and gives the run up, in one transaction, as an executor does.
func (p *process) park(t *testing.T, e *execution, waits ...runs.Wait) {
	t.Helper()
	p.w.write(t, func(tx store.Tx) error { return errors.Join(e.Await(tx, waits...), e.Park(tx)) })
	e.done <- result{}
}

func (w *world) settle(t *testing.T, q *runs.Queue, runID, waitID string, reasons ...runs.Reason) (settled bool) {
	t.Helper()
	w.write(t, func(tx store.Tx) (err error) {
		settled, err = q.Settle(tx, runID, waitID, reasons...)
		return err
	})
	return settled
}

func (w *world) signal(t *testing.T, q *runs.Queue, runID, signal, payload string) (delivered bool) {
	t.Helper()
	w.write(t, func(tx store.Tx) (err error) {
		delivered, err = q.Signal(tx, runID, signal, json.RawMessage(payload))
		return err
	})
	return delivered
}

func (w *world) journal(t *testing.T, runID string) (out []string) {
	t.Helper()
	w.write(t, func(tx store.Tx) error {
		entries, err := runs.Journal(tx, runID, 0, 1000)
		out = nil
		for i, e := range entries {
			if e.Seq != int64(i+1) {
				t.Errorf("entry %d has seq %d", i, e.Seq)
			}
			out = append(out, string(e.Entry))
		}
		return err
	})
	return out
}

func scriptSpec() runs.Spec {
	return runs.Spec{Account: "account", Kind: "script", Origin: "agent", Title: "a script", Lane: runs.Background}
}

func TestAParkedRunHoldsNothingAndGoesOnWhenAllItsWaitsAreSettled(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.working(t, "a", nil)
		run := p.enqueue(t, spec("session"))[0]
		p.park(t, p.next(t), runs.Wait{ID: "x", Reason: runs.WaitEvent}, runs.Wait{ID: "y", Reason: runs.WaitEvent, CallSeq: 2})
		r := w.run(t, run.ID)
		if r.Status != runs.Waiting || r.LeaseOwner != "" || r.Attempt != 0 || r.Wait == nil {
			t.Fatalf("parked: %+v", r)
		}
		// Its session is free for another turn.
		other := p.enqueue(t, spec("session"))[0]
		p.end(t, p.next(t), succeeded)
		if got := w.run(t, other.ID).Status; got != runs.Succeeded {
			t.Errorf("the other turn is %s", got)
		}
		if !w.settle(t, p.Queue, run.ID, "x") {
			t.Error("there was no wait")
		}
		if r = w.run(t, run.ID); r.Status != runs.Waiting || r.Wait.WaitID != "y" {
			t.Errorf("after the first: %+v", r)
		}
		w.settle(t, p.Queue, run.ID, "y")
		if w.settle(t, p.Queue, run.ID, "y") {
			t.Error("a wait was settled twice")
		}
		again := p.next(t)
		if r := again.Run(); r.ID != run.ID || r.Attempt != 1 || r.Wait != nil {
			t.Errorf("went on as %+v", r)
		}
		if end := p.end(t, again, succeeded); end.Status != runs.Succeeded {
			t.Errorf("ended %s", end.Status)
		}
	})
}

func TestAWaitThatIsEnoughAloneWakesItsRun(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.working(t, "a", nil)
		run := p.enqueue(t, scriptSpec())[0]
		p.park(t, p.next(t), runs.Wait{ID: "x", Reason: runs.WaitEvent, Alone: true}, runs.Wait{ID: "y", Reason: runs.WaitEvent, Alone: true})
		w.settle(t, p.Queue, run.ID, "y")
		e := p.next(t)
		// The other one is still there, and parking again keeps it.
		p.park(t, e)
		if r := w.run(t, run.ID); r.Status != runs.Waiting || r.Wait.WaitID != "x" {
			t.Errorf("parked again: %+v", r)
		}
		w.cancel(t, p.Queue, run.ID)
	})
}

func TestAWaitThatIsSettledBeforeTheRunParksIsNotMissed(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.working(t, "a", nil)
		run := p.enqueue(t, scriptSpec())[0]
		e := p.next(t)
		w.write(t, func(tx store.Tx) error { return e.Await(tx, runs.Wait{ID: "x", Reason: runs.WaitEvent}) })
		w.settle(t, p.Queue, run.ID, "x")
		select {
		case <-e.Changed():
		case <-t.Context().Done():
			t.Fatal("the worker was not told")
		}
		p.park(t, e)
		if again := p.next(t); again.Run().ID != run.ID {
			t.Error("another run began")
		}
	})
}

func TestARunOfWhichOneOfSeveralWaitsWasSettledBeforeItParksGoesOnAtOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.working(t, "a", nil)
		run := p.enqueue(t, scriptSpec())[0]
		e := p.next(t)
		w.write(t, func(tx store.Tx) error {
			return e.Await(tx, runs.Wait{ID: "x", Reason: runs.WaitEvent, Alone: true}, runs.Wait{ID: "y", Reason: runs.WaitEvent, Alone: true})
		})
		w.settle(t, p.Queue, run.ID, "x")
		w.write(t, func(tx store.Tx) error { return e.ParkOn(tx, 2) })
		e.done <- result{}
		if again := p.next(t); again.Run().ID != run.ID {
			t.Error("another run began")
		}
	})
}

func TestTheEndOfAChildGoesToItsParentOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		var delivered []string
		var mu sync.Mutex
		p := w.working(t, "a", func(o *runs.Options) {
			o.Hooks.Delivered = func(tx store.Tx, child *runs.Run, wait *runs.Wait) error {
				tx.AfterCommit(func() {
					mu.Lock()
					defer mu.Unlock()
					delivered = append(delivered, fmt.Sprintf("%s %s %s", child.Status, wait.ToolCall, wait.Run))
				})
				return nil
			}
		})
		parent := p.enqueue(t, spec("session"))[0]
		e := p.next(t)
		var children []runs.Run
		w.write(t, func(tx store.Tx) error {
			children = nil
			for i := range 3 {
				s := scriptSpec()
				s.Parent, s.ParentCall = &parent, fmt.Sprintf("call-%d", i)
				child, err := p.Enqueue(tx, s)
				if err != nil {
					return err
				}
				children = append(children, child)
				if err := e.Await(tx, runs.Wait{ID: child.ID, Reason: runs.WaitChild, Child: child.ID, ToolCall: s.ParentCall}); err != nil {
					return err
				}
			}
			return e.Park(tx)
		})
		e.done <- result{}
		r := w.run(t, parent.ID)
		if diff := cmp.Diff(&wire.RunWait{Reason: "children", PendingChildren: 3}, r.Wait); diff != "" {
			t.Error(diff)
		}
		byID := map[string]*execution{}
		for range children {
			e := p.next(t)
			byID[e.Run().ID] = e
		}
		p.end(t, byID[children[1].ID], succeeded)
		p.end(t, byID[children[0].ID], failed(false, 0))
		if r := w.run(t, parent.ID); r.Status != runs.Waiting {
			t.Errorf("the parent is %s before its last child has ended", r.Status)
		}
		w.cancel(t, p.Queue, children[2].ID)
		byID[children[2].ID].done <- result{err: runs.ErrCanceled}
		p.end(t, p.next(t), succeeded)
		mu.Lock()
		defer mu.Unlock()
		want := []string{"succeeded call-1 " + parent.ID, "failed call-0 " + parent.ID, "canceled call-2 " + parent.ID}
		if diff := cmp.Diff(want, delivered); diff != "" {
			t.Error(diff)
		}
	})
}

func TestATimerWakesARunWithTheSweepAlsoAfterARestart(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.working(t, "a", nil)
		run := p.enqueue(t, scriptSpec())[0]
		at := start.Add(time.Hour).UnixMilli()
		p.park(t, p.next(t), runs.Wait{ID: "t", Reason: runs.WaitTimer, WakeAt: at, Alone: true}, runs.Wait{ID: "later", Reason: runs.WaitTimer, WakeAt: at + 1000, Alone: true})
		if r := w.run(t, run.ID); r.Wait.Reason != "timer" || r.Wait.WakeAt != at {
			t.Fatalf("parked: %+v", r.Wait)
		}
		w.clock.Advance(time.Hour - time.Millisecond)
		p.sweep <- w.clock.Now()
		p.sweep <- w.clock.Now()
		if r := w.run(t, run.ID); r.Status != runs.Waiting {
			t.Fatalf("woke early: %s", r.Status)
		}
		p.stop()
		w.clock.Advance(time.Millisecond)
		next := w.working(t, "b", nil)
		if e := next.next(t); e.Run().ID != run.ID {
			t.Error("another run began")
		}
	})
}

func TestASignalSettlesTheFirstWaitThatTakesIt(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.working(t, "a", nil)
		run := p.enqueue(t, scriptSpec())[0]
		if w.signal(t, p.Queue, run.ID, "go", "") {
			t.Error("a signal that nobody waits for was delivered")
		}
		p.park(t, p.next(t),
			runs.Wait{ID: "feed", Reason: runs.WaitEvent, CallSeq: 1, Match: json.RawMessage(`{"eventType":"comment"}`)},
			runs.Wait{ID: "stop", Reason: runs.WaitEvent, CallSeq: 2, Match: json.RawMessage(`{"signal":"stop"}`)},
			runs.Wait{ID: "go", Reason: runs.WaitEvent, CallSeq: 3, Match: json.RawMessage(`{"signal":"go"}`), Label: "Ready?", WakeAt: 1e15},
			runs.Wait{ID: "any", Reason: runs.WaitEvent, CallSeq: 4, Match: json.RawMessage(`{}`)})
		for _, tt := range []struct {
			signal, payload string
			delivered       bool
		}{{"go", `{"n":1}`, true}, {"go", `2`, true}, {"go", `3`, false}, {"comment", `4`, false}, {"stop", ``, true}} {
			if got := w.signal(t, p.Queue, run.ID, tt.signal, tt.payload); got != tt.delivered {
				t.Errorf("%+v: %v", tt, got)
			}
		}
		want := []string{
			`{"kind":"event","callSeq":3,"waitId":"go","delivery":{"source":"signal","signal":"go","payload":{"n":1}}}`,
			`{"kind":"event","callSeq":4,"waitId":"any","delivery":{"source":"signal","signal":"go","payload":2}}`,
			`{"kind":"event","callSeq":2,"waitId":"stop","delivery":{"source":"signal","signal":"stop"}}`,
		}
		if diff := cmp.Diff(want, w.journal(t, run.ID)); diff != "" {
			t.Error(diff)
		}
		if r := w.run(t, run.ID); r.Status != runs.Waiting || r.Wait.WaitID != "feed" || r.Wait.AnswerWith != "" {
			t.Errorf("%+v", r.Wait)
		}
		w.cancel(t, p.Queue, run.ID)
	})
}

// TestOnlyWhoNamesThemSettlesApprovalsAndMoney is the security rule of design §6: signals and whoever settles waits in general
// leave them alone.
func TestOnlyWhoNamesThemSettlesApprovalsAndMoney(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.working(t, "a", nil)
		run := p.enqueue(t, scriptSpec())[0]
		p.park(t, p.next(t),
			runs.Wait{ID: "pay", Reason: runs.WaitApproval, Label: "Pay 5 EUR?", Match: json.RawMessage(`{}`)},
			runs.Wait{ID: "money", Reason: runs.WaitBudget, Label: "Out of money."})
		if r := w.run(t, run.ID); r.Wait.Reason != "event" || r.Wait.WaitID != "pay" || r.Wait.AnswerWith != "" || r.Wait.Label != "Pay 5 EUR?" {
			t.Errorf("an approval shows as %+v", r.Wait)
		}
		for _, signal := range []string{"answer", "resume", "pay", "approve"} {
			if w.signal(t, p.Queue, run.ID, signal, "true") {
				t.Errorf("signal %q settled a wait", signal)
			}
		}
		for _, id := range []string{"pay", "money"} {
			if w.settle(t, p.Queue, run.ID, id) || w.settle(t, p.Queue, run.ID, id, runs.WaitEvent, runs.WaitTimer) {
				t.Errorf("%s was settled by somebody who may not", id)
			}
		}
		if !w.settle(t, p.Queue, run.ID, "pay", runs.WaitApproval) {
			t.Error("the approval was not settled")
		}
		if r := w.run(t, run.ID); r.Wait.Reason != "budget-pause" || r.Wait.Label != "Out of money." {
			t.Errorf("then %+v", r.Wait)
		}
		if !w.settle(t, p.Queue, run.ID, "money", runs.WaitBudget) {
			t.Error("the money was not settled")
		}
		p.end(t, p.next(t), succeeded)
	})
}

func TestACanceledRunWaitsForNothing(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.working(t, "a", nil)
		run := p.enqueue(t, scriptSpec())[0]
		p.park(t, p.next(t), runs.Wait{ID: "x", Reason: runs.WaitEvent})
		if !w.cancel(t, p.Queue, run.ID) {
			t.Error("it was not live")
		}
		if r := w.run(t, run.ID); r.Status != runs.Canceled || r.Wait != nil {
			t.Errorf("canceled: %+v", r)
		}
		if w.settle(t, p.Queue, run.ID, "x") || w.signal(t, p.Queue, run.ID, "answer", "") {
			t.Error("a canceled run was waiting")
		}
	})
}

func TestSignalsAreBounded(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.working(t, "a", nil)
		run := p.enqueue(t, scriptSpec())[0]
		p.park(t, p.next(t), runs.Wait{ID: "x", Reason: runs.WaitEvent})
		for _, tt := range []struct {
			signal  string
			payload int
			want    fault.Code
		}{{"", 0, fault.ValidationFailed}, {strings.Repeat("s", 129), 0, fault.ValidationFailed}, {"s", 64<<10 + 1, fault.TooLarge}} {
			err := w.try(t, func(tx store.Tx) error {
				_, err := p.Signal(tx, run.ID, tt.signal, json.RawMessage(strings.Repeat("1", tt.payload)))
				return err
			})
			if fault.CodeOf(err) != tt.want {
				t.Errorf("%d bytes of name, %d of payload: %v", len(tt.signal), tt.payload, err)
			}
		}
		if !w.signal(t, p.Queue, run.ID, strings.Repeat("s", 128), strings.Repeat("1", 64<<10)) {
			t.Error("a signal at the limits was not delivered")
		}
		p.end(t, p.next(t), succeeded)
	})
}

func TestARunWaitsForAThousandThingsAtMost(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.working(t, "a", nil)
		p.enqueue(t, scriptSpec())
		e := p.next(t)
		waits := make([]runs.Wait, 1000)
		for i := range waits {
			waits[i] = runs.Wait{ID: fmt.Sprint(i), Reason: runs.WaitEvent}
		}
		w.write(t, func(tx store.Tx) error { return e.Await(tx, waits...) })
		err := w.try(t, func(tx store.Tx) error { return e.Await(tx, runs.Wait{ID: "one more", Reason: runs.WaitEvent}) })
		if fault.CodeOf(err) != fault.BudgetExceeded || !strings.Contains(err.Error(), "1000") {
			t.Errorf("got %v", err)
		}
		p.end(t, e, succeeded)
	})
}

func TestAJournalIsDenseWhoeverAppends(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		p := w.working(t, "a", nil)
		run := p.enqueue(t, scriptSpec())[0]
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				w.write(t, func(tx store.Tx) error {
					_, err := p.AppendJournal(tx, run.ID, json.RawMessage(fmt.Sprintf(`{"n":%d}`, i)), json.RawMessage(`{}`))
					return err
				})
			})
		}
		wg.Wait()
		if got := w.journal(t, run.ID); len(got) != 16 {
			t.Errorf("%d entries", len(got))
		}
		p.end(t, p.next(t), succeeded)
	})
}
