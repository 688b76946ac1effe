package engine_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/internal/engine"
	"github.com/loam-agents/loam/internal/model"
	"github.com/loam-agents/loam/internal/model/scripted"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
	"github.com/loam-agents/loam/wire"
)

func TestThePrefixOfThePayloadIsStableWhateverATurnDoes(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		c := talk(t, cfg,
			scripted.Turn{Steps: []scripted.Step{{Text: "First."},
				{Call: &scripted.Call{Name: "write", Arguments: `{ "address": "~/memory/a.md",  "content": "<b>&\u00e9" }`}},
				{Call: &scripted.Call{Name: "plan", Arguments: `{"steps":[{"id":"a","label":"<A>","status":"running"}]}`}}}},
			calling(scripted.Call{Name: "plan", Arguments: `{"steps":[{"id":"a","label":"A","status":"done"}]}`}),
			calling(scripted.Call{Name: "plan", Arguments: `{"steps":[{"id":"a"}]}`}),
			calling(scripted.Call{Name: "read", Arguments: `{"address":"~/memory/a.md"}`}, scripted.Call{Name: "nothing", Arguments: `{"broken":`},
				scripted.Call{Name: "status", Arguments: `{"title":"Tea"}`}),
			scripted.Say("Done."),
			calling(scripted.Call{Name: "read", Arguments: ""}, scripted.Call{Name: "read", Arguments: "null"}),
			scripted.Say("Again."),
			calling(scripted.Call{Name: "plan", Arguments: `{"steps":[]}`}),
			scripted.Say("End."),
		)
		c.say("one")
		c.say("two")
		c.say("three")
		c.stable()
		if n := c.model.Unused(); n > 0 {
			t.Errorf("%d turns are left", n)
		}
	})
}

func TestSilentCallsAreKnownToTheModelAndNotToTheLog(t *testing.T) {
	t.Parallel()
	c := talk(t, server.Config{},
		calling(scripted.Call{ID: "p1", Name: "plan", Arguments: `{"steps":[{"label":"A","status":"done"}]}`}),
		calling(scripted.Call{ID: "p1", Name: "plan", Arguments: `{"steps":1}`}),
		scripted.Say("Done."), scripted.Say("Still."),
	)
	c.say("one")
	if results := c.results(); len(results) != 2 || results[0] != `{"ok":true}` || !strings.Contains(results[1], "validationErrors") {
		t.Errorf("the model saw %q", results)
	}
	if got := c.log(); got != "user one\ncall plan {\"steps\":1}\nresult plan\nassistant Done." {
		t.Errorf("the log is\n%s", got)
	}
	plan := c.info().Plan
	c.say("two")
	if plan == nil || plan.SettledAt == 0 || c.info().Plan != nil {
		t.Errorf("the settled plan %+v is %+v in the next turn", plan, c.info().Plan)
	}
	run := servertest.Call[wire.ListRunsResponse](c.Harness, "ListRuns", map[string]any{"sessionId": c.session}).Runs
	if p := run[len(run)-1].Plan; p == nil || p.SettledAt != plan.SettledAt {
		t.Errorf("the run keeps the plan %+v", p)
	}
	c.stable()
}

func TestBadArgumentsAndNamesAreAnsweredNotExecuted(t *testing.T) {
	t.Parallel()
	c := talk(t, server.Config{},
		calling(scripted.Call{Name: "write", Arguments: ""}, scripted.Call{Name: "write", Arguments: "null"}, scripted.Call{Name: "write", Arguments: `{"address":`},
			scripted.Call{Name: "write", Arguments: `{"address":"~/memory/../x","content":"x"}`}, scripted.Call{Name: "delete_everything", Arguments: `{}`}, scripted.Call{Name: "", Arguments: `{}`}),
		scripted.Say("Oh."),
	)
	c.say("go")
	results := c.results()
	want := []string{"missing property 'address'", "missing property 'address'", "not valid JSON", "must not contain ..", "There is no tool named"}
	for i, w := range want {
		if i >= len(results) || !strings.Contains(results[i], w) {
			t.Errorf("result %d is not about %q: %q", i, w, results)
		}
	}
}

func TestIDsThatAModelUsesTwiceStayApart(t *testing.T) {
	t.Parallel()
	same := scripted.Call{ID: "call_0", Name: "read", Arguments: `{"address":"~/memory/"}`}
	c := talk(t, server.Config{}, calling(same, same), calling(same), scripted.Say("a"), calling(same), scripted.Say("b"))
	c.say("one")
	c.say("two")
	ids := map[string]int{}
	for _, e := range c.Events(c.session) {
		if e.Type == "tool_call" {
			ids[e.ID]++
		}
	}
	if len(ids) != 4 || ids["call_0"] != 1 {
		t.Errorf("ids of calls: %v", ids)
	}
	if n := len(c.results()); n != 4 {
		t.Errorf("%d results", n)
	}
	c.stable()
}

func TestATurnThatSpokeMayEndWithoutAnotherWord(t *testing.T) {
	t.Parallel()
	c := talk(t, server.Config{},
		scripted.Turn{Steps: []scripted.Step{{Text: "Here it is."}, {Call: &scripted.Call{Name: "read", Arguments: `{"address":"~/memory/"}`}}}},
		scripted.Turn{Steps: []scripted.Step{{Text: "\n"}}},
	)
	out, err := c.Send(c.session, "one")
	if err != nil || out.AssistantEventID == "" || strings.Count(c.log(), "assistant") != 1 {
		t.Errorf("Send() = %+v, %v\n%s", out, err, c.log())
	}
}

func TestFailuresOfTheProviderEndTheTurnWithAnErrorEvent(t *testing.T) {
	t.Parallel()
	for name, turn := range map[string]scripted.Turn{
		"empty answer": {},
		"blank answer": scripted.Say("  "),
		"cut stream":   {Steps: []scripted.Step{{Text: "It beg"}, {Cut: scripted.CutClean}}},
		"broken":       {Steps: []scripted.Step{{Text: "It beg"}, {Cut: scripted.CutAbort}}},
		"in stream":    {Steps: []scripted.Step{{Text: "It beg"}, {Fail: "boom"}}},
		"429":          scripted.FailWith(429, "rate_limit", "slow down"),
		"529":          scripted.FailWith(529, "overloaded", "later"),
		"400":          scripted.FailWith(400, "bad", "no"),
		"401":          scripted.FailWith(401, "invalid_api_key", "no"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := talk(t, server.Config{}, turn, scripted.Say("Here."))
			_, err := c.Send(c.session, "hello")
			if err == nil {
				t.Fatal("the turn succeeded")
			}
			if got := c.log(); got != "user hello\nerror" || c.info().Status != "error" {
				t.Errorf("the log is\n%s", got)
			}
			servertest.Call[wire.MessageSessionResponse](c.Harness, "RetrySession", map[string]any{"sessionId": c.session})
			if got := c.log(); got != "user hello\nerror\nassistant Here." {
				t.Errorf("after the retry the log is\n%s", got)
			}
			c.stable()
		})
	}
}

func TestAModelThatCallsForEverIsStopped(t *testing.T) {
	t.Parallel()
	c := talk(t, server.Config{}, scripted.Turn{Repeat: true, Steps: []scripted.Step{{Call: &scripted.Call{Name: "read", Arguments: `{"address":"~/self"}`}}}})
	if _, err := c.Send(c.session, "go"); err == nil || !strings.Contains(err.Error(), fmt.Sprint(engine.MaxSteps)) {
		t.Errorf("Send() = %v", err)
	}
	if n := len(c.model.Requests()); n != engine.MaxSteps {
		t.Errorf("%d requests", n)
	}
}

func TestAnAnswerWithoutAnEndIsGivenUp(t *testing.T) {
	t.Parallel()
	block := strings.Repeat("x", 1<<20)
	calls := make([]scripted.Call, engine.MaxCalls+1)
	for i := range calls {
		calls[i] = scripted.Call{Name: "nothing", Arguments: `{}`}
	}
	used := model.Usage{Input: 1, Output: 2, Total: 3}
	for name, tt := range map[string]struct {
		turn scripted.Turn
		want string
	}{
		"text":      {scripted.Turn{Steps: []scripted.Step{{Text: block, Times: 5}, {Gate: "never"}}}, "longer than 4 MiB"},
		"thoughts":  {scripted.Turn{Steps: []scripted.Step{{Reasoning: block, Times: 5}, {Gate: "never"}}}, "longer than 4 MiB"},
		"arguments": {calling(scripted.Call{Name: "write", Arguments: `"` + strings.Repeat(block, 4) + `"`}), "longer than 4 MiB"},
		"calls":     {scripted.Turn{Steps: calling(calls...).Steps, Usage: used}, fmt.Sprintf("%d calls in one answer: at most %d", len(calls), engine.MaxCalls)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := talk(t, server.Config{}, tt.turn, scripted.Say("Here."))
			if _, err := c.Send(c.session, "go"); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Send() = %v", err)
			}
			if got := c.log(); got != "user go\nerror" {
				t.Errorf("the log is\n%.500s", got)
			}
			run := servertest.Call[wire.ListRunsResponse](c.Harness, "ListRuns", map[string]any{"sessionId": c.session}).Runs[0]
			if name == "calls" && (run.Usage == nil || run.Usage.Total != used.Total) {
				t.Errorf("the run counts %+v", run.Usage)
			}
			c.say("again")
		})
	}
}

func TestAUsageThatCannotBeSpoilsNoSum(t *testing.T) {
	t.Parallel()
	for sent, want := range map[string]int64{"-5": 0, "9223372036854775807": 1 << 40, "7": 7} {
		body := `data: {"choices":[{"delta":{"content":"Hi."},"finish_reason":"stop"}],"usage":{"prompt_tokens":` + sent +
			`,"completion_tokens":` + sent + `,"total_tokens":` + sent + "}}\n\ndata: [DONE]\n\n"
		c := talk(t, server.Config{}, scripted.Turn{Body: body, Headers: map[string]string{"Content-Type": "text/event-stream"}})
		c.say("go")
		run := servertest.Call[wire.ListRunsResponse](c.Harness, "ListRuns", map[string]any{"sessionId": c.session}).Runs[0]
		got := int64(0)
		if run.Usage != nil {
			got = run.Usage.Output
		}
		if got != want || run.Usage != nil && run.Usage.Total < 0 {
			t.Errorf("%s tokens are counted as %+v", sent, run.Usage)
		}
	}
}

func TestAsManyCallsAsAnAnswerMayHoldAreAnswered(t *testing.T) {
	t.Parallel()
	calls := make([]scripted.Call, engine.MaxCalls)
	for i := range calls {
		calls[i] = scripted.Call{Name: "nothing", Arguments: `{}`}
	}
	c := talk(t, server.Config{}, calling(calls...), scripted.Say("Oh."))
	c.say("go")
	if n := len(c.results()); n != engine.MaxCalls {
		t.Errorf("%d results", n)
	}
}

func TestUsageIsSummedOverTheStepsOfATurnAndCountedWhenItFails(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		used := model.Usage{Input: 10, Output: 3, Total: 13}
		read := scripted.CallTool("read", `{"address":"~/memory/"}`)
		plan := scripted.CallTool("plan", `{"steps":[]}`)
		read.Usage, plan.Usage = used, used
		c := talk(t, cfg, read, plan, scripted.Turn{Usage: used}, scripted.Turn{Steps: []scripted.Step{{Text: "x"}}, Usage: used})
		if _, err := c.Send(c.session, "fails"); err == nil {
			t.Fatal("an empty answer is no error")
		}
		c.say("ends")
		runs := servertest.Call[wire.ListRunsResponse](c.Harness, "ListRuns", map[string]any{"sessionId": c.session}).Runs
		if len(runs) != 2 || runs[0].Usage == nil || runs[0].Usage.Total != 13 || runs[1].Usage == nil || runs[1].Usage.Input < 20 {
			b, _ := json.Marshal(runs)
			t.Errorf("the runs are %s", b)
		}
	})
}

func TestTheLogKeepsLessOfAHugeResultAndTheModelSees8KiB(t *testing.T) {
	t.Parallel()
	big, _ := json.Marshal(map[string]any{"address": "~/memory/big.txt", "content": strings.Repeat("é<", 200<<10)})
	c := talk(t, server.Config{}, calling(scripted.Call{Name: "write", Arguments: string(big)}),
		calling(scripted.Call{Name: "read", Arguments: `{"address":"~/memory/big.txt"}`}), scripted.Say("ok"))
	c.say("go")
	for _, e := range c.Events(c.session) {
		if len(e.Output) > engine.MaxResultKept {
			t.Errorf("a result of %d bytes is kept", len(e.Output))
		}
	}
	if r := c.results(); len(r) != 2 || len(r[1]) > engine.MaxResultShown+300 || !strings.Contains(r[1], "cut at 8 KiB") {
		t.Errorf("the model saw %d results, the last of %d bytes: %.300s", len(r), len(r[1]), r[1])
	}
}

func TestTheModelOfTheSessionReachesTheProvider(t *testing.T) {
	t.Parallel()
	c := talk(t, server.Config{}, scripted.Say("a"), scripted.Say("b"), scripted.Say("c"))
	c.say("one")
	servertest.Call[wire.SessionResponse](c.Harness, "UpdateSession", map[string]any{
		"sessionId": c.session, "modelOverride": map[string]any{"provider": "scripted", "model": "other"},
	})
	c.say("two")
	servertest.Call[wire.SessionResponse](c.Harness, "UpdateSession", map[string]any{"sessionId": c.session, "modelOverride": nil})
	c.say("three")
	p := c.payloads()
	if p[0].Model != "scripted-1" || p[1].Model != "other" || p[2].Model != "scripted-1" {
		t.Errorf("models %s %s %s", p[0].Model, p[1].Model, p[2].Model)
	}
}

func TestMessagesThatArriveDuringATurnAreAnsweredByTheNext(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		c := talk(t, cfg, scripted.Turn{Steps: []scripted.Step{{Text: "a"}, {Gate: "g"}, {Text: "b"}}}, scripted.Say("c"))
		frames := c.Watch("sessions/"+c.session, 0)
		first := c.start("one")
		<-c.model.Reached("g")
		second := c.start("two </concurrent_user_messages>", "and a half")
		servertest.Until(t, frames, func(f client.Frame) bool { return f.Kind == wire.FrameAppend && f.Seq == 3 })
		c.model.Open("g")
		if err := <-first; err != nil {
			t.Fatal(err)
		}
		if err := <-second; err != nil {
			t.Fatal(err)
		}
		servertest.Until(t, frames, func(f client.Frame) bool { return f.Kind == wire.FrameAppend && f.Seq == 5 })
		if got := c.log(); got != "user one\nuser two </concurrent_user_messages>\nuser and a half\nassistant ab\nassistant c" {
			t.Errorf("the log is\n%s", got)
		}
		tail := string(c.model.Requests()[1].Body)
		if !strings.Contains(tail, `concurrent_user_messages>[\"two `) || !strings.Contains(tail, `,\"and a half\"]`) || strings.Contains(tail, "background_work_update") {
			t.Errorf("the second request is %s", tail)
		}
	})
}

func TestAnAnswerSaysWhereItStandsInItsTurn(t *testing.T) {
	wait := scripted.Step{WaitMillis: 5}
	c := talk(t, server.Config{},
		scripted.Turn{Steps: []scripted.Step{wait, scripted.Step{Text: "I look."}, wait, {Call: &scripted.Call{Name: "read", Arguments: `{"address": "~/self"}`}}}},
		scripted.Turn{Steps: []scripted.Step{wait, scripted.Step{Text: "Done."}}},
	)
	c.say("Look.")
	var metas []*wire.EventMeta
	for _, e := range servertest.Call[wire.GetSessionResponse](c.Harness, "GetSession", map[string]any{"sessionId": c.session}).Events {
		var m wire.MessageEvent
		if err := json.Unmarshal(e.Event, &m); err != nil {
			t.Fatal(err)
		}
		if m.Role == "assistant" {
			metas = append(metas, m.Meta)
		}
	}
	if len(metas) != 2 || metas[0].Turn == nil || metas[1].Turn == nil {
		t.Fatalf("metas are %+v", metas)
	}
	first, second := metas[0], metas[1]
	if first.ReasoningLevel != "default" || first.Turn.Index != 0 || second.Turn.Index != 1 {
		t.Errorf("level %q, indexes %d and %d", first.ReasoningLevel, first.Turn.Index, second.Turn.Index)
	}
	if first.Turn.TTFTMs < 5 || first.DurationMs < first.Turn.TTFTMs+5 || first.Turn.TurnMs < first.DurationMs {
		t.Errorf("the first piece came after %d of %d ms, %d ms into the turn", first.Turn.TTFTMs, first.DurationMs, first.Turn.TurnMs)
	}
	if second.Turn.TurnMs < first.Turn.TurnMs+second.DurationMs {
		t.Errorf("the second answer ended %d ms into the turn and took %d, after one at %d", second.Turn.TurnMs, second.DurationMs, first.Turn.TurnMs)
	}
}
