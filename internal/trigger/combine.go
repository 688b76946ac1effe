package trigger

import (
	"fmt"
	"slices"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

// Combination merges one trigger into another one.
type Combination struct {
	Target, Other string
	// TargetUpdatedAt and OtherUpdatedAt are the states that it is meant for; zero is any.
	TargetUpdatedAt, OtherUpdatedAt int64
	// UseOther takes prompt and continuation from the other one.
	UseOther bool
}

// Combine makes the target wait for what either of two triggers for activities waits for, and retires the other one. Events that made
// either fire make neither fire again. A repetition changes nothing.
func (s *Service) Combine(tx store.Tx, c Combination) (Trigger, error) {
	if c.Target == c.Other {
		return Trigger{}, fault.Invalid("A trigger cannot be combined with itself")
	}
	target, err := Get(tx, c.Target)
	if err != nil {
		return target, err
	}
	other, err := Get(tx, c.Other)
	switch {
	case err != nil:
		return target, err
	case other.Agent != target.Agent:
		return target, missing()
	case other.MergedInto == target.ID:
		return target, nil
	case other.MergedInto != "" || target.MergedInto != "":
		return target, fault.New(fault.Conflict, "This trigger was merged into another one and cannot be edited")
	case !IsActivity(target.Source.Type) || !IsActivity(other.Source.Type):
		return target, fault.Invalid("Only activity triggers can be combined").With("field", "source.type")
	case c.TargetUpdatedAt != 0 && c.TargetUpdatedAt != target.UpdatedAt, c.OtherUpdatedAt != 0 && c.OtherUpdatedAt != other.UpdatedAt:
		return target, Stale()
	}
	merged, err := conditionsOf(&target.Source, &other.Source)
	if err != nil {
		return target, err
	}
	d := Draft{
		name: target.Name, enabled: target.Enabled, source: merged, prompt: target.Prompt, continuation: target.Continuation, program: target.Program,
	}
	if c.UseOther {
		d.prompt, d.continuation, d.program = other.Prompt, other.Continuation, other.Program
	}
	out, err := s.Update(tx, target, &d)
	if err != nil {
		return out, err
	}
	// What was waited for before goes on without a break.
	out.ArmedAt = min(target.ArmedAt, other.ArmedAt)
	for _, change := range []struct {
		stmt string
		args []any
	}{
		{`UPDATE triggers SET armed_at = ? WHERE id = ?`, []any{out.ArmedAt, out.ID}},
		{`INSERT INTO trigger_claims (trigger_id, event_key, firing_id, created_at)
			SELECT ?, event_key, firing_id, created_at FROM trigger_claims WHERE trigger_id = ? ON CONFLICT (trigger_id, event_key) DO NOTHING`,
			[]any{out.ID, other.ID}},
		{`UPDATE triggers SET enabled = 0, merged_into = ?, updated_at = ? WHERE id = ?`, []any{out.ID, max(s.now(), other.UpdatedAt+1), other.ID}},
	} {
		if _, err := tx.Exec(change.stmt, change.args...); err != nil {
			return out, fmt.Errorf("combine triggers: %w", err)
		}
	}
	return out, nil
}

// conditionsOf is the source that either of two meets. Ids stay when they can.
func conditionsOf(sources ...*wire.TriggerSource) (wire.TriggerSource, error) {
	out := wire.TriggerSource{Type: AnyActivity}
	for _, source := range sources {
		conditions := source.Conditions
		if source.Type != AnyActivity {
			conditions = []wire.TriggerCondition{{ID: source.Type, Source: *source}}
		}
		for _, c := range conditions {
			base := c.ID
			for n := 2; slices.ContainsFunc(out.Conditions, func(o wire.TriggerCondition) bool { return o.ID == c.ID }); n++ {
				c.ID = fmt.Sprintf("%s-%d", base, n)
			}
			out.Conditions = append(out.Conditions, c)
		}
	}
	return ParseSource(out)
}
