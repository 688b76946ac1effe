package callable

import (
	"fmt"
	"slices"
	"strings"

	"github.com/loam-agents/loam/internal/tooldoc"
	"github.com/loam-agents/loam/wire"
)

// Held is what one agent can call under one definition. It does not change.
type Held struct {
	tools  []*Tool
	byName map[string]*Tool
	direct []*Tool
	// lines is the part of the Space index that names the tools, and count what replaces it when there is no room.
	lines, count string
}

// hold selects from the builtins and a shelf what a definition lets an agent know.
func (r *Registry) hold(stored []*Tool, def wire.AgentDefinition) *Held {
	h := &Held{byName: map[string]*Tool{}}
	for _, t := range r.builtins {
		if r.Granted(def, &t.Document) {
			h.add(t)
		}
	}
	for _, t := range stored {
		// An authored tool is known without the grant to run it: its author may go on with it.
		d := &t.Document
		if t.Enabled && !r.Reserved(d.Name) && (d.Kind == tooldoc.Lambda || r.Granted(def, d)) {
			h.add(t)
		}
	}
	slices.SortFunc(h.tools, byName)
	for _, name := range pinned(def) {
		if t := h.byName[name]; t != nil && t.Offerable() && !slices.Contains(h.direct, t) {
			h.direct = append(h.direct, t)
		}
	}
	h.lines, h.count = index(h.tools)
	return h
}

func (h *Held) add(t *Tool) {
	h.tools = append(h.tools, t)
	h.byName[t.Document.Name] = t
}

// pinned are the names in metadata.directTools of a definition: tools with the surface `direct` (design §8).
func pinned(def wire.AgentDefinition) []string {
	list, _ := def.Metadata["directTools"].([]any)
	var out []string
	for _, item := range list {
		if name, ok := item.(string); ok {
			out = append(out, Normalize(name))
		}
	}
	return out
}

// Find returns a tool by name, or nil.
func (h *Held) Find(name string) *Tool { return h.byName[Normalize(name)] }

// Tools are all, sorted by name.
func (h *Held) Tools() []*Tool { return h.tools }

// Offered are the tools that a provider is given beside the verbs: those with the surface `direct` first, and then those that were
// touched, in the order in which they were first. Names outside the agent's set are left out, whatever the log says.
func (h *Held) Offered(touched []string) []*Tool {
	out := slices.Clone(h.direct)
	for _, name := range touched {
		if t := h.Find(name); t != nil && t.Offerable() && !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out
}

// Limits of the Space index (spec §7.2).
const (
	// MaxIndex bounds the index in bytes.
	MaxIndex = 2048
	// maxMemoryLine bounds the line about memory.
	maxMemoryLine = 700
	// maxListed is how many tools of one MCP server are listed one by one.
	maxListed = 6
)

// Index is the Space index: the tools, and lines about memory and triggers. When there is no room, tools and then triggers become counts;
// short is what the line about triggers becomes. Its texts were written by many: whoever puts it into a prompt escapes it.
func (h *Held) Index(memory, triggers, short string) string {
	if len(memory) > maxMemoryLine {
		memory = strings.ToValidUTF8(memory[:maxMemoryLine-len("…")], "") + "…"
	}
	tools := h.lines
	if len(tools)+len(memory)+len(triggers)+2 > MaxIndex {
		tools = h.count
	}
	if len(tools)+len(memory)+len(triggers)+2 > MaxIndex {
		triggers = short
	}
	lines := slices.DeleteFunc([]string{tools, memory, triggers}, func(line string) bool { return line == "" })
	return strings.Join(lines, "\n")
}

// index makes the lines about tools.
func index(tools []*Tool) (lines, count string) {
	if len(tools) == 0 {
		return "", ""
	}
	servers := map[string]int{}
	for _, t := range tools {
		if t.Document.Kind == tooldoc.MCP {
			servers[t.Document.Server]++
		}
	}
	var b strings.Builder
	b.WriteString("tools/ — use them with `call`; a contract stands at ~/tools/NAME")
	for _, t := range tools {
		d := &t.Document
		switch n := servers[d.Server]; {
		case d.Kind == tooldoc.Lambda:
			fmt.Fprintf(&b, "\n- %s — %s (authored)", d.Name, d.Summary)
		case d.Kind == tooldoc.MCP && n > maxListed:
			fmt.Fprintf(&b, "\n- %s__* — %d tools; search_tools finds one", d.Server, n)
			servers[d.Server] = 0
		case d.Kind == tooldoc.MCP && n == 0:
		case d.Kind == tooldoc.MCP:
			fmt.Fprintf(&b, "\n- %s — %s (%s MCP)", d.Name, d.Summary, d.Server)
		default:
			fmt.Fprintf(&b, "\n- %s — %s", d.Name, d.Summary)
		}
	}
	return b.String(), fmt.Sprintf("tools/ — %d tools through `call`: read ~/tools/ to list them, search_tools finds one", len(tools))
}
