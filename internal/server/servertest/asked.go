package servertest

import (
	"testing"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/internal/model/scripted"
	"github.com/loam-agents/loam/wire"
)

const askFirst = "Ask first."

// AskFirst is a turn of a model that Asked needs. It comes before turns that fit every message.
func AskFirst() scripted.Turn {
	return scripted.Turn{Repeat: true, Match: scripted.Match{User: askFirst}, Steps: []scripted.Step{{Call: &scripted.Call{
		Name: "call", Arguments: `{"tool":"search_tools","input":{"query":"x"}}`,
	}}}}
}

// Asked has an agent wait for an approval in a session, as whoever c is, and returns the id of the approval. owner is the agent's.
func Asked(t testing.TB, owner, c *client.Client, agentID, session string) string {
	t.Helper()
	def := result[wire.GetAgentResponse](t, owner, "GetAgent", map[string]any{"agentId": agentID}).Agent.Definition
	def.ToolApproval = &wire.ToolApproval{Tools: map[string]string{"search_tools": "required"}}
	result[wire.GetAgentResponse](t, owner, "UpdateAgent", map[string]any{"agentId": agentID, "definition": def})
	result[wire.MessageSessionResponse](t, c, "MessageSession", map[string]any{
		"sessionId": session, "content": []any{map[string]any{"type": "text", "text": askFirst}},
	})
	asked := result[wire.ListApprovalsResponse](t, owner, "ListApprovals", map[string]any{"sessionId": session}).Approvals
	if len(asked) != 1 {
		t.Fatalf("asked %+v", asked)
	}
	return asked[0].ID
}

func result[T any](t testing.TB, c *client.Client, name string, request any) T {
	t.Helper()
	out, err := client.Call[T](t.Context(), c, name, request)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return out
}
