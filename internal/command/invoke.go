package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/internal/command/exitcode"
	"github.com/loam-agents/loam/wire"
)

type invokeCommand struct {
	connection
	Verb    string `arg:"" enum:"read,write,call" help:"The verb: read, write or call."`
	Subject string `arg:"" help:"The address that is read or written, or the name of the tool that is called."`
	Agent   string `help:"Name or id of the agent whose newest conversation is taken; the agent that was made first when not set." placeholder:"AGENT"`
	Session string `help:"Id of the conversation, or its beginning." placeholder:"ID"`
	Input   string `help:"JSON: the input of the tool, or the options of the address." placeholder:"JSON"`
	From    string `help:"For write: where the content is from; - is standard input." placeholder:"FILE"`
}

// Run uses a verb. What it led to is printed as JSON, and stands in the conversation for the agent to see.
func (c *invokeCommand) Run(ctx context.Context, a *app) error {
	input, err := c.input(a)
	if err != nil {
		return err
	}
	cl, err := c.open(ctx, a)
	if err != nil {
		return err
	}
	id, err := c.find(ctx, cl)
	if err != nil {
		return err
	}
	reply, err := client.Call[wire.InvokeSessionToolResponse](ctx, cl, "InvokeSessionTool", map[string]any{"sessionId": id, "verb": c.Verb, "input": input})
	if err != nil {
		return err
	}
	if reply.Error != "" {
		return errors.New(reply.Error)
	}
	return a.printJSON(reply.Output)
}

func (c *invokeCommand) input(a *app) (map[string]any, error) {
	var given map[string]any
	if c.Input != "" && json.Unmarshal([]byte(c.Input), &given) != nil {
		return nil, exitcode.With(exitcode.Usage, errors.New(`--input must be a JSON object, such as {"query":"tea"}`))
	}
	if c.Verb == "call" {
		out := map[string]any{"tool": c.Subject}
		if given != nil {
			out["input"] = given
		}
		return out, nil
	}
	out := map[string]any{"address": c.Subject}
	if given != nil {
		out["options"] = given
	}
	if c.Verb == "write" && c.From != "" {
		from := c.From
		if from == "-" {
			from = ""
		}
		file, _, err := (&memoryWrite{From: from}).open(a)
		if err != nil {
			return nil, err
		}
		defer func() { _ = file.Close() }()
		raw, err := io.ReadAll(io.LimitReader(file, wholeFile))
		if err != nil {
			return nil, err
		}
		out["content"] = string(raw)
	}
	return out, nil
}

// find is the conversation that is named, or the agent's newest.
func (c *invokeCommand) find(ctx context.Context, cl *client.Client) (string, error) {
	if c.Session != "" {
		return findSession(ctx, cl, c.Session)
	}
	agent, err := findAgent(ctx, cl, c.Agent)
	if err != nil {
		return "", err
	}
	session, ok, err := latestSession(ctx, cl, agent.ID)
	if err == nil && !ok {
		err = fmt.Errorf("%s has no conversation yet: begin one with `loam send`", agent.Definition.Name)
	}
	return session.ID, err
}
