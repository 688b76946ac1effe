//go:build script

package server_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/internal/model/scripted"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
	"github.com/loam-agents/loam/wire"
)

// answering is a turn that answers a conversation whose newest message holds a text.
func answering(user string, steps ...scripted.Step) scripted.Turn {
	return scripted.Turn{Match: scripted.Match{User: user}, Steps: steps}
}

func call(name string, input any) scripted.Step {
	arguments, err := json.Marshal(input)
	if err != nil {
		panic(err)
	}
	return scripted.Step{Call: &scripted.Call{ID: "c1", Name: name, Arguments: string(arguments)}}
}

func TestAScriptStartsChildrenAndGoesOnWithTheirResultsAfterARestart(t *testing.T) {
	eachDatabase(t, func(t *testing.T, cfg server.Config) {
		m := servertest.Scripted(t,
			answering("Count A.", scripted.Step{Text: "one"}), answering("Count B.", scripted.Step{Gate: "b"}, scripted.Step{Text: "two"}),
			answering("Count B.", scripted.Step{Text: "two"}),
			answering("Fail.", scripted.Step{Fail: "broken"}), answering("Fail.", scripted.Step{Fail: "broken"}), answering("Fail.", scripted.Step{Fail: "broken"}),
		)
		h := servertest.Start(t, cfg)
		agent := h.Agent(m)
		run := startScript(h, agent, `
const [a, b] = await ctx.parallel([() => ctx.delegate({ brief: "Count A." }), () => ctx.agent({ title: "B", brief: "Count B." })]);
const refused = [];
for (const spec of [{}, { script: "x" }, { brief: "x", await: false }]) {
  try { await ctx.delegate(spec) } catch (e) { refused.push(e.code) }
}
return { text: a.text + b.text, refused };`, nil)
		<-m.Reached("b")
		r := until(t, h, run, func(r wire.RunInfo) bool { return waiting(r) && r.Wait.PendingChildren == 1 })
		if r.Wait.Reason != "children" {
			t.Errorf("the script waits for %+v", r.Wait)
		}
		h.Stop()
		h = servertest.Start(t, h.Config)
		if r = until(t, h, run, ended); r.Status != "succeeded" {
			t.Fatalf("ended as %+v (%+v)", r, r.Error)
		}
		tree := servertest.Call[wire.ListRunsResponse](h, "ListRuns", map[string]any{"rootRunId": run}).Runs
		if len(tree) != 3 || tree[1].ParentRunID != run || tree[1].ParentToolCallID != "1" || tree[1].Origin != "workflow" || tree[2].Title != "B" {
			t.Errorf("the tree is %+v", tree)
		}
		journal := journalOf(h, run)
		if first := journal[0]; first["op"] != "agent" || first["childRunId"] != tree[1].ID {
			t.Errorf("the journal begins with %v", first)
		}
		var text string
		for _, e := range journal {
			text += fmt.Sprint(e["output"], e["error"])
		}
		for _, want := range []string{"one", "two", "a brief", "functions of its own", "leave out await"} {
			if !strings.Contains(text, want) {
				t.Errorf("the journal does not hold %q: %s", want, text)
			}
		}
	})
}

func TestATurnRunsAScriptAsAChildThatDelegates(t *testing.T) {
	eachDatabase(t, func(t *testing.T, cfg server.Config) {
		source := `export default async function (input, ctx) {
  const names = [];
  for (const n of input.names) names.push((await ctx.delegate({ brief: "Greet " + n + "." })).text);
  let code = "";
  try { await ctx.call("search_tools", { query: "x" }); await ctx.delegate({ brief: "Break." }) } catch (e) { code = e.code + " " + e.detail.code }
  if (input.again) return ctx.continueAsNew({ names: ["Zoe"], before: names });
  return { names: (input.before || []).concat(names), code };
}`
		broken := scripted.Turn{Match: scripted.Match{User: "Break."}, Status: 400, ErrorMessage: "no", Repeat: true}
		m := servertest.Scripted(t,
			answering("go", call("delegate", map[string]any{"title": "Greetings", "script": source, "input": map[string]any{"names": []string{"Ada", "Bob"}, "again": true}})),
			answering("Greet Ada.", scripted.Step{Text: "Hi Ada"}), answering("Greet Bob.", scripted.Step{Text: "Hi Bob"}), answering("Greet Zoe.", scripted.Step{Text: "Hi Zoe"}),
			broken, scripted.Turn{Match: scripted.Match{Result: "Hi Zoe"}, Steps: []scripted.Step{{Text: "All greeted."}}},
		)
		h := servertest.Start(t, cfg)
		session := h.Session(h.Agent(m))
		frames := h.Watch("sessions/"+session, 0)
		if a, err := h.Send(session, "go"); err != nil || a.AssistantEventID != "" {
			t.Fatalf("Send = %+v, %v", a, err)
		}
		servertest.Until(t, frames, func(f client.Frame) bool { return strings.Contains(string(f.Event), "All greeted.") })
		var result struct {
			Status, RunID, SessionID string
			Output                   map[string]any
		}
		for _, e := range h.Events(session) {
			if e.Type == "tool_result" {
				if err := json.Unmarshal(e.Output, &result); err != nil {
					t.Fatal(err)
				}
			}
		}
		if result.Status != "succeeded" || result.SessionID != "" || fmt.Sprint(result.Output) != "map[code:agent-failed provider-error names:[Hi Ada Hi Bob Hi Zoe]]" {
			t.Errorf("the result is %+v", result)
		}
		roots := servertest.Call[wire.ListRunsResponse](h, "ListRuns", map[string]any{"sessionId": session}).Runs
		tree := servertest.Call[wire.ListRunsResponse](h, "ListRuns", map[string]any{"rootRunId": roots[0].ID}).Runs
		scripts := 0
		for _, r := range tree {
			if r.Kind == "workflow" {
				scripts++
			}
			if r.Title == "Greet Ada." && r.Depth != 2 {
				t.Errorf("a child of the script is %+v", r)
			}
		}
		if scripts != 2 || len(tree) != 8 {
			t.Errorf("%d runs, %d of scripts: %+v", len(tree), scripts, tree)
		}
	})
}
