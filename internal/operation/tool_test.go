package operation_test

import (
	"testing"

	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/store/postgres"
	"github.com/loam-agents/loam/internal/store/sqlite"
	"github.com/loam-agents/loam/wire"
)

func tool(name, description string) object {
	return object{"name": name, "description": description, "source": "export default async () => ({})", "runtime": "typescript"}
}

func listTools(h *servertest.Harness, agent string) map[string]wire.ToolInfo {
	out := map[string]wire.ToolInfo{}
	for _, t := range servertest.Call[wire.ListAgentToolsResponse](h, "ListAgentTools", object{"agentId": agent}).Tools {
		out[t.Name] = t
	}
	return out
}

func TestToolsAreAuthoredChangedRenamedAndDeleted(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		w := build(t, cfg)
		save := func(request object) wire.ToolInfo {
			t.Helper()
			request["agentId"] = w.agent
			return servertest.Call[wire.SaveAgentToolResponse](w.h, "SaveAgentTool", request).Tool
		}
		first := save(object{"tool": tool("count", "Counts words. Slowly.")})
		if first.Kind != "lambda" || first.Summary != "Counts words." || !first.Enabled || !first.Granted || first.Author != "person" || first.Effect != "side-effecting" || string(first.Input) != `{"type":"object"}` {
			t.Errorf("saved %+v", first)
		}
		off := tool("tally", "Tallies.")
		off["enabled"] = false
		renamed := save(object{"tool": off, "previousName": "count"})
		if renamed.CreatedAt != first.CreatedAt || renamed.Enabled || renamed.CID == first.CID {
			t.Errorf("renamed %+v", renamed)
		}
		if again := save(object{"tool": tool("tally", "Tallies more."), "previousName": "tally"}); again.Enabled {
			t.Error("a change switched the tool on")
		}
		list := listTools(w.h, w.agent)
		if list["count"].Name != "" || list["tally"].Description != "Tallies more." || list["search_tools"].Kind != "builtin" || !list["search_tools"].Granted ||
			list["search_tools"].Effect != "pure" || list["search_tools"].Author != "" || list["tally"].Author != "person" {
			t.Errorf("listed %+v", list)
		}
		for _, c := range []struct {
			name    string
			request object
			status  int
			message string
		}{
			{"SaveAgentTool", object{"tool": tool("tally", "New.")}, 409, `A tool named "tally" already exists`},
			{"SaveAgentTool", object{"tool": tool("other", "New."), "previousName": "none"}, 404, `Tool "none" not found`},
			{"SaveAgentTool", object{"tool": tool("other", "New."), "previousName": "search_tools"}, 400, "Builtin tools cannot be edited"},
			{"SaveAgentTool", object{"tool": tool("read", "New.")}, 400, `"read" is the name of a builtin tool or verb, which cannot be replaced`},
			{"SaveAgentTool", object{"tool": tool("other", "")}, 400, "Tool description is required"},
			{"SaveAgentTool", object{"tool": "x"}, 400, "tool must be map, not text"},
			{"SaveAgentTool", object{}, 400, "Tool name is invalid: 2 to 64 characters, lower-case letters, digits, - and _, beginning with a letter"},
			{"DeleteAgentTool", object{"name": "search_tools"}, 400, "Builtin tools cannot be deleted: the agent's grants decide whether it has them"},
			{"DeleteAgentTool", object{}, 400, "Tool name is required"},
		} {
			c.request["agentId"] = w.agent
			if _, status, message := act(t, w.h.Client, c.name, c.request); status != c.status || message != c.message {
				t.Errorf("%s %v: %d %q", c.name, c.request, status, message)
			}
		}
		for _, want := range []bool{true, false} {
			got := servertest.Call[wire.DeleteAgentToolResponse](w.h, "DeleteAgentTool", object{"agentId": w.agent, "name": "tally"})
			if got.Deleted != want {
				t.Errorf("deleted %v, want %v", got.Deleted, want)
			}
		}
	})
}

func TestADriftedBuiltinIsRefreshedWhenItIsListed(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		w := build(t, cfg)
		before := listTools(w.h, w.agent)["search_tools"]
		w.h.Stop()
		change(t, w.h.Config, `UPDATE tool_documents SET cid = 'other', document = '{"description":"Old.","input":{}}' WHERE name = 'search_tools'`)
		change(t, w.h.Config, `INSERT INTO tool_documents (agent_id, name, kind, server, cid, document, enabled, created_at, updated_at)
			SELECT id, 'retired', 'builtin', '', 'x', '{"input":{}}', 1, 0, 0 FROM agents`)
		h := servertest.Start(t, w.h.Config)
		list := listTools(h, w.agent)
		after := list["search_tools"]
		if after.CID != before.CID || after.Description != before.Description || after.CreatedAt != before.CreatedAt || list["retired"].Name != "" {
			t.Errorf("after the drift: %+v", list)
		}
		if again := listTools(h, w.agent)["search_tools"]; again.UpdatedAt != after.UpdatedAt {
			t.Error("a second listing wrote again")
		}
	})
}

// change alters the database of a server that was stopped.
func change(t *testing.T, cfg server.Config, statement string) {
	t.Helper()
	var s store.Store
	var err error
	if cfg.DatabaseURL != "" {
		s, err = postgres.Open(t.Context(), postgres.Options{URL: cfg.DatabaseURL})
	} else {
		s, err = sqlite.Open(t.Context(), sqlite.Options{Path: cfg.DataDir + "/loam.db"})
	}
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	err = s.Write(t.Context(), store.Interactive, func(tx store.Tx) error {
		_, err := tx.Exec(statement)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
