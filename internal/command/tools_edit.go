package command

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/internal/command/exitcode"
	"github.com/loam-agents/loam/wire"
)

// maxToolFile bounds what is read of a tool in JSON, in bytes; the server decides what it takes.
const maxToolFile = 4 << 20

type toolsSave struct {
	ofAgent
	From    string `help:"Read this file instead of standard input." placeholder:"FILE"`
	Replace string `help:"Replace the tool of this name, which may rename it." placeholder:"NAME"`
}

// Run authors a tool: JSON with name, description, source, and as wanted summary, input, output, runtime and enabled.
func (c *toolsSave) Run(ctx context.Context, a *app) error {
	from, err := a.file(c.From)
	if err != nil {
		return err
	}
	defer from.Close()
	decoder := json.NewDecoder(io.LimitReader(from, maxToolFile))
	decoder.DisallowUnknownFields()
	var tool wire.ToolInput
	if err := decoder.Decode(&tool); err != nil {
		return exitcode.With(exitcode.Usage, fmt.Errorf(`the tool must be JSON such as {"name":"count","description":"Counts words.","source":"…"}: %w`, err))
	}
	cl, agent, err := c.find(ctx, a)
	if err != nil {
		return err
	}
	return save(ctx, a, cl, agent.ID, tool, c.Replace, "saved")
}

func save(ctx context.Context, a *app, cl *client.Client, agentID string, tool wire.ToolInput, previous, done string) error {
	request := wire.SaveAgentToolRequest{AgentID: agentID, Tool: tool, PreviousName: previous}
	reply, err := client.Call[wire.SaveAgentToolResponse](ctx, cl, "SaveAgentTool", request)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.out, "%s %s (%s)\n", done, reply.Tool.Name, reply.Tool.CID)
	return err
}

type toolsOn struct {
	ofAgent
	Tool string `arg:"" help:"Name of the tool."`
}

// Run switches a tool on.
func (c *toolsOn) Run(ctx context.Context, a *app) error {
	return turnTool(ctx, a, &c.ofAgent, c.Tool, true)
}

type toolsOff struct {
	ofAgent
	Tool string `arg:"" help:"Name of the tool."`
}

// Run switches a tool off.
func (c *toolsOff) Run(ctx context.Context, a *app) error {
	return turnTool(ctx, a, &c.ofAgent, c.Tool, false)
}

func turnTool(ctx context.Context, a *app, of *ofAgent, name string, on bool) error {
	cl, agent, err := of.find(ctx, a)
	if err != nil {
		return err
	}
	reply, err := client.Call[wire.ListAgentToolsResponse](ctx, cl, "ListAgentTools", map[string]any{"agentId": agent.ID})
	if err != nil {
		return err
	}
	t, err := named(reply.Tools, name)
	if err != nil {
		return err
	}
	tool := wire.ToolInput{
		Name: t.Name, Summary: t.Summary, Description: t.Description, Input: t.Input, Output: t.Output, Source: t.Source, Runtime: t.Runtime, Enabled: &on,
	}
	return save(ctx, a, cl, agent.ID, tool, t.Name, map[bool]string{true: "switched on", false: "switched off"}[on])
}

type toolsDelete struct {
	ofAgent
	sure
	Tool string `arg:"" help:"Name of the tool."`
}

// Run deletes a tool.
func (c *toolsDelete) Run(ctx context.Context, a *app) error {
	cl, agent, err := c.find(ctx, a)
	if err != nil {
		return err
	}
	if err := c.confirm(a, c.Tool+" of "+agent.Definition.Name); err != nil {
		return err
	}
	reply, err := client.Call[wire.DeleteAgentToolResponse](ctx, cl, "DeleteAgentTool", wire.AgentToolRequest{AgentID: agent.ID, Name: c.Tool})
	if err != nil {
		return err
	}
	if !reply.Deleted {
		return fmt.Errorf("there is no tool %q; `loam tools` lists them", c.Tool)
	}
	_, err = fmt.Fprintln(a.out, "deleted "+printable(c.Tool))
	return err
}
