package operation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/loam-agents/loam/internal/bounded"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/runs"
	"github.com/loam-agents/loam/internal/script"
	"github.com/loam-agents/loam/internal/script/quickjs"
	"github.com/loam-agents/loam/internal/spawn"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

func scriptOperations() []Operation {
	return []Operation{
		{Name: "StartScript", Response: "StartScriptResponse", Access: Write, Effect: Mutation, Since: "0.2", handle: startScript,
			Route: &Route{Method: "POST", Path: "/agents/{agentId}/scripts", Summary: "Run a script with what an agent may do",
				Note: "The script is checked before it runs; every problem is named at once. The run goes on by itself: follow it with its " +
					"stream, and give it the signals that it waits for.",
				Request: wire.StartScriptRequest{}, Reply: wire.StartScriptResponse{}}},
	}
}

// startScript checks a script and queues its run.
func startScript(ctx context.Context, c *Call) (Result, error) {
	var req wire.StartScriptRequest
	if err := c.bind(&req); err != nil {
		return Result{}, err
	}
	agentID, err := bounded.Name(req.AgentID, "Agent ID")
	if err != nil {
		return Result{}, err
	}
	title := "Script"
	if req.Title != nil {
		if title, err = bounded.Name(*req.Title, "Title"); err != nil {
			return Result{}, err
		}
	}
	input, err := json.Marshal(req.Input)
	if err != nil {
		return Result{}, fault.Wrap(err, fault.ValidationFailed, "input cannot be written as JSON")
	}
	if len(input) > script.MaxResult {
		return Result{}, fault.New(fault.TooLarge, "The input of a script has %d bytes, at most %d KiB", len(input), script.MaxResult>>10)
	}
	// Whoever may not start it learns nothing of the server by having it checked.
	err = c.opts.Store.Read(ctx, func(tx store.Tx) error {
		_, err := c.onAgent(tx, agentID, wire.MsgAgentNotFound)
		return err
	})
	if err != nil {
		return Result{}, err
	}
	program, err := c.compile(ctx, req.Script)
	if err != nil {
		return Result{}, err
	}
	start, err := json.Marshal(script.Start{Program: program, Input: input})
	if err != nil {
		return Result{}, fmt.Errorf("encode the input of a workflow: %w", err)
	}
	same := once{id: req.ClientRequestID, label: "Client request ID", request: map[string]any{
		"agentId": agentID, "script": req.Script, "title": title, "input": c.fields["input"],
	}}
	return c.commit(ctx, same, func(tx store.Tx) (any, error) {
		found, err := c.onAgent(tx, agentID, wire.MsgAgentNotFound)
		if err != nil {
			return nil, err
		}
		run, err := c.opts.Runs.Enqueue(tx, runs.Spec{
			Account: found.agent.Account, Kind: runs.KindWorkflow, Agent: agentID, AgentVersion: found.agent.Version, Origin: "user", Title: title,
			Lane: runs.Background, MaxAttempts: 1, Input: start, Budget: spawn.RootBudget(nil, found.agent.Definition),
		})
		return wire.StartScriptResponse{RunID: run.ID}, err
	})
}

// compile checks a script.
func (c *Call) compile(ctx context.Context, source string) (*script.Program, error) {
	return Compile(ctx, c.opts.Scripts, source)
}

// Compile checks a script. Errors are faults: validation_failed with every problem, and unavailable on a server without an engine.
func Compile(ctx context.Context, compiler *script.Compiler, source string) (*script.Program, error) {
	program, err := compiler.Compile(ctx, source)
	if refused, ok := errors.AsType[*script.Refused](err); ok {
		return nil, fault.Invalid("%s", refused.Error()).With("problems", refused.Problems)
	}
	if errors.Is(err, quickjs.ErrAbsent) {
		return nil, fault.New(fault.Unavailable, "This server runs no scripts: its binary was built without the script engine")
	}
	return program, err
}

// sourceOf is the source of a script's run, empty for other runs.
func sourceOf(r *runs.Run) string {
	var in script.Start
	if r.Kind != runs.KindWorkflow || json.Unmarshal(r.Input, &in) != nil || in.Program == nil {
		return ""
	}
	return in.Program.Source
}
