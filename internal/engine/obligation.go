package engine

import (
	"context"
	"fmt"
	"strings"

	"github.com/loam-agents/loam/internal/model"
	"github.com/loam-agents/loam/internal/sessionlog"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

// MaxContinuations is how often one execution of a run hands the turn back to a model that ends it while it owes something
// (seeds/000 "Obligations").
const MaxContinuations = 3

// obligation kinds (spec/agents-protocol.md §4).
const owesPlan = "plan"

// owed is what the turn still has to do: steps of the plan that are neither done nor given up. An agent that says it could not do
// a step has kept its word. A plan that another turn left, such as one that a person stopped, is owed once this one takes it up.
func (t *turn) owed() []wire.UnmetObligation {
	if t.plan == nil || t.plan.OwnerRunID != t.run.ID {
		return nil
	}
	var open []string
	for _, s := range t.plan.Steps {
		if s.Status == "pending" || s.Status == "running" {
			open = append(open, s.Label)
		}
	}
	if len(open) == 0 {
		return nil
	}
	return []wire.UnmetObligation{{Kind: owesPlan, Steps: open}}
}

// speechless tells whether the run would end without a word.
func (t *turn) speechless(answer model.Event) bool {
	return strings.TrimSpace(textOf(answer.Message)) == "" && t.said == ""
}

const (
	reminder  = "Your turn is not over: your plan has open steps: %s. Do them, or mark with `plan` as done, failed or skipped what is. Then answer."
	exhausted = "The turn ended with open steps of its plan: %s."
)

// handBack writes the answer down and what the turn owes, all of it at once, so that the model goes on.
func (t *turn) handBack(ctx context.Context, answer model.Event, owed []wire.UnmetObligation) error {
	t.partial.done()
	err := t.engine.opts.Store.Write(ctx, store.Interactive, func(tx store.Tx) error {
		if err := t.lease.Check(tx); err != nil {
			return err
		}
		if _, err := t.speak(tx, answer, owed, reminder); err != nil {
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
func (t *turn) speak(tx store.Tx, answer model.Event, owed []wire.UnmetObligation, notice string) (said string, err error) {
	var entries []sessionlog.Entry
	var message *model.Message
	text := textOf(answer.Message)
	spoken := strings.TrimSpace(text) != ""
	if spoken {
		entries, message = append(entries, t.spoken(answer, text)), whole(answer.Message, nil)
	}
	for _, o := range owed {
		entries = append(entries, t.entry(wire.MessageEvent{
			Type: sessionlog.TypeMessage, Role: "user", Actor: string(sessionlog.ActorSystem), Content: fmt.Sprintf(notice, steps(o.Steps)),
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
