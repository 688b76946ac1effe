package metrics

import (
	"context"
	"iter"
	"time"

	"github.com/loam-agents/loam/internal/model"
)

// Model returns a provider whose streams are counted under a type of provider, such as anthropic.
func (m *Metrics) Model(p model.Provider, kind string) model.Provider { return &metered{p, m, kind} }

type metered struct {
	model.Provider
	metrics *Metrics
	kind    string
}

// Stream implements model.Provider.
func (p *metered) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		m, start, first := p.metrics, time.Now(), true
		// A consumer that leaves early has stopped the turn, or found the answer too long.
		outcome := "abandoned"
		defer func() {
			m.modelCalls.WithLabelValues(p.kind, outcome).Inc()
			m.modelTime.WithLabelValues(p.kind).Observe(time.Since(start).Seconds())
		}()
		for ev, err := range p.Provider.Stream(ctx, req) {
			if first {
				first = false
				m.firstToken.WithLabelValues(p.kind).Observe(time.Since(start).Seconds())
			}
			switch {
			case err != nil:
				outcome = kindOf(err)
			case ev.Kind == model.EventDone:
				outcome = "ok"
				m.used(p.kind, ev.Usage)
			}
			if !yield(ev, err) {
				return
			}
		}
	}
}

func kindOf(err error) string {
	if e, ok := model.AsError(err); ok {
		return string(e.Kind)
	}
	return "error"
}

func (m *Metrics) used(kind string, u model.Usage) {
	for name, n := range map[string]int64{"input": u.Input, "output": u.Output, "cache_read": u.CacheRead, "cache_write": u.CacheWrite} {
		if n > 0 {
			m.tokens.WithLabelValues(kind, name).Add(float64(n))
		}
	}
}
