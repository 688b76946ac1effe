package engine

import (
	"encoding/json"

	"github.com/loam-agents/loam/internal/callable"
	"github.com/loam-agents/loam/internal/model"
	"github.com/loam-agents/loam/internal/space"
	"github.com/loam-agents/loam/internal/spawn"
	"github.com/loam-agents/loam/internal/tooldoc"
	"github.com/loam-agents/loam/internal/verbs"
	"github.com/loam-agents/loam/wire"
)

// touched is the name of the tool whose contract enters the transcript with a call of the agent: a read of ~/tools/<name>, or any
// call by that name (seeds/000 "Touch-expand and promotion"). The name is what a model wrote; whether there is such a tool, and
// whether the agent may have it, is decided when tools are offered.
func touched(c *wire.ToolCallEvent) string {
	var in struct{ Tool, Address string }
	switch c.Name {
	case "call":
		_ = json.Unmarshal(c.Input, &in) // an input that is something else names no tool
		return callable.Normalize(in.Tool)
	case "read":
		_ = json.Unmarshal(c.Input, &in)
		name, _ := space.ToolName(in.Address)
		return callable.Normalize(name)
	}
	return callable.Normalize(c.Name)
}

// offered are the tools of a request: the verbs, tools that are offered from the start, and those that were promoted. It only ever
// grows at its end while the definition stays the same, so that the prefix that a provider caches stays good.
func (t *turn) offered(held *callable.Held) []model.ToolSpec {
	var names []string
	for i := range t.log.entries {
		if name := t.log.entries[i].touches; name != "" {
			names = append(names, name)
		}
	}
	var out []model.ToolSpec
	for _, d := range t.engine.opts.Verbs.Documents() {
		if t.mayUse(d.Name) {
			out = append(out, spec(&d))
		}
	}
	if t.typed != nil {
		out = append(out, spec(&t.typed.document))
	}
	for _, tool := range held.Offered(names) {
		out = append(out, spec(&tool.Document))
	}
	return out
}

// mayUse tells whether a verb is one for this turn: a leaf never gets one whose every call is refused.
func (t *turn) mayUse(verb string) bool {
	switch verb {
	case verbs.ContinueName:
		return t.foreground()
	case spawn.Verb:
		return !t.run.Budget.OrNormal().Leaf()
	}
	return true
}

func spec(d *tooldoc.Document) model.ToolSpec {
	return model.ToolSpec{Name: d.Name, Description: d.Description, Schema: d.Input}
}
