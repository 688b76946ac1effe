package callable_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/loam-agents/loam/internal/callable"
	"github.com/loam-agents/loam/internal/callable/searchtools"
	"github.com/loam-agents/loam/internal/callable/websearch"
	"github.com/loam-agents/loam/internal/store/storetest"
	"github.com/loam-agents/loam/internal/tooldoc"
	"github.com/loam-agents/loam/wire"
)

// value draws a value that a schema of the supported subset allows.
func value(t *rapid.T, schema map[string]any, label string) any {
	if list, ok := schema["enum"].([]any); ok {
		return rapid.SampledFrom(list).Draw(t, label)
	}
	number := func(key string, fallback int) int {
		if n, ok := schema[key].(float64); ok {
			return int(n)
		}
		return fallback
	}
	switch schema["type"] {
	case "string":
		if pattern, ok := schema["pattern"].(string); ok {
			return rapid.StringMatching(pattern).Draw(t, label)
		}
		least := number("minLength", 0)
		return rapid.StringN(least, min(number("maxLength", least+20), least+20), -1).Draw(t, label)
	case "integer", "number":
		least := number("minimum", -10)
		return rapid.IntRange(least, number("maximum", least+100)).Draw(t, label)
	case "boolean":
		return rapid.Bool().Draw(t, label)
	case "array":
		items, _ := schema["items"].(map[string]any)
		out := make([]any, rapid.IntRange(number("minItems", 0), min(number("maxItems", 3), number("minItems", 0)+3)).Draw(t, label))
		for i := range out {
			out[i] = value(t, items, fmt.Sprint(label, i))
		}
		return out
	}
	return object(t, schema, label)
}

func object(t *rapid.T, schema map[string]any, label string) map[string]any {
	out := map[string]any{}
	properties, _ := schema["properties"].(map[string]any)
	required, _ := schema["required"].([]any)
	for name, inner := range properties {
		needed := false
		for _, r := range required {
			needed = needed || r == name
		}
		if needed || rapid.Bool().Draw(t, label+"."+name+"?") {
			out[name] = value(t, inner.(map[string]any), label+"."+name)
		}
	}
	return out
}

// check is the rule for every contract (seeds/000 "Touch-expand and promotion").
func check(t *testing.T, tool *callable.Tool) {
	t.Helper()
	d := tool.Document
	var schema map[string]any
	if err := json.Unmarshal(d.Input, &schema); err != nil {
		t.Fatalf("%s: %v", d.Name, err)
	}
	_, why := tool.Parse("{}")
	if required, _ := schema["required"].([]any); len(required) > 0 == (len(why) == 0) {
		t.Errorf("%s: {} with %v required is %v", d.Name, required, why)
	}
	if len(why) > 0 {
		miss, err := d.Miss(why)
		if contract, _ := miss["contract"].(string); err != nil || !strings.HasPrefix(contract, "# "+d.Name+"\n") {
			t.Errorf("%s: {} is answered with %v, %v", d.Name, miss, err)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		input, err := json.Marshal(object(t, schema, "$"))
		if err != nil {
			t.Fatal(err)
		}
		if _, why := tool.Parse(string(input)); len(why) > 0 {
			t.Fatalf("%s refuses %s: %v", d.Name, input, why)
		}
	})
}

func TestEveryContractIsWhatAMissGetsAndWhatItsInputsFit(t *testing.T) {
	t.Parallel()
	b := newBench(t, storetest.SQLite(t), nil)
	r, err := callable.New(callable.Options{Store: b.store, Callables: []callable.Callable{searchtools.New(b.registry.Of), websearch.New(nil)}})
	if err != nil {
		t.Fatal(err)
	}
	b.registry = r
	for i, input := range []string{
		`{"type":"object"}`,
		`{"type":"object","properties":{"a":{"type":"array","items":{"type":"object","properties":{"b":{"type":"integer","minimum":3,"maximum":5}},"required":["b"]},"minItems":1}},"required":["a"],"additionalProperties":false}`,
		`{"type":"object","properties":{"mode":{"type":"string","enum":["x","y"]},"deep":{"type":"object","properties":{"s":{"type":"string","minLength":2,"maxLength":4}},"required":["s"]}},"required":["mode"]}`,
	} {
		d, err := tooldoc.NewLambda(tooldoc.Authored{Name: fmt.Sprintf("t%d", i), Description: "d", Source: "x", Input: json.RawMessage(input)}, r.Reserved)
		if err != nil {
			t.Fatal(err)
		}
		b.put(true, d)
	}
	held := b.held(wire.AgentDefinition{})
	if len(held.Tools()) != 5 {
		t.Fatalf("held %s", names(held.Tools()))
	}
	for _, tool := range held.Tools() {
		check(t, tool)
	}
}
