package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/dagcbor"
	"github.com/loam-agents/loam/principal"
	"github.com/loam-agents/loam/wire"
)

// startTime is where every test's clock starts.
var startTime = time.UnixMilli(1750000000000)

// stepClock never waits: it moves itself on and tells the test how long the wait would have been.
type stepClock struct {
	mu    sync.Mutex
	now   time.Time
	waits chan time.Duration
}

func newStepClock() *stepClock {
	return &stepClock{now: startTime, waits: make(chan time.Duration, 64)}
}

func (c *stepClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *stepClock) After(d time.Duration) <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	select {
	case c.waits <- d:
	default:
	}
	fired := make(chan time.Time, 1)
	fired <- c.now
	return fired
}

// peer is the server's end of one socket, after the client has subscribed.
type peer struct {
	t        *testing.T
	conn     *websocket.Conn
	envelope *wire.Envelope
	over     chan struct{}
}

func (p *peer) send(frames ...any) {
	p.t.Helper()
	for _, f := range frames {
		data, ok := f.(string)
		if !ok {
			encoded, err := json.Marshal(f)
			if err != nil {
				p.t.Fatal(err)
			}
			data = string(encoded)
		}
		if err := p.conn.Write(p.t.Context(), websocket.MessageText, []byte(data)); err != nil {
			p.t.Errorf("send: %v", err)
		}
	}
}

// drop cuts the connection without a closing handshake.
func (p *peer) drop() {
	_ = p.conn.CloseNow()
	close(p.over)
}

// closed waits for the client's close and returns its code.
func (p *peer) closed() websocket.StatusCode {
	_, _, err := p.conn.Read(p.t.Context())
	close(p.over)
	return websocket.CloseStatus(err)
}

// server is a small real server of the protocol, scripted by its test.
type server struct {
	t     *testing.T
	url   string
	clock *stepClock
	// answer replies to an action with a status and a body.
	answer func(e *wire.Envelope) (int, []byte)
	// peers receives each socket that subscribed.
	peers chan *peer
	// sockets counts the handlers of upgraded requests, for which httptest does not wait.
	sockets sync.WaitGroup
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{t: t, clock: newStepClock(), peers: make(chan *peer)}
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+wire.MessagePath, s.message)
	mux.HandleFunc("GET "+wire.SocketPath, s.socket)
	mux.HandleFunc("GET "+wire.HealthPath, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"status":"ok","uptime":1.5,"version":"1.0","protocol":2,"minClientProtocol":1,`+
			`"webTools":{"search":true},"codeExec":false,"codeExecReason":"off","unknown":[1]}`)
	})
	ts := httptest.NewServer(mux)
	t.Cleanup(func() {
		ts.Close()
		s.sockets.Wait()
	})
	s.url = ts.URL
	return s
}

func (s *server) verify(body []byte) (*wire.Envelope, error) {
	fields, err := wire.DecodeEnvelope(body)
	if err != nil {
		return nil, err
	}
	return wire.Verify(fields, s.clock.Now(), time.Second)
}

func (s *server) message(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		s.t.Errorf("read: %v", err)
	}
	if got := r.Header.Get("Content-Type"); got != wire.MediaType {
		s.t.Errorf("content type %q", got)
	}
	e, err := s.verify(body)
	if err != nil {
		reply, _ := wire.EncodeError(err.Error(), "")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = w.Write(reply)
		return
	}
	status, reply := s.answer(e)
	if status >= 300 && status < 400 {
		w.Header().Set("Location", wire.HealthPath)
	}
	w.WriteHeader(status)
	_, _ = w.Write(reply)
}

func (s *server) socket(w http.ResponseWriter, r *http.Request) {
	s.sockets.Add(1)
	defer s.sockets.Done()
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		// The client may be gone already: only a test that waits for it would notice, and does.
		return
	}
	defer func() { _ = conn.CloseNow() }()
	kind, body, err := conn.Read(s.t.Context())
	if err != nil {
		return
	}
	e, err := s.verify(body)
	if err != nil || kind != websocket.MessageBinary {
		s.t.Errorf("subscription in a frame of type %v: %v", kind, err)
		return
	}
	p := &peer{t: s.t, conn: conn, envelope: e, over: make(chan struct{})}
	if conn.Write(s.t.Context(), websocket.MessageText, []byte(`{"_":"connected","connectedAt":5}`)) != nil {
		return
	}
	select {
	case s.peers <- p:
	case <-s.t.Context().Done():
		return
	}
	select {
	case <-p.over:
	case <-s.t.Context().Done():
	}
}

// next waits for the client's next subscription.
func (s *server) next() *peer {
	s.t.Helper()
	select {
	case p := <-s.peers:
		return p
	case <-time.After(30 * time.Second):
		s.t.Fatal("no subscription came")
		return nil
	}
}

func testKey(t *testing.T, fill byte) *principal.Key {
	t.Helper()
	k, err := principal.NewKey(bytes.Repeat([]byte{fill}, principal.SeedSize))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func (s *server) client(options ...client.Option) *client.Client {
	s.t.Helper()
	all := append([]client.Option{client.WithClock(s.clock), client.WithJitter(func() float64 { return 0 })}, options...)
	c, err := client.New(s.url+"/agents/", testKey(s.t, 1), all...)
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

func encode(t *testing.T, v any) []byte {
	t.Helper()
	data, err := dagcbor.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// delivered is one step of a subscription.
type delivered struct {
	frame client.Frame
	err   error
}

// stream runs a subscription until stop or the end of the test, and passes on what it delivers. The channel closes when
// the subscription has ended.
func stream(t *testing.T, c *client.Client, key string, afterSeq int64) (frames <-chan delivered, stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	out := make(chan delivered, 256)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(out)
		for f, err := range c.Subscribe(ctx, key, afterSeq) {
			out <- delivered{f, err}
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return out, cancel
}
