package server_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/internal/model/scripted"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
	"github.com/loam-agents/loam/wire"
)

// payments are all that a till has paid.
func payments(p *servertest.Till) string { return strings.Join(p.Paid(), " ") }

// careful makes an agent that asks before it acts on the world, with a till.
func careful(t *testing.T, h *servertest.Harness, m *scripted.Server, p *servertest.Till) string {
	t.Helper()
	agentID := h.Agent(m)
	servertest.Call[wire.McpServerResponse](h, "SetMcpServer", map[string]any{"name": "till", "config": map[string]any{"url": p.URL}})
	def := servertest.Call[wire.GetAgentResponse](h, "GetAgent", map[string]any{"agentId": agentID}).Agent.Definition
	def.McpServers, def.ToolApproval = []string{"till"}, &wire.ToolApproval{Default: "required"}
	servertest.Call[wire.GetAgentResponse](h, "UpdateAgent", map[string]any{"agentId": agentID, "definition": def})
	return agentID
}

func approvals(h *servertest.Harness, filter map[string]any) []wire.ApprovalInfo {
	return servertest.Call[wire.ListApprovalsResponse](h, "ListApprovals", filter).Approvals
}

func decide(h *servertest.Harness, id string, approve bool, note string) wire.ApprovalInfo {
	fields := map[string]any{"approvalId": id, "approve": approve}
	if note != "" {
		fields["note"] = note
	}
	return servertest.Call[wire.ApprovalResponse](h, "DecideApproval", fields).Approval
}

// reaches waits until a run has a status.
func reaches(t *testing.T, frames <-chan client.Frame, run, status string) {
	t.Helper()
	servertest.Until(t, frames, func(f client.Frame) bool {
		var r wire.RunInfo
		return f.Kind == wire.FrameChange && json.Unmarshal(f.Value, &r) == nil && r.ID == run && r.Status == status
	})
}

func TestACallWaitsForAPersonAndIsThenMadeOnce(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		p := servertest.NewTill(t)
		m := servertest.Scripted(t, calls(`{"tool":"till__pay","input":{"to":"<Ann>", "sum":3}}`)...)
		h := servertest.Start(t, cfg)
		session := h.Session(careful(t, h, m, p))
		if answer, err := h.Send(session, "Pay Ann."); err != nil || answer.AssistantEventID != "" {
			t.Fatalf("a turn that waits answers %+v, %v", answer, err)
		}
		asked := approvals(h, map[string]any{"sessionId": session})
		if len(asked) != 1 || asked[0].Status != "pending" || asked[0].Tool != "till__pay" || asked[0].InDoubt {
			t.Fatalf("asked %+v", asked)
		}
		a := asked[0]
		run := servertest.Call[wire.RunResponse](h, "GetRun", map[string]any{"runId": a.RunID}).Run
		if w := run.Wait; run.Status != "waiting" || w == nil || w.Reason != "event" || w.AnswerWith != "" || w.Label != "Approve till__pay" {
			t.Errorf("the run is %s and shows %+v", run.Status, w)
		}
		if s := servertest.Call[wire.GetSessionResponse](h, "GetSession", map[string]any{"sessionId": session}).Session; s.Status != "idle" {
			t.Errorf("the session is %s", s.Status)
		}
		if got := servertest.Call[wire.SignalRunResponse](h, "SignalRun", map[string]any{"runId": a.RunID, "signal": "answer"}); got.Delivered {
			t.Error("a signal has settled an approval")
		}
		if payments(p) != "" {
			t.Fatalf("paid %s before anybody said yes", payments(p))
		}
		frames := h.Watch(wire.KeyRun+a.RootRunID, 0)
		if got := decide(h, a.ID, true, ""); got.Status != "approved" || got.DecidedBy != h.Key.ID().String() || got.DecidedAt == 0 {
			t.Errorf("decided %+v", got)
		}
		reaches(t, frames, a.RunID, "succeeded")
		if got := payments(p); got != `{"sum":3,"to":"\u003cAnn\u003e"}` && got != `{"sum":3,"to":"<Ann>"}` {
			t.Errorf("paid %s", got)
		}
		if got := results(m); !strings.Contains(got, "till__pay answered") {
			t.Errorf("the model was told %.2000s", got)
		}
		_, err := client.Call[wire.ApprovalResponse](t.Context(), h.Client, "DecideApproval", map[string]any{"approvalId": a.ID, "approve": false})
		if err == nil || !strings.Contains(err.Error(), "decided before: approved") {
			t.Errorf("a second decision: %v", err)
		}
	})
}

func TestARejectedCallIsTheModelsToLearnOf(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		p := servertest.NewTill(t)
		m := servertest.Scripted(t, append([]scripted.Turn{{Steps: []scripted.Step{
			{Call: &scripted.Call{Name: "call", Arguments: `{"tool":"till__pay","input":{"to":"Ann"}}`}},
			{Call: &scripted.Call{Name: "call", Arguments: `{"tool":"till__pay","input":{"to":"Bob"}}`}},
		}}}, scripted.Turn{Repeat: true, Steps: []scripted.Step{{Text: "As you wish."}}})...)
		h := servertest.Start(t, cfg)
		session := h.Session(careful(t, h, m, p))
		if _, err := h.Send(session, "Pay both."); err != nil {
			t.Fatal(err)
		}
		asked := approvals(h, map[string]any{"sessionId": session, "status": "pending"})
		if len(asked) != 2 {
			t.Fatalf("asked %+v", asked)
		}
		frames := h.Watch(wire.KeyRun+asked[0].RootRunID, 0)
		for _, a := range asked {
			if strings.Contains(string(a.Arguments), "Ann") {
				decide(h, a.ID, false, "Ann was paid yesterday.")
				continue
			}
			decide(h, a.ID, true, "")
		}
		reaches(t, frames, asked[0].RunID, "succeeded")
		if got := payments(p); got != `{"to":"Bob"}` {
			t.Errorf("paid %s", got)
		}
		if got := results(m); !strings.Contains(got, "Ann was paid yesterday.") || !strings.Contains(got, "Do not make it again") {
			t.Errorf("the model was told %.2000s", got)
		}
	})
}

func TestNobodyGetsAroundAnApprovalByHand(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		p := servertest.NewTill(t)
		h := servertest.Start(t, cfg)
		session := h.Session(careful(t, h, servertest.Scripted(t), p))
		pay := map[string]any{"verb": "call", "input": map[string]any{"tool": "till__pay", "input": map[string]any{}}}
		path := "/api/v1/sessions/" + session + "/invoke"
		weak := servertest.JSON[wire.InvokeSessionToolResponse](t, h.REST(h.Token("read", "write")).Do(http.MethodPost, path, pay))
		if !strings.Contains(weak.Error, "needs an approval") || payments(p) != "" {
			t.Errorf("a program with a token got %+v, paid %q", weak, payments(p))
		}
		owner := servertest.JSON[wire.InvokeSessionToolResponse](t, h.REST(h.Token()).Do(http.MethodPost, path, pay))
		if owner.Error != "" || payments(p) != "{}" {
			t.Errorf("the owner got %+v, paid %q", owner, payments(p))
		}
	})
}

func TestAStoppedTurnIsNotAskedAboutAnyMore(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		p := servertest.NewTill(t)
		m := servertest.Scripted(t, calls(`{"tool":"till__pay","input":{}}`)...)
		h := servertest.Start(t, cfg)
		session := h.Session(careful(t, h, m, p))
		if _, err := h.Send(session, "Pay."); err != nil {
			t.Fatal(err)
		}
		a := approvals(h, map[string]any{"sessionId": session})[0]
		servertest.Call[wire.StopSessionResponse](h, "StopSession", map[string]any{"sessionId": session})
		if got := servertest.Call[wire.ApprovalResponse](h, "GetApproval", map[string]any{"approvalId": a.ID}).Approval; got.Status != "canceled" {
			t.Errorf("the approval is %s", got.Status)
		}
		_, err := client.Call[wire.ApprovalResponse](t.Context(), h.Client, "DecideApproval", map[string]any{"approvalId": a.ID, "approve": true})
		if err == nil || !strings.Contains(err.Error(), "has ended") || payments(p) != "" {
			t.Errorf("decided after the end: %v, paid %q", err, payments(p))
		}
		servertest.Call[wire.DeleteSessionResponse](h, "DeleteSession", map[string]any{"sessionId": session})
		_, err = client.Call[wire.ApprovalResponse](t.Context(), h.Client, "GetApproval", map[string]any{"approvalId": a.ID})
		if err == nil || err.Error() != wire.MsgApprovalNotFound {
			t.Errorf("after its session was deleted: %v", err)
		}
	})
}

func TestAnApprovedCallThatWasCutOffIsAskedAboutAgain(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		p := servertest.NewTill(t)
		m := servertest.Scripted(t, calls(`{"tool":"till__pay","input":{"to":"Ann"}}`)...)
		h := servertest.Start(t, cfg)
		session := h.Session(careful(t, h, m, p))
		if _, err := h.Send(session, "Pay."); err != nil {
			t.Fatal(err)
		}
		first := approvals(h, map[string]any{"sessionId": session})[0]
		begun, over := make(chan struct{}), make(chan struct{})
		p.During(func() {
			close(begun)
			<-over
		})
		decide(h, first.ID, true, "")
		<-begun
		h.Stop()
		close(over)
		h = servertest.Start(t, h.Config)
		frames := h.Watch(wire.KeyRun+first.RootRunID, 0)
		reaches(t, frames, first.RunID, "waiting")
		asked := approvals(h, map[string]any{"sessionId": session, "status": "pending"})
		if len(asked) != 1 || !asked[0].InDoubt || asked[0].ID == first.ID || payments(p) != `{"to":"Ann"}` {
			t.Fatalf("asked %+v, paid %s", asked, payments(p))
		}
		decide(h, asked[0].ID, true, "")
		reaches(t, frames, first.RunID, "succeeded")
		if got := payments(p); got != `{"to":"Ann"} {"to":"Ann"}` {
			t.Errorf("paid %s", got)
		}
	})
}

func TestOnlyTheOwnerSaysWhatNeedsAnApproval(t *testing.T) {
	t.Parallel()
	p := servertest.NewTill(t)
	h := servertest.Start(t, server.Config{})
	agentID := careful(t, h, servertest.Scripted(t), p)
	def := servertest.Call[wire.GetAgentResponse](h, "GetAgent", map[string]any{"agentId": agentID}).Agent.Definition
	def.ToolApproval = nil
	kept := servertest.Call[wire.GetAgentResponse](h, "UpdateAgent", map[string]any{"agentId": agentID, "definition": def}).Agent.Definition
	if kept.ToolApproval == nil || kept.ToolApproval.Default != "required" {
		t.Errorf("a definition that does not speak of it has left %+v", kept.ToolApproval)
	}
	def.ToolApproval = &wire.ToolApproval{Default: "never"}
	weak := h.REST(h.Token("read", "write"))
	if a := weak.Do(http.MethodPut, "/api/v1/agents/"+agentID, map[string]any{"definition": def}); a.Status != http.StatusForbidden {
		t.Errorf("a token without admin was answered %d %s", a.Status, a.Body)
	}
	def.ToolApproval = &wire.ToolApproval{Tools: map[string]string{"till__pay": "never", "web_search": "required"}}
	got := servertest.Call[wire.GetAgentResponse](h, "UpdateAgent", map[string]any{"agentId": agentID, "definition": def}).Agent.Definition.ToolApproval
	if got == nil || got.Default != "" || got.Tools["till__pay"] != "never" || got.Tools["web_search"] != "required" {
		t.Errorf("set to %+v", got)
	}
}

func TestAChildAsksAsItsParentDoes(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		p := servertest.NewTill(t)
		call := func(name, arguments string) []scripted.Step {
			return []scripted.Step{{Call: &scripted.Call{Name: name, Arguments: arguments}}}
		}
		m := servertest.Scripted(t,
			scripted.Turn{Match: scripted.Match{User: "Have Ann paid."}, Steps: call("delegate", `{"brief":"Pay Ann.","tools":["till__pay"]}`)},
			scripted.Turn{Match: scripted.Match{User: "Pay Ann."}, Steps: call("call", `{"tool":"till__pay","input":{"to":"Ann"}}`)},
			scripted.Turn{Repeat: true, Steps: []scripted.Step{{Text: "Done."}}},
		)
		h := servertest.Start(t, cfg)
		session := h.Session(careful(t, h, m, p))
		frames := h.Watch(wire.KeyAccount+h.Key.ID().String(), 0)
		if _, err := h.Send(session, "Have Ann paid."); err != nil {
			t.Fatal(err)
		}
		root := servertest.Call[wire.ListRunsResponse](h, "ListRuns", map[string]any{"sessionId": session}).Runs[0].ID
		servertest.Until(t, frames, func(f client.Frame) bool {
			var r wire.RunInfo
			return json.Unmarshal(f.Value, &r) == nil && r.ParentRunID == root && r.Status == "waiting"
		})
		asked := approvals(h, map[string]any{"status": "pending"})
		if len(asked) != 1 || asked[0].RootRunID != root || asked[0].RunID == root || asked[0].SessionID == session || payments(p) != "" {
			t.Fatalf("asked %+v, paid %s", asked, payments(p))
		}
		decide(h, asked[0].ID, true, "")
		reaches(t, frames, root, "succeeded")
		if got := payments(p); got != `{"to":"Ann"}` {
			t.Errorf("paid %s", got)
		}
	})
}
