package tooldoc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// Validator checks inputs against one document's schema. It is safe for concurrent use.
type Validator struct {
	schema *jsonschema.Schema
	// cost is the number of sub-schemas that one value may meet.
	cost int
}

// NewValidator compiles a document's input schema. Formats are asserted. It fails for a schema that is broken, over the limits,
// or refers to itself or to anything outside.
func NewValidator(d *Document) (*Validator, error) {
	if len(d.Input) > MaxSchema {
		return nil, fmt.Errorf("tool %q: input schema is larger than %d bytes", d.Name, MaxSchema)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(d.Input))
	if err != nil {
		return nil, fmt.Errorf("tool %q: parse input schema: %w", d.Name, err)
	}
	weight, err := cost(doc)
	if err != nil {
		return nil, fmt.Errorf("tool %q: %w", d.Name, err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	c.UseLoader(noLoader{})
	const location = "tool:input"
	if err := c.AddResource(location, doc); err != nil {
		return nil, fmt.Errorf("tool %q: add input schema: %w", d.Name, err)
	}
	schema, err := c.Compile(location)
	if err != nil {
		return nil, fmt.Errorf("tool %q: compile input schema: %w", d.Name, err)
	}
	return &Validator{schema: schema, cost: max(weight, 1)}, nil
}

// noLoader refuses every reference out of the schema: a schema is data of strangers and must not make us read anything.
type noLoader struct{}

// Load implements jsonschema.URLLoader.
func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("schema refers to %q: references out of a schema are not followed", url)
}

// Parse validates what a model wrote as arguments. Empty text and null are an empty object; text that is not JSON, or too much
// for the schema, is a miss like any other.
// It returns the canonical input, or the reasons of the miss as "$.path: message", at most 20 of them.
func (v *Validator) Parse(arguments string) (json.RawMessage, []string) {
	text := strings.TrimSpace(arguments)
	if text == "" || text == "null" {
		text = "{}"
	}
	if len(text) > MaxInput || len(text) > maxWork/v.cost {
		return nil, []string{"$: the input is too large"}
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return nil, []string{"$: the input is not valid JSON"}
	}
	if err := v.schema.Validate(value); err != nil {
		return nil, reasons(err)
	}
	return json.RawMessage(text), nil
}

// ParseObject is Parse without a schema: any JSON object is taken.
func ParseObject(arguments string) (json.RawMessage, []string) {
	text := strings.TrimSpace(arguments)
	if text == "" || text == "null" {
		text = "{}"
	}
	switch {
	case len(text) > MaxInput:
		return nil, []string{"$: the input is too large"}
	case !json.Valid([]byte(text)):
		return nil, []string{"$: the input is not valid JSON"}
	case text[0] != '{':
		return nil, []string{"$: the input must be an object"}
	}
	return json.RawMessage(text), nil
}

// ObjectRoot tells whether a schema says that its values are objects, which model providers ask for.
func ObjectRoot(schema json.RawMessage) bool {
	var root struct {
		Type any `json:"type"`
	}
	return json.Unmarshal(schema, &root) == nil && root.Type == "object"
}

// Limits of what a miss says: reasons, and bytes of one.
const (
	maxReasons = 20
	maxReason  = 400
)

func reasons(err error) []string {
	ve, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return []string{"$: " + err.Error()}
	}
	printer := message.NewPrinter(language.English)
	var out []string
	var walk func(e *jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		if len(e.Causes) == 0 {
			path := "$"
			for _, p := range e.InstanceLocation {
				path += "." + p
			}
			out = append(out, clip(path+": "+e.ErrorKind.LocalizedString(printer)))
		}
		for _, c := range e.Causes {
			walk(c)
		}
	}
	walk(ve)
	sort.Strings(out)
	out = slices.Compact(out)
	return out[:min(len(out), maxReasons)]
}

func clip(s string) string {
	if len(s) <= maxReason {
		return s
	}
	return strings.ToValidUTF8(s[:maxReason], "") + "…"
}

// Miss is the result of a call whose input its document rejects: the contract and the reasons, not an error.
func (d *Document) Miss(why []string) (map[string]any, error) {
	contract, err := d.Contract()
	if err != nil {
		return nil, err
	}
	return map[string]any{
		"summary":          fmt.Sprintf("The input of %s was not valid; read its contract and call it again.", d.Name),
		"contract":         contract,
		"validationErrors": why,
	}, nil
}
