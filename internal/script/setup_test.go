//go:build script

package script_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/script"
	"github.com/loam-agents/loam/internal/store"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == script.Argument {
		os.Exit(script.Main(os.Stdin, os.Stdout))
	}
	os.Exit(m.Run())
}

var compiler = sync.OnceValue(func() *script.Compiler {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return script.NewCompiler(self)
})

func compile(t testing.TB, source string) *script.Program {
	t.Helper()
	p, err := compiler().Compile(t.Context(), source)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// body is a module whose function has the body.
func body(text string) string { return "export default async function (input, ctx) {\n" + text + "\n}" }

// errKilled is what a journal fails with when the process is thought to die there.
var errKilled = errors.New("killed")

// journal keeps entries in memory, as encoded as a database would, and dies where a test wants.
type journal struct {
	mu      sync.Mutex
	entries [][]byte
	changed chan struct{}
	// appends counts; killBefore and killAfter name the append that fails without or with its entries written.
	appends, killBefore, killAfter int
}

func newJournal() *journal { return &journal{changed: make(chan struct{}, 1)} }

func (j *journal) Load(_ context.Context, n int) ([]script.Entry, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	var out []script.Entry
	for _, b := range j.entries[n:] {
		var e script.Entry
		if err := json.Unmarshal(b, &e); err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

func (j *journal) Append(_ context.Context, entries ...*script.Entry) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.appends++
	if j.appends == j.killBefore {
		return 0, errKilled
	}
	if err := j.write(entries); err != nil {
		return 0, err
	}
	if j.appends == j.killAfter {
		return 0, errKilled
	}
	return len(j.entries), nil
}

func (j *journal) write(entries []*script.Entry) error {
	for _, e := range entries {
		if e.Change != nil {
			var err error
			if e.Output, err = e.Change(nil); err != nil {
				return err
			}
		}
		b, err := json.Marshal(e)
		if err != nil {
			return err
		}
		j.entries = append(j.entries, b)
	}
	return nil
}

func (j *journal) Changed() <-chan struct{} { return j.changed }

// deliver appends as somebody else does: a signal, the end of a child.
func (j *journal) deliver(t *testing.T, entries ...script.Entry) {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	for i := range entries {
		if err := j.write([]*script.Entry{&entries[i]}); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case j.changed <- struct{}{}:
	default:
	}
}

func (j *journal) all(t *testing.T) []script.Entry {
	t.Helper()
	out, err := j.Load(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// world carries out effects by functions that a test gives, and counts them.
type world struct {
	mu       sync.Mutex
	pure     map[string]bool
	tools    map[string]func(ctx context.Context, c script.Call) (any, error)
	calls    []string
	progress []string
	journal  *journal
	children int
}

func (w *world) Prepare(_ context.Context, c script.Call) (script.Action, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	tool := w.tools[c.Tool]
	if tool == nil {
		return script.Action{}, &script.Failure{Code: "unknown-tool", Message: "There is no tool named " + c.Tool}
	}
	return script.Action{Pure: w.pure[c.Tool], Run: func(ctx context.Context) (json.RawMessage, script.Change, error) {
		w.mu.Lock()
		w.calls = append(w.calls, c.Tool+string(c.Input))
		w.mu.Unlock()
		v, err := tool(ctx, c)
		if err != nil {
			return nil, nil, err
		}
		output, err := json.Marshal(v)
		if c.Tool == "change" {
			return nil, func(store.Tx) (json.RawMessage, error) { return output, err }, nil
		}
		return output, nil, err
	}}, nil
}

func (w *world) Delegate(ctx context.Context, e script.Entry) (script.Entry, error) {
	var spec struct{ Refuse string }
	if err := json.Unmarshal(e.Input, &spec); err == nil && spec.Refuse != "" {
		return e, &script.Failure{Code: "validation_failed", Message: spec.Refuse}
	}
	w.mu.Lock()
	w.children++
	w.mu.Unlock()
	e.ChildRunID = "child-" + string(rune('0'+w.children))
	_, err := w.journal.Append(ctx, &e)
	return e, err
}

func (w *world) Progress(patch json.RawMessage) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.progress = append(w.progress, string(patch))
}

func (w *world) called() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.calls)
}

// bundle is a program with everything it runs in.
type bundle struct {
	script.Execution
	journal *journal
	world   *world
	clock   *clock.Fake
}

func setup(t testing.TB, source string) *bundle {
	t.Helper()
	b := &bundle{journal: newJournal(), clock: clock.NewFake(time.UnixMilli(1_000_000))}
	b.world = &world{journal: b.journal, pure: map[string]bool{"echo": true, "read": true}, tools: map[string]func(context.Context, script.Call) (any, error){
		"echo":   func(_ context.Context, c script.Call) (any, error) { return c.Input, nil },
		"change": func(_ context.Context, c script.Call) (any, error) { return map[string]any{"changed": c.Input}, nil },
		"send": func(_ context.Context, c script.Call) (any, error) {
			return map[string]any{"sent": c.Input, "begun": c.Begun}, nil
		},
	}}
	b.Execution = script.Execution{Program: compile(t, source), RunID: "run-1", Journal: b.journal, Effects: b.world, Clock: b.clock}
	return b
}

func (b *bundle) run(t testing.TB) script.Outcome {
	t.Helper()
	out, err := b.Execute(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return out
}
