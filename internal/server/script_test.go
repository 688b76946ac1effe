//go:build script

package server_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
	"github.com/loam-agents/loam/internal/store/storetest"
	"github.com/loam-agents/loam/wire"
)

// scripting starts a server that runs scripts, and makes an agent on it.
func scripting(t *testing.T, cfg server.Config) (h *servertest.Harness, agent string) {
	t.Helper()
	h = servertest.Start(t, cfg)
	return h, h.Agent(servertest.Scripted(t))
}

func startScript(h *servertest.Harness, agent, body string, input any) string {
	return servertest.Call[wire.StartScriptResponse](h, "StartScript", map[string]any{
		"agentId": agent, "script": "export default async function (input, ctx) {\n" + body + "\n}", "input": input,
	}).RunID
}

// until follows a run until a row of it is as wanted.
func until(t *testing.T, h *servertest.Harness, run string, ok func(r wire.RunInfo) bool) (found wire.RunInfo) {
	t.Helper()
	servertest.Until(t, h.Watch("runs/"+run, 0), func(f client.Frame) bool {
		var r wire.RunInfo
		if f.Kind != wire.FrameChange || json.Unmarshal(f.Value, &r) != nil || r.ID != run || !ok(r) {
			return false
		}
		found = r
		return true
	})
	return found
}

func ended(r wire.RunInfo) bool { return r.FinishedAt > 0 }

func waiting(r wire.RunInfo) bool { return r.Status == "waiting" }

func journalOf(h *servertest.Harness, run string) (out []map[string]any) {
	for _, e := range servertest.Call[wire.RunJournalResponse](h, "GetRunJournal", map[string]any{"runId": run}).Entries {
		var m map[string]any
		if json.Unmarshal(json.RawMessage(e.Entry), &m) == nil {
			out = append(out, m)
		}
	}
	return out
}

func TestAScriptActsWithWhatItsAgentMayDo(t *testing.T) {
	eachDatabase(t, func(t *testing.T, cfg server.Config) {
		h, agent := scripting(t, cfg)
		run := startScript(h, agent, `
await ctx.call("write", { address: "~/memory/notes/today.md", content: "Bought " + input.what }, { description: "Note it" });
const back = await ctx.call("read", { address: "~/memory/notes/today.md" });
const found = await ctx.call("search_tools", { query: "memory" });
const codes = [];
for (const [tool, args] of [["plan", {}], ["nothing", {}], ["search_tools", {}], ["read", {}], ["read", { address: "~/memory/none.md" }]]) {
  try { await ctx.call(tool, args) } catch (e) { codes.push(tool + ": " + e.code) }
}
return { content: back.content, codes, found: typeof found.summary };`, map[string]any{"what": "milk"})
		r := until(t, h, run, ended)
		if r.Status != "succeeded" || r.Kind != "workflow" || r.AgentID != agent || r.Title != "Script" {
			t.Fatalf("ended as %+v (%+v)", r, r.Error)
		}
		file := servertest.Call[wire.ReadAgentMemoryFileResponse](h, "ReadAgentMemoryFile", map[string]any{"agentId": agent, "path": "notes/today.md"})
		if text := file.File.Content; text == nil || *text != "Bought milk" {
			t.Errorf("the memory holds %v", text)
		}
		journal := journalOf(h, run)
		last := journal[len(journal)-1]
		if last["kind"] != "result" || last["status"] != "failed" {
			t.Errorf("the journal ends with %v", last)
		}
		var codes []string
		for _, e := range journal {
			if f, ok := e["error"].(map[string]any); ok {
				codes = append(codes, f["code"].(string))
			}
		}
		if diff := cmp.Diff([]string{"unknown-tool", "unknown-tool", "invalid-input", "invalid-input", "not_found"}, codes); diff != "" {
			t.Error(diff)
		}
		whole := servertest.Call[wire.RunResponse](h, "GetRun", map[string]any{"runId": run}).Run
		if !strings.Contains(whole.SourceText, `ctx.call("write"`) {
			t.Errorf("the source is %q", whole.SourceText)
		}
	})
}

func TestAScriptWaitsForASignalAndAMomentAcrossRestarts(t *testing.T) {
	eachDatabase(t, func(t *testing.T, cfg server.Config) {
		fake := clock.NewFake(time.Now())
		cfg.Clock = fake
		h, agent := scripting(t, cfg)
		run := startScript(h, agent, `
const answer = await ctx.waitForEvent({ signal: "go" }, { label: "May I?" });
await ctx.sleep(ctx.minutes(3));
return { answer: answer.payload, kept: (await ctx.call("write", { address: "~/memory/a.md", content: "x" })).summary !== "" };`, nil)
		r := until(t, h, run, waiting)
		if r.Wait == nil || r.Wait.Reason != "event" || r.Wait.Label != "May I?" || r.Wait.AnswerWith != "go" {
			t.Fatalf("waits for %+v", r.Wait)
		}
		h.Stop()
		h = servertest.Start(t, h.Config)
		signal := func(name string) bool {
			return servertest.Call[wire.SignalRunResponse](h, "SignalRun", map[string]any{"runId": run, "signal": name, "payload": map[string]any{"ok": true}}).Delivered
		}
		if signal("stop") || !signal("go") || signal("go") {
			t.Error("signals went astray")
		}
		r = until(t, h, run, func(r wire.RunInfo) bool { return waiting(r) && r.Wait.Reason == "timer" })
		if r.Wait.WakeAt != fake.Now().Add(3*time.Minute).UnixMilli() {
			t.Errorf("wakes at %d, now is %v", r.Wait.WakeAt, fake.Now())
		}
		h.Stop()
		// No longer than the clock of a signature may differ.
		fake.Advance(3 * time.Minute)
		h = servertest.Start(t, h.Config)
		if r = until(t, h, run, ended); r.Status != "succeeded" {
			t.Fatalf("ended as %+v (%+v)", r, r.Error)
		}
		kinds := []string{}
		for _, e := range journalOf(h, run) {
			kinds = append(kinds, e["kind"].(string))
		}
		if diff := cmp.Diff([]string{"wait", "event", "timer", "fired", "call", "result"}, kinds); diff != "" {
			t.Error(diff)
		}
	})
}

func TestAScriptGoesOnAsANewRunWithAnEmptyJournal(t *testing.T) {
	t.Parallel()
	h, agent := scripting(t, server.Config{})
	run := startScript(h, agent, `if (input.n < 2) await ctx.continueAsNew({ n: input.n + 1 }); return ctx.call("read", { address: "~/self" })`, map[string]any{"n": 1})
	first := until(t, h, run, ended)
	if first.Status != "succeeded" {
		t.Fatalf("ended as %+v (%+v)", first, first.Error)
	}
	found := servertest.Call[wire.ListRunsResponse](h, "ListRuns", map[string]any{"agentId": agent}).Runs
	if len(found) != 2 || found[0].ContinuedFromRunID != run {
		t.Fatalf("runs: %+v", found)
	}
	if next := until(t, h, found[0].ID, ended); next.Status != "succeeded" || len(journalOf(h, next.ID)) == 0 || len(journalOf(h, run)) != 0 {
		t.Errorf("the next is %+v", next)
	}
}

func TestAScriptThatFailsSaysWhere(t *testing.T) {
	t.Parallel()
	h, agent := scripting(t, server.Config{})
	for body, want := range map[string]string{
		"\nreturn input.a.b":              "TypeError",
		`await ctx.delegate({})`:          "Give a brief",
		`await new Promise(() => {})`:     "nothing will bring about",
		`for (;;) {}`:                     "too long",
		`throw new Error("my own words")`: "my own words",
	} {
		r := until(t, h, startScript(h, agent, body, map[string]any{}), ended)
		if r.Status != "failed" || r.Error == nil || !strings.Contains(r.Error.Message, want) {
			t.Errorf("%s: %+v", body, r.Error)
		}
		if want == "TypeError" && !strings.Contains(r.Error.Stack, "workflow.js:3:") {
			t.Errorf("the stack is %q", r.Error.Stack)
		}
		if want == "Give a brief" && r.Error.CallSeq != 1 {
			t.Errorf("the call is %d", r.Error.CallSeq)
		}
	}
}

func TestACanceledScriptEndsAtOnce(t *testing.T) {
	t.Parallel()
	h, agent := scripting(t, server.Config{})
	run := startScript(h, agent, `ctx.log("info", "asleep"); await ctx.sleep(50_000)`, nil)
	until(t, h, run, func(r wire.RunInfo) bool { return r.Status == "running" })
	if !servertest.Call[wire.CancelRunResponse](h, "CancelRun", map[string]any{"runId": run}).Canceled {
		t.Error("it was not running")
	}
	if r := until(t, h, run, ended); r.Status != "canceled" {
		t.Errorf("ended %s", r.Status)
	}
}

func TestAScriptThatMayNotRunIsRefusedWithEveryProblem(t *testing.T) {
	t.Parallel()
	h, agent := scripting(t, server.Config{})
	_, err := client.Call[wire.StartScriptResponse](t.Context(), h.Client, "StartScript", map[string]any{
		"agentId": agent, "script": "export default async () => {\n  Date.now();\n  fetch('x');\n}",
	})
	e, ok := errors.AsType[*client.Error](err)
	if !ok || e.Status != 400 || !strings.Contains(e.Message, "line 2, column 3: Date") || !strings.Contains(e.Message, "line 3, column 3: fetch") {
		t.Errorf("got %v", err)
	}
	if found := servertest.Call[wire.ListRunsResponse](h, "ListRuns", map[string]any{"agentId": agent}).Runs; len(found) != 0 {
		t.Errorf("it left %+v", found)
	}
}

func TestTheSameStartRunsOnce(t *testing.T) {
	t.Parallel()
	h, agent := scripting(t, server.Config{})
	var ids []string
	for range 2 {
		ids = append(ids, servertest.Call[wire.StartScriptResponse](h, "StartScript", map[string]any{
			"agentId": agent, "script": "export default async () => 1", "clientRequestId": "one", "title": "Count",
		}).RunID)
	}
	if ids[0] != ids[1] || until(t, h, ids[0], ended).Title != "Count" {
		t.Errorf("got %v", ids)
	}
}

// eachDatabase runs fn on both databases.
func TestAScriptWaitsForAPersonAsATurnDoes(t *testing.T) {
	eachDatabase(t, func(t *testing.T, cfg server.Config) {
		p := servertest.NewTill(t)
		h := servertest.Start(t, cfg)
		agentID := careful(t, h, servertest.Scripted(t), p)
		run := servertest.Call[wire.StartScriptResponse](h, "StartScript", map[string]any{"agentId": agentID, "script": `export default async (input, ctx) => {
			const pay = (to) => ctx.call("till__pay", { to }).then(() => "paid", (e) => e.code + ": " + e.message)
			return ctx.parallel([() => pay("Ann"), () => pay("Bob"), () => ctx.sleep(1)])
		}`}).RunID
		frames := h.Watch(wire.KeyRun+run, 0)
		reaches(t, frames, run, "waiting")
		asked := approvals(h, map[string]any{"runId": run})
		if len(asked) != 2 || payments(p) != "" {
			t.Fatalf("asked %+v, paid %s", asked, payments(p))
		}
		for _, a := range asked {
			decide(h, a.ID, strings.Contains(string(a.Arguments), "Ann"), "")
		}
		reaches(t, frames, run, "succeeded")
		got := servertest.Call[wire.RunJournalResponse](h, "GetRunJournal", map[string]any{"runId": run}).Entries
		var all strings.Builder
		for _, e := range got {
			all.Write(e.Entry)
		}
		if payments(p) != `{"to":"Ann"}` || !strings.Contains(all.String(), "permission_denied") {
			t.Errorf("paid %s, the journal is %s", payments(p), all.String())
		}
	})
}

func eachDatabase(t *testing.T, fn func(t *testing.T, cfg server.Config)) {
	t.Helper()
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		fn(t, server.Config{})
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		fn(t, server.Config{DatabaseURL: storetest.PostgresURL(t)})
	})
}
