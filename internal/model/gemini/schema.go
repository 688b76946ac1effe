package gemini

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// maxSchemaDepth bounds nesting: what lies deeper becomes an object without rules.
const maxSchemaDepth = 12

// maxSchemaNodes bounds a schema whose references multiply: the rest becomes objects without rules too.
const maxSchemaNodes = 1000

// kept are the keywords that pass unchanged; their values need no look inside.
var kept = []string{
	"title", "description", "minItems", "maxItems", "minLength", "maxLength", "minimum", "maximum", "pattern", "required",
}

// formats are the formats that the service takes for a type; others are refused.
var formats = map[string][]string{
	"string": {"date-time", "enum"}, "number": {"float", "double"}, "integer": {"int32", "int64"},
}

// reduce turns a JSON Schema into the subset of OpenAPI that the service takes. References are resolved or dropped, const
// becomes enum, a type list with null becomes nullable, oneOf becomes anyOf, allOf is merged, and every other keyword is
// dropped: the service refuses the whole request over an unknown one. Validation stays with us, so a wider schema is safe.
func reduce(raw json.RawMessage) map[string]any {
	var root map[string]any
	if err := json.Unmarshal(raw, &root); err != nil {
		return anything()
	}
	r := reducer{root: root, open: map[string]bool{"#": true}, left: maxSchemaNodes}
	return r.schema(root, 0)
}

type reducer struct {
	root map[string]any
	// open holds the references that are being resolved: one that is met again inside itself is cut.
	open map[string]bool
	// left is how many schemas may still be written.
	left int
}

// anything stands for what is cut.
func anything() map[string]any { return map[string]any{"type": "object"} }

func (r *reducer) schema(in map[string]any, depth int) map[string]any {
	r.left--
	if depth > maxSchemaDepth || r.left < 0 {
		return anything()
	}
	in, refs := r.expand(in, 0)
	defer func() {
		for _, ref := range refs {
			delete(r.open, ref)
		}
	}()
	out := map[string]any{}
	for _, name := range kept {
		if v, ok := in[name]; ok {
			out[name] = v
		}
	}
	r.setType(in, out, depth)
	setEnum(in, out)
	r.setChildren(in, out, depth)
	setFormat(in, out)
	trim(out)
	return out
}

// expand follows references, keeping what stands beside them, and joins allOf into the schema. It returns the references
// that it opened; the caller closes them when the schema is written.
func (r *reducer) expand(in map[string]any, depth int) (out map[string]any, refs []string) {
	for {
		ref, ok := in["$ref"].(string)
		if !ok {
			break
		}
		if r.open[ref] || depth > maxSchemaDepth {
			return anything(), refs
		}
		r.open[ref] = true
		refs = append(refs, ref)
		in = beside(r.target(ref), in)
	}
	list, ok := in["allOf"].([]any)
	if !ok || depth > maxSchemaDepth {
		return in, refs
	}
	out = maps.Clone(in)
	delete(out, "allOf")
	for _, item := range list {
		part, ok := item.(map[string]any)
		if !ok {
			continue
		}
		part, opened := r.expand(part, depth+1)
		refs = append(refs, opened...)
		for k, v := range part {
			out[k] = join(k, out[k], v)
		}
	}
	return out, refs
}

// beside is the target of a reference with what stands beside the reference laid over it.
func beside(target, in map[string]any) map[string]any {
	out := maps.Clone(target)
	if out == nil {
		out = map[string]any{}
	}
	for k, v := range in {
		if k != "$ref" {
			out[k] = v
		}
	}
	return out
}

// target finds the schema at a JSON pointer such as #/$defs/Item; nil when there is none.
func (r *reducer) target(ref string) map[string]any {
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	at := r.root
	for _, step := range strings.Split(strings.TrimPrefix(pointer, "/"), "/") {
		if step == "" {
			continue
		}
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		next, ok := at[step].(map[string]any)
		if !ok {
			return nil
		}
		at = next
	}
	return at
}

// join merges a keyword of two schemas that must both hold: properties and required add up, else the first word counts.
func join(keyword string, a, b any) any {
	if a == nil {
		return b
	}
	switch keyword {
	case "properties":
		left, _ := a.(map[string]any)
		right, _ := b.(map[string]any)
		out := maps.Clone(right)
		if out == nil {
			out = map[string]any{}
		}
		maps.Copy(out, left)
		return out
	case "required":
		left, _ := a.([]any)
		right, _ := b.([]any)
		return append(slices.Clone(left), right...)
	}
	return a
}

// setType handles type names, type lists and unions.
func (r *reducer) setType(in, out map[string]any, depth int) {
	names := typeNames(in["type"])
	options, nullable := r.options(in, depth)
	if i := slices.Index(names, "null"); i >= 0 {
		names, nullable = slices.Delete(names, i, i+1), true
	}
	if n, ok := in["nullable"].(bool); ok {
		nullable = nullable || n
	}
	if len(names) == 1 {
		out["type"] = names[0]
	} else {
		for _, name := range names {
			options = append(options, r.schema(map[string]any{"type": name}, depth+1))
		}
	}
	setOptions(options, out)
	if nullable {
		out["nullable"] = true
	}
}

func typeNames(t any) (names []string) {
	switch t := t.(type) {
	case string:
		return []string{t}
	case []any:
		for _, n := range t {
			if name, ok := n.(string); ok {
				names = append(names, name)
			}
		}
	}
	return names
}

// setOptions writes a union. A union of one is that one, and a union beside a type is dropped: the service takes either.
func setOptions(options []map[string]any, out map[string]any) {
	switch {
	case len(options) == 1:
		for k, v := range options[0] {
			if _, has := out[k]; !has {
				out[k] = v
			}
		}
	case len(options) > 1 && out["type"] == nil:
		list := make([]any, len(options))
		for i, o := range options {
			list[i] = o
		}
		out["anyOf"] = list
	}
}

// options are the alternatives of anyOf or oneOf without null, and whether null was among them.
func (r *reducer) options(in map[string]any, depth int) (out []map[string]any, nullable bool) {
	for _, keyword := range []string{"anyOf", "oneOf"} {
		list, _ := in[keyword].([]any)
		for _, item := range list {
			option, ok := item.(map[string]any)
			if !ok {
				continue
			}
			if option["type"] == "null" {
				nullable = true
				continue
			}
			out = append(out, r.schema(option, depth+1))
		}
	}
	return out, nullable
}

// setEnum keeps the allowed values; the service takes texts only, so other values lose their list.
func setEnum(in, out map[string]any) {
	values, ok := in["enum"].([]any)
	if fixed, has := in["const"]; has {
		values, ok = []any{fixed}, true
	}
	if !ok {
		return
	}
	var texts []any
	for _, v := range values {
		switch v := v.(type) {
		case string:
			texts = append(texts, v)
		case nil:
			out["nullable"] = true
		default:
			if out["type"] == nil {
				out["type"] = typeOf(v)
			}
			return
		}
	}
	if len(texts) == 0 || (out["type"] != nil && out["type"] != "string") {
		return
	}
	out["type"], out["enum"] = "string", texts
}

func typeOf(v any) string {
	switch v.(type) {
	case bool:
		return "boolean"
	case float64:
		return "number"
	case []any:
		return "array"
	}
	return "object"
}

func (r *reducer) setChildren(in, out map[string]any, depth int) {
	if properties, ok := in["properties"].(map[string]any); ok {
		reduced := map[string]any{}
		for name, property := range properties {
			// A property may be `true`: anything goes, which the service can only say as a text.
			inner, ok := property.(map[string]any)
			if !ok {
				inner = map[string]any{"type": "string"}
			}
			reduced[name] = r.schema(inner, depth+1)
		}
		out["properties"] = reduced
		if out["type"] == nil && out["anyOf"] == nil {
			out["type"] = "object"
		}
	}
	if items, ok := in["items"].(map[string]any); ok {
		out["items"] = r.schema(items, depth+1)
		if out["type"] == nil && out["anyOf"] == nil {
			out["type"] = "array"
		}
	}
}

func setFormat(in, out map[string]any) {
	kind, _ := out["type"].(string)
	format, _ := in["format"].(string)
	if slices.Contains(formats[kind], format) {
		out["format"] = format
	}
}

// trim removes what contradicts the rest: required names without a property, keywords of another type, a list without
// items, a schema that says nothing.
func trim(out map[string]any) {
	kind, _ := out["type"].(string)
	if kind == "" && out["anyOf"] == nil {
		kind = "string"
		out["type"] = kind
	}
	if kind == "array" && out["items"] == nil {
		out["items"] = map[string]any{"type": "string"}
	}
	only := func(of string, names ...string) {
		for _, name := range names {
			if kind != of {
				delete(out, name)
			}
		}
	}
	only("object", "properties", "required")
	only("array", "items", "minItems", "maxItems")
	only("string", "minLength", "maxLength", "pattern", "enum")
	if kind != "number" && kind != "integer" {
		delete(out, "minimum")
		delete(out, "maximum")
	}
	trimRequired(out)
	for _, name := range []string{"title", "description", "pattern"} {
		if v, ok := out[name]; ok {
			if _, text := v.(string); !text {
				out[name] = fmt.Sprint(v)
			}
		}
	}
}

func trimRequired(out map[string]any) {
	names, ok := out["required"].([]any)
	properties, _ := out["properties"].(map[string]any)
	delete(out, "required")
	if !ok {
		return
	}
	var known []any
	for _, n := range names {
		name, _ := n.(string)
		if _, has := properties[name]; has && !slices.Contains(known, n) {
			known = append(known, n)
		}
	}
	if len(known) > 0 {
		out["required"] = known
	}
}
