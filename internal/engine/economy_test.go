package engine_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/loam-agents/loam/internal/model/scripted"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/store/sqlite"
	"github.com/loam-agents/loam/internal/tooldoc"
	"github.com/loam-agents/loam/wire"
)

// remote is a tool of an MCP server as servers offer them: with a contract of two kilobytes.
func remote(i int) tooldoc.Document {
	return tooldoc.Document{
		Name: fmt.Sprintf("hub__tool_%d", i), Kind: tooldoc.MCP, Server: "hub", RemoteName: fmt.Sprintf("tool_%d", i),
		Summary: "Does a thing to an issue.", Description: strings.Repeat("Explains at length what it does. ", 30),
		Input: json.RawMessage(`{"type":"object","properties":{"issue":{"type":"string","description":"` + strings.Repeat("Which one. ", 90) + `"}},"required":["issue"]}`),
	}
}

// equip puts tools of an MCP server on an agent's shelf, while its server is stopped, and names the server in the agent's definition.
func (c *conversation) equip(n int) {
	c.t.Helper()
	def := servertest.Call[wire.GetAgentResponse](c.Harness, "GetAgent", map[string]any{"agentId": c.agent}).Agent.Definition
	def.McpServers = []string{"hub"}
	servertest.Call[wire.GetAgentResponse](c.Harness, "UpdateAgent", map[string]any{"agentId": c.agent, "definition": def})
	c.Stop()
	s, err := sqlite.Open(c.t.Context(), sqlite.Options{Path: c.Config.DataDir + "/loam.db"})
	if err != nil {
		c.t.Fatal(err)
	}
	err = s.Write(c.t.Context(), store.Interactive, func(tx store.Tx) error {
		for i := range n {
			if _, err := tooldoc.Put(tx, c.agent, remote(i), true, 1); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		c.t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		c.t.Fatal(err)
	}
	c.Harness = servertest.Start(c.t, c.Config)
}

// 8 KiB is the promise of design §8, whatever the number of tools.
func TestTheNumberOfToolsDoesNotChangeWhatATurnCosts(t *testing.T) {
	t.Parallel()
	sizes := map[int]int{}
	for _, n := range []int{0, 200} {
		c := talk(t, server.Config{}, scripted.Say("Hello."))
		if n > 0 {
			c.equip(n)
		}
		c.say("hi")
		sizes[n] = len(c.model.Requests()[0].Body)
		if sizes[n] > 8<<10 {
			t.Errorf("the payload with %d tools has %d bytes", n, sizes[n])
		}
		if last := string(c.model.Requests()[0].Body); n > 0 && !strings.Contains(last, "- hub__* — 200 tools; search_tools finds one") {
			t.Errorf("the tools are not named in %s", last)
		}
	}
	t.Logf("%d bytes without tools, %d with 200", sizes[0], sizes[200])
}

// Only a promotion changes what a request begins with, and it only appends.
func TestAPromotionAppendsAndNothingElseChangesThePrefix(t *testing.T) {
	t.Parallel()
	c := talk(t, server.Config{},
		calling(scripted.Call{ID: "1", Name: "call", Arguments: `{"tool":"search_tools","input":{"query":"issue tool_7"}}`}),
		calling(scripted.Call{ID: "2", Name: "call", Arguments: `{"tool":"hub__tool_7"}`}),
		calling(scripted.Call{ID: "3", Name: "write", Arguments: `{"address":"~/memory/a.md","content":"x"}`}),
		calling(scripted.Call{ID: "4", Name: "status", Arguments: `{"title":"Issues"}`}),
		scripted.Say("Done."), scripted.Say("Again."),
	)
	c.equip(200)
	c.say("go")
	c.say("again")
	all := c.payloads()
	for i := 1; i < len(all); i++ {
		before, after := strings.TrimSuffix(string(all[i-1].Tools), "]"), string(all[i].Tools)
		if !strings.HasPrefix(after, before) {
			t.Errorf("request %d does not begin with the tools of the one before", i+1)
		}
		for j, m := range all[i-1].Messages[:len(all[i-1].Messages)-1] {
			if string(m) != string(all[i].Messages[j]) {
				t.Errorf("message %d of request %d changed", j+1, i+1)
			}
		}
	}
	offered := c.offered()
	for i, want := range []int{0, 1, 2, 2, 2, 2} {
		if got := len(strings.Fields(offered[i])) - len(strings.Fields(offered[0])); got != want {
			t.Errorf("request %d offers %s", i+1, offered[i])
		}
	}
}
