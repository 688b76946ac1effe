package server_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/internal/model/scripted"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
	"github.com/loam-agents/loam/internal/trigger"
	"github.com/loam-agents/loam/wire"
)

func triggersOf(h *servertest.Harness, agentID string) []wire.TriggerInfo {
	return servertest.Call[wire.ListAgentTriggersResponse](h, "ListAgentTriggers", map[string]any{"agentId": agentID}).Triggers
}

// outputs are the results of an agent's calls in a session, and the errors.
func outputs(h *servertest.Harness, session string) (out []string) {
	for _, e := range h.Events(session) {
		if e.Type == "tool_result" {
			out = append(out, string(e.Output)+e.Error)
		}
	}
	return out
}

func verb(name string, input map[string]any) scripted.Turn {
	arguments, _ := json.Marshal(input)
	return scripted.CallTool(name, string(arguments))
}

func TestAnAgentWritesTriggersOfItsOwn(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		morning := `{"source":{"type":"schedule","schedule":{"kind":"cron","cron":"0 7 * * *","timezone":"Europe/Berlin"}},"prompt":"Sum up."}`
		write := func(content string, more map[string]any) scripted.Turn {
			in := map[string]any{"address": "~/triggers/Morning"}
			if content != "" {
				in["content"] = content
			}
			for k, v := range more {
				in[k] = v
			}
			return verb("write", in)
		}
		m := servertest.Scripted(t,
			write(morning, map[string]any{"dryRun": true}),
			write(morning, nil),
			write(`{"source":{"type":"schedule","schedule":{"kind":"interval","every":1,"unit":"minutes"}}}`, nil),
			write(`{"source":{"type":"webhook"}}`, nil),
			write(`{"enabled":false}`, map[string]any{"options": map[string]any{"expectedUpdatedAt": 7}}),
			write(`{"enabled":false}`, nil),
			write(`{"sorce":{}}`, nil),
			verb("read", map[string]any{"address": "~/triggers/"}),
			verb("read", map[string]any{"address": "~/triggers/Morning"}),
			verb("read", map[string]any{"address": "~/triggers/Evening"}),
			write("", map[string]any{"options": map[string]any{"delete": true}}),
			scripted.Say("Done."), scripted.Say("Again."),
		)
		h := servertest.Start(t, cfg)
		agentID := h.Agent(m)
		session := h.Session(agentID)
		if _, err := h.Send(session, "Arrange your mornings."); err != nil {
			t.Fatal(err)
		}
		got := outputs(h, session)
		for i, want := range []string{
			`"nextFires":[`, `"summary":"Made Morning: `, "options.frequentSchedule", "options.replaceSource", "was changed", `"enabled":false`,
			"Content must be JSON", `"contract":`, `"prompt":"Sum up."`, "There is no trigger", `"deleted":true`,
		} {
			if i >= len(got) || !strings.Contains(got[i], want) {
				t.Errorf("result %d has no %s: %.400s", i, want, strings.Join(got[min(i, len(got)):], "\n"))
			}
		}
		if left := triggersOf(h, agentID); len(left) != 0 {
			t.Errorf("left %+v", left)
		}
		if prompt := string(m.Requests()[2].Body); !strings.Contains(prompt, "triggers/") || !strings.Contains(prompt, "Morning") {
			t.Errorf("the Space index does not name the trigger: %.3000s", prompt)
		}
	})
}

func TestAnAgentSendsNothingOutWithoutTheGrant(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		content := `{"source":{"type":"run-completed"},"continuation":{"kind":"webhook","url":"https://example.com/in"},"prompt":"x"}`
		write := verb("write", map[string]any{"address": "~/triggers/Out", "content": content})
		h := servertest.Start(t, cfg)
		agentID := h.Agent(servertest.Scripted(t, write, scripted.Say("No."), write, scripted.Say("Yes.")))
		def := servertest.Call[wire.GetAgentResponse](h, "GetAgent", map[string]any{"agentId": agentID}).Agent.Definition
		for _, step := range []struct {
			tools []string
			made  int
		}{{[]string{"web_search"}, 0}, {[]string{"publish"}, 1}} {
			def.Tools = &step.tools
			servertest.Call[wire.GetAgentResponse](h, "UpdateAgent", map[string]any{"agentId": agentID, "definition": def})
			session := h.Session(agentID)
			if _, err := h.Send(session, "Tell the world."); err != nil {
				t.Fatal(err)
			}
			if got := triggersOf(h, agentID); len(got) != step.made || step.made == 0 && !strings.Contains(outputs(h, session)[0], "not granted") {
				t.Errorf("with %v: %+v, %v", step.tools, got, outputs(h, session))
			}
		}
	})
}

func TestAWebhookThatIsSentIsSigned(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		type delivery struct {
			header http.Header
			body   []byte
		}
		got := make(chan delivery, 8)
		receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			got <- delivery{r.Header, body}
		}))
		t.Cleanup(receiver.Close)
		cfg.EgressAllow = []string{strings.TrimPrefix(receiver.URL, "http://")}
		h := servertest.Start(t, cfg)
		agentID := h.Agent(servertest.Scripted(t))
		made := servertest.Call[wire.AgentTriggerResponse](h, "CreateAgentTrigger", map[string]any{"agentId": agentID, "trigger": map[string]any{
			"name": "Tell", "source": map[string]any{"type": "webhook"}, "prompt": "Tell.", "continuation": map[string]any{"kind": "webhook", "url": receiver.URL + "/hook"},
		}})
		if made.SigningSecret == "" {
			t.Fatalf("no secret to check deliveries with: %+v", made)
		}
		frames := h.Watch(wire.KeyAccount+h.Key.ID().String(), 0)
		servertest.Call[map[string]any](h, "RunAgentTrigger", map[string]any{"triggerId": made.Trigger.ID})
		d := <-got
		at, err := strconv.ParseInt(d.header.Get(trigger.HeaderTimestamp), 10, 64)
		if want := trigger.Sign(made.SigningSecret, d.header.Get(trigger.HeaderID), at, d.body); err != nil || d.header.Get(trigger.HeaderSignature) != want {
			t.Errorf("signed %v, want %s", d.header, want)
		}
		var body struct{ Data struct{ TriggerName string } }
		if json.Unmarshal(d.body, &body) != nil || body.Data.TriggerName != "Tell" {
			t.Errorf("sent %s", d.body)
		}
		servertest.Until(t, frames, func(f client.Frame) bool {
			var r wire.RunInfo
			return json.Unmarshal(f.Value, &r) == nil && r.Kind == trigger.KindSend && r.Status == "succeeded"
		})
	})
}

func TestAnAgentThatSignsAnswersMentionsUntilSomebodyWantsItNot(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		h := servertest.Start(t, cfg)
		m := servertest.Scripted(t)
		h.Agent(m)
		seed := make([]byte, 32)
		seed[0] = 9
		identity := servertest.Call[wire.SigningIdentityResponse](h, "ImportSigningIdentity", map[string]any{"seed": seed}).Identity
		def := map[string]any{"name": "Heron", "systemPrompt": "x", "modelProvider": "scripted", "model": "scripted-1", "signingKey": identity.Name}
		agentID := servertest.Call[wire.CreateAgentResponse](h, "CreateAgent", map[string]any{"definition": def}).AgentID
		list := triggersOf(h, agentID)
		if len(list) != 1 || list[0].Name != "Mentions of Heron" || list[0].Source.Type != trigger.UserMention || !list[0].Enabled || list[0].Notice == "" {
			t.Fatalf("an agent that signs has %+v", list)
		}
		if accounts := list[0].Source.MentionedAccounts; len(accounts) != 1 || accounts[0] != identity.AccountID {
			t.Errorf("it answers mentions of %v", accounts)
		}
		servertest.Call[map[string]any](h, "DeleteAgentTrigger", map[string]any{"triggerId": list[0].ID})
		servertest.Call[wire.GetAgentResponse](h, "UpdateAgent", map[string]any{"agentId": agentID, "definition": def})
		h.Stop()
		h = servertest.Start(t, h.Config)
		if list := triggersOf(h, agentID); len(list) != 0 {
			t.Errorf("it came back: %+v", list)
		}
	})
}

func TestActivityTriggersAreCombinedAndTheOtherOneRetires(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		h := servertest.Start(t, cfg)
		agentID := h.Agent(servertest.Scripted(t))
		make := func(name, resource string) wire.TriggerInfo {
			return servertest.Call[wire.AgentTriggerResponse](h, "CreateAgentTrigger", map[string]any{"agentId": agentID, "trigger": map[string]any{
				"name": name, "prompt": "Look.", "source": map[string]any{"type": "document-comment", "resource": resource},
			}}).Trigger
		}
		a, b := make("A", "hm://z6MkehRgf7yJbgaGfYsdoAsKdBPE3dj2CYhowQdcjqSJgvVd/a"), make("B", "hm://z6MkehRgf7yJbgaGfYsdoAsKdBPE3dj2CYhowQdcjqSJgvVd/b")
		combine := map[string]any{"triggerId": a.ID, "otherTriggerId": b.ID, "expectedUpdatedAt": a.UpdatedAt - 1, "otherExpectedUpdatedAt": b.UpdatedAt}
		_, err := client.Call[wire.AgentTriggerResponse](t.Context(), h.Client, "CombineAgentTriggers", combine)
		if refused, ok := err.(*client.Error); !ok || refused.Status != http.StatusConflict {
			t.Errorf("a stale combination: %v", err)
		}
		combine["expectedUpdatedAt"] = a.UpdatedAt
		got := servertest.Call[wire.AgentTriggerResponse](h, "CombineAgentTriggers", combine).Trigger
		if len(got.Source.Conditions) != 2 {
			t.Errorf("combined into %+v", got.Source)
		}
		for _, x := range triggersOf(h, agentID) {
			if x.ID == b.ID && (x.Enabled || x.MergedInto != a.ID) {
				t.Errorf("the other is %+v", x)
			}
		}
	})
}
