package metrics

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/operation"
	"github.com/loam-agents/loam/internal/runs"
	"github.com/loam-agents/loam/internal/store"
)

// Buckets in seconds: of a request, of what waits on a model, of a flush.
var (
	requestBuckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}
	turnBuckets    = []float64{.05, .1, .25, .5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600, 1800}
	commitBuckets  = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1}
	batchBuckets   = []float64{1, 2, 4, 8, 16, 32, 64}
)

func (m *Metrics) hooks() {
	m.requests = m.counter("loam_http_requests_total", "Answered HTTP requests, by method, route and status; WebSockets and event streams count when they end, and 499 is a client that went away before its answer.", "method", "route", "status")
	m.operations = m.counter("loam_operations_total", "Operations, by transport, name and outcome: `ok`, the code of the error, or `canceled` when whoever asked went away.", "transport", "name", "code")
	m.quotaRefused = m.counter("loam_quota_refused_total", "Requests that met a limit of their account, by limit: `actions`, `signer_actions`, `messages`, `storage`, `sessions`, `sockets`, `subscriptions`.", "quota")
	m.operationTime = m.histogram("loam_operation_duration_seconds", "How long operations took; those that wait for a turn take as long as it.", requestBuckets, "name")
	m.queueWait = m.histogram("loam_run_queue_wait_seconds", "From the moment a run was queued to its first claim by a worker.", turnBuckets, "lane")
	m.turnTime = m.histogram("loam_turn_duration_seconds", "From the first claim of an agent's turn to its end.", turnBuckets, "status")
	m.finished = m.counter("loam_runs_finished_total", "Runs that ended in this process, by kind, status and the code of the error.", "kind", "status", "code")
	m.modelCalls = m.counter("loam_model_calls_total", "Requests to model providers, by type of provider and outcome: `ok` or the kind of the error.", "provider", "outcome")
	m.modelTime = m.histogram("loam_model_call_duration_seconds", "From asking a model to the end of its answer, the wait for a place at its key included.", turnBuckets, "provider")
	m.firstToken = m.histogram("loam_model_first_event_seconds", "From asking a model to the first thing that it sends.", turnBuckets, "provider")
	m.tokens = m.counter("loam_model_tokens_total", "Tokens as providers count them, by kind: `input`, `output`, `cache_read`, `cache_write`.", "provider", "kind")
	m.commitTime = m.histogram("loam_store_commit_duration_seconds", "How long the database took to make a commit durable.", commitBuckets).WithLabelValues()
	m.batch = m.histogram("loam_store_commit_writes", "Transactions that one commit covered.", batchBuckets).WithLabelValues()
}

// Operation counts a use of an operation. It is operation.Options.Observe.
func (m *Metrics) Operation(o operation.Observation) {
	code := "ok"
	switch {
	case errors.Is(o.Err, context.Canceled):
		// Who asked went away; nothing is wrong.
		code = "canceled"
	case o.Err != nil:
		code = string(fault.From(o.Err).Code)
	}
	m.operations.WithLabelValues(o.Transport, o.Name, code).Inc()
	m.operationTime.WithLabelValues(o.Name).Observe(o.Took.Seconds())
}

// QuotaRefused counts a request that met a limit of its account. It is quota.Options.Refused.
func (m *Metrics) QuotaRefused(limit string) { m.quotaRefused.WithLabelValues(limit).Inc() }

// RunChanged counts what happens to runs, after the commit of the change. It is meant for runs.Hooks.
func (m *Metrics) RunChanged(tx store.Tx, r *runs.Run) {
	row := *r
	switch {
	case row.Status == runs.Claimed && row.Attempt == 1 && row.Recoveries == 0:
		tx.AfterCommit(func() { m.queueWait.WithLabelValues(string(row.Lane)).Observe(seconds(row.CreatedAt, row.StartedAt)) })
	case row.Status.Terminal() && row.FinishedAt == row.UpdatedAt:
		tx.AfterCommit(func() { m.runEnded(&row) })
	}
}

func (m *Metrics) runEnded(r *runs.Run) {
	code := ""
	if r.Error != nil {
		code = r.Error.Code
	}
	m.finished.WithLabelValues(r.Kind, string(r.Status), code).Inc()
	if r.Kind == runs.KindAgent && r.StartedAt > 0 {
		m.turnTime.WithLabelValues(string(r.Status)).Observe(seconds(r.StartedAt, r.FinishedAt))
	}
}

func seconds(from, to int64) float64 {
	return max(time.Duration(to-from)*time.Millisecond, 0).Seconds()
}

// Committed counts a durable commit of a number of transactions. It is the Committed option of the stores.
func (m *Metrics) Committed(writes int, took time.Duration) {
	m.commitTime.Observe(took.Seconds())
	m.batch.Observe(float64(writes))
}

// HTTP counts the requests of a handler by the pattern of the mux that answered.
func (m *Metrics) HTTP(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		watched := &statusWriter{ResponseWriter: w}
		defer func() {
			m.requests.WithLabelValues(method(r.Method), route(r.Pattern), strconv.Itoa(watched.code(r))).Inc()
		}()
		next.ServeHTTP(watched, r)
	})
}

// route is a mux pattern without its method. What no route took has none of its own, however many paths there are.
func route(pattern string) string {
	for i := range len(pattern) {
		if pattern[i] == '/' {
			if pattern[i:] == "/" {
				return "other"
			}
			return pattern[i:]
		}
	}
	return "other"
}

// method keeps invented methods from making ever new series.
func method(name string) string {
	switch name {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return name
	}
	return "other"
}

// statusWriter remembers the status of an answer.
type statusWriter struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements http.ResponseWriter.
func (w *statusWriter) WriteHeader(status int) {
	if w.status == 0 && status >= http.StatusOK || status == http.StatusSwitchingProtocols {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap gives http.ResponseController, which transports use to flush and to upgrade, what it looks for.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// clientGone is how proxies count a request whose client did not wait for the answer.
const clientGone = 499

func (w *statusWriter) code(r *http.Request) int {
	switch {
	case w.status >= http.StatusInternalServerError && r.Context().Err() != nil:
		return clientGone
	case w.status == 0 && r.Context().Err() != nil:
		return clientGone
	case w.status == 0:
		return http.StatusOK
	}
	return w.status
}
