// Package scripted is a scripted language model served over real sockets, the stand-in for live models in all tests,
// crash tests and benchmarks (design §14).
//
// One server speaks the streaming dialects OpenAI Chat, OpenAI Responses, Anthropic Messages, Gemini and Ollama. It answers
// each request with the next matching turn of its script, misbehaves on demand (HTTP errors, cut streams, malformed
// chunks, errors inside a stream), stops at gates that a test opens, and records every request byte for byte. It is
// deterministic: the same requests in the same order get the same bytes.
//
// scripted is part of tier 3 and for tests and tools only; the server binary does not use it. It calls package model for
// its vocabulary.
package scripted

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/loam-agents/loam/internal/model"
)

const maxBody = 64 << 20

// Options configures New.
type Options struct {
	// Addr is where to listen; empty is a free port of 127.0.0.1.
	Addr string
	// Script is what the model says first; Push adds to it.
	Script Script
	// Discard stops the recording of requests, so that a benchmark does not fill memory.
	Discard bool
}

// Server is a running scripted model. Its methods are safe for concurrent use.
type Server struct {
	listener net.Listener
	http     *http.Server
	discard  bool
	handlers sync.WaitGroup
	serving  sync.WaitGroup

	mu       sync.Mutex
	closed   bool
	script   Script
	used     []bool
	count    int
	requests []*Request
	gates    map[string]*gate
}

// Request is a generation request that the server received.
type Request struct {
	// Dialect that the path belongs to.
	Dialect model.Dialect
	// Method, Path (with query) and Header as they arrived.
	Method, Path string
	Header       http.Header
	// Body is the raw payload.
	Body []byte
	// Ended is closed when the server is done with the request.
	Ended <-chan struct{}

	ended   chan struct{}
	aborted bool
	mu      sync.Mutex
}

// Aborted tells, after Ended, whether the client went away before the answer was complete.
func (r *Request) Aborted() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.aborted
}

// Decode unmarshals the body into v.
func (r *Request) Decode(v any) error { return json.Unmarshal(r.Body, v) }

type gate struct {
	reached chan struct{}
	open    chan struct{}
	once    sync.Once
}

// New starts a server. Close must be called.
func New(o Options) (*Server, error) {
	if o.Addr == "" {
		o.Addr = "127.0.0.1:0"
	}
	l, err := net.Listen("tcp", o.Addr)
	if err != nil {
		return nil, fmt.Errorf("listen for the scripted model: %w", err)
	}
	s := &Server{listener: l, discard: o.Discard, gates: map[string]*gate{}}
	s.script = o.Script
	s.used = make([]bool, len(o.Script.Turns))
	s.http = &http.Server{Handler: http.HandlerFunc(s.serve), ReadHeaderTimeout: 10 * time.Second}
	s.serving.Go(func() { _ = s.http.Serve(l) })
	return s, nil
}

// Close stops the server, breaks its connections and waits for its handlers. A second call does nothing.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	err := s.http.Close()
	s.serving.Wait()
	s.handlers.Wait()
	return err
}

// URL is the root of the server, such as http://127.0.0.1:4711.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() }

// BaseURL is the address that a provider of the dialect is configured with.
func (s *Server) BaseURL(d model.Dialect) string {
	switch d {
	case model.OpenAIChat, model.OpenAIResponses:
		return s.URL() + "/v1"
	case model.Gemini:
		return s.URL() + "/v1beta"
	}
	return s.URL()
}

// Push appends turns to the script.
func (s *Server) Push(turns ...Turn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script.Turns = append(s.script.Turns, turns...)
	s.used = append(s.used, make([]bool, len(turns))...)
}

// Requests returns the generation requests received so far, oldest first.
func (s *Server) Requests() []*Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Unused counts the turns that answer once and have not answered yet.
func (s *Server) Unused() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for i, t := range s.script.Turns {
		if !t.Repeat && !s.used[i] {
			n++
		}
	}
	return n
}

// Reached is closed when a stream first stands at the gate.
func (s *Server) Reached(name string) <-chan struct{} { return s.gate(name).reached }

// Open opens a gate for good, whether or not a stream stands there.
func (s *Server) Open(name string) {
	g := s.gate(name)
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-g.open:
	default:
		close(g.open)
	}
}

func (s *Server) gate(name string) *gate {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, ok := s.gates[name]
	if !ok {
		g = &gate{reached: make(chan struct{}), open: make(chan struct{})}
		s.gates[name] = g
	}
	return g
}

func (g *gate) pass(ctx context.Context) error {
	g.once.Do(func() { close(g.reached) })
	select {
	case <-g.open:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// serve routes by the end of the path, so that any prefix of a base URL works.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if !s.enter() {
		return
	}
	defer s.handlers.Done()
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, "unreadable body", http.StatusBadRequest)
		return
	}
	d, ok := generationDialect(r)
	if !s.allowed(r) {
		writeError(w, listDialect(r, d), http.StatusUnauthorized, "invalid_api_key", "Incorrect API key provided")
		return
	}
	if !ok {
		s.list(w, r)
		return
	}
	s.generate(w, r, d, body)
}

// enter counts a handler in, so that Close can wait for it, unless the server is closing.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.handlers.Add(1)
	}
	return !s.closed
}

func (s *Server) generate(w http.ResponseWriter, r *http.Request, d model.Dialect, body []byte) {
	req := &Request{Dialect: d, Method: r.Method, Path: r.URL.RequestURI(), Header: r.Header.Clone(), Body: body, ended: make(chan struct{})}
	req.Ended = req.ended
	in := parseInput(d, r.URL.Path, body)
	turn, n, ok := s.take(req, in)
	defer close(req.ended)
	if !ok {
		writeError(w, d, http.StatusNotImplemented, "script_exhausted", "no turn of the script matches request "+strconv.Itoa(n))
		return
	}
	p := player{server: s, w: w, turn: turn, emit: newEmitter(d, in.Model, n)}
	complete := p.play(r.Context(), d)
	req.mu.Lock()
	req.aborted = r.Context().Err() != nil
	req.mu.Unlock()
	if !complete {
		panic(http.ErrAbortHandler)
	}
}

// take records the request and picks its turn.
func (s *Server) take(req *Request, in input) (Turn, int, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
	if !s.discard {
		s.requests = append(s.requests, req)
	}
	for i, t := range s.script.Turns {
		if (s.used[i] && !t.Repeat) || !t.Match.holds(in, s.count) {
			continue
		}
		s.used[i] = true
		return t, s.count, true
	}
	return Turn{}, s.count, false
}
