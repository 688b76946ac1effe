package catalogue

import (
	"bytes"
	"encoding/json"
	"os"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/model"
)

// Any, as the provider of an override, means every provider type.
const Any = "*"

// File is the format of the override file. Later entries win.
type File struct {
	Models []struct {
		// Provider is a provider type of the wire protocol, or Any.
		Provider string `json:"provider"`
		// ID is the exact model id.
		ID string `json:"id"`
		Override
	} `json:"models"`
}

// Override replaces single fields of a Model; nil fields stay.
type Override struct {
	Name          *string                 `json:"name,omitempty"`
	ContextWindow *int                    `json:"contextWindow,omitempty"`
	MaxOutput     *int                    `json:"maxOutput,omitempty"`
	Images        *bool                   `json:"images,omitempty"`
	Reasoning     *model.ReasoningSupport `json:"reasoning,omitempty"`
	// Price replaces all four figures, in US dollars per million tokens.
	Price *Price `json:"price,omitempty"`
}

// Apply returns m with the fields of o. An account's own settings are applied the same way to what Lookup returned.
func (o Override) Apply(m Model) Model {
	set(&m.Name, o.Name)
	set(&m.ContextWindow, o.ContextWindow)
	set(&m.MaxOutput, o.MaxOutput)
	set(&m.Images, o.Images)
	set(&m.Reasoning, o.Reasoning)
	if o.Price != nil {
		p := *o.Price
		m.Price = &p
	}
	return m
}

func set[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

// check refuses figures that would turn budgets and windows upside down.
func (o Override) check() error {
	for name, n := range map[string]*int{"contextWindow": o.ContextWindow, "maxOutput": o.MaxOutput} {
		if n != nil && *n <= 0 {
			return fault.Invalid("%s must be greater than zero", name)
		}
	}
	if p := o.Price; p != nil && min(p.Input, p.Output, p.CacheRead, p.CacheWrite) < 0 {
		return fault.Invalid("a price must not be negative")
	}
	return nil
}

type entry struct {
	provider, id string
	Override     Override
}

func (e entry) names(providerType, modelID string) bool {
	return e.id == modelID && (e.provider == providerType || e.provider == Any)
}

func readFile(path string) ([]entry, error) {
	if path == "" {
		return nil, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fault.Wrap(err, fault.ValidationFailed, "The model file %s cannot be read", path)
	}
	var f File
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&f); err != nil {
		return nil, fault.Wrap(err, fault.ValidationFailed, "The model file %s is not valid: %v", path, err)
	}
	var out []entry
	for i, m := range f.Models {
		if m.Provider == "" || m.ID == "" {
			return nil, fault.Invalid("The model file %s: entry %d needs provider and id", path, i+1)
		}
		if err := m.check(); err != nil {
			return nil, fault.Wrap(err, fault.ValidationFailed, "The model file %s: entry %d (%s): %v", path, i+1, m.ID, err)
		}
		out = append(out, entry{provider: m.Provider, id: m.ID, Override: m.Override})
	}
	return out, nil
}
