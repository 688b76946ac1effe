package tooldoc

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/loam-agents/loam/internal/fault"
)

// CheckSchema says what is wrong with a schema that an author wrote. Its root is an object and it keeps to the keywords that every
// model provider and the authors' own checks understand (spec §8.5); label names it in errors, which are fault.ValidationFailed.
// Arrays and plain values may stand below the root.
func CheckSchema(schema json.RawMessage, label string) error {
	if len(schema) > MaxSchema {
		return fault.Invalid("%s schema is larger than %d bytes", label, MaxSchema)
	}
	var root any
	if err := json.Unmarshal(schema, &root); err != nil {
		return fault.Invalid("%s schema is not valid JSON", label)
	}
	if fields, ok := root.(map[string]any); !ok || fields["type"] != "object" {
		return fault.Invalid(`%s schema must have an object root: {"type":"object", …}`, label)
	}
	if err := checkShape(root, label, 0); err != nil {
		return err
	}
	// What the shape lets through the compiler may still refuse.
	if _, err := NewValidator(&Document{Name: label, Input: schema}); err != nil {
		return fault.Wrap(err, fault.ValidationFailed, "%s schema is invalid", label)
	}
	return nil
}

var schemaTypes = []string{"object", "array", "string", "number", "integer", "boolean", "null"}

func checkShape(node any, path string, depth int) error {
	fields, ok := node.(map[string]any)
	switch {
	case !ok:
		return fault.Invalid("%s must be a schema", path)
	case depth > maxDepth:
		return fault.Invalid("%s is nested deeper than %d", path, maxDepth)
	}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if err := checkKeyword(key, fields[key], path, depth); err != nil {
			return err
		}
	}
	return nil
}

func checkKeyword(key string, value any, path string, depth int) error {
	at := path + "." + key
	good := true
	switch key {
	case "type":
		name, isText := value.(string)
		good = isText && slices.Contains(schemaTypes, name)
	case "description", "title", "$schema":
		_, good = value.(string)
	case "default":
	case "enum":
		list, isList := value.([]any)
		good = isList && len(list) > 0
	case "required":
		good = texts(value)
	case "additionalProperties":
		if _, isBool := value.(bool); !isBool {
			return checkShape(value, at, depth+1)
		}
	case "minLength", "maxLength", "minItems", "maxItems":
		n, isNumber := value.(float64)
		good = isNumber && n >= 0 && n == float64(int64(n))
	case "minimum", "maximum":
		_, good = value.(float64)
	case "items":
		return checkShape(value, at, depth+1)
	case "properties":
		return checkProperties(value, at, depth)
	default:
		return fault.Invalid("%s is not supported in a tool's schema. Supported: type, title, description, default, properties, required, "+
			"additionalProperties, enum, minLength, maxLength, minimum, maximum, items, minItems, maxItems", at)
	}
	if !good {
		return fault.Invalid("%s has a value that is not allowed there", at)
	}
	return nil
}

func checkProperties(value any, path string, depth int) error {
	fields, ok := value.(map[string]any)
	if !ok {
		return fault.Invalid("%s must be an object", path)
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if err := checkShape(fields[name], fmt.Sprintf("%s.%.64s", path, name), depth+1); err != nil {
			return err
		}
	}
	return nil
}

func texts(value any) bool {
	list, ok := value.([]any)
	for _, item := range list {
		if _, isText := item.(string); !isText {
			return false
		}
	}
	return ok
}
