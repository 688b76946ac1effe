//go:build script

package quickjs_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loam-agents/loam/internal/script/quickjs"
)

// harness gives programs a way to say something, and runs what they export.
const harness = `
globalThis.run = (input) => { __module.then((m) => m.default(input)).then(
	(v) => __host('done', String(v)), (e) => __host('failed', e instanceof Error ? e + '\n' + e.stack : String(e))); };
globalThis.again = () => { __host('again', 'still here'); };
`

var image = sync.OnceValues(func() (*quickjs.Image, error) { return quickjs.NewImage("harness.js", harness) })

var limits = quickjs.Limits{Memory: 16 << 20, Fuel: 50_000_000}

// heard is what a program told its host, in order.
type heard []string

func realm(t *testing.T, l quickjs.Limits) (quickjs.Realm, *heard) {
	t.Helper()
	img, err := image()
	if err != nil {
		t.Fatal(err)
	}
	out := &heard{}
	return img.New(func(kind, payload string) (string, bool) {
		*out = append(*out, kind+": "+payload)
		return "answer to " + payload, kind == "ask"
	}, l), out
}

// run evaluates a module and calls what it exports.
func run(t *testing.T, l quickjs.Limits, source string) (heard, error) {
	t.Helper()
	r, out := realm(t, l)
	if err := r.Module("workflow.js", source); err != nil {
		return *out, err
	}
	err := r.Call("run", "in")
	return *out, err
}

func TestAProgramTalksToItsHostAndNothingElse(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]heard{
		`export default async (input) => input + '!'`:                                  {"done: in!"},
		`export default () => __host('ask', 'x')`:                                      {"ask: x", "done: answer to x"},
		`export default () => __host('say', 'x')`:                                      {"say: x", "done: undefined"},
		`export default () => __host('say', 'a\u0000ü\u{1F600}')`:                      {"say: a\x00ü\U0001F600", "done: undefined"},
		`export default async () => { await null; throw new TypeError('no'); }`:        {"failed: TypeError: no\n    at default (workflow.js:1:52)\n"},
		`export default async () => { throw 'text' }`:                                  {"failed: text"},
		`import x from 'std'; export default () => 1`:                                  nil,
		`export default async () => { try { await import('os') } catch { return 1 } }`: {"done: 1"},
		`export default () => Date.now() + ' ' + new Date(0).getTimezoneOffset()`:      {"done: 0 0"},
		`export default () => typeof setTimeout + typeof fetch + typeof process + typeof require + typeof std + typeof os`: {
			"done: " + strings.Repeat("undefined", 6),
		},
	} {
		got, err := run(t, limits, source)
		if want == nil {
			if _, ok := errors.AsType[*quickjs.Exception](err); !ok {
				t.Errorf("%s: %v %v, want an exception", source, got, err)
			}
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", source, err, diff)
		}
	}
}

func TestASyntaxErrorNamesItsPlace(t *testing.T) {
	t.Parallel()
	_, err := run(t, limits, "export default async () => {\n  const x = 1;\n  const y = x +* 2;\n}")
	e, ok := errors.AsType[*quickjs.Exception](err)
	if !ok || !strings.Contains(e.Message, "SyntaxError") || !strings.Contains(e.Stack, "workflow.js:3:") {
		t.Errorf("got %#v", err)
	}
}

func TestTheSameProgramDoesTheSameInEveryRealm(t *testing.T) {
	t.Parallel()
	const source = `export default () => [Math.random(), Math.random(), Object.keys({b: 1, a: 2}), new Map([[{}, 1]]).size].join()`
	first, err := run(t, limits, source)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if again, err := run(t, limits, source); err != nil || !cmp.Equal(first, again) {
			t.Errorf("%v, then %v (%v)", first, again, err)
		}
	}
}

// hostile programs want all of the processor or all of the memory, most of them where the engine does not look.
var hostile = map[string]string{
	"loop":             `for (;;) {}`,
	"catching loop":    `for (;;) { try { for (;;) {} } catch {} finally { for (;;) {} } }`,
	"recursion":        `(function f() { f() })()`,
	"deep array":       `let a = []; for (;;) a = [a]`,
	"getter recursion": `const o = { get x() { return this.x } }; o.x`,
	"proxy recursion":  `const p = new Proxy({}, {}); Object.setPrototypeOf(p, p)`,
	"json depth":       `JSON.parse('['.repeat(1e6))`,
	"text doubling":    `let s = 'x'; for (;;) s += s`,
	"array growth":     `const a = []; for (;;) a.push({})`,
	"typed arrays":     `const a = []; for (;;) a.push(new Uint8Array(1 << 20))`,
	"one huge array":   `new ArrayBuffer(2 ** 31)`,
	"array fill":       `new Array(2 ** 32 - 1).fill(1)`,
	"array from":       `Array.from({ length: 2 ** 32 - 1 })`,
	"array search":     `Array.prototype.includes.call({ length: 2 ** 53 - 1 }, 1)`,
	"copy within":      `Array.prototype.copyWithin.call({ length: 2 ** 53 - 1 }, 0, 1)`,
	"flat":             `const a = []; a[0] = a; a.flat(Infinity)`,
	"regular":          `/^(a+)+$/.test('a'.repeat(40) + 'b')`,
	"sort":             `new Array(1e7).fill(0).sort(() => 1)`,
	"big integers":     `let x = 3n; for (;;) x *= x`,
	"promise flood":    `(function f() { Promise.resolve().then(f); Promise.resolve().then(f) })()`,
	"promise chain":    `const f = async () => { for (;;) await null }; f()`,
	"map growth":       `const m = new Map(); for (let i = 0; ; i++) m.set(i, 'v' + i)`,
	"error texts":      `const a = []; for (;;) { try { throw new Error('x'.repeat(1e6)) } catch (e) { a.push(e) } }`,
	"parser":           `new Function('['.repeat(1e5) + ']'.repeat(1e5))()`,
	"normalize":        `'\u0344'.repeat(1 << 24).normalize('NFD').length`,
	"to primitive":     `({ [Symbol.toPrimitive]() { for (;;) {} } }) + 1`,
	"iterator":         `[...{ [Symbol.iterator]: () => ({ next: () => ({ done: false }) }) }]`,
	"concat spread":    `[].concat({ length: 2 ** 32 - 1, [Symbol.isConcatSpreadable]: true })`,
}

// TestNoProgramOutlastsItsFuelAndItsMemory holds that a hostile program ends by itself, in one of the ways that are promised.
func TestNoProgramOutlastsItsFuelAndItsMemory(t *testing.T) {
	t.Parallel()
	for name, body := range hostile {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := run(t, quickjs.Limits{Memory: 8 << 20, Fuel: 5_000_000}, "export default async () => { "+body+" }")
			switch {
			case err == nil, errors.Is(err, quickjs.ErrFuel), errors.Is(err, quickjs.ErrMemory), errors.Is(err, quickjs.ErrTrap):
			default:
				if _, ok := errors.AsType[*quickjs.Exception](err); !ok {
					t.Errorf("ended with %v after %.200v", err, got)
				}
			}
		})
	}
}

// TestAProgramThatMovesMemoryInFewTurnsIsEndedByTheClock is the one case that fuel does not bound well.
func TestAProgramThatMovesMemoryInFewTurnsIsEndedByTheClock(t *testing.T) {
	t.Parallel()
	_, err := run(t, quickjs.Limits{Memory: 64 << 20, Fuel: 1 << 50, Time: 50 * time.Millisecond}, `export default () => { const a = new Uint8Array(2 ** 25); for (;;) a.copyWithin(1, 0) }`)
	if !errors.Is(err, quickjs.ErrFuel) {
		t.Errorf("got %v", err)
	}
}

func TestAStopFromOutsideEndsABuiltinFunction(t *testing.T) {
	t.Parallel()
	img, err := image()
	if err != nil {
		t.Fatal(err)
	}
	inside := make(chan struct{})
	r := img.New(func(string, string) (string, bool) { close(inside); return "", false }, quickjs.Limits{Memory: 64 << 20, Fuel: 1 << 50})
	if err := r.Module("workflow.js", `export default () => { __host('say', 'now'); /^(a+)+$/.test('a'.repeat(60) + 'b') }`); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- r.Call("run", "in") }()
	<-inside
	r.Stop()
	if err := <-done; !errors.Is(err, quickjs.ErrStopped) {
		t.Errorf("got %v", err)
	}
}

func TestFuelRunsOutAtTheSameStepEverywhereAndCannotBeCaught(t *testing.T) {
	t.Parallel()
	const source = `export default () => { let n = 0; try { for (;;) { if (++n % 1000 === 0) __host('say', String(n)); } } catch { __host('say', 'caught'); } finally { __host('say', 'finally'); } }`
	first, err := run(t, quickjs.Limits{Memory: 8 << 20, Fuel: 2_000_000}, source)
	if !errors.Is(err, quickjs.ErrFuel) || len(first) < 10 {
		t.Fatalf("%d words, %v; want ErrFuel", len(first), err)
	}
	for _, word := range first {
		if strings.Contains(word, "caught") {
			t.Error("the program caught the end of its fuel")
		}
	}
	second, err := run(t, quickjs.Limits{Memory: 8 << 20, Fuel: 2_000_000}, source)
	if !errors.Is(err, quickjs.ErrFuel) || !cmp.Equal(first, second) {
		t.Errorf("the second run heard %d words and ended with %v", len(second), err)
	}
}

func TestEveryCallHasAFullTank(t *testing.T) {
	t.Parallel()
	r, out := realm(t, quickjs.Limits{Memory: 8 << 20, Fuel: 10_000_000})
	if err := r.Module("workflow.js", `export default () => { for (let i = 0; i < 2e5; i++) {} }`); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if err := r.Call("run", "in"); err != nil {
			t.Fatal(err)
		}
	}
	if len(*out) != 5 {
		t.Errorf("heard %v", *out)
	}
}

func TestAFullMemoryEndsAProgramThatTriesToCatchIt(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`new ArrayBuffer(1e7)`, `const a = []; for (;;) a.push('x'.repeat(1e5) + a.length)`} {
		got, err := run(t, quickjs.Limits{Memory: 4 << 20, Fuel: 500_000_000}, `export default () => { try { `+body+` } catch { return 'caught' } }`)
		if !errors.Is(err, quickjs.ErrMemory) || len(got) != 0 {
			t.Errorf("%s: %v after %v", body, err, got)
		}
	}
	got, err := run(t, quickjs.Limits{Memory: 4 << 20, Fuel: 500_000_000}, `export default () => new ArrayBuffer(3e6).byteLength`)
	if diff := cmp.Diff(heard{"done: 3000000"}, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestADeadRealmSaysWhyAgain(t *testing.T) {
	t.Parallel()
	r, out := realm(t, quickjs.Limits{Memory: 8 << 20, Fuel: 500_000})
	if err := r.Module("workflow.js", `export default () => { for (;;) {} }`); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := r.Call("run", "in"); !errors.Is(err, quickjs.ErrFuel) {
			t.Errorf("got %v", err)
		}
	}
	if err := r.Call("again"); !errors.Is(err, quickjs.ErrFuel) || len(*out) != 0 {
		t.Errorf("got %v after %v", err, *out)
	}
}

func TestAStopBeforeACallEndsIt(t *testing.T) {
	t.Parallel()
	r, _ := realm(t, limits)
	r.Stop()
	r.Stop()
	if err := r.Call("again"); !errors.Is(err, quickjs.ErrStopped) {
		t.Errorf("got %v", err)
	}
}

func TestManyRealmsWorkAtOnce(t *testing.T) {
	t.Parallel()
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			got, err := run(t, limits, `export default async (i) => { let s = 0; for (let k = 0; k < 50; k++) s += Number((await Promise.all([1, k]))[1]); return s }`)
			if diff := cmp.Diff(heard{"done: 1225"}, got); diff != "" || err != nil {
				t.Errorf("%v\n%s", err, diff)
			}
		})
	}
	wg.Wait()
}

func BenchmarkARealmUntilItsFirstWord(b *testing.B) {
	img, err := image()
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		words := 0
		r := img.New(func(string, string) (string, bool) { words++; return "", false }, limits)
		if err := errors.Join(r.Module("workflow.js", `export default async (x) => x`), r.Call("run", "in")); err != nil || words != 1 {
			b.Fatal(words, err)
		}
	}
}
