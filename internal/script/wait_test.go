//go:build script

package script_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loam-agents/loam/internal/script"
)

func TestAShortSleepIsWaitedForAndALongOneParks(t *testing.T) {
	t.Parallel()
	b := setup(t, body(`await ctx.sleep(59_999); await ctx.sleep(60_000); return ctx.now()`))
	done := make(chan script.Outcome, 1)
	go func() {
		out, err := b.Execute(t.Context())
		if err != nil {
			t.Error(err)
		}
		done <- out
	}()
	<-b.clock.Waiting()
	b.clock.Advance(59_999 * time.Millisecond)
	out := <-done
	if !out.Parked || out.WakeAt != 1_000_000+119_999 || len(out.Waits) != 1 || out.Waits[0].Kind != script.KindTimer {
		t.Fatalf("got %+v", out)
	}
	// Started too early, it parks again until the same moment.
	b.clock.Advance(0)
	if again := b.run(t); !cmp.Equal(out, again) {
		t.Errorf("started too early: %s", cmp.Diff(out, again))
	}
	b.clock.Advance(time.Minute)
	if got := output(t, b.run(t)); got != "1119999" {
		t.Errorf("got %s", got)
	}
}

func TestParallelSleepsParkUntilTheEarliest(t *testing.T) {
	t.Parallel()
	b := setup(t, body(`const order = []; await ctx.parallel([3, 1, 2].map((h) => () => ctx.sleep(ctx.hours(h)).then(() => order.push(h)))); return order`))
	for range 3 {
		out := b.run(t)
		if !out.Parked {
			t.Fatalf("got %+v", out)
		}
		b.clock.Advance(time.UnixMilli(out.WakeAt).Sub(b.clock.Now()))
	}
	if got := output(t, b.run(t)); got != "[1,2,3]" {
		t.Errorf("got %s", got)
	}
}

func TestAnEventEndsAWaitOrItsTimeDoes(t *testing.T) {
	t.Parallel()
	const source = `return await ctx.waitForEvent({ signal: "go" }, { timeoutMs: ctx.hours(2), label: "Waiting for go" })`
	b := setup(t, body(source))
	out := b.run(t)
	if !out.Parked || len(out.Waits) != 1 || out.Waits[0].WaitID != "run-1:1" || out.Waits[0].Label != "Waiting for go" || string(out.Waits[0].Match) != `{"signal":"go"}` {
		t.Fatalf("got %+v", out)
	}
	b.journal.deliver(t, script.Entry{Kind: script.KindEvent, CallSeq: 1, WaitID: "run-1:1", Delivery: json.RawMessage(`{"source":"signal","signal":"go","payload":7}`)})
	if got := output(t, b.run(t)); got != `{"source":"signal","signal":"go","payload":7}` {
		t.Errorf("got %s", got)
	}
	late := setup(t, body(source))
	late.run(t)
	late.clock.Advance(2 * time.Hour)
	if got := output(t, late.run(t)); got != "null" {
		t.Errorf("a wait whose time was up gave %s", got)
	}
}

func TestAnEventReachesAProgramThatIsStillInMemory(t *testing.T) {
	t.Parallel()
	b := setup(t, body(`const [e] = await ctx.parallel([() => ctx.waitForEvent({}), () => ctx.sleep(1000)]); return e.payload`))
	done := make(chan script.Outcome, 1)
	go func() {
		out, err := b.Execute(t.Context())
		if err != nil {
			t.Error(err)
		}
		done <- out
	}()
	<-b.clock.Waiting()
	b.journal.deliver(t, script.Entry{Kind: script.KindEvent, CallSeq: 1, Delivery: json.RawMessage(`{"payload":"here"}`)})
	<-b.clock.Waiting()
	b.clock.Advance(time.Second)
	if got := output(t, <-done); got != `"here"` {
		t.Errorf("got %s", got)
	}
}

func TestAChildIsBegunOnceAndItsEndAwaited(t *testing.T) {
	t.Parallel()
	b := setup(t, body(`
try { await ctx.delegate({ refuse: "no task" }) } catch (e) { ctx.log("warn", e.code) }
return await ctx.parallel([() => ctx.agent({ task: "a" }), () => ctx.delegate({ task: "b" }).catch((e) => e.code)])`))
	out := b.run(t)
	if !out.Parked || len(out.Waits) != 2 || out.Waits[0].ChildRunID != "child-1" || out.WakeAt != 0 {
		t.Fatalf("got %+v", out)
	}
	b.journal.deliver(t, script.Entry{Kind: script.KindResult, CallSeq: out.Waits[1].CallSeq, Status: script.Failed, Error: &script.Failure{Code: "canceled", Message: "Canceled."}})
	if out = b.run(t); !out.Parked || len(out.Waits) != 1 {
		t.Fatalf("got %+v", out)
	}
	b.journal.deliver(t, script.Entry{Kind: script.KindResult, CallSeq: out.Waits[0].CallSeq, Status: script.Succeeded, Output: json.RawMessage(`"done"`)})
	if got := output(t, b.run(t)); got != `["done","canceled"]` || b.world.children != 2 {
		t.Errorf("got %s from %d children", got, b.world.children)
	}
}

// TestAThreeDayScript runs one with a sleep a day, parked and started again by its clock.
func TestAThreeDayScript(t *testing.T) {
	t.Parallel()
	b := setup(t, body(`
const days = [];
for (let day = 1; day <= 3; day++) {
  days.push((await ctx.call("echo", { day })).day);
  await ctx.sleep(ctx.hours(24));
}
return { days, took: ctx.now() - 1_000_000 };`))
	parked := 0
	for {
		out := b.run(t)
		if !out.Parked {
			if got := output(t, out); got != `{"days":[1,2,3],"took":259200000}` || parked != 3 {
				t.Errorf("got %s after %d parks", got, parked)
			}
			break
		}
		parked++
		b.clock.Advance(time.UnixMilli(out.WakeAt).Sub(b.clock.Now()))
	}
	if calls := b.world.called(); !slices.Equal(calls, []string{`echo{"day":1}`, `echo{"day":2}`, `echo{"day":3}`}) {
		t.Errorf("calls: %v", calls)
	}
}
