package engine_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/loam-agents/loam/internal/model/scripted"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
	"github.com/loam-agents/loam/wire"
)

// offered are the names of the tools of each request.
func (c *conversation) offered() []string {
	c.t.Helper()
	var out []string
	for _, p := range c.payloads() {
		var tools []struct{ Function struct{ Name string } }
		if err := json.Unmarshal(p.Tools, &tools); err != nil {
			c.t.Fatal(err)
		}
		var names []string
		for _, t := range tools {
			names = append(names, t.Function.Name)
		}
		out = append(out, strings.Join(names, " "))
	}
	return out
}

const counting = `{"address":"~/tools/count","content":"{\"description\":\"Counts words.\",\"input\":{\"type\":\"object\",\"properties\":{\"text\":{\"type\":\"string\"}},\"required\":[\"text\"]},\"source\":\"x\"}"}`

func TestATouchedToolIsOfferedAtTheEndOfTheListForTheRestOfTheThread(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		c := talk(t, cfg,
			calling(scripted.Call{ID: "1", Name: "call", Arguments: `{"tool":"search_tools","input":{"query":"count"}}`}),
			calling(scripted.Call{ID: "2", Name: "write", Arguments: counting}, scripted.Call{ID: "3", Name: "call", Arguments: `{"tool":"count"}`}),
			calling(scripted.Call{ID: "4", Name: "count", Arguments: `{"text":"a b"}`}, scripted.Call{ID: "5", Name: "search_tools", Arguments: `{"query":"words"}`}),
			scripted.Say("Done."), scripted.Say("Again."),
		)
		c.say("go")
		c.say("and again")
		const verbs = "read write call delegate plan status continue_session"
		want := []string{verbs, verbs + " search_tools", verbs + " search_tools count", verbs + " search_tools count", verbs + " search_tools count"}
		if got := c.offered(); strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("offered\n%s", strings.Join(got, "\n"))
		}
		results := c.results()
		for i, part := range []string{"No tool fits", "Authored ~/tools/count", `"validationErrors"`, "This server runs no code", `"name":"count"`} {
			if i >= len(results) || !strings.Contains(results[i], part) {
				t.Errorf("result %d is %q, want %q in it", i, results[min(i, len(results)-1)], part)
			}
		}
	})
}

func TestReadingAContractPromotesAndAGuideDoesNot(t *testing.T) {
	t.Parallel()
	c := talk(t, server.Config{},
		calling(scripted.Call{ID: "1", Name: "read", Arguments: `{"address":"~/tools/write/tools"}`}, scripted.Call{ID: "2", Name: "read", Arguments: `{"address":"~/tools/"}`},
			scripted.Call{ID: "3", Name: "call", Arguments: `{"tool":"bash","input":{"command":"id"}}`}, scripted.Call{ID: "4", Name: "bash", Arguments: `{"command":"id"}`}),
		calling(scripted.Call{ID: "5", Name: "read", Arguments: `{"address":" ~/tools/search_tools/ "}`}),
		scripted.Say("Done."),
	)
	c.say("go")
	const verbs = "read write call delegate plan status continue_session"
	if got := c.offered(); got[1] != verbs || got[2] != verbs+" search_tools" {
		t.Errorf("offered\n%s", strings.Join(got, "\n"))
	}
	if results := c.results(); !strings.Contains(results[2], `No callable tool named \"bash\"`) || !strings.Contains(results[3], `There is no tool named "bash"`) {
		t.Errorf("results %q", results)
	}
}

func TestAToolThatIsSwitchedOffIsTakenAway(t *testing.T) {
	t.Parallel()
	c := talk(t, server.Config{},
		calling(scripted.Call{ID: "1", Name: "write", Arguments: counting}, scripted.Call{ID: "2", Name: "call", Arguments: `{"tool":"count"}`}), scripted.Say("Done."),
		calling(scripted.Call{ID: "3", Name: "count", Arguments: `{"text":"a"}`}, scripted.Call{ID: "4", Name: "call", Arguments: `{"tool":"count","input":{"text":"a"}}`}), scripted.Say("Gone."),
	)
	c.say("go")
	tools := servertest.Call[wire.ListAgentToolsResponse](c.Harness, "ListAgentTools", map[string]any{"agentId": c.agent}).Tools
	off := false
	servertest.Call[wire.SaveAgentToolResponse](c.Harness, "SaveAgentTool", wire.SaveAgentToolRequest{
		AgentID: c.agent, PreviousName: "count", Tool: wire.ToolInput{Name: "count", Description: tools[0].Description, Source: tools[0].Source, Enabled: &off},
	})
	c.say("again")
	got := c.offered()
	if !strings.HasSuffix(got[1], " count") || strings.Contains(got[2], "count") {
		t.Errorf("offered\n%s", strings.Join(got, "\n"))
	}
	if results := c.results(); !strings.Contains(results[2], `There is no tool named "count"`) || !strings.Contains(results[3], "No callable tool named") {
		t.Errorf("results %q", results)
	}
}

// The Space index of an agent names its tools.
func TestTheIndexStandsInTheBlockAfterTheLastMessage(t *testing.T) {
	t.Parallel()
	c := talk(t, server.Config{}, scripted.Say("Hello."))
	c.say("hi")
	messages := c.payloads()[0].Messages
	if last := string(messages[len(messages)-1]); !strings.Contains(last, "- search_tools — Find a tool by what it does.") || !strings.Contains(last, "memory/ — empty") {
		t.Errorf("the last message is %s", last)
	}
}
