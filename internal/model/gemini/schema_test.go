package gemini_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/loam-agents/loam/internal/model"
	"github.com/loam-agents/loam/internal/model/adaptertest"
	"github.com/loam-agents/loam/internal/model/scripted"
)

// parameters sends a tool with a schema and returns what the service would get.
func parameters(t *testing.T, schemas ...string) []map[string]any {
	t.Helper()
	req := model.Request{Model: flash, Messages: adaptertest.Say("x")}
	for _, s := range schemas {
		req.Tools = append(req.Tools, model.ToolSpec{Name: "tool", Schema: json.RawMessage(s)})
	}
	return decodeParameters(t, adaptertest.Body(t, adapter, req))
}

func decodeParameters(t *testing.T, body []byte) []map[string]any {
	t.Helper()
	var sent struct {
		Tools []struct {
			FunctionDeclarations []struct{ Parameters map[string]any }
		}
	}
	if err := json.Unmarshal(body, &sent); err != nil {
		t.Fatal(err)
	}
	var out []map[string]any
	for _, set := range sent.Tools {
		for _, d := range set.FunctionDeclarations {
			out = append(out, d.Parameters)
		}
	}
	return out
}

func TestSchemasAreReducedToWhatTheServiceAccepts(t *testing.T) {
	t.Parallel()
	tests := []struct{ what, property, want string }{
		{"plain", `{"type":"string","description":"d","minLength":1}`, `{"type":"string","description":"d","minLength":1}`},
		{"unknown keywords", `{"type":"string","examples":["x"],"$comment":"c","contentEncoding":"base64"}`, `{"type":"string"}`},
		{"additionalProperties", `{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`, `{"type":"object","properties":{"a":{"type":"string"}}}`},
		{"reference", `{"$ref":"#/$defs/Item","description":"mine"}`, `{"type":"integer","description":"mine","minimum":3}`},
		{"reference to nowhere", `{"$ref":"#/$defs/None","description":"d"}`, `{"type":"string","description":"d"}`},
		{"reference outside", `{"$ref":"https://example.org/x"}`, `{"type":"string"}`},
		{"const", `{"const":"fixed"}`, `{"type":"string","enum":["fixed"]}`},
		{"const of a number", `{"const":5}`, `{"type":"number"}`},
		{"const of a list", `{"const":[1]}`, `{"type":"array","items":{"type":"string"}}`},
		{"enum", `{"enum":["a","b"]}`, `{"type":"string","enum":["a","b"]}`},
		{"enum with null", `{"enum":["a",null]}`, `{"type":"string","enum":["a"],"nullable":true}`},
		{"enum of numbers", `{"type":"integer","enum":[1,2]}`, `{"type":"integer"}`},
		{"enum of booleans", `{"enum":[true]}`, `{"type":"boolean"}`},
		{"enum of objects", `{"enum":[{}]}`, `{"type":"object"}`},
		{"type or null", `{"type":["string","null"]}`, `{"type":"string","nullable":true}`},
		{"two types", `{"type":["string","integer"]}`, `{"anyOf":[{"type":"string"},{"type":"integer"}]}`},
		{"anyOf with null", `{"anyOf":[{"type":"string"},{"type":"null"}],"description":"d"}`, `{"type":"string","nullable":true,"description":"d"}`},
		{"oneOf", `{"oneOf":[{"type":"string"},{"type":"integer"}]}`, `{"anyOf":[{"type":"string"},{"type":"integer"}]}`},
		{"oneOf beside a type", `{"type":"object","oneOf":[{"required":["a"]},{"required":["b"]}]}`, `{"type":"object"}`},
		{"allOf", `{"allOf":[{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{"type":"integer"}},"required":["b"]}]}`,
			`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}},"required":["a","b"]}`},
		{"known format", `{"type":"string","format":"date-time"}`, `{"type":"string","format":"date-time"}`},
		{"unknown format", `{"type":"string","format":"uri"}`, `{"type":"string"}`},
		{"list without items", `{"type":"array"}`, `{"type":"array","items":{"type":"string"}}`},
		{"items without a type", `{"items":{"type":"integer"}}`, `{"type":"array","items":{"type":"integer"}}`},
		{"required without a property", `{"type":"object","properties":{"a":{}},"required":["a","z","a"]}`, `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`},
		{"anything", `true`, `{"type":"string"}`},
		{"nullable", `{"type":"number","nullable":true,"exclusiveMinimum":0,"minimum":1}`, `{"type":"number","nullable":true,"minimum":1}`},
	}
	for _, tt := range tests {
		t.Run(tt.what, func(t *testing.T) {
			t.Parallel()
			got := parameters(t, `{"type":"object","$defs":{"Item":{"type":"integer","minimum":3}},"properties":{"p":`+tt.property+`}}`)
			var want any
			if err := json.Unmarshal([]byte(tt.want), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got[0]["properties"].(map[string]any)["p"]); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAToolWithoutInputHasNoParameters(t *testing.T) {
	t.Parallel()
	for i, p := range parameters(t, ``, `{}`, `{"type":"object"}`, `{"type":"object","properties":{}}`, `[]`, `{"$ref":"#"}`) {
		if p != nil {
			t.Errorf("schema %d became %v", i, p)
		}
	}
}

func TestASchemaThatRefersToItselfEnds(t *testing.T) {
	t.Parallel()
	got := parameters(t, `{"type":"object","properties":{"child":{"$ref":"#"},"list":{"type":"array","items":{"$ref":"#/properties/list"}},"loop":{"$ref":"#/properties/loop"},"all":{"allOf":[{"$ref":"#/properties/all"}]}}}`)
	checkAllowed(t, got[0])
	want := map[string]any{"type": "object", "properties": map[string]any{
		"child": map[string]any{"type": "object"}, "loop": map[string]any{"type": "object"}, "all": map[string]any{"type": "object"},
		"list": map[string]any{"type": "array", "items": map[string]any{"type": "array", "items": map[string]any{"type": "object"}}},
	}}
	if diff := cmp.Diff(want, got[0]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestReferencesThatMultiplyAreCut(t *testing.T) {
	t.Parallel()
	// Each definition names the next one four times: 4^10 schemas when written out.
	defs := map[string]any{}
	for i := range 10 {
		next := map[string]any{"$ref": fmt.Sprintf("#/$defs/d%d", i+1)}
		defs[fmt.Sprintf("d%d", i)] = map[string]any{"type": "object", "properties": map[string]any{"a": next, "b": next, "c": next, "d": next}}
	}
	raw, err := json.Marshal(map[string]any{"type": "object", "$defs": defs, "properties": map[string]any{"p": map[string]any{"$ref": "#/$defs/d0"}}})
	if err != nil {
		t.Fatal(err)
	}
	got := parameters(t, string(raw))
	checkAllowed(t, got[0])
	if written, _ := json.Marshal(got[0]); len(written) > 200_000 {
		t.Errorf("the schema has %d bytes", len(written))
	}
}

var allowed = []string{
	"type", "format", "title", "description", "nullable", "enum", "items", "maxItems", "minItems", "properties", "required",
	"minLength", "maxLength", "pattern", "minimum", "maximum", "anyOf",
}

// fataler is what checkAllowed needs of a test.
type fataler interface{ Fatalf(string, ...any) }

// checkAllowed fails on a keyword that the service refuses, a required name without a property and a list without items.
func checkAllowed(t fataler, schema map[string]any) {
	for k, v := range schema {
		if !slices.Contains(allowed, k) {
			t.Fatalf("the keyword %s is not allowed, in %v", k, schema)
		}
		switch k {
		case "type":
			if _, ok := v.(string); !ok {
				t.Fatalf("type is %v", v)
			}
		case "items":
			checkAllowed(t, v.(map[string]any))
		case "anyOf":
			for _, option := range v.([]any) {
				checkAllowed(t, option.(map[string]any))
			}
		case "properties":
			for _, p := range v.(map[string]any) {
				checkAllowed(t, p.(map[string]any))
			}
		case "required":
			for _, name := range v.([]any) {
				if _, ok := schema["properties"].(map[string]any)[name.(string)]; !ok {
					t.Fatalf("%v is required and not a property, in %v", name, schema)
				}
			}
		}
	}
	if schema["type"] == nil && schema["anyOf"] == nil || schema["type"] == "array" && schema["items"] == nil {
		t.Fatalf("the schema says too little: %v", schema)
	}
}

func TestAnySchemaComesOutWithAllowedKeywordsOnly(t *testing.T) {
	t.Parallel()
	turn := scripted.Say("ok")
	turn.Repeat = true
	s := adaptertest.Serve(t, turn)
	p := adapter.New(s.BaseURL(model.Gemini), "", adaptertest.Client(t))
	rapid.Check(t, func(rt *rapid.T) {
		inner := schemas(4).Draw(rt, "schema")
		raw, err := json.Marshal(map[string]any{"type": "object", "properties": map[string]any{"p": inner}, "$defs": map[string]any{"d": inner}})
		if err != nil {
			rt.Fatal(err)
		}
		req := model.Request{Model: flash, Messages: adaptertest.Say("x"), Tools: []model.ToolSpec{{Name: "tool", Schema: raw}}}
		if _, err := adaptertest.Collect(t.Context(), p, req); err != nil {
			rt.Fatal(err)
		}
		sent := s.Requests()
		checkAllowed(rt, decodeParameters(t, sent[len(sent)-1].Body)[0])
	})
}

// schemas draws JSON Schemas, sound and unsound ones.
func schemas(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		if depth == 0 || rapid.IntRange(0, 9).Draw(t, "odd") == 0 {
			return rapid.SampledFrom([]any{true, nil, "text", map[string]any{}, map[string]any{"$ref": "#/$defs/d"}}).Draw(t, "leaf")
		}
		out := map[string]any{}
		inner := schemas(depth - 1)
		keywords := []string{
			"type", "types", "properties", "items", "anyOf", "oneOf", "allOf", "enum", "const", "required", "format", "$ref",
			"additionalProperties", "description", "minimum", "pattern", "prefixItems", "not", "if", "default",
		}
		for _, k := range rapid.SliceOfNDistinct(rapid.SampledFrom(keywords), 0, 6, rapid.ID[string]).Draw(t, "keywords") {
			switch k {
			case "type", "format":
				out[k] = rapid.SampledFrom([]string{"string", "object", "array", "integer", "null", "date-time", "uri"}).Draw(t, k)
			case "types":
				out["type"] = rapid.SliceOf(rapid.SampledFrom([]any{"string", "null", "array", "object", 5})).Draw(t, k)
			case "properties":
				out[k] = map[string]any{"a": inner.Draw(t, "a"), "$ref": inner.Draw(t, "b")}
			case "anyOf", "oneOf", "allOf", "prefixItems":
				out[k] = rapid.SliceOfN(inner, 0, 3).Draw(t, k)
			case "enum":
				out[k] = rapid.SliceOf(rapid.SampledFrom([]any{"x", nil, 1, true})).Draw(t, k)
			case "required":
				out[k] = []any{"a", "missing", 7}
			case "$ref":
				out[k] = rapid.SampledFrom([]any{"#/$defs/d", "#/nowhere", "#", 7, "other.json"}).Draw(t, k)
			case "description", "pattern":
				out[k] = rapid.SampledFrom([]any{"text", 5}).Draw(t, k)
			default:
				out[k] = inner.Draw(t, k)
			}
		}
		return out
	})
}
