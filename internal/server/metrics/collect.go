package metrics

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// collector is a metric whose values are made when somebody asks.
type collector struct {
	desc    *prometheus.Desc
	collect func(ch chan<- prometheus.Metric)
}

// Describe implements prometheus.Collector.
func (c collector) Describe(ch chan<- *prometheus.Desc) { ch <- c.desc }

// Collect implements prometheus.Collector.
func (c collector) Collect(ch chan<- prometheus.Metric) { c.collect(ch) }

// describe adds a metric to the table.
func (m *Metrics) describe(e Entry) { m.table = append(m.table, e) }

// pull registers a single value that is read when somebody asks.
func (m *Metrics) pull(kind prometheus.ValueType, name, help string, labels prometheus.Labels, fn func() float64) {
	e := Entry{Name: name, Kind: "counter", Help: help}
	if kind == prometheus.GaugeValue {
		e.Kind = "gauge"
	}
	m.describe(e)
	desc := prometheus.NewDesc(name, help, nil, labels)
	m.registry.MustRegister(collector{desc, func(ch chan<- prometheus.Metric) {
		ch <- prometheus.MustNewConstMetric(desc, kind, fn())
	}})
}

func (m *Metrics) counter(name, help string, labels ...string) *prometheus.CounterVec {
	m.describe(Entry{name, "counter", labels, help})
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	m.registry.MustRegister(v)
	return v
}

func (m *Metrics) histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	m.describe(Entry{name, "histogram", labels, help})
	v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	m.registry.MustRegister(v)
	return v
}

// sampler keeps a value that is costly to find for a while. When it cannot be found, the last one stands.
type sampler[T any] struct {
	age    time.Duration
	logger *slog.Logger
	what   string
	find   func(ctx context.Context) (T, error)

	mu    sync.Mutex
	at    time.Time
	value T
}

func newSampler[T any](age time.Duration, logger *slog.Logger, what string, find func(ctx context.Context) (T, error)) *sampler[T] {
	return &sampler[T]{age: age, logger: logger, what: what, find: find}
}

func (s *sampler[T]) get() T {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if !s.at.IsZero() && now.Sub(s.at) < s.age {
		return s.value
	}
	ctx, cancel := context.WithTimeout(context.Background(), sampleTimeout)
	defer cancel()
	value, err := s.find(ctx)
	if err != nil {
		s.logger.Warn(s.what, "error", err)
		return s.value
	}
	s.value, s.at = value, now
	return s.value
}
