package engine

import (
	"context"
	"fmt"
	"strings"

	"github.com/loam-agents/loam/internal/model"
	"github.com/loam-agents/loam/internal/runs"
	"github.com/loam-agents/loam/internal/sessionlog"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

// MaxContinuations is how often one execution of a run hands the turn back to a model that ends it while it owes something
// (seeds/000 "Obligations").
const MaxContinuations = 3

// obligation kinds (spec/agents-protocol.md §4).
const (
	owesPlan   = "plan"
	owesResult = "typed-result"
)

// owed is what the turn still has to do: a typed result, and steps of the plan that are neither done nor given up, unless children carry
// them. An agent that says it could not do
// a step has kept its word. A plan that another turn left, such as one that a person stopped, is owed once this one takes it up.
func (t *turn) owed(ctx context.Context) (owed []wire.UnmetObligation, err error) {
	if t.typed != nil {
		owed = append(owed, wire.UnmetObligation{Kind: owesResult})
	}
	if open := t.openSteps(); len(open) > 0 {
		var children []runs.Run
		err := t.engine.opts.Store.Read(ctx, func(tx store.Tx) (err error) {
			children, err = runs.Children(tx, t.run.Agent, t.run.Session, 1)
			return err
		})
		if err != nil {
			return nil, err
		}
		if len(children) == 0 {
			owed = append(owed, wire.UnmetObligation{Kind: owesPlan, Steps: open})
		}
	}
	return owed, nil
}

// openSteps are the labels of the steps of the run's own plan that are not settled.
func (t *turn) openSteps() (open []string) {
	if t.plan == nil || t.plan.OwnerRunID != t.run.ID {
		return nil
	}
	for _, s := range t.plan.Steps {
		if s.Status == "pending" || s.Status == "running" {
			open = append(open, s.Label)
		}
	}
	return open
}

// speechless tells whether the run would end without a word.
func (t *turn) speechless(answer model.Event) bool {
	return strings.TrimSpace(textOf(answer.Message)) == "" && t.said == ""
}

// notice says in one text all that is owed: to the model, for which the turn is not over, or to readers, for whom it is.
func notice(owed []wire.UnmetObligation, over bool) string {
	var ended, open, todo []string
	for _, o := range owed {
		if o.Kind == owesResult {
			ended = append(ended, "The turn ended without the result that was asked for.")
			open, todo = append(open, "the result is not returned"), append(todo, "Call `return_result` with it.")
			continue
		}
		ended = append(ended, fmt.Sprintf("The turn ended with open steps of its plan: %s.", steps(o.Steps)))
		open = append(open, fmt.Sprintf("your plan has open steps: %s", steps(o.Steps)))
		todo = append(todo, "Do them, or mark with `plan` as done, failed or skipped what is. Then answer.")
	}
	if over {
		return strings.Join(ended, " ")
	}
	return "Your turn is not over: " + strings.Join(open, "; ") + ". " + strings.Join(todo, " ")
}

// handBack writes the answer down and what the turn owes, all of it at once, so that the model goes on.
func (t *turn) handBack(ctx context.Context, answer model.Event, owed []wire.UnmetObligation) error {
	t.partial.done()
	err := t.engine.opts.Store.Write(ctx, store.Interactive, func(tx store.Tx) error {
		if err := t.lease.Check(tx); err != nil {
			return err
		}
		if _, err := t.speak(tx, answer, owed, false); err != nil {
			return err
		}
		return t.addUsage(tx)
	})
	if err == nil {
		t.continued++
		t.partial.text.Reset()
	}
	return err
}

// speak appends what an answer says, if anything, and a notice of what is owed, if anything is. It returns the event of the last
// words of the run. The caller checks the lease.
func (t *turn) speak(tx store.Tx, answer model.Event, owed []wire.UnmetObligation, over bool) (said string, err error) {
	var entries []sessionlog.Entry
	var message *model.Message
	text := textOf(answer.Message)
	spoken := strings.TrimSpace(text) != ""
	if spoken {
		entries, message = append(entries, t.spoken(answer, text)), whole(answer.Message, nil)
	}
	if len(owed) > 0 {
		entries = append(entries, t.entry(wire.MessageEvent{
			Type: sessionlog.TypeMessage, Role: "user", Actor: string(sessionlog.ActorSystem), Content: notice(owed, over),
		}))
	}
	events, err := t.append(tx, nil, message, entries...)
	if err != nil || !spoken {
		return t.said, err
	}
	return events[0].ID, nil
}

// steps are the labels of open steps in a line. A model wrote them.
func steps(labels []string) string {
	quoted := make([]string, len(labels))
	for i, l := range labels {
		quoted[i] = fmt.Sprintf("“%s”", line(l))
	}
	return strings.Join(quoted, ", ")
}
