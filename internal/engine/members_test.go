package engine_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
	"github.com/loam-agents/loam/principal"
	"github.com/loam-agents/loam/wire"
)

func TestASharedAgentKnowsWhoSpeaksToIt(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		m := servertest.Scripted(t, says("One."), says("Two."), says("Three."))
		h := servertest.Start(t, cfg)
		agent := h.Agent(m)
		key, err := principal.NewKey(bytes.Repeat([]byte{61}, 32))
		if err != nil {
			t.Fatal(err)
		}
		guest, who := h.As(key), key.ID().String()
		session := h.Session(agent)
		if _, err := h.Send(session, "Alone."); err != nil {
			t.Fatal(err)
		}
		servertest.Call[map[string]any](h, "InviteAgentCollaborator", map[string]any{"agentId": agent, "accountId": who, "role": "writer"})
		if _, err := h.Send(session, "Still alone."); err != nil {
			t.Fatal(err)
		}
		if _, err := client.Call[map[string]any](t.Context(), guest, "AcceptAgentInvite", map[string]any{"agentId": agent}); err != nil {
			t.Fatal(err)
		}
		if _, err := client.Call[wire.MessageSessionResponse](t.Context(), guest, "MessageSession", map[string]any{
			"sessionId": session, "content": []any{map[string]any{"type": "text", "text": "And I?"}},
		}); err != nil {
			t.Fatal(err)
		}
		for i, r := range m.Requests() {
			body := strings.ReplaceAll(string(r.Body), `\"`, `"`)
			shared := strings.Contains(body, `[{"accountId":"`+h.Key.ID().String()+`","role":"owner"},{"accountId":"`+who+`","role":"writer"}]`)
			if shared != (i == 2) || strings.Contains(body, "conversation_members") != shared {
				t.Errorf("request %d names the members: %v in %s", i, shared, body)
			}
			if i == 2 && !strings.Contains(body, `message_sender`) {
				t.Error("it is not said who wrote the message")
			}
		}
	})
}
