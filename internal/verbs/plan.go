package verbs

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/sessionlog"
	"github.com/loam-agents/loam/internal/space"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/tooldoc"
	"github.com/loam-agents/loam/wire"
)

// Limits of a plan (spec §7.6), in characters and steps.
const (
	maxPlanSteps = 100
	maxPlanText  = 200
)

// Plan is the verb `plan`: the visible checklist of a thread. A call replaces the whole plan and leaves no event.
type Plan struct {
	log   *sessionlog.Log
	clock clock.Clock
}

// NewPlan returns the verb.
func NewPlan(log *sessionlog.Log, c clock.Clock) *Plan { return &Plan{log: log, clock: c} }

// Document implements Verb.
func (*Plan) Document() tooldoc.Document {
	return tooldoc.Document{
		Name: "plan", Kind: tooldoc.Verb, Summary: "Keep the thread's visible checklist.",
		Description: "Keep a checklist that the user watches. Every call replaces the whole plan: repeat all steps, with the same ids. " +
			"Mark one step running before you work on it and done right after. A step you cannot do is failed or skipped, never done. " +
			"Use a plan for work of several steps, not for a short answer.",
		Input: json.RawMessage(`{"type":"object","properties":{` +
			`"title":{"type":"string"},` +
			`"steps":{"type":"array","items":{"type":"object","properties":{` +
			`"id":{"type":"string"},"label":{"type":"string"},` +
			`"status":{"type":"string","enum":["pending","running","done","failed","skipped"]}},` +
			`"required":["label"],"additionalProperties":false}}},` +
			`"required":["steps"],"additionalProperties":false}`),
	}
}

// Prepare implements Verb.
func (v *Plan) Prepare(_ context.Context, scope space.Scope, input json.RawMessage) Action {
	return Action{Effect: tooldoc.Idempotent, Silent: true, Run: func(context.Context) (Result, error) { return v.prepare(scope, input) }}
}

func (v *Plan) prepare(scope space.Scope, input json.RawMessage) (Result, error) {
	var plan wire.RunPlan
	if err := decode(input, &plan); err != nil {
		return Result{}, err
	}
	normalize(&plan)
	return Result{Change: change(func(tx store.Tx) (space.Result, error) {
		session, err := sessionlog.Get(tx, scope.Session)
		if err != nil {
			return nil, err
		}
		fresh := plan
		v.stamp(&fresh, session.Plan, scope.Run)
		if err := v.log.SetPlan(tx, scope.Session, &fresh); err != nil {
			return nil, err
		}
		return space.Result{"summary": summarize(&fresh), "ok": true}, nil
	})}, nil
}

// normalize bounds what a model wrote and gives every step an id of its own: what it may not say (owner, settlement) never
// gets in.
func normalize(p *wire.RunPlan) {
	p.Title, p.OwnerRunID, p.SettledAt = clip(p.Title), "", 0
	if len(p.Steps) > maxPlanSteps {
		p.Steps = p.Steps[:maxPlanSteps]
	}
	if p.Steps == nil {
		p.Steps = []wire.PlanStep{}
	}
	taken := map[string]bool{"": true}
	for i := range p.Steps {
		s := &p.Steps[i]
		s.ID, s.Label, s.ResolvedBy = clip(s.ID), clip(s.Label), ""
		for n := i + 1; taken[s.ID]; n++ {
			s.ID = fmt.Sprintf("step-%d", n)
		}
		taken[s.ID] = true
		if s.Status == "" {
			s.Status = "pending"
		}
	}
}

// stamp sets what only the server may say: the owner, which a rewrite of the same settled plan keeps, and the time of
// settlement, which stands while every step of that plan is settled.
func (v *Plan) stamp(p *wire.RunPlan, before *wire.RunPlan, run string) {
	again := before != nil && before.SettledAt > 0 && sameSteps(p, before)
	carry(p, before)
	p.OwnerRunID = run
	if again {
		p.OwnerRunID = before.OwnerRunID
	}
	switch {
	case !sessionlog.Settled(p):
	case again:
		p.SettledAt = before.SettledAt
	default:
		p.SettledAt = clock.Millis(v.clock)
	}
}

// carry keeps the server's own mark on steps that were done and stay so.
func carry(p, before *wire.RunPlan) {
	if before == nil {
		return
	}
	marked := map[string]string{}
	for _, s := range before.Steps {
		if s.Status == "done" {
			marked[s.ID] = s.ResolvedBy
		}
	}
	for i := range p.Steps {
		if s := &p.Steps[i]; s.Status == "done" {
			s.ResolvedBy = marked[s.ID]
		}
	}
}

func sameSteps(a, b *wire.RunPlan) bool {
	if len(a.Steps) != len(b.Steps) {
		return false
	}
	for i := range a.Steps {
		if a.Steps[i].ID != b.Steps[i].ID {
			return false
		}
	}
	return true
}

func summarize(p *wire.RunPlan) string {
	done := 0
	for _, s := range p.Steps {
		if s.Status == "done" {
			done++
		}
	}
	return fmt.Sprintf("Plan updated: %d of %d steps done", done, len(p.Steps))
}

func clip(s string) string {
	s = strings.TrimSpace(s)
	if r := []rune(s); len(r) > maxPlanText {
		return string(r[:maxPlanText])
	}
	return s
}
