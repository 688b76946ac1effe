package tools_test

import (
	"strings"
	"testing"
	"time"

	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/space"
	"github.com/loam-agents/loam/internal/space/tools"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/store/storetest"
	"github.com/loam-agents/loam/internal/tooldoc"
)

const authored = `{"description":"Counts the words. Slowly.","source":"export default async () => ({})"}`

// writer is the scheme over a real database; it counts changes.
type writer struct {
	t       *testing.T
	store   store.Store
	clock   *clock.Fake
	scheme  *tools.Scheme
	changes int
	// run is that of the scope; a person has none.
	run string
}

func eachWriter(t *testing.T, fn func(t *testing.T, w *writer)) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s store.Store) {
		w := &writer{t: t, store: s, clock: clock.NewFake(time.UnixMilli(1000))}
		w.scheme = tools.New(tools.Options{Catalog: catalog{}, Clock: w.clock, Changed: func(tx store.Tx, _ space.Scope) {
			tx.AfterCommit(func() { w.changes++ })
		}})
		fn(t, w)
	})
}

func (w *writer) write(name string, content string, options map[string]any) (out space.Result, err error) {
	w.t.Helper()
	req := space.WriteRequest{Address: "~/tools/" + name, Options: options}
	if content != "" {
		req.Content = &content
	}
	change, err := w.scheme.Write(w.t.Context(), space.Scope{Agent: "a", Run: w.run}, req)
	if err != nil {
		return nil, err
	}
	err = w.store.Write(w.t.Context(), store.Interactive, func(tx store.Tx) (err error) {
		out, err = change.Apply(tx)
		return err
	})
	return out, err
}

func (w *writer) list() (out []tooldoc.Stored) {
	w.t.Helper()
	err := w.store.Read(w.t.Context(), func(tx store.Tx) (err error) {
		out, err = tooldoc.List(tx, "a")
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

func TestAToolIsMarkedWithWhoWroteIt(t *testing.T) {
	eachWriter(t, func(t *testing.T, w *writer) {
		for run, want := range map[string]tooldoc.Author{"r": tooldoc.ByAgent, "": tooldoc.ByPerson} {
			w.run = run
			name := "by_" + string(want)
			if _, err := w.write(name, authored, nil); err != nil {
				t.Fatal(err)
			}
			for _, s := range w.list() {
				if s.Document.Name == name && s.Author != want {
					t.Errorf("with the run %q: by %q", run, s.Author)
				}
			}
		}
	})
}

func TestAnAgentAuthorsReplacesAndDeletesATool(t *testing.T) {
	eachWriter(t, func(t *testing.T, w *writer) {
		first, err := w.write("count", authored, nil)
		if err != nil || first["summary"] != "Authored ~/tools/count" || first["kind"] != "lambda" {
			t.Fatalf("write = %v, %v", first, err)
		}
		w.clock.Advance(time.Second)
		second, err := w.write("count", "", map[string]any{"tool": map[string]any{"description": "Other.", "source": "def main(input): return {}", "runtime": "python"}})
		if err != nil || second["summary"] != "Replaced ~/tools/count" || second["cid"] == first["cid"] {
			t.Fatalf("second write = %v, %v", second, err)
		}
		got := w.list()
		if len(got) != 1 || got[0].CreatedAt != 1000 || got[0].UpdatedAt != 2000 || got[0].Document.Runtime != "python" || got[0].Document.Summary != "Other." {
			t.Errorf("stored %+v", got)
		}
		for _, want := range []bool{true, false} {
			out, err := w.write("count", "", map[string]any{"delete": true})
			if err != nil || out["deleted"] != want {
				t.Errorf("delete = %v, %v", out, err)
			}
		}
		if len(w.list()) != 0 || w.changes != 3 {
			t.Errorf("left %v after %d changes", w.list(), w.changes)
		}
	})
}

func TestWhatIsWrongWithAToolIsSaid(t *testing.T) {
	eachWriter(t, func(t *testing.T, w *writer) {
		for _, c := range []struct {
			name, content string
			options       map[string]any
			want          string
		}{
			{"", authored, nil, "Name one tool"},
			{"a/b", authored, nil, "Name one tool"},
			{"../memory/x", authored, nil, "Name one tool"},
			{"count", "", nil, "Content must be JSON"},
			{"count", "count words", nil, "Content must be JSON"},
			{"count", "null", nil, "Content must be JSON"},
			{"count", authored + authored, nil, "Content must be JSON"},
			{"count", `{"describe":"x"}`, nil, "Content must be JSON"},
			{"count", authored, map[string]any{"tool": map[string]any{}}, "not both"},
			{"count", authored, map[string]any{"delete": true}, "not both"},
			{"count", "", map[string]any{"delete": "yes"}, "options.delete"},
			{"count", authored, map[string]any{"replace": true}, `Unknown option "replace"`},
			{"read", authored, nil, "cannot be replaced"},
			{"read", "", map[string]any{"delete": true}, "cannot be deleted"},
			{"Count", authored, nil, "Tool name is invalid"},
			{"c", authored, nil, "Tool name is invalid"},
			{"count", `{"description":"x"}`, nil, "Tool source is required"},
		} {
			if _, err := w.write(c.name, c.content, c.options); fault.CodeOf(err) != fault.ValidationFailed || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%q %s %v = %v, want %q", c.name, c.content, c.options, err, c.want)
			}
		}
		yes := true
		if _, err := w.scheme.Write(t.Context(), space.Scope{}, space.WriteRequest{Address: "~/tools/x", DryRun: &yes}); fault.CodeOf(err) != fault.ValidationFailed {
			t.Errorf("a dry run: %v", err)
		}
		if len(w.list()) != 0 || w.changes != 0 {
			t.Errorf("something was written: %v", w.list())
		}
	})
}

func TestAToolOfAServerIsNotTheAgentsToChange(t *testing.T) {
	eachWriter(t, func(t *testing.T, w *writer) {
		err := w.store.Write(t.Context(), store.Interactive, func(tx store.Tx) error {
			_, err := tooldoc.Put(tx, "a", tooldoc.Document{Name: "hub__list", Kind: tooldoc.MCP, Server: "hub", Input: []byte(`{}`)}, true, 1)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, options := range []map[string]any{nil, {"delete": true}} {
			content := authored
			if options != nil {
				content = ""
			}
			if _, err := w.write("hub__list", content, options); fault.CodeOf(err) != fault.ValidationFailed || !strings.Contains(err.Error(), `MCP server "hub"`) {
				t.Errorf("%v: %v", options, err)
			}
		}
		if got := w.list(); len(got) != 1 || got[0].Document.Kind != tooldoc.MCP {
			t.Errorf("stored %v", got)
		}
	})
}
