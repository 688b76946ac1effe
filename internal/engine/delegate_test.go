package engine_test

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/internal/model/scripted"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
	"github.com/loam-agents/loam/principal"
	"github.com/loam-agents/loam/wire"
)

// on is a turn that answers a conversation whose newest message or result holds a text.
func on(text string, turn scripted.Turn) scripted.Turn {
	turn.Match.User = text
	return turn
}

func after(result string, turn scripted.Turn) scripted.Turn {
	turn.Match.Result = result
	return turn
}

// delegating calls delegate with each of the inputs, under the ids c1, c2, ….
func delegating(inputs ...string) scripted.Turn {
	var calls []scripted.Call
	for i, in := range inputs {
		calls = append(calls, scripted.Call{ID: fmt.Sprint("c", i+1), Name: "delegate", Arguments: in})
	}
	return calling(calls...)
}

// goes sends a text whose turn is parked, and returns once the agent has said the words that end it.
func (c *conversation) goes(text, end string) {
	c.t.Helper()
	frames := c.Watch("sessions/"+c.session, 0)
	answer, err := c.Send(c.session, text)
	if err != nil || answer.AssistantEventID != "" {
		c.t.Fatalf("a turn that is parked answered %+v, %v", answer, err)
	}
	servertest.Until(c.t, frames, func(f client.Frame) bool {
		return f.Kind == wire.FrameAppend && strings.Contains(string(f.Event), end)
	})
}

// tree lists the runs of the tree of the session's first root.
func (c *conversation) tree() []wire.RunInfo {
	c.t.Helper()
	roots := servertest.Call[wire.ListRunsResponse](c.Harness, "ListRuns", map[string]any{"sessionId": c.session}).Runs
	return servertest.Call[wire.ListRunsResponse](c.Harness, "ListRuns", map[string]any{"rootRunId": roots[len(roots)-1].ID}).Runs
}

// outcome is a result of delegate as the log holds it.
type outcome struct {
	Status, RunID, SessionID string
	Output                   any
	Error                    *wire.RunError
	Delegation               map[string]any
}

func (c *conversation) outcomes() (out []outcome) {
	c.t.Helper()
	for _, e := range c.Events(c.session) {
		if e.Type != "tool_result" {
			continue
		}
		var o outcome
		if err := json.Unmarshal([]byte(e.Output), &o); err != nil {
			c.t.Fatalf("result %s: %v", e.Output, err)
		}
		out = append(out, o)
	}
	return out
}

var used = scripted.Turn{}.Usage

func TestChildrenRunBesideOneAnotherAndEachCallGetsItsOwnResult(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		used.Input, used.Total = 7, 7
		child := func(say string) scripted.Turn {
			turn := scripted.Say(say)
			turn.Usage = used
			return turn
		}
		c := talk(t, cfg,
			on("go", delegating(`{"title":"Left","brief":"Count the LEFT."}`, `{"brief":"Count the RIGHT.\nAll of it."}`)),
			on("LEFT", scripted.Turn{Steps: []scripted.Step{{Gate: "left"}, {Text: "Three left."}}, Usage: used}), on("RIGHT", child("Two right.")),
			after("Three left.", scripted.Say("Five.")),
		)
		frames := c.Watch("sessions/"+c.session, 0)
		if a, err := c.Send(c.session, "go"); err != nil || a.AssistantEventID != "" {
			t.Fatalf("Send = %+v, %v", a, err)
		}
		servertest.Until(t, frames, func(f client.Frame) bool { return strings.Contains(string(f.Event), "Two right.") })
		root := c.tree()[0]
		if root.Status != "waiting" || root.Wait == nil || root.Wait.Reason != "children" || root.Wait.PendingChildren != 1 || root.ChildRunCount != 2 {
			t.Errorf("the parked parent is %+v, waiting for %+v", root, root.Wait)
		}
		if s := c.info(); s.Status != "idle" || s.ChildSessionCount != 2 {
			t.Errorf("the session of the parked parent is %+v", s)
		}
		c.spawned("c1 Left", "c2 Count the RIGHT.")
		c.model.Open("left")
		servertest.Until(t, frames, func(f client.Frame) bool { return strings.Contains(string(f.Event), "Five.") })
		if got := c.log(); !strings.HasSuffix(got, "result delegate\nresult delegate\nassistant Five.") {
			t.Errorf("the log is\n%s", got)
		}
		byCall := c.results()
		if len(byCall) != 2 || !strings.Contains(byCall[0], "Three left.") || !strings.Contains(byCall[1], "Two right.") {
			t.Errorf("the model saw %q", byCall)
		}
		runs := c.tree()
		if len(runs) != 3 || runs[0].Usage.Children == nil || runs[0].Usage.Children.Runs != 2 || runs[0].Usage.Children.Total != 14 {
			t.Fatalf("the tree is %+v", runs)
		}
		left := runs[1]
		if left.Title != "Left" || left.ParentRunID != runs[0].ID || left.ParentToolCallID != "c1" || left.Depth != 1 || left.Origin != "agent" ||
			runs[2].Title != "Count the RIGHT." {
			t.Errorf("the children are %+v and %+v", left, runs[2])
		}
		events := c.Events(left.SessionID)
		if events[0].Content != "Count the LEFT." || events[0].Role != "user" {
			t.Errorf("the first message of a child is %+v", events[0])
		}
		s := servertest.Call[wire.GetSessionResponse](c.Harness, "GetSession", map[string]any{"sessionId": left.SessionID}).Session
		if s.ParentSessionID != c.session || s.RunID != left.ID || s.Title != "Left" {
			t.Errorf("the session of a child is %+v", s)
		}
		want := map[string]any{"depth": 1., "maxDepth": 3., "childCouldDelegate": true, "parentChildrenRemaining": 8., "parentMaxChildren": 10.}
		for _, o := range c.outcomes() {
			if diff := cmp.Diff(want, o.Delegation); o.Status != "succeeded" || diff != "" {
				t.Errorf("a result is %+v: %s", o, diff)
			}
		}
	})
}

// spawned checks that the log says, after all calls, which children they have started: the id of each call, and the title of its child.
func (c *conversation) spawned(want ...string) {
	c.t.Helper()
	var got []string
	calls := 0
	for _, e := range servertest.Call[wire.GetSessionResponse](c.Harness, "GetSession", map[string]any{"sessionId": c.session}).Events {
		var s wire.ToolSpawnEvent
		if err := json.Unmarshal(e.Event, &s); err != nil {
			c.t.Fatal(err)
		}
		switch s.Type {
		case "tool_call":
			calls++
		case "tool_spawn":
			run := servertest.Call[wire.RunResponse](c.Harness, "GetRun", map[string]any{"runId": s.RunID}).Run
			if s.Name != "delegate" || run.SessionID != s.SessionID || run.ParentToolCallID != s.ToolCallID || calls != len(want) {
				c.t.Errorf("%+v after %d calls, of the run %+v", s, calls, run)
			}
			got = append(got, s.ToolCallID+" "+s.Title)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		c.t.Error(diff)
	}
}

func TestWhatAChildIsAskedForAndGiven(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ input, child, want string }{
		"input stands for brief":       {`{"input":"Do IT."}`, "Do IT.", ""},
		"a prompt alone is the brief":  {`{"prompt":"Do IT."}`, "Do IT.", ""},
		"a brief that is no text":      {`{"brief":{"do":"IT"}}`, "```json\n{\"do\":\"IT\"}\n```", ""},
		"nothing to do":                {`{"title":"x"}`, "", "Give a brief"},
		"another agent":                {`{"brief":"Do IT.","agentId":"a"}`, "", "agentId is not taken"},
		"a model without level":        {`{"brief":"Do IT.","model":"m"}`, "", "model needs a reasoningLevel"},
		"a level without model":        {`{"brief":"Do IT.","reasoningLevel":"off"}`, "", "reasoningLevel needs a model"},
		"a model that is not enabled":  {`{"brief":"Do IT.","model":"x/y","reasoningLevel":"off"}`, "", "model must be one of your models"},
		"a schema that is no object":   {`{"brief":"Do IT.","output":{"type":"array"}}`, "", "object root"},
		"detached with a typed result": {`{"brief":"Do IT.","await":false,"output":{"type":"object"}}`, "", "detached"},
		"a detached script":            {`{"script":"x","await":false}`, "", "always awaited"},
		"a brief and a script":         {`{"brief":"Do IT.","script":"x"}`, "", "not both"},
		"a brief at the limit":         {`{"brief":"IT` + strings.Repeat("x", 64<<10-2) + `"}`, "IT" + strings.Repeat("x", 64<<10-2), ""},
		"a brief beyond the limit":     {`{"brief":"IT` + strings.Repeat("x", 64<<10-1) + `"}`, "", "at most 64 KiB"},
		"a prompt beyond the limit":    {`{"brief":"IT","prompt":"` + strings.Repeat("x", 64<<10+1) + `"}`, "", "at most 64 KiB"},
		"more tools than may be named": {`{"brief":"IT","tools":[` + strings.Repeat(`"a",`, 64) + `"a"]}`, "", "at most 64"},
		"a schema beyond the limit":    {`{"brief":"IT","output":{"type":"object","description":"` + strings.Repeat("x", 16<<10) + `"}}`, "", "at most 16 KiB"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conv := talk(t, server.Config{}, on("go", delegating(c.input)), on("IT", scripted.Say("Done.")), scripted.Turn{Repeat: true, Steps: []scripted.Step{{Text: "End."}}})
			if c.child != "" {
				conv.goes("go", "End.")
				if e := conv.Events(conv.tree()[1].SessionID)[0]; e.Content != c.child {
					t.Errorf("the child was told %.200q", e.Content)
				}
				return
			}
			conv.say("go")
			last := conv.Events(conv.session)
			if e := last[2]; e.Type != "tool_result" || !strings.Contains(e.Error, c.want) {
				t.Errorf("the result is %+v, want %q", e, c.want)
			}
			if len(conv.tree()) != 1 {
				t.Error("a child was started")
			}
		})
	}
}

func TestALeafHasNoVerbToDelegateAndIsTold(t *testing.T) {
	t.Parallel()
	c := talk(t, server.Config{},
		on("go", delegating(`{"brief":"Do it: LEAF."}`)),
		on("LEAF", delegating(`{"brief":"Go deeper."}`)), after("no tool named", scripted.Say("Alone.")),
		after("Alone.", scripted.Say("End.")),
	)
	servertest.Call[wire.SessionResponse](c.Harness, "UpdateSession", map[string]any{"sessionId": c.session, "thoroughness": "quick"})
	c.goes("go", "End.")
	offered := c.offered()
	if !strings.Contains(offered[0], "delegate") || strings.Contains(offered[1], "delegate") {
		t.Errorf("offered were %q", offered)
	}
	all := c.payloads()
	for i, want := range []string{"depth 0 of 1; you may start 4 more children; they cannot delegate", "You are a leaf worker", "You are a leaf worker", "you may start 3 more children"} {
		if text := string(all[i].Messages[len(all[i].Messages)-1]); !strings.Contains(text, want) {
			t.Errorf("request %d does not say %q: %s", i+1, want, text)
		}
	}
}

func TestTheLastChildOfARunIsTheLast(t *testing.T) {
	t.Parallel()
	in := `{"brief":"One of MANY."}`
	many := on("MANY", scripted.Say("Item."))
	many.Repeat = true
	c := talk(t, server.Config{}, on("go", delegating(in, in, in, in, in)), many, after("Item.", scripted.Say("End.")))
	servertest.Call[wire.SessionResponse](c.Harness, "UpdateSession", map[string]any{"sessionId": c.session, "thoroughness": "quick"})
	c.goes("go", "End.")
	results := c.results()
	for i, r := range results {
		if refused := strings.Contains(r, "All 4 children of this run are used"); refused != (i == 4) && !strings.Contains(r, "Item.") {
			t.Errorf("result %d is %s", i+1, r)
		}
	}
	if n := len(c.tree()); n != 5 || len(results) != 5 {
		t.Errorf("%d runs, %d results", n, len(results))
	}
}

func TestATypedChildReturnsWhatItsSchemaTakes(t *testing.T) {
	t.Parallel()
	const schema = `{"brief":"Count the TYPED.","output":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}}`
	back := func(arguments string) scripted.Turn {
		return calling(scripted.Call{Name: "return_result", Arguments: arguments})
	}
	end := after("delegation", scripted.Say("End."))
	for name, c := range map[string]struct {
		turns  []scripted.Turn
		output string
		code   string
	}{
		"at once":               {[]scripted.Turn{on("TYPED", back(`{"n":3}`))}, `{"n":3}`, ""},
		"after a miss":          {[]scripted.Turn{on("TYPED", back(`{"n":"x"}`)), after("does not fit", back(`{"n":4}`))}, `{"n":4}`, ""},
		"after it was reminded": {[]scripted.Turn{on("TYPED", scripted.Say("Four.")), on("the result is not returned", back(`{"n":4}`))}, `{"n":4}`, ""},
		"never: three misses":   {[]scripted.Turn{on("TYPED", back(`{}`)), after("does not fit", back(`{}`)), after("does not fit", back(`{}`))}, "", "output-schema"},
		"never: only words":     {[]scripted.Turn{on("TYPED", scripted.Say("1")), on("not over", scripted.Say("2")), on("not over", scripted.Say("3")), on("not over", scripted.Say("4"))}, "", "output-schema"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, turns := c, append([]scripted.Turn{on("go", delegating(schema))}, append(c.turns, end)...)
			conv := talk(t, server.Config{}, turns...)
			conv.goes("go", "End.")
			o := conv.outcomes()[0]
			child := conv.tree()[1]
			if c.code != "" {
				if o.Status != "failed" || o.Error.Code != c.code || len(child.UnmetObligations) != 1 || child.UnmetObligations[0].Kind != "typed-result" {
					t.Errorf("the result is %+v, the child %+v", o, child)
				}
				return
			}
			if got, _ := json.Marshal(o.Output); string(got) != c.output || child.Status != "succeeded" {
				t.Errorf("the result is %+v, the child %+v", o, child)
			}
			if offered := conv.offered()[1]; !strings.Contains(offered, "return_result") || strings.Contains(conv.offered()[0], "return_result") {
				t.Errorf("offered were %q", conv.offered())
			}
		})
	}
}

func TestADetachedChildIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	c := talk(t, server.Config{}, on("go", delegating(`{"title":"Aside","brief":"Stay LONG.","await":false}`)), on("LONG", scripted.Turn{Steps: []scripted.Step{{Gate: "long"}, {Text: "Late."}}}), after("detached", scripted.Say("Gone on.")))
	c.say("go")
	if o := c.outcomes()[0]; o.Status != "detached" || o.SessionID == "" || o.RunID != "" {
		t.Errorf("the result is %+v", o)
	}
	child := c.outcomes()[0].SessionID
	frames := c.Watch("sessions/"+child, 0)
	<-c.model.Reached("long")
	c.model.Open("long")
	servertest.Until(t, frames, func(f client.Frame) bool { return strings.Contains(string(f.Event), "Late.") })
	if got := c.log(); strings.Contains(got, "Late.") || !strings.HasSuffix(got, "assistant Gone on.") {
		t.Errorf("the log is\n%s", got)
	}
}

func TestAChildThatFailsOrIsCanceledIsAResult(t *testing.T) {
	t.Parallel()
	c := talk(t, server.Config{},
		on("go", delegating(`{"brief":"You will FAIL."}`, `{"brief":"You will be STOPPED."}`)),
		on("FAIL", scripted.Turn{Status: 400, ErrorMessage: "bad request"}), on("STOPPED", scripted.Turn{Steps: []scripted.Step{{Gate: "g"}}}),
		after("canceled", scripted.Say("End.")),
	)
	frames := c.Watch("sessions/"+c.session, 0)
	if _, err := c.Send(c.session, "go"); err != nil {
		t.Fatal(err)
	}
	<-c.model.Reached("g")
	servertest.Call[wire.CancelRunResponse](c.Harness, "CancelRun", map[string]any{"runId": c.tree()[2].ID})
	servertest.Until(t, frames, func(f client.Frame) bool { return strings.Contains(string(f.Event), "End.") })
	byStatus := map[string]outcome{}
	for _, o := range c.outcomes() {
		byStatus[o.Status] = o
	}
	if f := byStatus["failed"]; f.Error == nil || f.Error.Code != "provider-error" || byStatus["canceled"].RunID == "" {
		t.Errorf("the results are %+v", byStatus)
	}
}

func TestStoppingAParkedTurnStopsItsChildren(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		c := talk(t, cfg,
			on("go", delegating(`{"brief":"Child ONE."}`, `{"brief":"Child TWO."}`)),
			on("ONE", delegating(`{"brief":"Grandchild THREE."}`)), on("THREE", scripted.Turn{Steps: []scripted.Step{{Gate: "three"}}}),
			on("TWO", scripted.Turn{Steps: []scripted.Step{{Gate: "two"}}}), on("next", scripted.Say("Next.")),
		)
		if _, err := c.Send(c.session, "go"); err != nil {
			t.Fatal(err)
		}
		<-c.model.Reached("two")
		<-c.model.Reached("three")
		if !c.stop() {
			t.Error("nothing was stopped")
		}
		for _, r := range c.tree() {
			if r.Status != "canceled" {
				t.Errorf("run %s is %s", r.Title, r.Status)
			}
		}
		c.say("next")
		for _, o := range c.outcomes() {
			if o.Status != "canceled" {
				t.Errorf("a result is %+v", o)
			}
		}
		if got := c.log(); !strings.HasSuffix(got, "result delegate\nresult delegate\nuser next\nassistant Next.") {
			t.Errorf("the log is\n%s", got)
		}
	})
}

func TestAChildHoldsNoMoreThanItsParentLetsIt(t *testing.T) {
	t.Parallel()
	listed := func() scripted.Turn { return calling(scripted.Call{Name: "read", Arguments: `{"address":"~/self"}`}) }
	c := talk(t, server.Config{},
		on("go", delegating(`{"brief":"Look: NARROW.","prompt":"You are a clerk.","tools":["search_tools","execute","nothing"]}`)),
		on("NARROW", delegating(`{"brief":"Look: NARROWER."}`)), on("NARROWER", listed()), after("guidance", scripted.Say("Seen.")),
		after("Seen.", scripted.Say("Passed on.")), after("Passed on.", scripted.Say("End.")),
	)
	c.goes("go", "End.")
	all := c.payloads()
	if s := string(all[1].Messages[0]); !strings.Contains(s, "You are a clerk.") || strings.Contains(s, "You take notes.") {
		t.Errorf("the child's prompt is %s", s)
	}
	if s := string(all[2].Messages[0]); strings.Contains(s, "You are a clerk.") {
		t.Errorf("the grandchild's prompt is %s", s)
	}
	if s := fmt.Sprintf("%s", all[3].Messages); !strings.Contains(s, `\"publish\":false`) {
		t.Errorf("the grandchild sees itself as %s", s)
	}
}

func TestTheServerMarksAStepWhoseChildrenHaveSucceeded(t *testing.T) {
	t.Parallel()
	plan := `{"steps":[{"id":"a","label":"Look","status":"running"},{"id":"b","label":"Tell","status":"pending"}]}`
	told := `{"steps":[{"id":"a","label":"Look","status":"done"},{"id":"b","label":"Tell","status":"done"}]}`
	c := talk(t, server.Config{},
		on("go", calling(scripted.Call{ID: "p", Name: "plan", Arguments: plan}, scripted.Call{ID: "c1", Name: "delegate", Arguments: `{"brief":"Look at IT."}`})),
		on("IT", scripted.Say("Seen.")),
		after("Seen.", calling(scripted.Call{ID: "p2", Name: "plan", Arguments: told})), after("ok", scripted.Say("End.")),
	)
	c.goes("go", "End.")
	if r := c.tree()[1]; r.PlanStepID != "a" || r.StepLabel != "Look" {
		t.Errorf("the child is %+v", r)
	}
	p := c.info().Plan
	if p == nil || p.Steps[0].ResolvedBy != "runtime" || p.Steps[1].ResolvedBy != "" || p.SettledAt == 0 {
		t.Errorf("the plan is %+v", p)
	}
	if last := fmt.Sprintf("%s", c.payloads()[2].Messages); !strings.Contains(last, "a · Look · done") {
		t.Errorf("the parent was told %s", last)
	}
}

func TestAResultThatComesTooLateIsSaidInTheLogOfTheChild(t *testing.T) {
	t.Parallel()
	const schema = `{"brief":"Count the TYPED.","output":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}}`
	c := talk(t, server.Config{},
		on("go", delegating(schema)), on("TYPED", scripted.Turn{Status: 400, ErrorMessage: "bad"}), after("failed", scripted.Say("End.")),
		on("again", calling(scripted.Call{Name: "return_result", Arguments: `{"n":1}`})),
	)
	c.goes("go", "End.")
	child := &conversation{Harness: c.Harness, t: t, model: c.model, agent: c.agent, session: c.tree()[1].SessionID}
	child.say("again")
	if got := child.log(); !strings.Contains(got, "user The result was delivered after") {
		t.Errorf("the log of the child is\n%s", got)
	}
	if n := len(c.outcomes()); n != 1 {
		t.Errorf("the parent has %d results", n)
	}
	if tree := c.tree(); len(tree) != 3 || tree[2].ParentRunID != tree[0].ID || tree[2].SessionID != child.session {
		t.Errorf("the tree is %+v", tree)
	}
}

func TestAChildIsNarrowedToTheNamedToolsOfAServer(t *testing.T) {
	t.Parallel()
	c := talk(t, server.Config{},
		on("go", delegating(`{"brief":"Look: NARROW.","tools":["hub__tool_1","nobody__tool"]}`)), on("NARROW", delegating(`{"brief":"Look: BELOW.","tools":["hub__tool_1","hub__tool_2"]}`)),
		on("BELOW", scripted.Say("Seen.")), after("Seen.", scripted.Say("Passed on.")), after("Passed on.", scripted.Say("End.")),
	)
	c.equip(4)
	c.goes("go", "End.")
	all := c.payloads()
	for i, want := range []bool{true, false, false} {
		text := string(all[i].Messages[len(all[i].Messages)-1])
		if !strings.Contains(text, "hub__tool_1") || strings.Contains(text, "hub__tool_2") != want || strings.Contains(text, "web_search") != want {
			t.Errorf("request %d is told of %s", i+1, text)
		}
	}
}

func TestAChildWorksOnTheModelThatItsParentChose(t *testing.T) {
	t.Parallel()
	c := talk(t, server.Config{}, on("go", delegating(
		`{"brief":"Be CHEAP.","model":"cheap-1","reasoningLevel":"off"}`, `{"brief":"Be EXACT.","model":"scripted/cheap-1","reasoningLevel":"off"}`, `{"brief":"Be the SAME."}`,
		`{"brief":"Think.","model":"cheap-1","reasoningLevel":"high"}`)),
		on("CHEAP", scripted.Say("Cheap.")), on("EXACT", scripted.Say("Exact.")), on("SAME", scripted.Say("Same.")), after("Same.", scripted.Say("End.")))
	def := servertest.Call[wire.GetAgentResponse](c.Harness, "GetAgent", map[string]any{"agentId": c.agent}).Agent.Definition
	def.EnabledModels = []wire.ModelChoice{{Provider: "scripted", Model: "scripted-1"}, {Provider: "scripted", Model: "cheap-1"}}
	servertest.Call[wire.GetAgentResponse](c.Harness, "UpdateAgent", map[string]any{"agentId": c.agent, "definition": def})
	c.goes("go", "End.")
	models := map[string]int{}
	for _, p := range c.payloads() {
		models[p.Model]++
	}
	if models["cheap-1"] != 2 || models["scripted-1"] != 3 {
		t.Errorf("asked were %v", models)
	}
	if system := string(c.payloads()[0].Messages[0]); !strings.Contains(system, "Models for your children: scripted/scripted-1, scripted/cheap-1.") {
		t.Errorf("the prompt is %s", system)
	}
	child := servertest.Call[wire.GetSessionResponse](c.Harness, "GetSession", map[string]any{"sessionId": c.tree()[1].SessionID}).Session
	if o := child.ModelOverride; o == nil || *o != (wire.ModelOverride{Provider: "scripted", Model: "cheap-1"}) {
		t.Errorf("the override of the child is %+v", o)
	}
	failed := 0
	for _, e := range c.Events(c.session) {
		if strings.Contains(e.Error, "reasoning level") {
			failed++
		}
	}
	if failed != 1 {
		t.Errorf("%d children with a level that their model does not take", failed)
	}
}

// The session of a child is its opener's, as its parent's is: a guest of a public agent sees their own tree, and no other guest does.
func TestTheConversationOfAChildBelongsToWhoOpenedItsParents(t *testing.T) {
	t.Parallel()
	c := talk(t, server.Config{Accounts: "open"}, on("go", delegating(`{"brief":"Do IT."}`)), on("IT", scripted.Say("Done.")), after("Done.", scripted.Say("End.")))
	servertest.Call[wire.AgentResponse](c.Harness, "SetAgentPublicRead", map[string]any{"agentId": c.agent, "publicRead": true})
	servertest.Call[wire.AgentResponse](c.Harness, "SetAgentPublicChat", map[string]any{"agentId": c.agent, "publicChat": true})
	key := func() *principal.Key {
		k, err := principal.Generate(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	guest, other := c.As(key()), c.As(key())
	made, err := client.Call[wire.CreateSessionResponse](t.Context(), guest, "CreateSession", map[string]any{"agentId": c.agent})
	if err != nil {
		t.Fatal(err)
	}
	c.session = made.SessionID
	frames := c.Watch("sessions/"+c.session, 0)
	if _, err := client.Call[wire.MessageSessionResponse](t.Context(), guest, "MessageSession", map[string]any{"sessionId": c.session, "content": []any{map[string]any{"type": "text", "text": "go"}}}); err != nil {
		t.Fatal(err)
	}
	servertest.Until(t, frames, func(f client.Frame) bool { return strings.Contains(string(f.Event), "End.") })
	child := c.tree()[1]
	for who, may := range map[*client.Client]bool{guest: true, other: false} {
		for action, request := range map[string]map[string]any{"GetSession": {"sessionId": child.SessionID}, "GetRun": {"runId": child.ID}, "GetRunJournal": {"runId": child.ID}} {
			if _, err := client.Call[map[string]any](t.Context(), who, action, request); (err == nil) != may {
				t.Errorf("%s of the child by a guest who may see it (%v): %v", action, may, err)
			}
		}
	}
}

func TestTheTutorShowsADelegation(t *testing.T) {
	t.Parallel()
	h := servertest.Start(t, server.Config{})
	agent := servertest.Call[wire.ListAgentsResponse](h, "ListAgents", nil).Agents[0].ID
	c := &conversation{Harness: h, t: t, agent: agent, session: h.Session(agent)}
	c.goes("delegate: say hello", "The child run answered")
	if o := c.outcomes(); len(o) != 1 || o[0].Status != "succeeded" {
		t.Errorf("the results are %+v", o)
	}
}
