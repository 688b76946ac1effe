package operation

import (
	"context"
	"encoding/json"

	"github.com/loam-agents/loam/internal/agent"
	"github.com/loam-agents/loam/internal/bounded"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/runs"
	"github.com/loam-agents/loam/internal/sessionlog"
	"github.com/loam-agents/loam/internal/space"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

func invokeOperations() []Operation {
	return []Operation{
		{Name: "InvokeSessionTool", Response: "InvokeSessionToolResponse", Access: Write, Effect: Mutation, Since: "0.3", handle: invokeSessionTool, prepares: true,
			Route: &Route{Method: "POST", Path: "/sessions/{sessionId}/invoke", Summary: "Use a verb in a conversation",
				Note:    "Runs read, write or call as the person who asks; call and result stand in the log for the agent to see. A call that fails is answered with its error. Refused with 409 while a turn is at work.",
				Request: wire.InvokeSessionToolRequest{}, Reply: wire.InvokeSessionToolResponse{}}},
	}
}

// Texts of refusals (spec §3.5).
const (
	msgVerb        = "verb must be read, write, or call"
	msgAgentBusy   = "The agent is working in this thread right now; wait for its turn to finish"
	msgPersonBusy  = "A user tool action is still running in this thread; wait for it to finish"
	maxInvokeInput = 4 << 20
)

func invokeSessionTool(ctx context.Context, c *Call) (Result, error) {
	var req wire.InvokeSessionToolRequest
	if err := c.bind(&req); err != nil {
		return Result{}, err
	}
	sessionID, err := bounded.Name(req.SessionID, "Session ID")
	switch {
	case err != nil:
		return Result{}, err
	case req.Verb != "read" && req.Verb != "write" && req.Verb != "call":
		return Result{}, fault.Invalid(msgVerb)
	case len(req.Input) > maxInvokeInput:
		return Result{}, fault.New(fault.TooLarge, "Input is too large: at most %d bytes", maxInvokeInput)
	}
	if len(req.Input) == 0 {
		req.Input = json.RawMessage(`{}`)
	}
	if !c.acting.begin(sessionID) {
		// Of a session that the caller may not use it does not learn this.
		if err := c.mayInvoke(ctx, sessionID); err != nil {
			return Result{}, err
		}
		return Result{}, fault.New(fault.Conflict, msgPersonBusy)
	}
	defer c.acting.end(sessionID)
	var scope space.Scope
	var call wire.ToolCallEvent
	var again []byte
	err = c.whenNobodyActs(ctx, sessionID, func() (err error) {
		scope, call, again, err = c.beginInvoke(ctx, sessionID, &req)
		return err
	})
	if err != nil || again != nil {
		if err == nil {
			return c.repeat(ctx, again)
		}
		return Result{}, err
	}
	done := c.opts.Engine.Invoke(ctx, scope, call)
	defer c.endedActing(context.WithoutCancel(ctx), sessionID)
	for {
		// The person may have gone; what was done is written down all the same.
		out, err := c.commit(context.WithoutCancel(ctx), once{session: sessionID}, func(tx store.Tx) (any, error) {
			event, result, err := done.Record(tx)
			return wire.InvokeSessionToolResponse{SessionID: sessionID, ResultEventID: event.ID, Output: result.Output, Error: result.Error}, err
		})
		if !done.Again(err) {
			return out, err
		}
	}
}

func (c *Call) mayInvoke(ctx context.Context, sessionID string) error {
	return c.opts.Store.Read(ctx, func(tx store.Tx) error {
		_, _, err := c.onSession(tx, sessionID)
		return err
	})
}

// beginInvoke writes down what is about to be done. again is the answer of the same request, if it was carried out before.
func (c *Call) beginInvoke(ctx context.Context, sessionID string, req *wire.InvokeSessionToolRequest) (scope space.Scope, call wire.ToolCallEvent, again []byte, err error) {
	key, request, err := c.key(once{})
	if err != nil {
		return scope, call, nil, err
	}
	call = wire.ToolCallEvent{
		Type: sessionlog.TypeToolCall, ID: "user-" + c.opts.IDs(), Name: req.Verb, Input: req.Input, Actor: string(sessionlog.ActorUser),
		Meta: &wire.EventMeta{AccountID: c.Caller.Account, SignerID: c.Caller.Signer},
	}
	err = c.opts.Store.Write(ctx, store.Interactive, func(tx store.Tx) error {
		if err := tx.Lock(wire.KeySession + sessionID); err != nil {
			return err
		}
		s, on, err := c.onSession(tx, sessionID)
		if err != nil {
			return err
		}
		a, err := agent.Get(tx, s.Agent)
		if err != nil {
			return err
		}
		if again, err = c.before(tx, key, request); err != nil || again != nil {
			return err
		}
		busy, err := runs.SessionBusy(tx, sessionID, "")
		if err != nil {
			return err
		}
		if busy {
			return fault.New(fault.Conflict, msgAgentBusy)
		}
		if err := c.beginsActing(tx, sessionID); err != nil {
			return err
		}
		scope = space.Scope{Account: s.Account, Agent: s.Agent, Session: s.ID, Decides: c.decides(on), Definition: a.Definition}
		_, err = c.opts.Log.Append(tx, sessionID, nil, sessionlog.Entry{Payload: call})
		return err
	})
	return scope, call, again, err
}
