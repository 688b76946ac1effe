package spawn

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/loam-agents/loam/internal/agent"
	"github.com/loam-agents/loam/internal/agent/prompt"
	"github.com/loam-agents/loam/internal/callable"
	"github.com/loam-agents/loam/internal/runs"
	"github.com/loam-agents/loam/internal/sessionlog"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/tooldoc"
	"github.com/loam-agents/loam/wire"
)

// Contract is what a child is held to, as long as its session lasts. It stands in the input of the run that was started with it.
type Contract struct {
	// Persona replaces the agent's prompt; empty leaves it.
	Persona string `json:"persona,omitempty"`
	// Tools and Servers replace those of the definition when the child, or a run above it, was narrowed.
	Tools   *[]string `json:"tools,omitempty"`
	Servers *[]string `json:"servers,omitempty"`
	// Output is the schema of the result; a child without one answers in words.
	Output json.RawMessage `json:"output,omitempty"`
	// Detached says that nobody waits for the child.
	Detached bool `json:"detached,omitempty"`
}

// start is the part of a run's input that holds its contract.
type start struct {
	Contract *Contract `json:"contract"`
}

// Of is the contract of a run, and of its session: a later turn of a child's session keeps to what the child was started with. A run
// without one has the empty contract.
func Of(tx store.Tx, r *runs.Run) (Contract, error) {
	if r.Session != "" {
		s, err := sessionlog.Get(tx, r.Session)
		if err != nil {
			return Contract{}, err
		}
		return OfSession(tx, &s, r)
	}
	return read(r.ID, r.Input)
}

// OfSession is Of for a run whose session is known; r may be nil.
func OfSession(tx store.Tx, s *sessionlog.Session, r *runs.Run) (Contract, error) {
	switch {
	case s.Run == "":
		return Contract{}, nil
	case r != nil && s.Run == r.ID:
		return read(r.ID, r.Input)
	}
	first, err := runs.Get(tx, s.Run)
	if err != nil {
		return Contract{}, err
	}
	return read(first.ID, first.Input)
}

// Rejoin puts a further run of a child's session, which a person asks for, where the first one stands: under the same parent, with the
// same budget. Sessions of no child are left alone.
func Rejoin(tx store.Tx, s *sessionlog.Session, spec *runs.Spec) error {
	if s.Run == "" {
		return nil
	}
	first, err := runs.Get(tx, s.Run)
	if err != nil || first.Parent == "" {
		return err
	}
	parent, err := runs.Get(tx, first.Parent)
	spec.Parent, spec.ParentCall, spec.Budget = &parent, first.ParentCall, first.Budget
	return err
}

func read(runID string, input json.RawMessage) (Contract, error) {
	if len(input) == 0 {
		return Contract{}, nil
	}
	var in start
	if err := json.Unmarshal(input, &in); err != nil {
		return Contract{}, fmt.Errorf("run %s: decode input: %w", runID, err)
	}
	if in.Contract == nil {
		return Contract{}, nil
	}
	return *in.Contract, nil
}

// Apply is a definition as the contract leaves it.
func (c *Contract) Apply(def wire.AgentDefinition) wire.AgentDefinition {
	if c.Persona != "" {
		def.SystemPrompt = prompt.Parse(c.Persona, nil)
	}
	if c.Tools != nil {
		def.Tools = c.Tools
	}
	if c.Servers != nil {
		def.McpServers = *c.Servers
	}
	return def
}

// narrow sets the tools of a contract to those of named that a definition grants. The grant to publish is kept when `publish` or
// `write` is named, an authored tool is kept by its name without the grant to run code, and of an MCP server the named tools.
func (s *Spawner) narrow(tx store.Tx, c *Contract, agentID string, def wire.AgentDefinition, named []string) error {
	stored, err := tooldoc.List(tx, agentID)
	if err != nil {
		return err
	}
	names := make([]string, len(named))
	for i, name := range named {
		names[i] = callable.Normalize(name)
	}
	tools, servers := []string{}, []string{}
	grants := agent.GrantsOf(def, s.opts.Tools.Names())
	if grants.Publish && (slices.Contains(names, "publish") || slices.Contains(names, "write")) {
		tools = append(tools, "publish")
	}
	for _, name := range grants.Callables {
		if slices.Contains(names, name) {
			tools = append(tools, name)
		}
	}
	for i := range stored {
		d := &stored[i].Document
		if !s.opts.Tools.Granted(def, d) {
			continue
		}
		switch {
		case d.Kind == tooldoc.Lambda && slices.Contains(names, d.Name):
			tools = append(tools, d.Name)
		case d.Kind == tooldoc.MCP && (slices.Contains(names, d.Name) || slices.Contains(names, d.Server)):
			servers = append(servers, agent.OneTool(d.Name))
		}
	}
	c.Tools, c.Servers = &tools, &servers
	return nil
}
