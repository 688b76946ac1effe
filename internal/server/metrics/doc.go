// Package metrics is what a server counts about itself, in the form that Prometheus reads.
//
// A Metrics owns its registry; nothing here is global. What happens often is pushed by the parts through the small hooks
// that they declare (Operation, RunChanged, Committed, Model); what can be read at any time is pulled from them when
// somebody asks. Labels have few values: names of operations, routes and providers' types, never ids, accounts or paths.
//
// The package belongs to the room internal/server (tier 8), the only one that knows Prometheus. The composition root makes
// one and internal/server/admin serves it.
package metrics

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/loam-agents/loam/internal/blobstore"
	"github.com/loam-agents/loam/internal/buildinfo"
	"github.com/loam-agents/loam/internal/bus"
	"github.com/loam-agents/loam/internal/runs"
	"github.com/loam-agents/loam/internal/store"
)

// Metrics counts. It is safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry
	table    []Entry

	operations, requests, finished, modelCalls, tokens, quotaRefused *prometheus.CounterVec
	operationTime, queueWait, turnTime                               *prometheus.HistogramVec
	modelTime, firstToken                                            *prometheus.HistogramVec
	commitTime, batch                                                prometheus.Observer
}

// Entry describes one metric for people.
type Entry struct {
	Name, Kind string
	// Labels are the names of the labels, in order.
	Labels []string
	Help   string
}

// Sockets are counters of live connections.
type Sockets interface {
	// Stats returns how many sockets are open, and how many frames were sent on all of them so far.
	Stats() (open int, frames int64)
}

// Streams are counters of event streams.
type Streams interface {
	// Streams returns how many are open, and how many events were sent on all of them so far.
	Streams() (open int, sent int64)
}

// Queue tells how busy the workers are.
type Queue interface {
	// Executing is the number of runs that this process executes now.
	Executing() int
}

// Vault counts failures.
type Vault interface {
	// Failures is how often a secret could not be opened.
	Failures() int64
}

// Sources are the parts that are asked when somebody reads the metrics.
type Sources struct {
	Store   store.Store
	Bus     interface{ Stats() bus.Stats }
	Sockets Sockets
	Streams Streams
	Queue   Queue
	Vault   Vault
	Blobs   interface {
		blobstore.Store
		Stats() blobstore.Stats
	}
	// Draining tells whether the server is on its way down.
	Draining func() bool
	Logger   *slog.Logger
}

// New returns metrics of the process and the hooks; Watch adds the parts.
func New() *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry()}
	m.registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	m.hooks()
	build := prometheus.Labels{"version": buildinfo.Version, "commit": buildinfo.Commit}
	m.pull(prometheus.GaugeValue, "loam_build_info", "Always 1; the labels say which build runs.", build, func() float64 { return 1 })
	m.table[len(m.table)-1].Labels = []string{"version", "commit"}
	return m
}

// Table lists every metric that is Loam's own, in the order in which they are documented. It is complete after Watch.
func (m *Metrics) Table() []Entry { return m.table }

// Handler answers in the text format of Prometheus.
func (m *Metrics) Handler(logger *slog.Logger) http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorLog:      slog.NewLogLogger(logger.Handler(), slog.LevelError),
		ErrorHandling: promhttp.ContinueOnError,
	})
}

// Sums of the table: what a count of the database may cost, and how old it may be.
const (
	sampleTimeout = 2 * time.Second
	runsAge       = 5 * time.Second
	blobsAge      = 10 * time.Minute
)

// Watch adds what is pulled from the parts. It is called once.
func (m *Metrics) Watch(s Sources) {
	count := func(name, help string, fn func() float64) { m.pull(prometheus.CounterValue, name, help, nil, fn) }
	gauge := func(name, help string, fn func() float64) { m.pull(prometheus.GaugeValue, name, help, nil, fn) }

	gauge("loam_draining", "1 while the server stops: it takes no new work and waits for turns in progress.", func() float64 {
		if s.Draining() {
			return 1
		}
		return 0
	})
	gauge("loam_sockets_open", "Open WebSocket connections.", func() float64 { n, _ := s.Sockets.Stats(); return float64(n) })
	gauge("loam_streams_open", "Open event streams (SSE).", func() float64 { n, _ := s.Streams.Streams(); return float64(n) })
	count("loam_frames_sent_total", "Frames sent on all WebSocket connections.", func() float64 { _, n := s.Sockets.Stats(); return float64(n) })
	count("loam_stream_events_sent_total", "Events sent on all event streams (SSE).", func() float64 { _, n := s.Streams.Streams(); return float64(n) })
	count("loam_frames_coalesced_total", "Partial frames merged into the one before, since their reader was behind.", func() float64 { return float64(s.Bus.Stats().Merged) })
	count("loam_subscribers_lost_total", "Readers that were given up because they could not keep up; they reconnect and resume.", func() float64 { return float64(s.Bus.Stats().Lost) })

	gauge("loam_runs_executing", "Runs that this process executes now; `--workers` is the most.", func() float64 { return float64(s.Queue.Executing()) })
	m.liveRuns(s)

	count("loam_store_commits_total", "Durable commits; one fsync each on SQLite.", func() float64 { return float64(s.Store.Stats().Commits) })
	count("loam_store_writes_total", "Transactions that were committed; on SQLite several share one commit.", func() float64 { return float64(s.Store.Stats().Writes) })
	count("loam_store_retries_total", "Transactions that ran again because they lost against another one (PostgreSQL).", func() float64 { return float64(s.Store.Stats().Retries) })
	gauge("loam_store_queue", "Writes that wait for their turn at this moment.", func() float64 { return float64(s.Store.Stats().Queued) })

	count("loam_blob_written_bytes_total", "Bytes written into the blob store.", func() float64 { return float64(s.Blobs.Stats().Written) })
	count("loam_blob_read_bytes_total", "Bytes of blobs that were opened for reading.", func() float64 { return float64(s.Blobs.Stats().Read) })
	m.storedBlobs(s)

	count("loam_vault_failures_total", "Secrets that could not be opened: the key is not the one that sealed them.", func() float64 { return float64(s.Vault.Failures()) })
}

func (m *Metrics) liveRuns(s Sources) {
	sample := newSampler(runsAge, s.Logger, "count live runs", func(ctx context.Context) (counts []runs.LiveCount, err error) {
		err = s.Store.Read(ctx, func(tx store.Tx) error {
			counts, err = runs.CountLive(tx)
			return err
		})
		return counts, err
	})
	const name, help = "loam_runs", "Runs that have not ended, in the whole database, by status and lane; at most 5 seconds old."
	m.describe(Entry{name, "gauge", []string{"status", "lane"}, help})
	desc := prometheus.NewDesc(name, help, []string{"status", "lane"}, nil)
	m.registry.MustRegister(collector{desc, func(ch chan<- prometheus.Metric) {
		for _, c := range sample.get() {
			ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(c.Count), string(c.Status), string(c.Lane))
		}
	}})
}

func (m *Metrics) storedBlobs(s Sources) {
	type usage struct{ count, bytes int64 }
	sample := newSampler(blobsAge, s.Logger, "measure the blob store", func(ctx context.Context) (u usage, err error) {
		for info, err := range s.Blobs.Walk(ctx) {
			if err != nil {
				return usage{}, err
			}
			u.count++
			u.bytes += info.Size
		}
		return u, nil
	})
	m.pull(prometheus.GaugeValue, "loam_blobs_stored", "Blobs on disk; measured at most every 10 minutes.", nil, func() float64 { return float64(sample.get().count) })
	m.pull(prometheus.GaugeValue, "loam_blob_stored_bytes", "Bytes of all blobs on disk; measured at most every 10 minutes.", nil, func() float64 { return float64(sample.get().bytes) })
}
