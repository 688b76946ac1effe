package crashtest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/internal/server/servertest"
	"github.com/loam-agents/loam/wire"
)

// play is a script that does everything that a script can do. It returns nothing over the wire, so it writes its result down.
const play = `export default async function (input, ctx) {
  const note = (name, content) => ctx.call("write", { address: "~/memory/" + name + ".md", content });
  await note("one", "1");
  await ctx.parallel([() => note("two", "2"), () => note("three", "3")]);
  await ctx.sleep(20);
  const answer = await ctx.waitForEvent({ signal: "go" }, { label: "May I?" });
  const child = await ctx.delegate({ title: "a branch", brief: "Grow fir." });
  let paid = "paid";
  try { await ctx.call("till__pay", { sum: 3 }) } catch (e) { paid = e.code }
  await note("result", JSON.stringify([answer.payload, child.text, paid]));
}`

// equip gives the agent the till.
func (r *rig) equip(p *servertest.Till) {
	r.t.Helper()
	call[wire.McpServerResponse](r, "SetMcpServer", map[string]any{"name": "till", "config": map[string]any{"url": p.URL}})
	call[wire.GetAgentResponse](r, "UpdateAgent", map[string]any{"agentId": r.agent, "definition": map[string]any{
		"name": "Scribe", "systemPrompt": "You pay.", "modelProvider": "scripted", "model": "scripted-1", "mcpServers": []string{"till"},
	}})
}

// perform starts a script once, and sends it the signal go until it has ended.
func (r *rig) perform(source string, input any) wire.RunInfo {
	r.t.Helper()
	run := insist[wire.StartScriptResponse](r, "StartScript", map[string]any{
		"agentId": r.agent, "script": source, "input": input, "clientRequestId": "once",
	}).RunID
	return r.through(run, func(ctx context.Context, info wire.RunInfo) {
		if info.Wait != nil && info.Wait.AnswerWith == "go" {
			_, _ = client.Call[wire.SignalRunResponse](ctx, r.client, "SignalRun", map[string]any{"runId": run, "signal": "go", "payload": 7})
		}
	})
}

// note reads a file of the agent's memory.
func (r *rig) note(name string) string {
	r.t.Helper()
	file := call[wire.ReadAgentMemoryFileResponse](r, "ReadAgentMemoryFile", map[string]any{"agentId": r.agent, "path": name + ".md"}).File
	if file.Content == nil {
		r.t.Fatalf("%s.md holds no text", name)
	}
	return *file.Content
}

func played(r *rig, point string) {
	p := servertest.NewTill(r.t)
	r.grow("fir")
	// A server that dies before it has anything to do with the script is no case of it.
	r.start("")
	r.found()
	r.equip(p)
	r.process.Kill()
	r.start(point)
	run := r.perform(play, nil)
	if run.Status != "succeeded" {
		r.t.Fatalf("the script is %s: %+v", run.Status, run.Error)
	}
	switch got := r.note("result"); {
	case got == `[7,"Leaf fir has grown.","paid"]` && len(p.Paid()) == 1:
	case got == `[7,"Leaf fir has grown.","in_doubt"]` && len(p.Paid()) <= 1:
	default:
		r.t.Errorf("the script returned %s and paid %d times", got, len(p.Paid()))
	}
	r.auditJournal(run.ID, 4)
	r.auditChildren(run.ID, 1)
}

// entry is what the audit reads of a journal.
type entry struct {
	Kind, Tool, Status, ChildRunID string
	CallSeq                        int64
	Output                         struct {
		Path      string
		UpdatedAt int64
	}
}

// auditJournal: seqs are dense, every call has one result, and every file stands in memory as the one write of it says.
func (r *rig) auditJournal(run string, files int) {
	r.t.Helper()
	got := call[wire.RunJournalResponse](r, "GetRunJournal", map[string]any{"runId": run}).Entries
	results, wrote := map[int64]int{}, map[string]int64{}
	begun := map[int64]string{}
	for i, raw := range got {
		var e entry
		if err := json.Unmarshal(raw.Entry, &e); err != nil && !strings.Contains(err.Error(), "cannot unmarshal") {
			r.t.Fatalf("entry %d: %v", raw.Seq, err)
		}
		if raw.Seq != int64(i+1) {
			r.t.Errorf("entry %d has seq %d", i+1, raw.Seq)
		}
		switch e.Kind {
		case "call":
			begun[e.CallSeq] = e.Tool
		case "result":
			results[e.CallSeq]++
		}
		if e.Kind == "result" && begun[e.CallSeq] == "write" {
			if _, twice := wrote[e.Output.Path]; twice {
				r.t.Errorf("%s was written twice", e.Output.Path)
			}
			wrote[e.Output.Path] = e.Output.UpdatedAt
		}
	}
	for seq := range begun {
		if results[seq] != 1 {
			r.t.Errorf("call %d has %d results", seq, results[seq])
		}
	}
	for seq, n := range results {
		if n != 1 {
			r.t.Errorf("call %d has %d results", seq, n)
		}
	}
	for path, at := range wrote {
		file := call[wire.ReadAgentMemoryFileResponse](r, "ReadAgentMemoryFile", map[string]any{"agentId": r.agent, "path": path}).File
		if file.UpdatedAt != at {
			r.t.Errorf("%s is of %d, its result of %d", path, file.UpdatedAt, at)
		}
	}
	if len(wrote) != files {
		r.t.Errorf("the journal says of %d files that they were written, want %d", len(wrote), files)
	}
	if r.t.Failed() {
		for _, e := range got {
			r.t.Logf("%d %s", e.Seq, e.Entry)
		}
	}
}

// auditChildren: the tree of a root has so many children, each of a call of its own, all succeeded.
func (r *rig) auditChildren(root string, children int) {
	r.t.Helper()
	tree := call[wire.ListRunsResponse](r, "ListRuns", map[string]any{"rootRunId": root, "limit": 200}).Runs
	if len(tree) != children+1 {
		r.t.Errorf("the script has %d children, want %d", len(tree)-1, children)
	}
	calls := map[string]bool{}
	for _, run := range tree {
		if run.Status != "succeeded" || calls[run.ParentToolCallID] {
			r.t.Errorf("run %s of call %s is %s: %+v", run.Title, run.ParentToolCallID, run.Status, run.Error)
		}
		calls[run.ParentToolCallID] = true
	}
}

func succession(r *rig, point string) {
	r.start(point)
	r.found()
	r.perform(`export default async function (input, ctx) {
  await ctx.call("write", { address: "~/memory/run-" + input.n + ".md", content: "x" });
  if (input.n < 3) await ctx.continueAsNew({ n: input.n + 1 });
}`, map[string]any{"n": 1})
	// The last run of the row ends later than the first one.
	var row []wire.RunInfo
	for range 4 {
		row = insist[wire.ListRunsResponse](r, "ListRuns", map[string]any{"agentId": r.agent}).Runs
		if r.through(row[0].ID, func(context.Context, wire.RunInfo) {}); len(row) == 3 {
			break
		}
	}
	row = insist[wire.ListRunsResponse](r, "ListRuns", map[string]any{"agentId": r.agent}).Runs
	if len(row) != 3 {
		r.t.Fatalf("there are %d runs", len(row))
	}
	slices.Reverse(row)
	for i, run := range row {
		if run.Status != "succeeded" || i > 0 && run.ContinuedFromRunID != row[i-1].ID {
			r.t.Errorf("run %d is %+v", i+1, run)
		}
		r.auditJournal(run.ID, 1)
	}
}

// long is a script of twenty effects: three children, reads and writes, one after the other and at once. Its result depends on all of them.
const long = `export default async function (input, ctx) {
  const said = [];
  const write = async (n) => (await ctx.call("write", { address: "~/memory/long/" + n + ".md", content: "line " + n })).path;
  const read = async (n) => (await ctx.call("read", { address: "~/memory/long/" + n + ".md" })).content;
  for (let n = 0; n < 4; n++) said.push(await write(n));
  said.push(...await ctx.parallel([0, 1, 2].map((n) => () => ctx.delegate({ title: "a branch", brief: "Grow yew-" + n + "." }).then((c) => c.text))));
  for (let n = 0; n < 3; n++) said.push(await read(n));
  await ctx.sleep(15);
  said.push(...await ctx.parallel([4, 5, 6, 7, 8].map((n) => () => write(n))));
  const again = await ctx.delegate({ title: "the rest", brief: "Grow yew." });
  said.push(again.text);
  for (let n = 4; n < 7; n++) said.push(await read(n));
  await ctx.call("write", { address: "~/memory/result.md", content: JSON.stringify(said) });
}`

// longResult is what the script returns without a kill.
const longResult = `["long/0.md","long/1.md","long/2.md","long/3.md","Leaf yew-0 has grown.","Leaf yew-1 has grown.","Leaf yew-2 has grown.",` +
	`"line 0","line 1","line 2","long/4.md","long/5.md","long/6.md","long/7.md","long/8.md","Branch yew has grown.","line 4","line 5","line 6"]`

// longWrites are the files of long, longChildren its own children; yew has two of its own.
const longWrites, longChildren = 10, 4 + 2

// lengthy performs the long script and returns its result. calm ends the kills before what is left is looked at.
func (r *rig) lengthy(calm func()) string {
	r.t.Helper()
	run := r.perform(long, nil)
	calm()
	r.revive()
	if run.Status != "succeeded" {
		r.t.Fatalf("the script is %s: %+v", run.Status, run.Error)
	}
	r.auditJournal(run.ID, longWrites)
	tree := call[wire.ListRunsResponse](r, "ListRuns", map[string]any{"rootRunId": run.ID, "limit": 200}).Runs
	if len(tree) != longChildren+1 {
		r.t.Errorf("the tree has %d runs, want %d", len(tree), longChildren+1)
	}
	return r.note("result")
}

func (r *rig) growYew() {
	for n := range 3 {
		r.grow(fmt.Sprintf("yew-%d", n))
	}
	r.grow("yew", 2)
}

func TestAScriptOfTwentyEffectsEndsWithTheSameResultAfterRandomKills(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		seed := number(t, seedVariable, 1)
		calm := r.another()
		calm.growYew()
		calm.start("")
		calm.found()
		want := calm.lengthy(func() {})
		if want != longResult {
			t.Errorf("without a kill the result is %s", want)
		}
		kills := 4
		if full() {
			kills = 10
		}
		r.growYew()
		r.start("")
		r.found()
		if got := r.lengthy(r.killing(rand.New(rand.NewPCG(seed, 20)), kills)); got != want {
			t.Errorf("after %d kills (%s=%d) the result is\n%s, without any\n%s", r.crashes, seedVariable, seed, got, want)
		}
	})
}
