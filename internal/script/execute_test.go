//go:build script

package script_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loam-agents/loam/internal/script"
)

func output(t testing.TB, out script.Outcome) string {
	t.Helper()
	if out.Failure != nil {
		t.Fatalf("failed: %s: %s\n%s", out.Failure.Code, out.Failure.Message, out.Failure.Stack)
	}
	return string(out.Output)
}

func TestAProgramReturnsWhatItMakesOfItsInputAndItsTools(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`return input.n + 1`:               `42`,
		`return ctx.runId`:                 `"run-1"`,
		``:                                 `null`,
		`return [undefined, () => 1, NaN]`: `[null,null,null]`,
		`return await ctx.call("echo", { a: 1 })`:                                                                                             `{"a":1}`,
		`return await ctx.call("echo")`:                                                                                                       `{}`,
		`return await ctx.parallel([() => ctx.call("echo", [1]), () => ctx.call("echo", [2])])`:                                               `[[1],[2]]`,
		`return (await ctx.parallelSettled([() => ctx.call("none"), () => 1])).map((r) => r.status + (r.reason?.code ?? ""))`:                 `["rejectedunknown-tool","fulfilled"]`,
		`try { await ctx.call("none", {x: 1}) } catch (e) { return [e.code, e.message, e.retryable, e.tool, e.callSeq, e instanceof Error] }`: `["unknown-tool","There is no tool named none",false,"none",1,true]`,
		`return ctx.minutes(2) + ctx.hours(1)`:                                                                                                `3720000`,
		`return await ctx.call("change", { b: 2 })`:                                                                                           `{"changed":{"b":2}}`,
		`return ctx.now()`: `1000000`,
		`return await ctx.step("add", async () => 5)`:                                                                                 `5`,
		`try { ctx.call(5) } catch (e) { return e.message }`:                                                                          `"ctx.call takes the name of a tool"`,
		`try { ctx.sleep(-1) } catch (e) { return e.message }`:                                                                        `"ctx.sleep takes milliseconds, from 0 to a year"`,
		`return [...new TextEncoder().encode("aß€😀\ud800")].join()`:                                                                   `"97,195,159,226,130,172,240,159,152,128,239,191,189"`,
		`return new TextDecoder().decode(new Uint8Array([0xef,0xbb,0xbf,97,0xc3,0x9f,0xe2,0x82,0xed,0xa0,0x80,0xf0,0x9f,0x98,0x80]))`: `"aß�` + `���😀"`,
		`return typeof eval + typeof Function.prototype`:                                                                              ``,
	} {
		if want == "" {
			continue
		}
		b := setup(t, body(text))
		b.Input = json.RawMessage(`{"n":41}`)
		if got := output(t, b.run(t)); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestAFailureNamesTheLineThatWasWritten(t *testing.T) {
	t.Parallel()
	b := setup(t, `type Row = { price?: { amount: number } };
// A comment, and a blank line.

export default async function (input: Row[], ctx: any) {
  await ctx.call("echo");
  return total(input);
}

function total(rows: Row[]): number {
  return rows.reduce((sum, r) => sum + r.price!.amount, 0);
}`)
	b.Input = json.RawMessage(`[{"price":{"amount":1}},{}]`)
	f := b.run(t).Failure
	if f == nil || f.Code != script.CodeWorkflow || !strings.HasPrefix(f.Message, "TypeError: ") || !strings.Contains(f.Stack, "workflow.js:10:") || !strings.Contains(f.Stack, "workflow.js:6:") {
		t.Errorf("got %+v", f)
	}
	if strings.Contains(f.Stack, "prelude") {
		t.Errorf("the stack shows our own code:\n%s", f.Stack)
	}
}

func TestAnUncaughtFailureOfAToolKeepsItsCode(t *testing.T) {
	t.Parallel()
	b := setup(t, body(`await ctx.call("none")`))
	if f := b.run(t).Failure; f == nil || f.Code != "unknown-tool" || f.Message != "There is no tool named none" || f.Tool != "none" || f.CallSeq != 1 {
		t.Errorf("got %+v", f)
	}
}

func TestAProgramThatCannotGoOnFailsWithItsCode(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`await new Promise(() => {})`:                                                         script.CodeDeadlock,
		`/^(a+)+$/.test('a'.repeat(60) + 'b')`:                                                script.CodeFuel,
		`for (;;) {}`:                                                                         script.CodeFuel,
		`await ctx.call("echo"); try { for (;;) {} } catch {}`:                                script.CodeFuel,
		`const a = []; for (;;) a.push('x'.repeat(1e5) + a.length)`:                           script.CodeMemory,
		`for (let i = 0; i < 6000; i++) ctx.log("info", "line " + i); await ctx.call("echo")`: script.CodeJournal,
		`throw "text"`: script.CodeWorkflow,
		`throw Object.assign(new Error("x"), { code: 5, detail: 1n })`: script.CodeWorkflow,
		`throw { n: 1n }`:                             script.CodeWorkflow,
		`return { n: 1n }`:                            script.CodeWorkflow,
		`const a = []; a.push(a); return a`:           script.CodeWorkflow,
		`await ctx.call("send", "x".repeat(2 << 20))`: "too_large",
		`return "x".repeat(2 << 20)`:                  script.CodeWorkflow,
		`await ctx.call("echo", "x".repeat(2 << 20))`: "too_large",
	} {
		b := setup(t, body(text))
		if f := b.run(t).Failure; f == nil || f.Code != want {
			t.Errorf("%s: %+v, want %s", text, f, want)
		}
		if calls := b.world.called(); slices.ContainsFunc(calls, func(c string) bool { return len(c) > script.MaxResult && strings.HasPrefix(c, "send") }) {
			t.Errorf("%s: what is too large was sent", text)
		}
	}
}

func TestTheJournalHoldsWhatHappenedInTheFormOfTheWire(t *testing.T) {
	t.Parallel()
	b := setup(t, body(`
ctx.log("info", "begin", { n: 1 });
ctx.plan({ steps: [] });
const t = ctx.now();
await ctx.step("send", () => ctx.call("send", { t }, { description: "Send the time" }));
await ctx.call("echo", {});
ctx.progress({ done: 1 });`))
	output(t, b.run(t))
	var got []string
	for _, e := range b.journal.entries {
		got = append(got, string(e))
	}
	want := []string{
		`{"kind":"log","callSeq":1,"key":"log|info|begin","level":"info","message":"begin","data":{"n":1}}`,
		`{"kind":"plan","callSeq":2,"key":"plan|{\"steps\":[]}","plan":{"steps":[]}}`,
		`{"kind":"now","callSeq":3,"key":"now","value":1000000}`,
		`{"kind":"step","callSeq":4,"key":"step|1|start","label":"send","stepId":"1","phase":"start"}`,
		`{"kind":"call","callSeq":5,"key":"tool|send|{\"t\":1000000}","op":"tool","tool":"send","input":{"t":1000000},"description":"Send the time"}`,
		`{"kind":"result","callSeq":5,"status":"succeeded","output":{"begun":false,"sent":{"t":1000000}}}`,
		`{"kind":"step","callSeq":6,"key":"step|1|end","label":"send","stepId":"1","phase":"end","ok":true}`,
		`{"kind":"call","callSeq":7,"key":"tool|echo|{}","op":"tool","tool":"echo","input":{}}`,
		`{"kind":"result","callSeq":7,"status":"succeeded","output":{}}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{`{"done":1}`}, b.world.progress); diff != "" {
		t.Error(diff)
	}
}

// workflow is a program with effects of every kind, whose output tells how each of them went.
const workflow = `
const out = [];
ctx.log("info", "begin");
const t = ctx.now();
for (let i = 0; i < 3; i++) out.push(await ctx.call("send", { i }));
await Promise.race([ctx.call("echo", "slow"), ctx.call("send", "fast")]);
await ctx.step("both", () => ctx.parallel([() => ctx.call("send", "a"), () => ctx.call("echo", "b"), () => ctx.sleep(5)]));
try { await ctx.call("none") } catch (e) { out.push(e.code) }
out.push((await ctx.call("send", { i: 0 })).sent.i);
return JSON.stringify(out.map((o) => o.sent ?? o));`

// TestAProgramThatIsKilledAnywhereGoesOn kills the process before and after every append, and starts it again: the program ends
// as if nothing had happened, and nothing that has a result is done twice.
func TestAProgramThatIsKilledAnywhereGoesOn(t *testing.T) {
	t.Parallel()
	prepare := func() *bundle {
		b := setup(t, body(workflow))
		// The sleep ends as soon as somebody waits for it.
		b.Clock = instant{b.clock}
		return b
	}
	whole := prepare()
	want := output(t, whole.run(t))
	for _, after := range []bool{false, true} {
		for n := 1; n <= whole.journal.appends; n++ {
			t.Run(fmt.Sprintf("append %d, written %v", n, after), func(t *testing.T) {
				t.Parallel()
				b := prepare()
				if after {
					b.journal.killAfter = n
				} else {
					b.journal.killBefore = n
				}
				_, err := b.Execute(t.Context())
				if err == nil && b.journal.appends < n {
					// Results that came together were written together this time.
					return
				}
				if !errors.Is(err, errKilled) {
					t.Fatalf("the process was not killed: %v", err)
				}
				if got := output(t, b.run(t)); got != want {
					t.Errorf("went on to %s, want %s", got, want)
				}
				requireResultsOnce(t, b)
			})
		}
	}
}

// requireResultsOnce holds that every group of the journal has at most one end, and that no call was made again after it had one.
func requireResultsOnce(t *testing.T, b *bundle) {
	t.Helper()
	ends := map[int64]int{}
	begun := 0
	for _, e := range b.journal.all(t) {
		switch e.Kind {
		case script.KindResult, script.KindFired, script.KindEvent:
			ends[e.CallSeq]++
		case script.KindCall:
			begun++
		}
	}
	for seq, n := range ends {
		if n != 1 {
			t.Errorf("group %d has %d ends", seq, n)
		}
	}
	// One kill leaves at most the calls of one moment without a result: three, in this program.
	if n := len(b.world.called()); n > begun+3 {
		t.Errorf("%d calls were made for %d in the journal: %v", n, begun, b.world.called())
	}
}

func TestACallThatWasBegunAndHasNoResultIsToldSo(t *testing.T) {
	t.Parallel()
	b := setup(t, body(`return (await ctx.call("send", {})).begun`))
	b.journal.killBefore = 2
	if _, err := b.Execute(t.Context()); !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	if got := output(t, b.run(t)); got != "true" {
		t.Errorf("begun is %s", got)
	}
}

func TestARaceIsWonByTheSameEffectAgain(t *testing.T) {
	t.Parallel()
	b := setup(t, body(`
const winner = await Promise.race([ctx.call("late", 1).then(() => "late"), ctx.call("early", 2).then(() => "early")]);
await ctx.sleep(ctx.hours(1));
return winner;`))
	late := make(chan struct{})
	b.world.tools["early"] = func(context.Context, script.Call) (any, error) { return nil, nil }
	b.world.tools["late"] = func(ctx context.Context, _ script.Call) (any, error) {
		select {
		case <-late:
		case <-ctx.Done():
		}
		return nil, ctx.Err()
	}
	close(late)
	first := b.run(t)
	if !first.Parked {
		t.Fatalf("got %+v", first)
	}
	var order []int64
	for _, e := range b.journal.all(t) {
		if e.Kind == script.KindResult {
			order = append(order, e.CallSeq)
		}
	}
	want := map[int64]string{1: `"late"`, 2: `"early"`}[order[0]]
	b.clock.Advance(time.Hour)
	if got := output(t, b.run(t)); got != want {
		t.Errorf("the race was won by %s, want %s as in the journal", got, want)
	}
}

func TestAProgramGoesOnAsANewOne(t *testing.T) {
	t.Parallel()
	b := setup(t, body(`await ctx.call("echo"); await ctx.continueAsNew({ n: input.n + 1 }); return "never"`))
	b.Input = json.RawMessage(`{"n":1}`)
	if out := b.run(t); string(out.Continued) != `{"n":2}` || out.Output != nil || out.Failure != nil {
		t.Errorf("got %+v", out)
	}
}

func TestACanceledProgramEndsAtOnce(t *testing.T) {
	t.Parallel()
	canceled := errors.New("canceled by a person")
	for _, text := range []string{`await ctx.sleep(50_000)`, `await ctx.call("stuck")`} {
		b := setup(t, body(text))
		inside := make(chan struct{})
		b.world.tools["stuck"] = func(ctx context.Context, _ script.Call) (any, error) {
			close(inside)
			<-ctx.Done()
			return nil, ctx.Err()
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		done := make(chan error, 1)
		go func() {
			_, err := b.Execute(ctx)
			done <- err
		}()
		if strings.Contains(text, "stuck") {
			<-inside
		} else {
			<-b.clock.Waiting()
		}
		cancel(canceled)
		if err := <-done; !errors.Is(err, canceled) {
			t.Errorf("%s ended with %v", text, err)
		}
	}
	// One that computes is stopped where it is.
	b := setup(t, body(`ctx.progress(1); new Array(1e7).fill(0).sort(() => 1); for (;;) {}`))
	ctx, cancel := context.WithCancelCause(t.Context())
	b.Effects = canceler{b.world, func() { cancel(canceled) }}
	if _, err := b.Execute(ctx); !errors.Is(err, canceled) {
		t.Errorf("got %v", err)
	}
}

// canceler cancels when a program reports progress.
type canceler struct {
	*world
	cancel func()
}

func (c canceler) Progress(json.RawMessage) { c.cancel() }

func TestAProgramThatAsksForOtherThingsThanBeforeIsFound(t *testing.T) {
	t.Parallel()
	b := setup(t, body(`return await ctx.call("echo", 1)`))
	b.journal.deliver(t,
		script.Entry{Kind: script.KindCall, CallSeq: 1, Key: `tool|echo|2`, Op: script.OpTool, Tool: "echo", Input: json.RawMessage("2")},
		script.Entry{Kind: script.KindResult, CallSeq: 1, Status: script.Succeeded, Output: json.RawMessage("2")})
	if f := b.run(t).Failure; f == nil || f.Code != script.CodeDiverged {
		t.Errorf("got %+v", f)
	}
}

func TestNoMoreThanThirtyTwoCallsAreCarriedOutAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t, body(`return (await ctx.parallel(Array.from({ length: 100 }, (_, i) => () => ctx.call("count", i)))).length`))
	var now, most atomic.Int64
	full := make(chan struct{})
	var once sync.Once
	b.world.tools["count"] = func(ctx context.Context, _ script.Call) (any, error) {
		n := now.Add(1)
		defer now.Add(-1)
		for {
			if old := most.Load(); n <= old || most.CompareAndSwap(old, n) {
				break
			}
		}
		if n == script.MaxAtOnce {
			once.Do(func() { close(full) })
		}
		// The first calls stay until there is no room for more.
		select {
		case <-full:
		case <-ctx.Done():
		}
		return n, ctx.Err()
	}
	b.world.pure["count"] = true
	if got := output(t, b.run(t)); got != "100" || most.Load() != script.MaxAtOnce {
		t.Errorf("%s calls, %d at once", got, most.Load())
	}
}

func TestEqualCallsAreAnsweredInTheirOrder(t *testing.T) {
	t.Parallel()
	n := 0
	b := setup(t, body(`const a = await ctx.call("count"); const b = await ctx.call("count"); await ctx.sleep(ctx.hours(1)); return [a, b, await ctx.call("count")]`))
	b.world.tools["count"] = func(context.Context, script.Call) (any, error) { n++; return n, nil }
	b.run(t)
	b.clock.Advance(time.Hour)
	if got := output(t, b.run(t)); got != "[1,2,3]" {
		t.Errorf("got %s", got)
	}
}

// instant is a clock on which every wait is over at once: After moves the time to its end.
type instant struct {
	clock interface {
		Now() time.Time
		Advance(time.Duration)
	}
}

func (i instant) Now() time.Time { return i.clock.Now() }

func (i instant) After(d time.Duration) <-chan time.Time {
	i.clock.Advance(max(d, 0))
	c := make(chan time.Time, 1)
	c <- i.clock.Now()
	return c
}

// BenchmarkReplay starts a program again that has 2,000 effects behind it.
func BenchmarkReplay(b *testing.B) {
	s := setup(b, body(`let s = 0; for (let i = 0; i < 2000; i++) s += (await ctx.call("echo", { i, q: "some query text" })).i; await ctx.sleep(ctx.hours(1)); return s`))
	s.run(b)
	for b.Loop() {
		if !s.run(b).Parked {
			b.Fatal("not parked")
		}
	}
}

// BenchmarkTenCalls runs a script of ten calls of a tool that does nothing, without a disk.
func BenchmarkTenCalls(b *testing.B) {
	s := setup(b, body(`for (let i = 0; i < 10; i++) await ctx.call("echo", i)`))
	for b.Loop() {
		s.Journal = newJournal()
		output(b, s.run(b))
	}
}
