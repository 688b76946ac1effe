package verbs_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/loam-agents/loam/internal/sessionlog"
	"github.com/loam-agents/loam/wire"
)

func (b *bench) plan(run, arguments string) string {
	b.t.Helper()
	out, err := b.call(run, "plan", arguments)
	if err != nil || out["ok"] != true {
		b.t.Fatalf("plan %s = %v, %v", arguments, out, err)
	}
	text, err := json.Marshal(b.row().Plan)
	if err != nil {
		b.t.Fatal(err)
	}
	return string(text)
}

func TestAPlanIsNormalized(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		got := b.plan("r1", `{"title":" A plan ","steps":[{"label":" one "},{"id":" x ","label":"two","status":"running"},{"id":"","label":"three"}]}`)
		want := `{"title":"A plan","steps":[{"id":"step-1","label":"one","status":"pending"},{"id":"x","label":"two","status":"running"},` +
			`{"id":"step-3","label":"three","status":"pending"}],"ownerRunId":"r1"}`
		if got != want {
			t.Errorf("the plan is\n%s, want\n%s", got, want)
		}
	})
}

func TestAPlanIsBounded(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		long := strings.Repeat("é", 300)
		var steps []string
		for i := range 150 {
			steps = append(steps, fmt.Sprintf(`{"id":"%s%d","label":"%s"}`, long, i, long))
		}
		b.plan("r1", `{"title":"`+long+`","steps":[`+strings.Join(steps, ",")+`]}`)
		p := b.row().Plan
		if len(p.Steps) != 100 || len([]rune(p.Title)) != 200 || len([]rune(p.Steps[7].Label)) != 200 || len([]rune(p.Steps[7].ID)) > 200 {
			t.Errorf("%d steps, title of %d", len(p.Steps), len([]rune(p.Title)))
		}
		seen := map[string]bool{}
		for _, s := range p.Steps {
			if seen[s.ID] {
				t.Fatalf("two steps have the id %.20s…", s.ID)
			}
			seen[s.ID] = true
		}
	})
}

func TestStepsWithOneIDGetTheirOwn(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		b.plan("r1", `{"steps":[{"id":"a","label":"1"},{"id":"a","label":"2"},{"id":"step-2","label":"3"},{"label":"4"},{"id":"step-4","label":"5"}]}`)
		seen := map[string]bool{}
		for _, s := range b.row().Plan.Steps {
			if seen[s.ID] {
				t.Errorf("two steps have the id %s", s.ID)
			}
			seen[s.ID] = true
		}
		if !seen["a"] {
			t.Error("the first step lost its id")
		}
	})
}

func TestOwnerAndSettlementAreTheServersToSay(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		say := func(run, statuses string, ids ...string) (owner string, settled int64) {
			t.Helper()
			b.clock.Advance(time.Second)
			var steps []string
			for i, s := range strings.Fields(statuses) {
				steps = append(steps, fmt.Sprintf(`{"id":%q,"label":"l","status":%q}`, append(ids, "a", "b")[i], s))
			}
			b.plan(run, `{"steps":[`+strings.Join(steps, ",")+`]}`)
			p := b.row().Plan
			return p.OwnerRunID, p.SettledAt
		}
		for i, c := range []struct {
			run, statuses string
			ids           []string
			owner         string
			settled       int64
		}{
			{"r1", "pending running", nil, "r1", 0},
			{"r2", "done running", nil, "r2", 0},
			{"r2", "done skipped", nil, "r2", 4000},
			{"r3", "done failed", nil, "r2", 4000},
			{"r3", "done running", nil, "r2", 0},
			{"r3", "done done", nil, "r3", 7000},
			{"r4", "done done", []string{"c", "d"}, "r4", 8000},
			{"r4", "", nil, "r4", 0},
		} {
			if owner, settled := say(c.run, c.statuses, c.ids...); owner != c.owner || settled != c.settled {
				t.Errorf("step %d: owner %s, settled at %d, want %s, %d", i, owner, settled, c.owner, c.settled)
			}
		}
	})
}

func TestAPlanIsSettledWhenNothingIsLeftToDo(t *testing.T) {
	t.Parallel()
	for statuses, want := range map[string]bool{"": false, "done": true, "failed skipped done": true, "done pending": false, "running": false} {
		p := &wire.RunPlan{}
		for _, s := range strings.Fields(statuses) {
			p.Steps = append(p.Steps, wire.PlanStep{Status: s})
		}
		if got := sessionlog.Settled(p); got != want {
			t.Errorf("Settled(%s) = %v", statuses, got)
		}
	}
}

func TestAPlanLeavesNoEventsAndSaysHowFarItIs(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		out, err := b.call("r1", "plan", `{"steps":[{"label":"a","status":"done"},{"label":"b"}]}`)
		if err != nil || out["summary"] != "Plan updated: 1 of 2 steps done" || b.row().LastSeq != 0 {
			t.Errorf("plan = %v, %v", out, err)
		}
	})
}
