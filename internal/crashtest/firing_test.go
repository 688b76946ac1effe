package crashtest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/loam-agents/loam/internal/model/scripted"
	"github.com/loam-agents/loam/wire"
)

// webhook makes a trigger that fires when it is called.
func (r *rig) webhook(continuation map[string]any) wire.AgentTriggerResponse {
	r.t.Helper()
	trigger := map[string]any{"name": "Bell", "source": map[string]any{"type": "webhook"}, "prompt": "Ring the bell."}
	if continuation != nil {
		trigger["continuation"] = continuation
	}
	return call[wire.AgentTriggerResponse](r, "CreateAgentTrigger", map[string]any{"agentId": r.agent, "trigger": trigger})
}

// ring sends one delivery until it is accepted, and tells whether the server knew it already.
func (r *rig) ring(made *wire.AgentTriggerResponse) (duplicate bool) {
	r.t.Helper()
	for r.ctx.Err() == nil {
		p := r.process
		req := must[*http.Request](r.t)(http.NewRequestWithContext(r.ctx, http.MethodPost,
			p.URL()+"/agents/api/webhooks/"+made.Trigger.ID+"/"+made.WebhookSecret, bytes.NewReader([]byte(`{"rung":7}`))))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Idempotency-Key", "delivery-1")
		resp, err := r.http.Do(req)
		if err == nil {
			var said struct{ Accepted, Duplicate bool }
			err = json.NewDecoder(resp.Body).Decode(&said)
			_ = resp.Body.Close()
			if err == nil && !said.Accepted {
				r.t.Fatalf("the delivery was refused with %s", resp.Status)
			}
			if err == nil {
				return said.Duplicate
			}
		}
		if err := r.replace(p); err != nil {
			r.t.Fatal(err)
		}
	}
	r.t.Fatal("the delivery was never accepted")
	return false
}

// fired is the one firing of a trigger, after the same delivery has come once more.
func (r *rig) fired(made *wire.AgentTriggerResponse, status string) wire.TriggerFiring {
	r.t.Helper()
	if !r.ring(made) {
		r.t.Error("the server does not know the delivery")
	}
	got := call[wire.GetAgentTriggerResponse](r, "GetAgentTrigger", map[string]any{"triggerId": made.Trigger.ID})
	if len(got.Firings) != 1 || got.Firings[0].Status != status {
		r.t.Fatalf("firings: %+v", got.Firings)
	}
	return got.Firings[0]
}

func firing(r *rig, point string) {
	r.model.Push(scripted.Turn{Match: scripted.Match{User: "Ring the bell."}, Repeat: true, Steps: []scripted.Step{text("It "), text("has rung.")}, Usage: scriptUsage})
	r.start(point)
	r.found()
	made := r.webhook(nil)
	r.ring(&made)
	// The turn may go on after the delivery was accepted.
	run := insist[wire.GetAgentTriggerResponse](r, "GetAgentTrigger", map[string]any{"triggerId": made.Trigger.ID}).Firings[0].RunID
	ended := r.through(run, func(context.Context, wire.RunInfo) {})
	f := r.fired(&made, "created")
	if ended.Status != "succeeded" || f.RunID != run {
		r.t.Errorf("the run is %s: %+v", ended.Status, ended.Error)
	}
	if sessions := call[wire.ListSessionsResponse](r, "ListSessions", map[string]any{"agentId": r.agent}).Sessions; len(sessions) != 1 || sessions[0].ID != f.SessionID {
		r.t.Errorf("sessions: %+v", sessions)
	}
	r.auditRuns(f.SessionID, r.events(f.SessionID), 1)
	if log := r.events(f.SessionID); len(log) != 2 || !strings.Contains(log[0].Content, "Ring the bell.") || log[1].Content != "It has rung." {
		r.t.Errorf("the log is %+v", log)
	}
}

func (r *rig) events(session string) (out []event) {
	r.t.Helper()
	for _, e := range call[wire.GetSessionResponse](r, "GetSession", map[string]any{"sessionId": session}).Events {
		out = append(out, decode(r.t, e))
	}
	return out
}

func waking(r *rig, point string) {
	r.start(point)
	r.found()
	made := r.webhook(map[string]any{"kind": "wake", "signal": "bell"})
	run := insist[wire.StartScriptResponse](r, "StartScript", map[string]any{"agentId": r.agent, "clientRequestId": "once", "script": `export default async function (input, ctx) {
  const bell = await ctx.waitForEvent({ signal: "bell" });
  await ctx.call("write", { address: "~/memory/result.md", content: JSON.stringify([bell.source, bell.payload.payload]) });
}`}).RunID
	rung := false
	ended := r.through(run, func(_ context.Context, info wire.RunInfo) {
		if info.Wait == nil || rung {
			return
		}
		rung = true
		r.ring(&made)
	})
	f := r.fired(&made, "delivered")
	if got := r.note("result"); ended.Status != "succeeded" || f.RunID != run || got != `["trigger",{"rung":7}]` {
		r.t.Errorf("the script is %s (%+v), the firing %+v, the result %s", ended.Status, ended.Error, f, got)
	}
	r.auditJournal(run, 1)
}
