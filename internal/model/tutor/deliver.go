package tutor

import (
	"encoding/json"
	"slices"
	"strings"
)

// playDeliver ends a typed child run: it returns the smallest value that the declared schema takes, and says so.
func playDeliver(t turn) reply {
	if len(t.rounds) == 0 {
		value := sample(schemaOf(t.offered["return_result"].Schema), "The tutor has no answer of its own to: "+t.text, 0)
		args, ok := value.(map[string]any)
		if !ok {
			args = map[string]any{}
		}
		return say("I am no language model, so I return a sample that has the right shape.").then("return_result", args)
	}
	for _, o := range t.rounds[len(t.rounds)-1] {
		if text, failed := o.trouble(); failed {
			return reply{say: text}
		}
	}
	return say("The sample was accepted.")
}

func schemaOf(raw json.RawMessage) map[string]any {
	var schema map[string]any
	if err := json.Unmarshal(raw, &schema); err != nil {
		return nil
	}
	return schema
}

// maxDepth bounds the sample of a schema that refers to itself or is deep on purpose.
const maxDepth = 8

// sample makes a value for the subset of schemas that typed children may declare.
func sample(schema map[string]any, text string, depth int) any {
	if options, ok := schema["enum"].([]any); ok && len(options) > 0 {
		return options[0]
	}
	if fixed, ok := schema["const"]; ok {
		return fixed
	}
	switch kind(schema) {
	case "object":
		return sampleObject(schema, text, depth)
	case "array":
		return sampleArray(schema, text, depth)
	case "string":
		return sampleString(schema, text)
	case "integer", "number":
		if least, ok := schema["minimum"].(float64); ok {
			return least
		}
		if most, ok := schema["maximum"].(float64); ok {
			return min(0, most)
		}
		return 0
	case "boolean":
		return false
	}
	return nil
}

func kind(schema map[string]any) string {
	switch k := schema["type"].(type) {
	case string:
		return k
	case []any:
		for _, option := range k {
			if name, ok := option.(string); ok && name != "null" {
				return name
			}
		}
	}
	if _, ok := schema["properties"]; ok {
		return "object"
	}
	return ""
}

func sampleObject(schema map[string]any, text string, depth int) map[string]any {
	out := map[string]any{}
	if depth >= maxDepth {
		return out
	}
	properties, _ := schema["properties"].(map[string]any)
	required, _ := schema["required"].([]any)
	for name, property := range properties {
		if !slices.Contains(required, any(name)) {
			continue
		}
		inner, _ := property.(map[string]any)
		out[name] = sample(inner, text, depth+1)
	}
	return out
}

func sampleArray(schema map[string]any, text string, depth int) []any {
	least, _ := schema["minItems"].(float64)
	items, _ := schema["items"].(map[string]any)
	out := []any{}
	for range min(int(least), 100) {
		if depth >= maxDepth {
			break
		}
		out = append(out, sample(items, text, depth+1))
	}
	return out
}

func sampleString(schema map[string]any, text string) string {
	runes := []rune(text)
	if most, ok := schema["maxLength"].(float64); ok && len(runes) > int(most) {
		runes = runes[:max(int(most), 0)]
	}
	if least, ok := schema["minLength"].(float64); ok && len(runes) < int(least) {
		return string(runes) + strings.Repeat(".", min(int(least)-len(runes), 10_000))
	}
	return string(runes)
}
