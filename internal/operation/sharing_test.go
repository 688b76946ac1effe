package operation_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/internal/model/scripted"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
	"github.com/loam-agents/loam/principal"
	"github.com/loam-agents/loam/wire"
)

func TestAnInvitationIsListedAcceptedChangedAndTakenBack(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		h := servertest.Start(t, cfg)
		agent := h.Agent(servertest.Scripted(t))
		owner, guest := h.Client, h.As(newKey(t, 61))
		guestID := newKey(t, 61).ID().String()
		invite := func(role string) object {
			return must(t, owner, "InviteAgentCollaborator", object{"agentId": agent, "accountId": guestID, "role": role})["collaborator"].(object)
		}
		if c := invite("reader"); c["accountId"] != guestID || c["role"] != "reader" || c["status"] != "pending" || c["createdAt"] == nil || c["updatedAt"] == nil || len(c) != 5 {
			t.Errorf("invited: %v", c)
		}
		invites := must(t, guest, "ListAgentInvites", nil)["invites"].([]any)
		if i := invites[0].(object); len(invites) != 1 || i["agentId"] != agent || i["agentName"] != "Scribe" || i["ownerAccountId"] != h.Key.ID().String() || i["role"] != "reader" || len(i) != 6 {
			t.Errorf("the invitation is %v", invites)
		}
		if list := must(t, guest, "ListAgents", nil)["agents"].([]any); len(list) != 0 {
			t.Errorf("before accepting, the list is %v", list)
		}
		accepted := must(t, guest, "AcceptAgentInvite", object{"agentId": agent})["agent"].(object)
		if accepted["id"] != agent || accepted["accessRole"] != "reader" || accepted["account"] != h.Key.ID().String() {
			t.Errorf("accepted: %v", accepted)
		}
		if c := invite("writer"); c["status"] != "accepted" || c["role"] != "writer" {
			t.Errorf("inviting again: %v", c)
		}
		list := must(t, guest, "ListAgents", nil)["agents"].([]any)
		if len(list) != 1 || list[0].(object)["accessRole"] != "writer" {
			t.Errorf("the list is %v", list)
		}
		must(t, owner, "InviteAgentCollaborator", object{"agentId": agent, "accountId": newKey(t, 62).ID().String(), "role": "writer"})
		members := func(who string, c func() object) string {
			var out []string
			for _, m := range c()["collaborators"].([]any) {
				m := m.(object)
				out = append(out, fmt.Sprint(m["role"], "/", m["status"]))
			}
			return who + ": " + strings.Join(out, " ")
		}
		for got, want := range map[string]string{
			members("owner", func() object { return must(t, owner, "ListAgentCollaborators", object{"agentId": agent}) }): "owner: owner/accepted writer/accepted writer/pending",
			members("guest", func() object { return must(t, guest, "ListAgentCollaborators", object{"agentId": agent}) }): "guest: owner/accepted writer/accepted",
		} {
			if got != want {
				t.Errorf("%s, want %s", got, want)
			}
		}
		removed := must(t, owner, "RemoveAgentCollaborator", object{"agentId": agent, "accountId": guestID})
		if removed["agentId"] != agent || removed["accountId"] != guestID {
			t.Errorf("removed: %v", removed)
		}
		if _, status, _ := act(t, guest, "GetAgent", object{"agentId": agent}); status != 404 {
			t.Errorf("after the removal: %d", status)
		}
		// An invitation may be declined, and a collaborator may leave.
		second := h.As(newKey(t, 62))
		if out := must(t, second, "DeclineAgentInvite", object{"agentId": agent}); out["agentId"] != agent {
			t.Errorf("declined: %v", out)
		}
		invite("reader")
		must(t, guest, "AcceptAgentInvite", object{"agentId": agent})
		must(t, guest, "RemoveAgentCollaborator", object{"agentId": agent, "accountId": guestID})
		if list := must(t, guest, "ListAgents", nil)["agents"].([]any); len(list) != 0 {
			t.Errorf("after leaving: %v", list)
		}
	})
}

func TestSharingIsRefusedWithItsReason(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		h := servertest.Start(t, cfg)
		agent := h.Agent(servertest.Scripted(t))
		who := newKey(t, 61).ID().String()
		for _, c := range []struct {
			name    string
			request object
			status  int
			text    string
		}{
			{"InviteAgentCollaborator", object{"accountId": who, "role": "owner"}, 400, "Collaborator role must be reader or writer"},
			{"InviteAgentCollaborator", object{"accountId": who}, 400, "Collaborator role must be reader or writer"},
			{"InviteAgentCollaborator", object{"accountId": who, "role": "chatter"}, 400, "Collaborator role must be reader or writer"},
			{"InviteAgentCollaborator", object{"accountId": h.Key.ID().String(), "role": "reader"}, 400, "The agent owner is already a member"},
			{"InviteAgentCollaborator", object{"accountId": "z6MkNobody", "role": "reader"}, 400, "Account ID must be a public key, z6Mk…"},
			{"InviteAgentCollaborator", object{"role": "reader"}, 400, "Account ID is required"},
			{"RemoveAgentCollaborator", object{"accountId": who}, 404, "Collaborator not found"},
			{"RemoveAgentCollaborator", object{"accountId": h.Key.ID().String()}, 404, "Collaborator not found"},
			{"RemoveAgentCollaborator", object{"accountId": "me"}, 400, "Account ID must be a public key, z6Mk…"},
			{"AcceptAgentInvite", nil, 404, "Agent invitation not found"},
			{"DeclineAgentInvite", nil, 404, "Agent invitation not found"},
			{"SetAgentPublicRead", object{"publicRead": "yes"}, 400, "publicRead must be a boolean"},
			{"SetAgentPublicRead", nil, 400, "publicRead must be a boolean"},
			{"SetAgentPublicChat", object{"publicChat": 1}, 400, "publicChat must be a boolean"},
			{"SetAgentPublicChat", object{"publicChat": true}, 400, "Enable public access before enabling public chat"},
		} {
			request := object{"agentId": agent}
			for k, v := range c.request {
				request[k] = v
			}
			if _, status, text := act(t, h.Client, c.name, request); status != c.status || text != c.text {
				t.Errorf("%s %v: %d %q, want %d %q", c.name, c.request, status, text, c.status, c.text)
			}
		}
	})
}

func TestACollaboratorWorksInTheOwnersStorage(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		h := servertest.Start(t, cfg)
		m := servertest.Scripted(t, scripted.Turn{Repeat: true, Steps: []scripted.Step{{Text: "Yes."}}})
		agent, own := h.Agent(m), h.Agent(m)
		key := newKey(t, 61)
		writer := h.As(key)
		must(t, h.Client, "InviteAgentCollaborator", object{"agentId": agent, "accountId": key.ID().String(), "role": "writer"})
		must(t, writer, "AcceptAgentInvite", object{"agentId": agent})
		session := must(t, writer, "CreateSession", object{"agentId": agent})["sessionId"].(string)
		must(t, writer, "MessageSession", object{"sessionId": session, "content": text("hello")})
		seen := servertest.Call[wire.GetSessionResponse](h, "GetSession", object{"sessionId": session})
		if seen.Session.Account != h.Key.ID().String() || !strings.Contains(string(seen.Events[0].Event), key.ID().String()) {
			t.Errorf("the owner sees %+v", seen.Session)
		}
		if list := must(t, writer, "ListModelProviders", object{"agentId": agent})["providers"].([]any); len(list) != 2 {
			t.Errorf("the owner's providers: %v", list)
		}
		if list := must(t, writer, "ListModelProviders", nil)["providers"].([]any); len(list) != 0 {
			t.Errorf("the own providers: %v", list)
		}
		if models := must(t, writer, "ListProviderModels", object{"agentId": agent, "provider": "scripted"})["models"].([]any); len(models) == 0 {
			t.Error("the owner's provider has no models for a collaborator")
		}
		// The account-wide list has the shared agent's sessions, and its agent with the role.
		h.Session(own)
		listed := must(t, writer, "ListSessions", nil)
		agents := listed["agents"].([]any)
		if sessions := listed["sessions"].([]any); len(sessions) != 1 || len(agents) != 1 || agents[0].(object)["accessRole"] != "writer" {
			t.Errorf("the account-wide list is %v", listed)
		}
		if runs := must(t, writer, "FindRuns", object{"agentId": agent})["runs"].([]any); len(runs) != 1 {
			t.Errorf("the runs of the shared agent: %v", runs)
		}
		if runs := must(t, writer, "FindRuns", nil)["runs"].([]any); len(runs) != 0 {
			t.Errorf("the account's own runs: %v", runs)
		}
		// What the agent signs for is the owner's to say.
		if _, status, message := act(t, writer, "UpdateAgent", object{"agentId": agent, "definition": definition(object{"signingKey": "theirs"})}); status != 403 || message != wire.MsgSigningGrant {
			t.Errorf("a writer grants a key: %d %s", status, message)
		}
		updated := must(t, writer, "UpdateAgent", object{"agentId": agent, "definition": definition(object{"name": "Notary"})})
		if updated["agent"].(object)["accessRole"] != "writer" || updated["agent"].(object)["account"] != h.Key.ID().String() {
			t.Errorf("updated by a writer: %v", updated["agent"])
		}
		// The name of a provider means the owner's.
		must(t, writer, "SetModelProvider", object{"name": "mine", "provider": object{"type": "tutor"}})
		if _, status, message := act(t, writer, "UpdateAgent", object{"agentId": agent, "definition": definition(object{"modelProvider": "mine"})}); status != 400 || message != "Model provider not found" {
			t.Errorf("with a provider of the writer: %d %s", status, message)
		}
	})
}

func TestPublicAgentsAreReadByWhoKnowsThemAndListedForNobody(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		h := servertest.Start(t, cfg)
		agent := h.Agent(servertest.Scripted(t, scripted.Turn{Repeat: true, Steps: []scripted.Step{{Text: "Yes."}}}))
		own := h.Session(agent)
		one, two := h.As(newKey(t, 61)), h.As(newKey(t, 62))
		set := func(name, field string, on bool) object {
			return must(t, h.Client, name, object{"agentId": agent, field: on})["agent"].(object)
		}
		role := func() any { return must(t, one, "GetAgent", object{"agentId": agent})["agent"].(object)["accessRole"] }
		if a := set("SetAgentPublicRead", "publicRead", true); a["publicRead"] != true || a["publicChat"] != nil || a["accessRole"] != "owner" {
			t.Errorf("public to read: %v", a)
		}
		if got := role(); got != "reader" {
			t.Errorf("anybody is a %v", got)
		}
		must(t, one, "GetSession", object{"sessionId": own})
		if listed := must(t, one, "ListSessions", object{"agentId": agent}); len(listed["sessions"].([]any)) != 1 || len(listed["agents"].([]any)) != 1 {
			t.Errorf("its sessions: %v", listed)
		}
		for name, field := range map[string]string{"ListAgents": "agents", "ListSessions": "sessions", "ListAgentInvites": "invites"} {
			if list := must(t, one, name, nil)[field].([]any); len(list) != 0 {
				t.Errorf("%s of anybody: %v", name, list)
			}
		}
		if a := set("SetAgentPublicChat", "publicChat", true); a["publicChat"] != true {
			t.Errorf("public to chat: %v", a)
		}
		if got := role(); got != "chatter" {
			t.Errorf("with chat, anybody is a %v", got)
		}
		if _, status, message := act(t, one, "CreateSession", object{"agentId": agent, "modelOverride": object{"provider": "scripted", "model": "dear"}}); status != 403 || message != wire.MsgWriteAccess {
			t.Errorf("a chatter chooses the model: %d %s", status, message)
		}
		first := must(t, one, "CreateSession", object{"agentId": agent})["sessionId"].(string)
		must(t, one, "MessageSession", object{"sessionId": first, "content": text("hello")})
		second := must(t, two, "CreateSession", object{"agentId": agent})["sessionId"].(string)
		ids := func(list any) (out []string) {
			for _, s := range list.([]any) {
				out = append(out, s.(object)["id"].(string))
			}
			return sorted(out)
		}
		if got := ids(must(t, one, "ListSessions", object{"agentId": agent})["sessions"]); !slices.Equal(got, []string{first}) {
			t.Errorf("a chatter sees the sessions %v", got)
		}
		if got := must(t, one, "GetAgent", object{"agentId": agent}); got["sessionCount"] != int64(1) || got["agent"].(object)["activity"] != nil {
			t.Errorf("a chatter sees the agent %v", got)
		}
		for _, name := range []string{"ListRuns", "FindRuns"} {
			if got := ids(must(t, two, name, object{"agentId": agent})["runs"]); len(got) != 0 {
				t.Errorf("%s of a chatter without a turn: %v", name, got)
			}
			if got := ids(must(t, one, name, object{"agentId": agent})["runs"]); len(got) != 1 {
				t.Errorf("%s of a chatter with a turn: %v", name, got)
			}
		}
		if got := ids(must(t, h.Client, "ListSessions", object{"agentId": agent})["sessions"]); !slices.Equal(got, sorted([]string{own, first, second})) {
			t.Errorf("the owner sees the sessions %v", got)
		}
		// Ending public access ends both, and chat does not come back with it.
		set("SetAgentPublicRead", "publicRead", false)
		if _, status, message := act(t, one, "GetSession", object{"sessionId": first}); status != 404 || message != wire.MsgSessionNotFound {
			t.Errorf("after the end: %d %s", status, message)
		}
		set("SetAgentPublicRead", "publicRead", true)
		if got := role(); got != "reader" {
			t.Errorf("afterwards anybody is a %v", got)
		}
	})
}

func TestEveryMemberHearsWhatChanges(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		h := servertest.Start(t, cfg)
		agent := h.Agent(servertest.Scripted(t, scripted.Turn{Repeat: true, Steps: []scripted.Step{{Text: "Yes."}}}))
		guestKey, pendingKey := newKey(t, 61), newKey(t, 62)
		guest := h.As(guestKey)
		hears := func(k *principal.Key) func(reason string) {
			frames := servertest.Watch(t, h.As(k), "account/"+k.ID().String(), 0)
			return func(reason string) {
				t.Helper()
				if hint := hinted(t, frames, reason); hint.AgentID != agent {
					t.Errorf("%s of %+v", reason, hint)
				}
			}
		}
		owner, invited, pending := hears(h.Key), hears(guestKey), hears(pendingKey)
		request := object{"agentId": agent, "accountId": guestKey.ID().String(), "role": "writer"}
		must(t, h.Client, "InviteAgentCollaborator", request)
		owner("agent-collaborators-changed")
		invited("agent-invites-changed")
		must(t, guest, "AcceptAgentInvite", object{"agentId": agent})
		owner("agent-collaborators-changed")
		invited("agent-collaborators-changed")
		must(t, h.Client, "WriteAgentMemoryFile", object{"agentId": agent, "path": "a.txt", "content": "x"})
		invited("agent-memory-changed")
		session := h.Session(agent)
		invited("session-created")
		if _, err := h.Send(session, "hello"); err != nil {
			t.Fatal(err)
		}
		invited("session-event")
		must(t, h.Client, "InviteAgentCollaborator", object{"agentId": agent, "accountId": pendingKey.ID().String(), "role": "reader"})
		pending("agent-invites-changed")
		must(t, h.Client, "DeleteAgent", object{"agentId": agent})
		owner("agent-deleted")
		invited("agent-deleted")
		pending("agent-invites-changed")
		if list := must(t, h.As(pendingKey), "ListAgentInvites", nil)["invites"].([]any); len(list) != 0 {
			t.Errorf("invitations to an agent that is gone: %v", list)
		}
		if list := must(t, guest, "ListAgents", nil)["agents"].([]any); len(list) != 0 {
			t.Errorf("agents of a collaborator whose agent is gone: %v", list)
		}
	})
}

// hinted waits for a hint with a reason.
func hinted(t *testing.T, frames <-chan client.Frame, reason string) (hint wire.AccountHint) {
	t.Helper()
	servertest.Until(t, frames, func(f client.Frame) bool {
		hint = wire.AccountHint{}
		return json.Unmarshal(f.Value, &hint) == nil && hint.Reason == reason
	})
	return hint
}
