package catalogue

import (
	"regexp"
	"strings"

	"charm.land/catwalk/pkg/catwalk"
	"charm.land/catwalk/pkg/embedded"

	"github.com/loam-agents/loam/internal/model"
)

// sources maps the list's providers to the provider types of the protocol.
var sources = map[catwalk.InferenceProvider]string{
	catwalk.InferenceProviderOpenAI:     model.TypeOpenAI,
	catwalk.InferenceProviderAnthropic:  model.TypeAnthropic,
	catwalk.InferenceProviderGemini:     model.TypeGoogle,
	catwalk.InferenceProviderOpenRouter: model.TypeOpenRouter,
	catwalk.InferenceProviderDeepSeek:   model.TypeDeepSeek,
	catwalk.InferenceProviderGROQ:       model.TypeGroq,
	catwalk.InferenceProviderXAI:        model.TypeXAI,
}

// provider is the part of the list for one provider type.
type provider struct {
	models []Model
	// byID finds a position in models by id, by id without its date.
	byID        map[string]int
	recommended string
}

// load parses the list. It takes milliseconds and some megabytes that are garbage afterwards, so it runs once and late.
func load() map[string]*provider {
	out := map[string]*provider{}
	for _, source := range embedded.GetAll() {
		kind, ok := sources[source.ID]
		if !ok {
			continue
		}
		p := &provider{byID: make(map[string]int, 2*len(source.Models)), recommended: strings.Clone(source.DefaultLargeModelID)}
		for _, m := range source.Models {
			p.models = append(p.models, convert(m))
		}
		for i, m := range p.models {
			p.alias(undated(m.ID), i)
		}
		for i, m := range p.models {
			p.byID[m.ID] = i
		}
		out[kind] = p
	}
	return out
}

// alias lets the first model of a short name have it: the list has the newest one first.
func (p *provider) alias(id string, i int) {
	if _, taken := p.byID[id]; !taken {
		p.byID[id] = i
	}
}

// find also works on a nil provider, for types that the list does not have.
func (p *provider) find(id string) (Model, bool) {
	if p == nil {
		return Model{}, false
	}
	id = strings.TrimPrefix(id, "models/")
	if i, ok := p.byID[id]; ok {
		return p.models[i], true
	}
	if i, ok := p.byID[undated(id)]; ok {
		return p.models[i], true
	}
	// A routing variant of OpenRouter is the same model at another price.
	plain, variant, ok := strings.Cut(id, ":")
	if i, found := p.byID[plain]; ok && found {
		m := p.models[i]
		m.Price = nil
		if variant == freeVariant {
			m.Price = &Price{}
		}
		return m, true
	}
	return Model{}, false
}

const freeVariant = "free"

var date = regexp.MustCompile(`-(?:\d{8}|\d{4}-\d{2}-\d{2})$`)

func undated(id string) string { return date.ReplaceAllString(id, "") }

func convert(m catwalk.Model) Model {
	out := Model{
		ID: strings.Clone(m.ID), Name: strings.Clone(m.Name), ContextWindow: int(m.ContextWindow), MaxOutput: int(m.DefaultMaxTokens), Images: m.SupportsImages,
		Price: price(m),
	}
	if out.ContextWindow <= 0 {
		out.ContextWindow = DefaultContextWindow
	}
	if out.MaxOutput <= 0 {
		out.MaxOutput = min(DefaultMaxOutput, out.ContextWindow)
	}
	for _, name := range m.ReasoningLevels {
		switch level := model.ReasoningLevel(strings.Clone(name)); level {
		case "none":
			out.Reasoning.CanBeOff = true
		case model.ReasoningMinimal, model.ReasoningLow, model.ReasoningMedium, model.ReasoningHigh, model.ReasoningXHigh, model.ReasoningMax:
			out.Reasoning.Levels = append(out.Reasoning.Levels, level)
		}
	}
	return out
}

// price reads the four figures. The list calls the price of a cache write "in cached" and that of a read "out cached", but
// not always: some models have the read price in the first field, and some the output price in the second. What a cache
// costs settles it: a read is cheaper than input, a write is not. A missing figure counts as input, so that an
// estimate errs on the high side.
func price(m catwalk.Model) *Price {
	if m.CostPer1MIn <= 0 && m.CostPer1MOut <= 0 {
		if strings.HasSuffix(m.ID, ":"+freeVariant) {
			return &Price{}
		}
		return nil
	}
	p := &Price{Input: m.CostPer1MIn, Output: m.CostPer1MOut, CacheRead: m.CostPer1MIn, CacheWrite: m.CostPer1MIn}
	for _, candidate := range []float64{m.CostPer1MInCached, m.CostPer1MOutCached} {
		if candidate > 0 && candidate < p.Input {
			p.CacheRead = candidate
		}
	}
	if m.CostPer1MInCached > p.Input {
		p.CacheWrite = m.CostPer1MInCached
	}
	return p
}
