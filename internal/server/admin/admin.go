// Package admin is the door for those who look after a server: metrics, health, profiles. It has an address of its own, so
// that what it tells never stands beside what users reach.
//
// There is no sign-in here. What keeps strangers out is the address: a loopback one, unless the operator allowed another
// explicitly. On a loopback address a request must also name this machine, so that a web page which a browser on this
// machine shows cannot read it under a name of its own (DNS rebinding).
//
// The package belongs to the room internal/server (tier 8); the composition root gives it what it serves.
package admin

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"strings"
	"time"
)

// Options configure New.
type Options struct {
	// Metrics answers GET /metrics.
	Metrics http.Handler
	// Checks decide about GET /readyz, in order.
	Checks []Check
	// Remote says that other machines may ask, under any name.
	Remote bool
}

// Check is one condition of being ready.
type Check struct {
	Name string
	// Ready returns nil, or why not, in words for an operator. ctx ends after CheckTimeout.
	Ready func(ctx context.Context) error
}

// CheckTimeout bounds each check.
const CheckTimeout = 2 * time.Second

// New returns the handler of the admin listener:
//
//	GET /metrics         what the server counts, in the text format of Prometheus
//	GET /livez           200 while the process answers: restart it when it does not
//	GET /readyz          200 when it can work, else 503; the body says which check failed and why
//	GET /debug/pprof/…   profiles, as `go tool pprof` reads them; the command line is not told, since it may hold a password
func New(o Options) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", o.Metrics)
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, Health{Status: "ok"}) })
	mux.HandleFunc("GET /readyz", o.ready)
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("POST /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("GET /debug/pprof/cmdline", http.NotFound)
	if o.Remote {
		return mux
	}
	return ownName(mux)
}

// Health is the body of /livez and /readyz.
type Health struct {
	// Status is "ok" or "unavailable".
	Status string `json:"status"`
	// Checks are those of /readyz.
	Checks []Result `json:"checks,omitempty"`
}

// Result is what a check found.
type Result struct {
	Name string `json:"name"`
	OK   bool   `json:"ok"`
	// Reason says why not.
	Reason string `json:"reason,omitempty"`
}

func (o *Options) ready(w http.ResponseWriter, r *http.Request) {
	health, status := Health{Status: "ok"}, http.StatusOK
	for _, check := range o.Checks {
		ctx, cancel := context.WithTimeout(r.Context(), CheckTimeout)
		err := check.Ready(ctx)
		cancel()
		result := Result{Name: check.Name, OK: err == nil}
		if err != nil {
			result.Reason = err.Error()
			health.Status, status = "unavailable", http.StatusServiceUnavailable
		}
		health.Checks = append(health.Checks, result)
	}
	answer(w, status, health)
}

func answer(w http.ResponseWriter, status int, body Health) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	// Who asked is gone when this fails.
	_ = json.NewEncoder(w).Encode(body)
}

// ownName lets requests through whose Host is a loopback address or localhost.
func ownName(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		addr, err := netip.ParseAddr(strings.Trim(host, "[]"))
		if !strings.EqualFold(host, "localhost") && (err != nil || !addr.Unmap().IsLoopback()) {
			http.Error(w, "The admin listener answers under the names of this machine only, such as 127.0.0.1.", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}
