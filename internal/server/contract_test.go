package server_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/loam-agents/loam/internal/hypermedia/hypermediatest"
	"github.com/loam-agents/loam/internal/model/scripted"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
	"github.com/loam-agents/loam/internal/tooldoc"
	"github.com/loam-agents/loam/wire"
)

// everything is a server with all builtins, and a session on it.
func everything(t *testing.T, turns ...scripted.Turn) (h *servertest.Harness, m *scripted.Server, session string) {
	t.Helper()
	m = servertest.Scripted(t, turns...)
	h = servertest.Start(t, server.Config{HMServerURL: hypermediatest.New(t).URL, SearXNGURL: "http://127.0.0.1:1"})
	return h, m, h.Session(h.Agent(m))
}

var inputSection = regexp.MustCompile("(?s)## Input\n\n```json\n(.*?)\n```")

// contracts are the input schemas of everything that the server's own list names, verbs and tools, by name, and which are verbs.
func contracts(t *testing.T, h *servertest.Harness, session string) (schemas map[string]json.RawMessage, verbs []string) {
	t.Helper()
	read := func(address string) (out struct {
		Markdown, Kind string
		Tools          []string
	}) {
		got := servertest.Call[wire.InvokeSessionToolResponse](h, "InvokeSessionTool", map[string]any{"sessionId": session, "verb": "read", "input": map[string]any{"address": address}})
		if err := json.Unmarshal(got.Output, &out); err != nil || got.Error != "" {
			t.Fatalf("%s: %s %s", address, got.Output, got.Error)
		}
		return out
	}
	list := read("~/tools/")
	names := slices.Clone(list.Tools)
	for _, verb := range regexp.MustCompile("(?m)^- `([a-z_]+)`").FindAllStringSubmatch(strings.Split(list.Markdown, "Tools, through")[0], -1) {
		names, verbs = append(names, verb[1]), append(verbs, verb[1])
	}
	schemas = map[string]json.RawMessage{}
	for _, name := range names {
		found := inputSection.FindStringSubmatch(read("~/tools/" + name).Markdown)
		if found == nil {
			t.Fatalf("the contract of %s shows no input", name)
		}
		schemas[name] = json.RawMessage(found[1])
	}
	if len(list.Tools) < 5 || len(verbs) < 6 {
		t.Fatalf("the server lists only %v", names)
	}
	return schemas, verbs
}

func TestAnEmptyInputIsAnsweredWithTheContractOfEveryTool(t *testing.T) {
	t.Parallel()
	h, _, session := everything(t)
	schemas, verbs := contracts(t, h, session)
	names := slices.Sorted(maps.Keys(schemas))
	var turns []scripted.Turn
	for _, name := range names {
		c := scripted.Call{Name: "call", Arguments: fmt.Sprintf(`{"tool":%q,"input":{}}`, name)}
		if slices.Contains(verbs, name) {
			c = scripted.Call{Name: name, Arguments: "{}"}
		}
		turns = append(turns, scripted.Turn{Steps: []scripted.Step{{Call: &c}}})
	}
	h, _, session = everything(t, append(turns, done)...)
	if _, err := h.Send(session, "Try them."); err != nil {
		t.Fatal(err)
	}
	var results []servertest.Event
	for _, e := range h.Events(session) {
		if e.Type == "tool_result" {
			results = append(results, e)
		}
	}
	if len(results) != len(names) {
		t.Fatalf("%d results of %d calls", len(results), len(names))
	}
	for i, name := range names {
		var miss struct {
			Contract         string
			ValidationErrors []string
		}
		_ = json.Unmarshal(results[i].Output, &miss) // what is no object has no contract
		v, err := tooldoc.NewValidator(&tooldoc.Document{Name: name, Input: schemas[name]})
		if err != nil {
			t.Fatal(err)
		}
		if _, why := v.Parse("{}"); len(why) == 0 {
			continue
		}
		if !strings.HasPrefix(miss.Contract, "# "+name+"\n") || len(miss.ValidationErrors) == 0 {
			t.Errorf("%s answers {} with %s %s", name, results[i].Output, results[i].Error)
		}
	}
}

func TestAnInputMadeFromTheSchemaFitsEveryTool(t *testing.T) {
	t.Parallel()
	h, _, session := everything(t)
	schemas, _ := contracts(t, h, session)
	for name, schema := range schemas {
		v, err := tooldoc.NewValidator(&tooldoc.Document{Name: name, Input: schema})
		if err != nil {
			t.Fatal(err)
		}
		var s map[string]any
		if err := json.Unmarshal(schema, &s); err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				input, err := json.Marshal(valueOf(t, s))
				if err != nil {
					t.Fatal(err)
				}
				if _, why := v.Parse(string(input)); len(why) > 0 {
					t.Fatalf("%s is refused: %v", input, why)
				}
			})
		})
	}
}

// valueOf draws a value of a schema, as a program would that has only the contract to go by.
func valueOf(t *rapid.T, s map[string]any) any {
	if list, ok := s["enum"].([]any); ok {
		return rapid.SampledFrom(list).Draw(t, "enum")
	}
	bound := func(key string, fallback int) int {
		if n, ok := s[key].(float64); ok {
			return int(n)
		}
		return fallback
	}
	switch s["type"] {
	case "object":
		return objectOf(t, s)
	case "array":
		items, _ := s["items"].(map[string]any)
		low := bound("minItems", 0)
		return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) any { return valueOf(t, items) }), low, min(bound("maxItems", low+3), low+3)).Draw(t, "items")
	case "string":
		if pattern, ok := s["pattern"].(string); ok {
			return rapid.StringMatching(pattern).Draw(t, "text")
		}
		low := bound("minLength", 0)
		return rapid.StringN(low, min(bound("maxLength", low+20), low+20), -1).Draw(t, "text")
	case "integer", "number":
		low := bound("minimum", -1000)
		return rapid.IntRange(low, bound("maximum", low+2000)).Draw(t, "number")
	case "boolean":
		return rapid.Bool().Draw(t, "flag")
	}
	return nil
}

func objectOf(t *rapid.T, s map[string]any) map[string]any {
	out := map[string]any{}
	properties, _ := s["properties"].(map[string]any)
	needed := map[any]bool{}
	add := func(list any) {
		names, _ := list.([]any)
		for _, name := range names {
			needed[name] = true
		}
	}
	add(s["required"])
	if ways, ok := s["anyOf"].([]any); ok {
		way, _ := rapid.SampledFrom(ways).Draw(t, "way").(map[string]any)
		add(way["required"])
	}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		property, _ := properties[name].(map[string]any)
		if needed[name] || rapid.Bool().Draw(t, "with "+name) {
			out[name] = valueOf(t, property)
		}
	}
	// An object may also hold what its schema does not name; it needs a draw of its own when it names nothing.
	extra := rapid.IntRange(0, 2).Draw(t, "extra")
	if s["additionalProperties"] == false {
		extra = 0
	}
	for i := range 3 {
		if low, _ := s["minProperties"].(float64); len(out) < int(low) || i < extra {
			out[fmt.Sprintf("k%d", i)] = "v"
		}
	}
	return out
}
