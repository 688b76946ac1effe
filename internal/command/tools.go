package command

import (
	"context"
	"fmt"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/wire"
)

type toolsCommand struct {
	List   toolsList   `cmd:"" default:"withargs" help:"List what an agent can call."`
	Show   toolsShow   `cmd:"" help:"Print what a tool does and takes."`
	Save   toolsSave   `cmd:"" help:"Author or change a tool from JSON."`
	On     toolsOn     `cmd:"" help:"Switch an authored tool on."`
	Off    toolsOff    `cmd:"" help:"Switch an authored tool off; it is kept."`
	Delete toolsDelete `cmd:"" help:"Delete an authored tool."`
}

// ofAgent is the flag of commands that work on one agent.
type ofAgent struct {
	connection
	Agent string `help:"Name or id; the agent that was made first when not set." placeholder:"AGENT"`
}

// find opens a client and finds the agent.
func (c *ofAgent) find(ctx context.Context, a *app) (*client.Client, wire.AgentInfo, error) {
	return c.onAgent(ctx, a, c.Agent)
}

// tools lists what the agent can call.
func (c *ofAgent) tools(ctx context.Context, a *app) ([]wire.ToolInfo, error) {
	cl, agent, err := c.find(ctx, a)
	if err != nil {
		return nil, err
	}
	reply, err := client.Call[wire.ListAgentToolsResponse](ctx, cl, "ListAgentTools", map[string]any{"agentId": agent.ID})
	return reply.Tools, err
}

type toolsList struct {
	ofAgent
	JSON bool `help:"Print JSON."`
}

// Run lists tools.
func (c *toolsList) Run(ctx context.Context, a *app) error {
	tools, err := c.tools(ctx, a)
	if err != nil {
		return err
	}
	if c.JSON {
		return a.printJSON(append([]wire.ToolInfo{}, tools...))
	}
	var rows [][]string
	for _, t := range tools {
		rows = append(rows, []string{t.Name, t.Kind, usable(&t), t.Summary})
	}
	return a.table("The agent has no tools beside its verbs, which every agent has.", []string{"TOOL", "KIND", "USE", "SUMMARY"}, rows)
}

// usable says whether the agent may call a tool.
func usable(t *wire.ToolInfo) string {
	switch {
	case !t.Enabled:
		return "off"
	case !t.Granted:
		return "not granted"
	}
	return "granted"
}

type toolsShow struct {
	ofAgent
	Tool string `arg:"" help:"Name of the tool."`
	JSON bool   `help:"Print JSON."`
}

// Run prints a tool.
func (c *toolsShow) Run(ctx context.Context, a *app) error {
	tools, err := c.tools(ctx, a)
	if err != nil {
		return err
	}
	t, err := named(tools, c.Tool)
	if err != nil {
		return err
	}
	if c.JSON {
		return a.printJSON(t)
	}
	if err := a.pairs([][2]string{
		{"tool", t.Name}, {"kind", t.Kind}, {"server", t.Server}, {"runtime", t.Runtime}, {"use", usable(&t)}, {"id", t.CID}, {"summary", t.Summary}, {"input", string(t.Input)}, {"output", string(t.Output)},
	}); err != nil {
		return err
	}
	for _, text := range []string{t.Description, t.Source} {
		if text == "" {
			continue
		}
		if _, err = fmt.Fprintf(a.out, "\n%s\n", paragraph(text)); err != nil {
			return err
		}
	}
	return nil
}

// named finds a tool.
func named(tools []wire.ToolInfo, name string) (wire.ToolInfo, error) {
	var names []string
	for _, t := range tools {
		if t.Name == name {
			return t, nil
		}
		names = append(names, t.Name)
	}
	return wire.ToolInfo{}, fmt.Errorf("there is no tool %q%s; `loam tools` lists them", name, didYouMean(name, names))
}
