// Package rest serves the operations as HTTP routes under /api/v1, their description as OpenAPI, and event streams.
//
// It walks the operation table: a route's fields come from the path, the query and the body, and Service.Serve does the rest, so
// that access, validation and what makes a repetition harmless are those of the signed protocol. Errors are
// application/problem+json with the codes of design §9.
//
// rest is tier 7: it imports operation, bus and its neighbours live and inbound. internal/server mounts it.
package rest

import (
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/loam-agents/loam/internal/bus"
	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/id"
	"github.com/loam-agents/loam/internal/operation"
	"github.com/loam-agents/loam/internal/transport/inbound"
	"github.com/loam-agents/loam/internal/transport/live"
	"github.com/loam-agents/loam/internal/transport/origin"
)

// Base is the path below which the routes lie, and DocumentPath where they are described.
const (
	Base         = "/api/v1"
	DocumentPath = "/openapi.json"
)

// Options configure a Server.
type Options struct {
	Operations *operation.Service
	Bus        bus.Bus
	Clock      clock.Clock
	IDs        id.Source
	Logger     *slog.Logger
	// Origin says under which names the server answers, and whose pages may ask for changes.
	Origin *origin.Policy
	// Limits bound the bodies of requests.
	inbound.Limits
}

// Server is an http.Handler for the paths that Serves names. Close ends its streams.
type Server struct {
	opts    Options
	mux     *http.ServeMux
	streams live.Group
	tunnels live.Group
	// follows are the patterns of the streams' routes, which a tunnel may carry.
	follows map[string]bool
	quota   quota
	// sent counts the events of all streams.
	sent atomic.Int64
	// document is the encoded OpenAPI document, made when somebody asks.
	document func() []byte
}

// endpoint is one route with how it is carried out.
type endpoint struct {
	operation.Route
	// id names it in the document.
	id string
	// open endpoints take requests of people who are nobody yet.
	open bool
	// events names the events of a stream; nil for other endpoints.
	events []event
	// scope is what a token needs, for the document.
	scope  string
	handle func(w http.ResponseWriter, r *http.Request, who caller) error
}

// New returns the handler.
func New(opts Options) *Server {
	opts.Limits = opts.Complete()
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Server{opts: opts, mux: http.NewServeMux(), follows: map[string]bool{}}
	endpoints := s.endpoints()
	for i := range endpoints {
		e := &endpoints[i]
		s.mux.HandleFunc(e.Method+" "+Base+e.Path, s.serve(e))
		if e.events != nil {
			s.follows[e.Method+" "+Base+e.Path] = true
		}
	}
	s.mux.HandleFunc("GET "+TunnelPath, s.serve(&endpoint{id: "Tunnel", handle: s.tunnel}))
	s.document = sync.OnceValue(func() []byte { return document(endpoints) })
	s.mux.HandleFunc("GET "+DocumentPath, s.describe)
	s.mux.Handle("/", s.unrouted(endpoints))
	return s
}

// unrouted answers what no route takes: there is none with that path, or it takes other methods.
func (s *Server) unrouted(endpoints []endpoint) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/", s.refuse(func(http.ResponseWriter) error {
		return fault.Missing("There is no such route; %s lists them", DocumentPath)
	}))
	methods := map[string][]string{}
	for i := range endpoints {
		methods[endpoints[i].Path] = append(methods[endpoints[i].Path], endpoints[i].Method)
	}
	for path, known := range methods {
		slices.Sort(known)
		takes := strings.Join(known, ", ")
		mux.HandleFunc(Base+path, s.refuse(func(w http.ResponseWriter) error {
			w.Header().Set("Allow", takes)
			return &fault.Error{
				Code: fault.ValidationFailed, HTTPStatus: http.StatusMethodNotAllowed, Message: "This route takes " + takes,
			}
		}))
	}
	return mux
}

// endpoints are the routes of the table and those that stand beside it.
func (s *Server) endpoints() []endpoint {
	var out []endpoint
	for _, op := range s.opts.Operations.Operations() {
		if op.Route != nil {
			out = append(out, s.endpoint(op))
		}
	}
	return append(append(out, s.signInEndpoints()...), s.streamEndpoints()...)
}

func (s *Server) endpoint(op operation.Operation) endpoint {
	return endpoint{
		Route: *op.Route, id: op.Name, scope: string(op.Needs()),
		handle: func(w http.ResponseWriter, r *http.Request, who caller) error { return s.operation(w, r, &op, who) },
	}
}

// Serves tells whether a path belongs to this transport.
func Serves(path string) bool {
	return path == DocumentPath || path == Base || strings.HasPrefix(path, Base+"/")
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := s.opts.Origin.CheckHost(r); err != nil {
		s.refuse(func(http.ResponseWriter) error { return err })(w, r)
		return
	}
	s.mux.ServeHTTP(w, r)
}
