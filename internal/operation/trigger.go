package operation

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/loam-agents/loam/internal/bounded"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/sessionlog"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/trigger"
	"github.com/loam-agents/loam/wire"
)

func triggerOperations() []Operation {
	return []Operation{
		{Name: "ListAgentTriggers", Response: "ListAgentTriggersResponse", Access: Read, Effect: Query, Since: "0.3", handle: listTriggers,
			Route: &Route{Method: "GET", Path: "/agents/{agentId}/triggers", Summary: "List the triggers of an agent",
				Request: wire.AgentRequest{}, Reply: wire.ListAgentTriggersResponse{}}},
		{Name: "GetAgentTrigger", Response: "GetAgentTriggerResponse", Access: Read, Effect: Query, Since: "0.3", handle: getTrigger,
			Route: &Route{Method: "GET", Path: "/triggers/{triggerId}", Summary: "Read a trigger, with its newest firings and the sessions it started",
				Note:    "Secrets of a webhook are shown to those who may change the trigger.",
				Request: wire.TriggerRequest{}, Reply: wire.GetAgentTriggerResponse{}}},
		{Name: "CreateAgentTrigger", Response: "CreateAgentTriggerResponse", Access: Write, Effect: Mutation, Since: "0.3", prepares: true, handle: createTrigger,
			Route: &Route{Method: "POST", Path: "/agents/{agentId}/triggers", Summary: "Make a trigger", Status: http.StatusCreated,
				Note:    "A repetition with the same Idempotency-Key answers without the secrets: read the trigger to see them.",
				Request: wire.CreateAgentTriggerRequest{}, Reply: wire.AgentTriggerResponse{}}},
		{Name: "UpdateAgentTrigger", Response: "UpdateAgentTriggerResponse", Access: Write, Effect: Mutation, Since: "0.3", prepares: true, handle: updateTrigger,
			Route: &Route{Method: "PATCH", Path: "/triggers/{triggerId}", Summary: "Change a trigger",
				Note:    "Parts that the patch does not name stay as they are.",
				Request: wire.UpdateAgentTriggerRequest{}, Reply: wire.AgentTriggerResponse{}, Tagged: true}},
		{Name: "DeleteAgentTrigger", Response: "DeleteAgentTriggerResponse", Access: Write, Effect: Mutation, Since: "0.3", handle: deleteTrigger,
			Route: &Route{Method: "DELETE", Path: "/triggers/{triggerId}", Summary: "Delete a trigger and the record of its firings",
				Note:    "What it has started goes on.",
				Request: wire.TriggerRequest{}, Reply: wire.TriggerRequest{}, Tagged: true}},
		{Name: "CombineAgentTriggers", Response: "UpdateAgentTriggerResponse", Access: Write, Effect: Mutation, Since: "0.3", handle: combineTriggers,
			Route: &Route{Method: "POST", Path: "/triggers/{triggerId}/combine", Summary: "Merge the conditions of another activity trigger into this one",
				Note:    "The other one is retired and says what it was merged into.",
				Request: wire.CombineAgentTriggersRequest{}, Reply: wire.AgentTriggerResponse{}}},
		{Name: "RunAgentTrigger", Response: "RunAgentTriggerResponse", Access: Write, Effect: Mutation, Since: "0.3", handle: runTrigger,
			Route: &Route{Method: "POST", Path: "/triggers/{triggerId}/run", Summary: "Make a trigger fire now",
				Note:    "Its schedule goes on as if nothing had been.",
				Request: wire.TriggerRequest{}, Reply: wire.RunAgentTriggerResponse{}}},
		{Name: "PreviewAgentTrigger", Response: "PreviewAgentTriggerResponse", Access: Write, Effect: Query, Since: "0.3", handle: previewTrigger,
			Route: &Route{Method: "POST", Path: "/agents/{agentId}/trigger-preview", Summary: "Check a trigger without saving it, and see when it would fire",
				Request: wire.PreviewAgentTriggerRequest{}, Reply: wire.PreviewAgentTriggerResponse{}}},
	}
}

// Pages of a trigger: the firings that are shown with it, and those in which its sessions are looked for.
const (
	shownFirings   = 25
	sessionFirings = 50
)

func triggerTag(t *trigger.Trigger) string { return fmt.Sprintf("%q", fmt.Sprintf("t%d", t.UpdatedAt)) }

// tooNew refuses a client to which a trigger's source means nothing (wire.SinceCompound).
func (c *Call) tooNew(source *wire.TriggerSource) error {
	if c.Caller.Protocol >= wire.SinceCompound {
		return nil
	}
	switch source.Type {
	case trigger.AnyActivity, trigger.CommentReply, trigger.DocumentAuthorComment:
		return &fault.Error{Code: fault.Code(wire.CodeProtocolTooOld), HTTPStatus: http.StatusUpgradeRequired, Message: wire.MsgProtocolTooOld}
	}
	return nil
}

// onTrigger resolves a trigger and the agent that it belongs to.
func (c *Call) onTrigger(tx store.Tx, id string) (trigger.Trigger, access, error) {
	t, err := trigger.Get(tx, id)
	if err != nil {
		return t, access{}, err
	}
	found, err := c.onAgent(tx, t.Agent, wire.MsgTriggerNotFound)
	if err == nil {
		err = c.tooNew(&t.Source)
	}
	return t, found, err
}

func (c *Call) triggerID() (string, error) {
	var req wire.TriggerRequest
	if err := c.bind(&req); err != nil {
		return "", err
	}
	return bounded.Name(req.TriggerID, "Trigger ID")
}

func listTriggers(ctx context.Context, c *Call) (Result, error) {
	agentID, err := c.agentID()
	if err != nil {
		return Result{}, err
	}
	var out wire.ListAgentTriggersResponse
	err = c.opts.Store.Read(ctx, func(tx store.Tx) error {
		out.Triggers = []wire.TriggerInfo{}
		if _, err := c.onAgent(tx, agentID, wire.MsgAgentNotFound); err != nil {
			return err
		}
		list, err := trigger.List(tx, agentID)
		for i := range list {
			if c.tooNew(&list[i].Source) == nil {
				out.Triggers = append(out.Triggers, c.opts.Triggers.Info(&list[i]))
			}
		}
		return err
	})
	return Result{Value: out}, err
}

func getTrigger(ctx context.Context, c *Call) (Result, error) {
	id, err := c.triggerID()
	if err != nil {
		return Result{}, err
	}
	var out wire.GetAgentTriggerResponse
	var tag string
	err = c.opts.Store.Read(ctx, func(tx store.Tx) error {
		t, found, err := c.onTrigger(tx, id)
		if err != nil {
			return err
		}
		tag = triggerTag(&t)
		out = wire.GetAgentTriggerResponse{Trigger: c.opts.Triggers.Info(&t), Sessions: []wire.SessionInfo{}, Firings: []wire.TriggerFiring{}}
		if found.only(c) == "" {
			if err := c.fired(tx, id, &out); err != nil {
				return err
			}
		}
		if !mayWrite(found.role) {
			return nil
		}
		out.TriggerSecrets, err = c.triggerSecrets(tx, &t)
		return err
	})
	return Result{Value: out, Tag: tag}, err
}

// fired adds the newest firings of a trigger, and the sessions that they began or went on with.
func (c *Call) fired(tx store.Tx, id string, out *wire.GetAgentTriggerResponse) error {
	firings, err := trigger.Firings(tx, id, sessionFirings)
	if err != nil {
		return err
	}
	out.Firings = firings[:min(len(firings), shownFirings)]
	seen := map[string]bool{"": true}
	for _, f := range firings {
		if seen[f.SessionID] {
			continue
		}
		seen[f.SessionID] = true
		s, err := sessionlog.Get(tx, f.SessionID)
		if fault.CodeOf(err) == fault.NotFound {
			continue
		}
		if err != nil {
			return err
		}
		out.Sessions = append(out.Sessions, s.Info())
	}
	return nil
}

func (c *Call) triggerSecrets(tx store.Tx, t *trigger.Trigger) (wire.TriggerSecrets, error) {
	secrets, err := c.opts.Triggers.Secrets(tx, t)
	if err == nil && secrets.WebhookSecret != "" {
		secrets.WebhookURL = c.opts.WebhookURL(t.ID, secrets.WebhookSecret)
	}
	return secrets, err
}

// savedTrigger is an answer of which the records of repetitions keep no secret.
type savedTrigger wire.AgentTriggerResponse

func (s savedTrigger) recorded() any { return wire.AgentTriggerResponse{Trigger: s.Trigger} }

func createTrigger(ctx context.Context, c *Call) (Result, error) {
	var req wire.CreateAgentTriggerRequest
	if err := c.bind(&req); err != nil {
		return Result{}, err
	}
	agentID, err := bounded.Name(req.AgentID, "Agent ID")
	if err != nil {
		return Result{}, err
	}
	draft, err := c.draft(ctx, agentID, req.Trigger)
	if err != nil {
		return Result{}, err
	}
	same := once{id: req.ClientRequestID, label: "Client request ID", request: map[string]any{"agentId": agentID, "trigger": c.fields["trigger"]}}
	return c.commit(ctx, same, func(tx store.Tx) (any, error) {
		found, err := c.onAgent(tx, agentID, wire.MsgAgentNotFound)
		if err != nil {
			return nil, err
		}
		t, err := c.opts.Triggers.Create(tx, found.agent.Account, agentID, &draft)
		if err != nil {
			return nil, err
		}
		return c.saved(tx, &t)
	})
}

func (c *Call) saved(tx store.Tx, t *trigger.Trigger) (savedTrigger, error) {
	secrets, err := c.triggerSecrets(tx, t)
	return savedTrigger{Trigger: c.opts.Triggers.Info(t), TriggerSecrets: secrets}, err
}

// draft checks a trigger that somebody wants to make. Whoever may not make it learns nothing of the server by having it checked.
func (c *Call) draft(ctx context.Context, agentID string, in wire.TriggerInput) (trigger.Draft, error) {
	err := c.opts.Store.Read(ctx, func(tx store.Tx) error {
		_, err := c.onAgent(tx, agentID, wire.MsgAgentNotFound)
		return err
	})
	if err == nil {
		err = c.tooNew(&in.Source)
	}
	if err != nil {
		return trigger.Draft{}, err
	}
	return c.opts.Triggers.Check(ctx, in)
}

func updateTrigger(ctx context.Context, c *Call) (Result, error) {
	var req wire.UpdateAgentTriggerRequest
	if err := c.bind(&req); err != nil {
		return Result{}, err
	}
	id, err := bounded.Name(req.TriggerID, "Trigger ID")
	if err != nil {
		return Result{}, err
	}
	var t trigger.Trigger
	err = c.opts.Store.Read(ctx, func(tx store.Tx) (err error) {
		t, _, err = c.onTrigger(tx, id)
		return err
	})
	if err != nil {
		return Result{}, err
	}
	if req.Patch.Source != nil {
		if err := c.tooNew(req.Patch.Source); err != nil {
			return Result{}, err
		}
	}
	draft, err := c.opts.Triggers.CheckPatch(ctx, &t, req.Patch)
	if err != nil {
		return Result{}, err
	}
	var tag string
	out, err := c.commit(ctx, once{}, func(tx store.Tx) (any, error) {
		now, _, err := c.onTrigger(tx, id)
		if err != nil {
			return nil, err
		}
		if err := c.unchanged(triggerTag(&now)); err != nil {
			return nil, err
		}
		if req.ExpectedUpdatedAt != nil && *req.ExpectedUpdatedAt != now.UpdatedAt {
			return nil, trigger.Stale()
		}
		saved, err := c.opts.Triggers.Update(tx, t, &draft)
		if err != nil {
			return nil, err
		}
		tag = triggerTag(&saved)
		return c.saved(tx, &saved)
	})
	out.Tag = tag
	return out, err
}

func deleteTrigger(ctx context.Context, c *Call) (Result, error) {
	id, err := c.triggerID()
	if err != nil {
		return Result{}, err
	}
	return c.commit(ctx, once{}, func(tx store.Tx) (any, error) {
		t, _, err := c.onTrigger(tx, id)
		if err != nil {
			return nil, err
		}
		if err := c.unchanged(triggerTag(&t)); err != nil {
			return nil, err
		}
		return wire.TriggerRequest{TriggerID: id}, c.opts.Triggers.Delete(tx, &t)
	})
}

func combineTriggers(ctx context.Context, c *Call) (Result, error) {
	var req wire.CombineAgentTriggersRequest
	if err := c.bind(&req); err != nil {
		return Result{}, err
	}
	id, err := bounded.Name(req.TriggerID, "Trigger ID")
	if err != nil {
		return Result{}, err
	}
	other, err := bounded.Name(req.OtherTriggerID, "Other trigger ID")
	if err != nil {
		return Result{}, err
	}
	if slices.Contains([]int64{req.ExpectedUpdatedAt, req.OtherExpectedUpdatedAt}, 0) {
		return Result{}, fault.Invalid("expectedUpdatedAt and otherExpectedUpdatedAt say which states of the triggers are meant").With("field", "expectedUpdatedAt")
	}
	return c.commit(ctx, once{}, func(tx store.Tx) (any, error) {
		for _, each := range []string{id, other} {
			if _, _, err := c.onTrigger(tx, each); err != nil {
				return nil, err
			}
		}
		t, err := c.opts.Triggers.Combine(tx, trigger.Combination{
			Target: id, Other: other, TargetUpdatedAt: req.ExpectedUpdatedAt, OtherUpdatedAt: req.OtherExpectedUpdatedAt, UseOther: req.UseOtherAction,
		})
		if err != nil {
			return nil, err
		}
		return c.saved(tx, &t)
	})
}

func runTrigger(ctx context.Context, c *Call) (Result, error) {
	id, err := c.triggerID()
	if err != nil {
		return Result{}, err
	}
	return c.commit(ctx, once{}, func(tx store.Tx) (any, error) {
		t, _, err := c.onTrigger(tx, id)
		if err != nil {
			return nil, err
		}
		firing, err := c.opts.Triggers.RunNow(tx, &t)
		return wire.RunAgentTriggerResponse{Firing: firing}, err
	})
}

func previewTrigger(ctx context.Context, c *Call) (Result, error) {
	var req wire.PreviewAgentTriggerRequest
	if err := c.bind(&req); err != nil {
		return Result{}, err
	}
	agentID, err := bounded.Name(req.AgentID, "Agent ID")
	if err != nil {
		return Result{}, err
	}
	draft, err := c.draft(ctx, agentID, req.Trigger)
	if err != nil {
		return Result{}, err
	}
	var out wire.PreviewAgentTriggerResponse
	err = c.opts.Store.Read(ctx, func(tx store.Tx) error {
		found, err := c.onAgent(tx, agentID, wire.MsgAgentNotFound)
		out.Trigger, out.NextFires = c.opts.Triggers.Preview(found.agent.Account, agentID, &draft)
		return err
	})
	return Result{Value: out}, err
}
