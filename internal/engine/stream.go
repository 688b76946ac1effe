package engine

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/loam-agents/loam/internal/bus"
	"github.com/loam-agents/loam/internal/model"
	"github.com/loam-agents/loam/wire"
)

// partial publishes one assistant message while it is being made. Nothing of it is durable.
type partial struct {
	bus     bus.Bus
	log     *slog.Logger
	session string
	id      string
	text    strings.Builder
	phase   string
	// open says that clients see text of which they do not know that it is complete.
	open bool
}

// patch publishes a piece. The log lines are those of seeds/002 "Streaming diagnostics".
func (p *partial) patch(patch wire.PartialPatch) {
	if !p.bus.Watched(wire.KeySession + p.session) {
		p.log.Debug("[agents/ws] skip partial; no subscription", "session", p.session)
		return
	}
	p.log.Debug("[agents/ws] publish partial", "session", p.session)
	p.bus.Publish(bus.Partial(p.session, p.id, patch))
}

func (p *partial) activity(a wire.RunActivity, usage *wire.Usage) {
	p.phase = a.Phase
	p.patch(wire.PartialPatch{Activity: &a, Usage: usage})
}

func (p *partial) delta(text string) {
	if p.phase != "responding" {
		p.activity(wire.RunActivity{Phase: "responding"}, nil)
	}
	p.text.WriteString(text)
	p.open = true
	p.patch(wire.PartialPatch{TextDelta: text})
}

// done ends the partial: clients keep it on screen until the durable event arrives.
func (p *partial) done() {
	if p.open {
		p.open = false
		p.patch(wire.PartialPatch{Done: true})
	}
}

// generate streams one answer of the model. On an error the text that had arrived stays in the partial.
func (t *turn) generate(ctx context.Context, req model.Request) (model.Event, error) {
	size := 0
	for ev, err := range t.model.Provider.Stream(ctx, req) {
		if err != nil {
			return model.Event{}, err
		}
		if t.first.IsZero() {
			t.first = t.engine.opts.Clock.Now()
		}
		// A model that does not stop is stopped here, before its answer fills the memory.
		if size += len(ev.Text); size > MaxAnswer {
			return model.Event{}, tooLong()
		}
		switch ev.Kind {
		case model.EventTextDelta:
			t.partial.delta(ev.Text)
			t.engine.opts.Point(PointMidStream)
		case model.EventReasoningDelta:
			if t.partial.phase != "thinking" {
				t.partial.activity(wire.RunActivity{Phase: "thinking"}, nil)
			}
		case model.EventToolCallStart:
			t.partial.activity(wire.RunActivity{Phase: "tool", ToolName: ev.Name, ToolCallID: ev.CallID}, nil)
		case model.EventDone:
			ev.Usage = plausible(ev.Usage)
			return ev, bounded(ev.Message)
		}
	}
	return model.Event{}, &model.Error{Kind: model.ErrStreamCut, Message: "The model's answer ended before it was complete."}
}

// bounded refuses an answer that the log should not keep: it is written in one transaction, for which all others wait.
func bounded(m model.Message) error {
	size, calls := 0, 0
	for i := range m.Parts {
		p := &m.Parts[i]
		size += len(p.Text) + len(p.CallID) + len(p.Name) + len(p.Arguments)
		if p.Opaque != nil {
			size += len(p.Opaque.Block)
		}
		if p.Kind == model.PartToolCall {
			calls++
		}
	}
	switch {
	case size > MaxAnswer:
		return tooLong()
	case calls > MaxCalls:
		return &model.Error{Kind: model.ErrBadRequest, Message: fmt.Sprintf("The model made %d calls in one answer: at most %d.", calls, MaxCalls)}
	}
	return nil
}

// plausible is a usage as a provider may count it: one that counts backwards, or beyond measure, would spoil every sum.
func plausible(u model.Usage) model.Usage {
	const most = 1 << 40
	for _, n := range []*int64{&u.Input, &u.Output, &u.CacheRead, &u.CacheWrite, &u.Total} {
		*n = min(max(*n, 0), most)
	}
	return u
}

func tooLong() error {
	return &model.Error{Kind: model.ErrBadRequest, Message: fmt.Sprintf("The model's answer is longer than %d MiB.", MaxAnswer>>20)}
}
