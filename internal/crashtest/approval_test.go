package crashtest_test

import (
	"context"
	"testing"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/internal/model/scripted"
	"github.com/loam-agents/loam/internal/server/servertest"
	"github.com/loam-agents/loam/wire"
)

// paying sends the message that has a careful agent pay, and returns the run. The process may die over it.
func (r *rig) paying(p *servertest.Till) (run string) {
	r.t.Helper()
	r.model.Push(
		scripted.Turn{Match: scripted.Match{User: "Pay."}, Repeat: true, Steps: []scripted.Step{text("I pay."), calls("call", `{"tool":"till__pay","input":{"sum":3}}`)}, Usage: scriptUsage},
		scripted.Turn{Match: scripted.Match{Result: "till__pay"}, Repeat: true, Steps: []scripted.Step{text("It is settled.")}, Usage: scriptUsage},
	)
	call[wire.McpServerResponse](r, "SetMcpServer", map[string]any{"name": "till", "config": map[string]any{"url": p.URL}})
	call[wire.GetAgentResponse](r, "UpdateAgent", map[string]any{"agentId": r.agent, "definition": map[string]any{
		"name": "Scribe", "systemPrompt": "You pay.", "modelProvider": "scripted", "model": "scripted-1", "mcpServers": []string{"till"},
		"toolApproval": map[string]any{"default": "required"},
	}})
	session := r.session()
	m := must[message](r.t)(r.sign(message{session: session, text: "Pay."}))
	if _, err := r.deliver(m); err != nil {
		r.t.Fatal(err)
	}
	return call[wire.ListRunsResponse](r, "ListRuns", map[string]any{"sessionId": session}).Runs[0].ID
}

// decided answers what the run asks until it has ended. A person who is asked about a call that is in doubt looks into the till.
func (r *rig) decided(run string, p *servertest.Till) wire.RunInfo {
	r.t.Helper()
	return r.through(run, func(ctx context.Context, _ wire.RunInfo) {
		asked, err := client.Call[wire.ListApprovalsResponse](ctx, r.client, "ListApprovals", map[string]any{"runId": run, "status": "pending"})
		if err != nil {
			return
		}
		for _, a := range asked.Approvals {
			approve := !a.InDoubt || len(p.Paid()) == 0
			_, _ = client.Call[wire.ApprovalResponse](ctx, r.client, "DecideApproval", map[string]any{"approvalId": a.ID, "approve": approve})
		}
	})
}

// through follows a run until it has ended, whatever happens to the process. act is called with every change of it.
func (r *rig) through(run string, act func(ctx context.Context, r wire.RunInfo)) wire.RunInfo {
	r.t.Helper()
	for r.ctx.Err() == nil {
		died := r.process
		ctx, cancel := context.WithCancel(r.ctx)
		watched := make(chan struct{})
		go func() {
			defer close(watched)
			select {
			case <-died.Exited():
				cancel()
			case <-ctx.Done():
			}
		}()
		ended, info := r.watch(ctx, run, act)
		cancel()
		<-watched
		if ended {
			return info
		}
		if err := r.replace(died); err != nil {
			r.t.Fatal(err)
		}
	}
	r.t.Fatalf("run %s never ended", run)
	return wire.RunInfo{}
}

// watch acts for as long as the process lives, and tells whether the run has ended.
func (r *rig) watch(ctx context.Context, run string, act func(ctx context.Context, r wire.RunInfo)) (bool, wire.RunInfo) {
	for _, err := range r.client.Subscribe(ctx, wire.KeyRun+run, 0) {
		if err != nil {
			break
		}
		reply, err := client.Call[wire.RunResponse](ctx, r.client, "GetRun", map[string]any{"runId": run})
		if err != nil {
			continue
		}
		if reply.Run.FinishedAt > 0 {
			return true, reply.Run
		}
		act(ctx, reply.Run)
	}
	return false, wire.RunInfo{}
}

func approved(r *rig, point string) {
	r.start(point)
	r.found()
	p := servertest.NewTill(r.t)
	r.paidOnce(p, r.decided(r.paying(p), p))
}

func TestAPaymentThatTheProcessDiesOverIsMadeOnce(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.start("")
		r.found()
		p := servertest.NewTill(t)
		run := r.paying(p)
		p.During(r.process.Kill)
		r.paidOnce(p, r.decided(run, p))
	})
}

// paidOnce checks that there was one payment and one crash, and that the model knows how its call ended.
func (r *rig) paidOnce(p *servertest.Till, run wire.RunInfo) {
	r.t.Helper()
	if run.Status != "succeeded" || len(p.Paid()) != 1 || r.crashes != 1 {
		r.t.Errorf("the run is %s (%+v), paid %d times, %d crashes", run.Status, run.Error, len(p.Paid()), r.crashes)
	}
	events := call[wire.GetSessionResponse](r, "GetSession", map[string]any{"sessionId": run.SessionID}).Events
	results := 0
	for _, e := range events {
		if d := decode(r.t, e); d.Type == "tool_result" {
			results++
		}
	}
	if results != 1 {
		r.t.Errorf("%d results of one call", results)
	}
	for _, a := range call[wire.ListApprovalsResponse](r, "ListApprovals", map[string]any{"runId": run.ID}).Approvals {
		if a.Status == "pending" {
			r.t.Errorf("%s is still asked", a.ID)
		}
	}
}
