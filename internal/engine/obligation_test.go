package engine_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/loam-agents/loam/internal/model/scripted"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
	"github.com/loam-agents/loam/wire"
)

func planning(id, status string) scripted.Call {
	return scripted.Call{ID: id, Name: "plan", Arguments: `{"steps":[{"id":"a","label":"Note","status":"done"},{"id":"b","label":"Brew <tea>","status":"` + status + `"}]}`}
}

func (c *conversation) lastRun() wire.RunInfo {
	c.t.Helper()
	return servertest.Call[wire.ListRunsResponse](c.Harness, "ListRuns", map[string]any{"sessionId": c.session}).Runs[0]
}

func TestATurnThatOwesAStepIsHandedBackOnce(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		c := talk(t, cfg, calling(planning("1", "running")), scripted.Say("Done."), calling(planning("2", "done")), scripted.Say("Now it is."))
		c.say("go")
		const want = "user go\nassistant Done.\nuser Your turn is not over: your plan has open steps: “Brew \\u003ctea>”. " +
			"Do them, or mark with `plan` as done, failed or skipped what is. Then answer.\nassistant Now it is."
		if got := c.log(); got != want {
			t.Errorf("the log is\n%s", got)
		}
		if e := c.Events(c.session)[2]; e.Actor != "system" {
			t.Errorf("the reminder is by %q", e.Actor)
		}
		if run := c.lastRun(); run.Status != "succeeded" || run.UnmetObligations != nil {
			t.Errorf("run %+v", run)
		}
		c.stable()
	})
}

func TestATurnThatIgnoresWhatItOwesEndsAndSaysSo(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		c := talk(t, cfg, calling(planning("1", "running")), scripted.Say("One."), scripted.Say("Two."), scripted.Say("Three."), scripted.Say("Four."), scripted.Say("Next."))
		c.say("go")
		log := strings.Split(c.log(), "\n")
		if len(log) != 9 || log[7] != "assistant Four." || log[8] != "user The turn ended with open steps of its plan: “Brew \\u003ctea>”." {
			t.Errorf("the log is\n%s", strings.Join(log, "\n"))
		}
		run := c.lastRun()
		if run.Status != "succeeded" || len(run.UnmetObligations) != 1 || run.UnmetObligations[0].Kind != "plan" || !slices.Equal(run.UnmetObligations[0].Steps, []string{"Brew <tea>"}) {
			t.Errorf("run %+v", run.UnmetObligations)
		}
		if p := c.info().Plan; p == nil || p.Steps[1].Status != "running" || p.Steps[1].ResolvedBy != "" {
			t.Errorf("the plan is %+v", p)
		}
		if n := len(c.model.Requests()); n != 5 {
			t.Errorf("the model was asked %d times", n)
		}
		// What an earlier turn left is not the debt of one that does not take it up.
		c.say("never mind")
		if log := c.log(); !strings.HasSuffix(log, "\nuser never mind\nassistant Next.") {
			t.Errorf("the log is\n%s", log)
		}
	})
}

func TestAStepThatWasGivenUpIsNotOwed(t *testing.T) {
	t.Parallel()
	for _, status := range []string{"failed", "skipped", "done"} {
		c := talk(t, server.Config{}, calling(planning("1", status)), scripted.Say("Done."))
		c.say("go")
		if got := c.log(); got != "user go\nassistant Done." {
			t.Errorf("%s: the log is\n%s", status, got)
		}
	}
}
