package rest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// TunnelPath is where a page carries its event streams over one WebSocket: a browser opens six connections to a server of
// HTTP/1.1, for all its windows together, and does not count sockets among them. Each stream is asked for, answered and refused as
// on its own route.
const TunnelPath = Base + "/tunnel"

const (
	// MaxTunnelled bounds the streams of one tunnel.
	MaxTunnelled = 32
	// maxAsk bounds a message of the page in bytes.
	maxAsk = 8 << 10
)

// ask is what a page sends: Open a stream under a number of its choice, or Close one.
type ask struct {
	Open int64 `json:"open"`
	// Path is that of a stream's route below the base, with its query.
	Path  string `json:"path"`
	Close int64  `json:"close"`
}

// told is what a page is sent about a stream: its status first, pieces of its body in order, its end last.
type told struct {
	ID     int64  `json:"id"`
	Status int    `json:"status,omitempty"`
	Type   string `json:"type,omitempty"`
	Data   string `json:"data,omitempty"`
	End    bool   `json:"end,omitempty"`
}

// tunnel is one socket. One goroutine reads what the page asks for; each stream has its own.
type tunnel struct {
	server *Server
	conn   *websocket.Conn
	// first is the request that opened it, whose credentials every stream shows.
	first *http.Request

	mu      sync.Mutex
	open    map[int64]context.CancelFunc
	streams sync.WaitGroup
}

func (s *Server) tunnel(w http.ResponseWriter, r *http.Request, _ caller) error {
	// A page of another origin would act with the cookie of this one.
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{OriginPatterns: []string{s.opts.Origin.Host()}})
	if err != nil {
		s.opts.Logger.DebugContext(r.Context(), "open a tunnel", "error", err)
		return nil
	}
	conn.SetReadLimit(maxAsk)
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	t := &tunnel{server: s, conn: conn, first: r, open: map[int64]context.CancelFunc{}}
	leave, ok := s.tunnels.Add(func() { _ = conn.Close(websocket.StatusGoingAway, "") })
	if ok {
		defer leave()
		t.read(ctx)
	}
	cancel()
	t.streams.Wait()
	_ = conn.Close(websocket.StatusGoingAway, "")
	return nil
}

// read carries out what the page asks for until it goes away or asks for what no page would.
func (t *tunnel) read(ctx context.Context) {
	for {
		_, data, err := t.conn.Read(ctx)
		if err != nil {
			return
		}
		var a ask
		if json.Unmarshal(data, &a) != nil || !t.do(ctx, a) {
			_ = t.conn.Close(websocket.StatusPolicyViolation, "This is no request for a stream")
			return
		}
	}
}

func (t *tunnel) do(ctx context.Context, a ask) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if a.Open == 0 {
		if end := t.open[a.Close]; end != nil {
			end()
		}
		return a.Close != 0
	}
	if t.open[a.Open] != nil || len(t.open) >= MaxTunnelled {
		return false
	}
	ctx, end := context.WithCancel(ctx)
	r, ok := t.request(ctx, a.Path)
	if !ok {
		end()
		return false
	}
	t.open[a.Open] = end
	t.streams.Go(func() {
		w := &tunnelled{tunnel: t, id: a.Open, header: http.Header{}}
		t.server.mux.ServeHTTP(w, r)
		// A number is free again before the page reads that its stream has ended.
		t.mu.Lock()
		delete(t.open, a.Open)
		t.mu.Unlock()
		end()
		_ = w.tell(told{End: true})
	})
	return true
}

// request is what asks for a stream on its own route; ok is false when the path is not that of one.
func (t *tunnel) request(ctx context.Context, path string) (r *http.Request, ok bool) {
	u, err := url.ParseRequestURI(Base + path)
	if err != nil || !strings.HasPrefix(path, "/") {
		return nil, false
	}
	r = t.first.Clone(ctx)
	r.Method, r.URL, r.RequestURI, r.Body = http.MethodGet, u, u.RequestURI(), http.NoBody
	for _, name := range []string{"Upgrade", "Connection", "Last-Event-Id"} {
		r.Header.Del(name)
	}
	_, pattern := t.server.mux.Handler(r)
	return r, t.server.follows[pattern]
}

// tunnelled is a ResponseWriter whose pieces travel through the tunnel. One goroutine uses it.
type tunnelled struct {
	tunnel *tunnel
	id     int64
	header http.Header
	begun  bool
}

// Header implements http.ResponseWriter.
func (w *tunnelled) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *tunnelled) WriteHeader(status int) {
	if !w.begun {
		w.begun = true
		_ = w.tell(told{Status: status, Type: w.header.Get("Content-Type")})
	}
}

// Write implements http.ResponseWriter. Events are written whole, so that no character is cut.
func (w *tunnelled) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if err := w.tell(told{Data: string(b)}); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Flush implements http.Flusher: nothing is held back.
func (w *tunnelled) Flush() {}

// SetWriteDeadline is asked for by streams; tell has a bound of its own.
func (w *tunnelled) SetWriteDeadline(time.Time) error { return nil }

func (w *tunnelled) tell(what told) error {
	what.ID = w.id
	body, err := json.Marshal(what)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
	defer cancel()
	err = w.tunnel.conn.Write(ctx, websocket.MessageText, body)
	if err != nil {
		err = errors.Join(io.ErrClosedPipe, err)
	}
	return err
}
