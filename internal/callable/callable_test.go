package callable_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/loam-agents/loam/internal/callable"
	"github.com/loam-agents/loam/internal/callable/searchtools"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/space"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/store/storetest"
	"github.com/loam-agents/loam/internal/tooldoc"
	"github.com/loam-agents/loam/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, storetest.Leaks()) }

// plain is a builtin that only has a name.
type plain struct{ name string }

func (p plain) Document() tooldoc.Document {
	return tooldoc.Document{Name: p.name, Summary: "Does " + p.name + ".", Description: "Does it.", Input: json.RawMessage(`{"type":"object"}`)}
}
func (plain) Effect() tooldoc.Effect { return tooldoc.Pure }
func (plain) Call(context.Context, space.Scope, json.RawMessage) (space.Result, error) {
	return space.Result{"summary": "done"}, nil
}

// runner carries out lambdas and tools of servers.
type runner struct{}

func (runner) Effect(*tooldoc.Document) tooldoc.Effect { return tooldoc.SideEffecting }
func (runner) Call(_ context.Context, _ space.Scope, d *tooldoc.Document, _ json.RawMessage) (space.Result, error) {
	return space.Result{"summary": "ran " + d.Name}, nil
}

// bench is a registry with the builtins alpha and beta, and the shelf of the agent "a".
type bench struct {
	t        *testing.T
	store    store.Store
	registry *callable.Registry
}

func newBench(t *testing.T, s store.Store, executors map[tooldoc.Kind]callable.Executor) *bench {
	t.Helper()
	r, err := callable.New(callable.Options{
		Store: s, Callables: []callable.Callable{plain{"beta"}, plain{"alpha"}}, Verbs: []string{"read"}, Executors: executors,
	})
	if err != nil {
		t.Fatal(err)
	}
	return &bench{t, s, r}
}

func (b *bench) put(enabled bool, documents ...tooldoc.Document) {
	b.t.Helper()
	err := b.store.Write(b.t.Context(), store.Interactive, func(tx store.Tx) error {
		for _, d := range documents {
			if len(d.Input) == 0 {
				d.Input = json.RawMessage(`{"type":"object"}`)
			}
			if _, err := tooldoc.Put(tx, "a", d, enabled, 1); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) held(def wire.AgentDefinition) *callable.Held {
	b.t.Helper()
	h, err := b.registry.Of(b.t.Context(), space.Scope{Agent: "a", Definition: def})
	if err != nil {
		b.t.Fatal(err)
	}
	return h
}

func names(tools []*callable.Tool) string {
	var out []string
	for _, t := range tools {
		out = append(out, t.Document.Name)
	}
	return strings.Join(out, " ")
}

func granting(tools ...string) wire.AgentDefinition { return wire.AgentDefinition{Tools: &tools} }

func lambda(name string) tooldoc.Document {
	return tooldoc.Document{Name: name, Kind: tooldoc.Lambda, Summary: "Made.", Source: "x", Runtime: "python"}
}

func remote(server, name string) tooldoc.Document {
	return tooldoc.Document{Name: server + "__" + name, Kind: tooldoc.MCP, Server: server, RemoteName: name, Summary: "Far."}
}

func TestAnAgentHoldsWhatItsDefinitionOffers(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s store.Store) {
		b := newBench(t, s, nil)
		b.put(true, lambda("mine"), remote("hub", "x"), remote("other", "y"), lambda("alpha"), lambda("read"))
		b.put(false, lambda("off"))
		for _, c := range []struct {
			def  wire.AgentDefinition
			want string
		}{
			{wire.AgentDefinition{}, "alpha beta mine"},
			{granting(), "mine"},
			{granting("beta", "unknown"), "beta mine"},
			{wire.AgentDefinition{McpServers: []string{"hub"}}, "alpha beta hub__x mine"},
		} {
			h := b.held(c.def)
			if got := names(h.Tools()); got != c.want {
				t.Errorf("%v: %s, want %s", c.def.Tools, got, c.want)
			}
			if h.Find("off") != nil || h.Find("other__y") != nil || h.Find("bash") != nil {
				t.Errorf("%v finds what is not there", c.def.Tools)
			}
		}
		if h := b.held(wire.AgentDefinition{}); h.Find("alpha").Document.Kind != tooldoc.Builtin {
			t.Error("an authored tool took the place of a builtin")
		}
	})
}

func TestABuiltinThatIsAlwaysHeldNeedsNoGrant(t *testing.T) {
	t.Parallel()
	b := newBench(t, storetest.SQLite(t), nil)
	r, err := callable.New(callable.Options{Store: b.store, Callables: []callable.Callable{plain{"alpha"}, plain{"beta"}}, Always: []string{"beta"}})
	if err != nil {
		t.Fatal(err)
	}
	b.registry = r
	if got := names(b.held(granting()).Tools()); got != "beta" {
		t.Errorf("held %s", got)
	}
}

func TestAChangeOfTheShelfIsSeenAtOnce(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s store.Store) {
		b, elsewhere := newBench(t, s, nil), newBench(t, s, nil)
		def := granting()
		if b.held(def).Find("mine") != nil {
			t.Fatal("it is there before it was written")
		}
		elsewhere.put(true, lambda("mine"))
		first := b.held(def)
		if first.Find("mine") == nil || b.held(def) != first {
			t.Error("the new tool is not seen, or what did not change was read again")
		}
		elsewhere.put(false, lambda("mine"))
		if b.held(def).Find("mine") != nil {
			t.Error("a tool that was switched off on another server is still offered")
		}
	})
}

func TestOnlyTouchedToolsThatAreHeldAreOfferedAndInTheOrderTheyWereTouched(t *testing.T) {
	t.Parallel()
	b := newBench(t, storetest.SQLite(t), nil)
	endless := lambda("endless")
	endless.Input = json.RawMessage(`{"type":"object","properties":{"a":{"$ref":"#"}}}`)
	large, rootless := lambda("large"), remote("hub", "rootless")
	large.Description, rootless.Input = strings.Repeat("x", 17<<10), json.RawMessage(`{}`)
	b.put(true, lambda("mine"), endless, large, rootless)
	def := wire.AgentDefinition{McpServers: []string{"hub"}, Metadata: map[string]any{"directTools": []any{"beta", "bash", "beta", 7}}}
	h := b.held(def)
	touched := []string{"mine", "bash", "alpha", "mine", "endless", "large", "hub__rootless", "beta", ""}
	if got := names(h.Offered(touched)); got != "beta mine alpha" {
		t.Errorf("offered %s", got)
	}
	if got := names(h.Offered(nil)); got != "beta" {
		t.Errorf("offered from the start %s", got)
	}
	if got := names(b.held(granting()).Offered(touched)); got != "mine" {
		t.Errorf("offered without grants %s", got)
	}
	// Without a schema that can be used the input only has to be an object.
	if _, why := h.Find("endless").Parse(`{"a":1}`); why != nil {
		t.Errorf("an input for a schema that never ends: %v", why)
	}
	if _, why := h.Find("endless").Parse(`[1]`); why == nil {
		t.Error("a list was taken as an input")
	}
}

func TestALambdaRunsOnlyWhereCodeRunsAndOnlyWithAGrant(t *testing.T) {
	t.Parallel()
	s := storetest.SQLite(t)
	without, with := newBench(t, s, nil), newBench(t, s, map[tooldoc.Kind]callable.Executor{tooldoc.Lambda: runner{}})
	without.put(true, lambda("mine"))
	for _, c := range []struct {
		b    *bench
		def  wire.AgentDefinition
		want string
		code fault.Code
	}{
		{without, wire.AgentDefinition{}, "This server runs no code", fault.ValidationFailed},
		{with, granting(), "not granted", fault.PermissionDenied},
		{with, granting("publish"), "not granted", fault.PermissionDenied},
		{with, wire.AgentDefinition{}, "ran mine", ""},
		{with, granting("mine"), "ran mine", ""},
		{with, granting("execute_code"), "ran mine", ""},
	} {
		out, err := c.b.held(c.def).Find("mine").Call(t.Context(), space.Scope{Agent: "a", Definition: c.def}, json.RawMessage(`{}`))
		if got := fmt.Sprint(out["summary"], err); fault.CodeOf(err) != c.code || !strings.Contains(got, c.want) {
			t.Errorf("%v: %s", c.def.Tools, got)
		}
	}
}

func TestTheIndexFitsItsBudgetWhateverTheTools(t *testing.T) {
	t.Parallel()
	b := newBench(t, storetest.SQLite(t), nil)
	def := wire.AgentDefinition{McpServers: []string{"hub", "few"}}
	if got := b.held(granting()).Index("memory/ — empty", "", ""); got != "memory/ — empty" {
		t.Errorf("without tools: %s", got)
	}
	for i := range 7 {
		b.put(true, remote("hub", fmt.Sprint("t", i)))
	}
	b.put(true, lambda("mine"), remote("few", "x"))
	want := "tools/ — use them with `call`; a contract stands at ~/tools/NAME\n- alpha — Does alpha.\n- beta — Does beta.\n- few__x — Far. (few MCP)\n" +
		"- hub__* — 7 tools; search_tools finds one\n- mine — Made. (authored)\nmemory/ — empty"
	if got := b.held(def).Index("memory/ — empty", "", ""); got != want {
		t.Errorf("index:\n%s", got)
	}
	for i := range 60 {
		b.put(true, lambda(fmt.Sprintf("tool-%d", i)))
	}
	if got := b.held(def).Index("memory", "triggers/ — "+strings.Repeat("x", callable.MaxIndex), "triggers/ — 9 active"); len(got) > callable.MaxIndex ||
		!strings.HasSuffix(got, "\nmemory\ntriggers/ — 9 active") {
		t.Errorf("%d bytes: %.200s", len(got), got)
	}
	got := b.held(def).Index(strings.Repeat("é", 4000), "", "")
	if len(got) > callable.MaxIndex || !strings.HasPrefix(got, "tools/ — 71 tools through `call`") || !strings.HasSuffix(got, "é…") {
		t.Errorf("%d bytes: %.200s", len(got), got)
	}
}

func TestTwoToolsOfOneNameAreRefused(t *testing.T) {
	t.Parallel()
	for _, list := range [][]callable.Callable{{plain{"a"}, plain{"a"}}, {plain{"read"}}} {
		if _, err := callable.New(callable.Options{Callables: list, Verbs: []string{"read"}}); err == nil {
			t.Errorf("New(%v) works", list)
		}
	}
}

func TestSearchFindsToolsByTheirWords(t *testing.T) {
	t.Parallel()
	b := newBench(t, storetest.SQLite(t), nil)
	for i := range 200 {
		d := remote("hub", fmt.Sprintf("thing_%d", i))
		d.Summary = "Handles a thing."
		b.put(true, d)
	}
	issue := remote("hub", "create_issue")
	issue.Summary = "Creates an issue."
	b.put(true, issue, lambda("issues"))
	tool := searchtools.New(b.registry.Of)
	def := wire.AgentDefinition{McpServers: []string{"hub"}}
	search := func(def wire.AgentDefinition, input string) (string, []string) {
		out, err := tool.Call(t.Context(), space.Scope{Agent: "a", Definition: def}, json.RawMessage(input))
		if err != nil {
			return err.Error(), nil
		}
		encoded, _ := json.Marshal(out["tools"])
		var list []struct{ Name string }
		if err := json.Unmarshal(encoded, &list); err != nil {
			t.Fatal(err)
		}
		var found []string
		for _, f := range list {
			found = append(found, f.Name)
		}
		return out["summary"].(string), found
	}
	if _, found := search(def, `{"query":"Create ISSUE"}`); !slices.Equal(found, []string{"hub__create_issue"}) {
		t.Errorf("create issue: %v", found)
	}
	if _, found := search(def, `{"query":"issue"}`); !slices.Equal(found, []string{"hub__create_issue", "issues"}) {
		t.Errorf("issue: %v", found)
	}
	if summary, found := search(def, `{"query":"thing","limit":3}`); len(found) != 3 || summary != "3 of 200 tools fit; call one with {} to read its contract" {
		t.Errorf("thing: %s %v", summary, found)
	}
	if summary, found := search(granting(), `{"query":"thing"}`); len(found) != 0 || !strings.Contains(summary, "~/tools/") {
		t.Errorf("without the server: %s %v", summary, found)
	}
	if summary, _ := search(def, `{"query":"?!"}`); !strings.Contains(summary, "at least one word") {
		t.Errorf("no words: %s", summary)
	}
}
