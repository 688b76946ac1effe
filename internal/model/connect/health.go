package connect

import (
	"context"
	"iter"
	"sync"
	"time"

	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/model"
	"github.com/loam-agents/loam/internal/provider"
	"github.com/loam-agents/loam/internal/store"
)

const (
	// noteEvery is how often the same news of a provider is written again: a turn is not to cost one more commit.
	noteEvery = time.Minute
	// noteTime bounds one such write.
	noteTime = 5 * time.Second
	// maxNotes bounds the providers of which the last news is remembered. Who is forgotten is written once more.
	maxNotes = 10_000
)

// health remembers the last news of each provider that was written. The zero value is ready.
type health struct {
	mu    sync.Mutex
	notes map[string]note
}

// note is news of a provider with the configuration of a time: empty text is an answer.
type note struct {
	configured int64
	text       string
	at         time.Time
}

// fresh tells whether news of a provider is worth writing, and remembers that it was.
func (h *health) fresh(p *provider.Provider, text string, now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	last, ok := h.notes[p.ID]
	if ok && last.configured == p.UpdatedAt && last.text == text && now.Sub(last.at) < noteEvery {
		return false
	}
	if h.notes == nil || len(h.notes) >= maxNotes {
		h.notes = map[string]note{}
	}
	h.notes[p.ID] = note{p.UpdatedAt, text, now}
	return true
}

// note writes how a provider fared: nil is an answer. What cannot be written is not worth failing a turn for.
func (c *Connector) note(ctx context.Context, p *provider.Provider, err error) {
	text, known := news(err)
	if !known || !c.health.fresh(p, text, c.opts.Clock.Now()) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteTime)
	defer cancel()
	now := clock.Millis(c.opts.Clock)
	_ = c.opts.Store.Write(ctx, store.Interactive, func(tx store.Tx) error {
		if text == "" {
			return provider.Succeeded(tx, p, now)
		}
		return provider.Failed(tx, p, text, now)
	})
}

// news is what an error says about a provider, empty for an answer; known is false when it says nothing: somebody left, or we
// failed, in words that are not for people.
func news(err error) (text string, known bool) {
	if err == nil {
		return "", true
	}
	if e, ok := model.AsError(err); ok {
		return e.Error(), e.Kind != model.ErrCanceled
	}
	return err.Error(), fault.CodeOf(err) == fault.ValidationFailed
}

// noted is a provider whose answers and errors are noted.
type noted struct {
	model.Provider
	note func(ctx context.Context, err error)
}

// Models implements model.Provider.
func (p *noted) Models(ctx context.Context) ([]model.ModelRef, error) {
	models, err := p.Provider.Models(ctx)
	p.note(ctx, err)
	return models, err
}

// Stream implements model.Provider.
func (p *noted) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		for ev, err := range p.Provider.Stream(ctx, req) {
			if err != nil || ev.Kind == model.EventDone {
				p.note(ctx, err)
			}
			if !yield(ev, err) {
				return
			}
		}
	}
}
