package limit

import (
	"context"
	"iter"

	"github.com/loam-agents/loam/internal/model"
)

// Wrap returns a provider that passes the gate before every stream. A place is held until the stream ends or its consumer
// leaves.
func Wrap(p model.Provider, g Gate) model.Provider { return &limitedProvider{inner: p, gate: g} }

type limitedProvider struct {
	inner model.Provider
	gate  Gate
}

// Dialect implements model.Provider.
func (p *limitedProvider) Dialect() model.Dialect { return p.inner.Dialect() }

// Models implements model.Provider. A listing is small and takes no place.
func (p *limitedProvider) Models(ctx context.Context) ([]model.ModelRef, error) {
	return p.inner.Models(ctx)
}

// Stream implements model.Provider.
func (p *limitedProvider) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		if err := p.gate.acquire(ctx); err != nil {
			yield(model.Event{}, err)
			return
		}
		defer p.gate.release()
		for ev, err := range p.inner.Stream(ctx, req) {
			switch failed, ok := model.AsError(err); {
			case ok:
				p.gate.report(failed)
			case ev.Kind == model.EventDone:
				p.gate.report(nil)
			}
			if !yield(ev, err) {
				return
			}
		}
	}
}
