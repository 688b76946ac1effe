// Package catalogue knows models: context window, longest answer, images, reasoning levels, prices.
//
// The base is the list inside charm.land/catwalk, corrected where its figures contradict each other and completed by the
// reasoning and image rules of spec/agents-protocol.md §7.9; a JSON file of the operator overrides it, field by field. A
// model that nobody knows gets the defaults of the protocol (128k context, 16,384 output) and no price: its cost is unknown,
// never zero. Nothing is parsed before the first question, and only the provider types of the protocol are kept.
//
// catalogue is part of tier 3 and calls package model only. The engine, the composition root and the operations that list
// models call it.
package catalogue

import (
	"math"
	"slices"
	"sync"

	"github.com/loam-agents/loam/internal/model"
)

// What is assumed of a model that nobody knows, in tokens.
const (
	DefaultContextWindow = 128_000
	DefaultMaxOutput     = 16_384
)

// Model is what is known of one model of one provider type.
type Model struct {
	// ID is the provider's own id, and Name what people call it.
	ID   string `json:"id"`
	Name string `json:"name"`
	// ContextWindow and MaxOutput are in tokens; MaxOutput is a sensible bound for one answer.
	ContextWindow int `json:"contextWindow"`
	MaxOutput     int `json:"maxOutput"`
	// Images tells whether the model sees images.
	Images bool `json:"images"`
	// Reasoning says how the model can be told to think.
	Reasoning model.ReasoningSupport `json:"reasoning"`
	// Price is nil when it is unknown.
	Price *Price `json:"price,omitempty"`
	// Known is false for a model that was made up of defaults and rules alone.
	Known bool `json:"known"`
}

// Price is in US dollars per million tokens.
type Price struct {
	Input      float64 `json:"input"`
	Output     float64 `json:"output"`
	CacheRead  float64 `json:"cacheRead"`
	CacheWrite float64 `json:"cacheWrite"`
}

// Cost is what a usage costs in millionths of a US dollar, rounded; known is false when the price is unknown.
func (m Model) Cost(u model.Usage) (micros int64, known bool) {
	if m.Price == nil {
		return 0, false
	}
	p := *m.Price
	sum := float64(u.Input)*p.Input + float64(u.Output)*p.Output + float64(u.CacheRead)*p.CacheRead + float64(u.CacheWrite)*p.CacheWrite
	return int64(math.Round(sum)), true
}

// Catalogue answers questions about models. It is safe for concurrent use.
type Catalogue struct {
	overrides []entry
	base      func() map[string]*provider
}

// New returns a catalogue. overridePath names a JSON file (see File), empty for none; a file that cannot be read or decoded
// is an error. The base list is not loaded yet.
func New(overridePath string) (*Catalogue, error) {
	overrides, err := readFile(overridePath)
	if err != nil {
		return nil, err
	}
	return &Catalogue{overrides: overrides, base: sync.OnceValue(load)}, nil
}

// Lookup returns what is known of a model; it never fails. Ids are found with and without the date at their end.
func (c *Catalogue) Lookup(providerType, modelID string) Model {
	m, found := c.base()[providerType].find(modelID)
	if !found {
		m = Model{ID: modelID, Name: modelID, ContextWindow: DefaultContextWindow, MaxOutput: DefaultMaxOutput, Images: seesImages(modelID)}
	}
	m.ID, m.Known = modelID, found
	m.Reasoning, _ = support(providerType, modelID, m.Reasoning, found)
	if providerType == model.TypeOllama && m.Price == nil {
		// What runs on one's own machine has no price per token.
		m.Price = &Price{}
	}
	for _, e := range c.overrides {
		if e.names(providerType, modelID) {
			m = e.Override.Apply(m)
			m.Known = true
		}
	}
	return m
}

// Reasoning returns the levels of a model; known is false for models of which neither the list nor a rule says anything, and
// an adapter may then try what it is asked for.
func (c *Catalogue) Reasoning(providerType, modelID string) (s model.ReasoningSupport, known bool) {
	m, found := c.base()[providerType].find(modelID)
	s, known = support(providerType, modelID, m.Reasoning, found)
	for _, e := range c.overrides {
		if e.names(providerType, modelID) && e.Override.Reasoning != nil {
			s, known = *e.Override.Reasoning, true
		}
	}
	return s, known
}

// List returns the models of a provider type that the base list has, in its order, without overrides for other models.
func (c *Catalogue) List(providerType string) []Model {
	p := c.base()[providerType]
	if p == nil {
		return nil
	}
	out := make([]Model, 0, len(p.models))
	for _, m := range p.models {
		out = append(out, c.Lookup(providerType, m.ID))
	}
	return slices.Clip(out)
}

// Default is the model that a fresh agent of a provider type starts with; empty when the list recommends none.
func (c *Catalogue) Default(providerType string) string {
	if p := c.base()[providerType]; p != nil {
		return p.recommended
	}
	return ""
}
