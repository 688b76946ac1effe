package signed_test

import (
	"testing"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/internal/model/scripted"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
	"github.com/loam-agents/loam/principal"
	"github.com/loam-agents/loam/wire"
)

// do carries out an action of a client that may not be refused.
func do(t *testing.T, c *client.Client, name string, fields map[string]any) map[string]any {
	t.Helper()
	action := map[string]any{"_": name}
	for k, v := range fields {
		action[k] = v
	}
	out, err := c.Do(t.Context(), action)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return out
}

func TestASharedAgentSaysToEachWhatTheyAre(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		h := servertest.Start(t, cfg)
		agent := h.Agent(servertest.Scripted(t))
		memberKey, anybodyKey := keyOf(t, 71), keyOf(t, 72)
		member := memberKey.ID().String()
		do(t, h.Client, "InviteAgentCollaborator", map[string]any{"agentId": agent, "accountId": member, "role": "writer"})
		do(t, h.As(memberKey), "AcceptAgentInvite", map[string]any{"agentId": agent})
		do(t, h.Client, "SetAgentPublicRead", map[string]any{"agentId": agent, "publicRead": true})
		sockets := map[string]*socket{}
		for role, key := range map[string]*principal.Key{"owner": h.Key, "writer": memberKey, "reader": anybodyKey} {
			sockets[role] = dial(t, h)
			sockets[role].subscribe(key, "agents/"+agent, nil)
		}
		def := map[string]any{"name": "Renamed", "systemPrompt": "x", "modelProvider": "scripted", "model": "scripted-1"}
		do(t, h.Client, "UpdateAgent", map[string]any{"agentId": agent, "definition": def})
		for role, s := range sockets {
			hints := map[string]string{"owner": h.Key.ID().String(), "writer": member, "reader": h.Key.ID().String()}[role]
			hinted := false
			frames := s.until(func(f map[string]any) bool { return f["key"] == "agents/"+agent && f["_"] == "change" })
			for _, f := range frames {
				hinted = hinted || f["key"] == "account/"+hints && f["value"].(map[string]any)["agentId"] == agent
			}
			value := frames[len(frames)-1]["value"].(map[string]any)
			if value["accessRole"] != role || value["publicRead"] != true || !hinted {
				t.Errorf("the %s got %v", role, frames)
			}
		}
		// A reader that is invited and accepts goes on as what it has become.
		do(t, h.Client, "InviteAgentCollaborator", map[string]any{"agentId": agent, "accountId": anybodyKey.ID().String(), "role": "writer"})
		do(t, h.As(anybodyKey), "AcceptAgentInvite", map[string]any{"agentId": agent})
		def["name"] = "Again"
		do(t, h.Client, "UpdateAgent", map[string]any{"agentId": agent, "definition": def})
		sockets["reader"].until(func(f map[string]any) bool {
			value, _ := f["value"].(map[string]any)
			return f["key"] == "agents/"+agent && value["accessRole"] == "writer"
		})
	})
}

func TestASubscriptionEndsWithTheAccess(t *testing.T) {
	second(t, func(t *testing.T, stream string) {
		h := servertest.Start(t, server.Config{})
		agent := h.Agent(servertest.Scripted(t, scripted.Turn{Repeat: true, Steps: []scripted.Step{{Text: "Yes."}}}))
		session := h.Session(agent)
		if _, err := h.Send(session, "one"); err != nil {
			t.Fatal(err)
		}
		run := servertest.Call[wire.ListRunsResponse](h, "ListRuns", map[string]any{"sessionId": session}).Runs[0].ID
		key := keyOf(t, 73)
		do(t, h.Client, "InviteAgentCollaborator", map[string]any{"agentId": agent, "accountId": key.ID().String(), "role": "reader"})
		do(t, h.As(key), "AcceptAgentInvite", map[string]any{"agentId": agent})
		keys := []string{"agents/" + agent, "sessions/" + session, "runs/" + run}
		told, untold := dial(t, h, stream), dial(t, h)
		for _, s := range []*socket{told, untold} {
			for _, k := range append(keys, "account/"+key.ID().String()) {
				s.send(sign(t, key, map[string]any{"_": "Subscribe", "key": k}))
				s.until(func(f map[string]any) bool { return f["_"] == "subscribed" && f["key"] == k })
			}
		}
		do(t, h.Client, "RemoveAgentCollaborator", map[string]any{"agentId": agent, "accountId": key.ID().String()})
		ended := map[any]bool{}
		told.until(func(f map[string]any) bool {
			if f["_"] == "unsubscribed" {
				ended[f["key"]] = true
			}
			return len(ended) == len(keys)
		})
		if _, err := h.Send(session, "two"); err != nil {
			t.Fatal(err)
		}
		// Whatever the account hears now comes after what it may not hear any more.
		do(t, h.Client, "InviteAgentCollaborator", map[string]any{"agentId": agent, "accountId": key.ID().String(), "role": "reader"})
		for _, s := range []*socket{told, untold} {
			invites := 0
			for _, f := range s.until(func(f map[string]any) bool {
				value, _ := f["value"].(map[string]any)
				if value["reason"] == "agent-invites-changed" {
					invites++
				}
				return invites == 2 || s == told && invites == 1
			}) {
				if event, ok := f["event"].(map[string]any); ok && seqOf(plain(t, map[string]any{"event": event})) > 2 {
					t.Errorf("after the removal comes %v", f)
				}
			}
		}
	})
}
