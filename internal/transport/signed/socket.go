package signed

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/loam-agents/loam/dagcbor"
	"github.com/loam-agents/loam/internal/bus"
	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/logctx"
	"github.com/loam-agents/loam/internal/transport/live"
	"github.com/loam-agents/loam/wire"
)

// Limits of sockets.
const (
	// maxFrame bounds a client's frame in bytes: an envelope with a Subscribe action, in its text form at most four times as
	// long.
	maxFrame = 256 << 10
	// DefaultSubscriptions bounds the keys of one socket, unless the operator says otherwise.
	DefaultSubscriptions = 256
	// maxJobs is how many answers may wait for the writer before the reader waits too.
	maxJobs = 64
	// CloseTooSlow is the close code for a consumer that cannot keep up: it reconnects and resumes from its last seq.
	CloseTooSlow = websocket.StatusCode(4008)
	// Heartbeat is how often a socket of stream 2 hears that it is alive.
	Heartbeat = 15 * time.Second
)

// Stats returns how many sockets are open, and how many frames were sent on all sockets so far.
func (s *Server) Stats() (open int, frames int64) { return s.sockets.Len(), s.frames.Load() }

// socket is one connection. One goroutine reads subscriptions, one writes frames; both end with stop.
type socket struct {
	server *Server
	conn   *websocket.Conn
	feed   *live.Feed

	// stop is closed when the connection is to end, with code and reason.
	stop    chan struct{}
	closing sync.Once
	code    websocket.StatusCode
	reason  string

	// jobs are what the reader asks the writer to send: answers to subscriptions, and errors.
	jobs chan job

	// alias is what the client calls a topic, where that is not the topic's name: the account of a linked key. topics are those of
	// the keys. They belong to the writer.
	alias  map[string]string
	topics map[string]string

	// second says that the client chose stream 2, and binary that its frames are CBOR.
	second, binary bool

	// account belongs to the reader. seat gives back what the socket counts as in the quota of its account.
	account string
	seat    func()
	// held guards keys, which count towards the limits of the socket and the account. Each function gives the key's place back.
	held sync.Mutex
	keys map[string]func()
	// late tears the connection when a frame takes too long, and text is where frames are encoded.
	late *time.Timer
	text []byte
}

func (s *Server) socket(w http.ResponseWriter, r *http.Request) {
	if !upgradable(r) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, wire.MsgUpgradeFailed)
		return
	}
	// The signature is the authentication, and nothing ambient is used: any origin may connect.
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{
		InsecureSkipVerify: true, Subprotocols: []string{wire.StreamCBOR, wire.StreamJSON},
	})
	if err != nil {
		s.opts.Logger.Debug("upgrade socket", "error", err)
		return
	}
	conn.SetReadLimit(maxFrame)
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	defer cancel()
	c := &socket{
		server: s, conn: conn, stop: make(chan struct{}), jobs: make(chan job, maxJobs),
		keys: map[string]func(){}, alias: map[string]string{}, topics: map[string]string{}, code: websocket.StatusNormalClosure,
		second: conn.Subprotocol() != "", binary: conn.Subprotocol() == wire.StreamCBOR,
	}
	c.late = time.AfterFunc(writeTimeout, func() { _ = conn.CloseNow() })
	c.late.Stop()
	c.feed = live.NewFeed(s.opts.Operations, s.opts.Bus, c)
	defer c.feed.Close()
	leave, ok := s.sockets.Add(func() { c.end(websocket.StatusGoingAway, wire.MsgShuttingDown) })
	if !ok {
		_ = conn.Close(websocket.StatusGoingAway, wire.MsgShuttingDown)
		return
	}
	defer leave()
	s.opts.Logger.Debug("[agents/ws] open")
	c.run(ctx)
	s.opts.Logger.DebugContext(logctx.With(ctx, logctx.Account, c.account), "[agents/ws] close", "code", int(c.code))
}

// upgradable tells whether a request asks for a WebSocket of the one version that there is.
func upgradable(r *http.Request) bool {
	return r.ProtoAtLeast(1, 1) && hasToken(r.Header, "Upgrade", "websocket") && hasToken(r.Header, "Connection", "upgrade") &&
		r.Header.Get("Sec-WebSocket-Version") == "13" && validKey(r.Header.Values("Sec-WebSocket-Key"))
}

func hasToken(h http.Header, name, token string) bool {
	for _, value := range h.Values(name) {
		for t := range strings.SplitSeq(value, ",") {
			if strings.EqualFold(strings.TrimSpace(t), token) {
				return true
			}
		}
	}
	return false
}

func validKey(keys []string) bool {
	const size = 16
	if len(keys) != 1 {
		return false
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(keys[0]))
	return err == nil && len(key) == size
}

// run works until the peer goes away or end is called. Ending a context in the middle of a read or a write would tear the
// connection without a close frame; so the reader is left to see the connection close.
func (c *socket) run(ctx context.Context) {
	var reader sync.WaitGroup
	reader.Go(func() {
		c.read(ctx)
		c.end(websocket.StatusNormalClosure, "")
	})
	c.write(ctx)
	c.end(websocket.StatusNormalClosure, "")
	_ = c.conn.Close(c.code, c.reason)
	reader.Wait()
	c.releaseAll()
}

// end has the writer close the connection with a code; the first reason wins.
func (c *socket) end(code websocket.StatusCode, reason string) {
	c.closing.Do(func() {
		c.code, c.reason = code, reason
		close(c.stop)
	})
}

func (c *socket) read(ctx context.Context) {
	for {
		kind, data, err := c.conn.Read(ctx)
		if err != nil {
			return
		}
		if c.second && c.unsubscribe(kind, data) {
			continue
		}
		if kind == websocket.MessageText {
			data, err = wire.DecodeTextFrame(data)
		}
		if err != nil {
			err = authFault(err)
		} else {
			err = c.subscribe(ctx, data)
		}
		if err != nil {
			// The writer runs while the reader goes on.
			account := c.account
			c.enqueue(func(ctx context.Context) error { return c.fail(logctx.With(ctx, logctx.Account, account), err) })
		}
	}
}

// fail reports an error on the socket, which stays open with the subscriptions it has.
func (c *socket) fail(ctx context.Context, err error) error {
	f := fault.From(err)
	if f.Code == fault.Internal {
		c.server.opts.Logger.ErrorContext(ctx, "subscribe", "error", err)
	}
	frame := wire.Frame{Kind: wire.FrameError, Message: f.Message}
	if f.Code == codeProtocolTooOld {
		frame.Code = wire.CodeProtocolTooOld
	}
	return c.Frame(ctx, &frame)
}

// job is something that the writer sends.
type job func(ctx context.Context) error

// enqueue hands a job to the writer. It waits while the writer is behind, so that a peer that only sends cannot fill memory.
func (c *socket) enqueue(j job) {
	select {
	case c.jobs <- j:
	case <-c.stop:
	}
}

// write sends until the connection ends. It alone decides the order of frames: a subscription joins its topic inside its own
// job, so whatever is published afterwards is sent after the replay.
func (c *socket) write(ctx context.Context) {
	err := c.Frame(ctx, &wire.Frame{Kind: wire.FrameConnected, ConnectedAt: clock.Millis(c.server.opts.Clock)})
	compare := c.server.opts.Clock.After(live.CompareEvery)
	var beat <-chan time.Time
	if c.second {
		beat = c.server.opts.Clock.After(Heartbeat)
	}
	for err == nil {
		select {
		case <-c.stop:
			return
		default:
		}
		select {
		case j := <-c.jobs:
			err = j(ctx)
		case <-c.feed.Ready():
			err = c.feed.Flush(ctx)
		case <-beat:
			beat = c.server.opts.Clock.After(Heartbeat)
			err = c.heartbeat(ctx)
		case <-compare:
			compare = c.server.opts.Clock.After(live.CompareEvery)
			err = c.feed.Compare(ctx)
		case <-c.stop:
			return
		}
	}
	switch {
	case errors.Is(err, bus.ErrTooSlow):
		c.end(CloseTooSlow, "Too slow: reconnect and resume from your last seq")
	case errors.Is(err, live.ErrRevoked):
		c.end(websocket.StatusPolicyViolation, "The key was taken out of the account")
	}
}

// Message implements live.Sink. Its text is encoded once for all sockets.
func (c *socket) Message(ctx context.Context, m *bus.Message) error {
	if m.Partial() {
		c.server.opts.Logger.DebugContext(ctx, "[agents/ws] send partial", "session", strings.TrimPrefix(m.Topic, wire.KeySession))
	}
	if name := c.alias[m.Topic]; name != "" && m.Frame.Key == m.Topic {
		frame := m.Frame
		frame.Key = name
		return c.Frame(ctx, &frame)
	}
	if c.binary {
		return c.send(m.CBOR())
	}
	return c.send(m.JSON())
}

// Frame implements live.Sink.
func (c *socket) Frame(ctx context.Context, f *wire.Frame) error {
	if c.binary {
		b, err := dagcbor.Marshal(f)
		if err != nil {
			return err
		}
		return c.send(b)
	}
	b, err := f.AppendJSON(c.text[:0])
	if err != nil {
		return err
	}
	if cap(b) <= maxKeptText {
		c.text = b
	}
	return c.send(b)
}

// Gone implements live.Sink. The first stream has no frame for it: its clients read session-deleted on the account's key.
func (c *socket) Gone(ctx context.Context, topic string) error {
	for key, of := range c.topics {
		if of != topic {
			continue
		}
		delete(c.topics, key)
		c.release(key)
		if !c.second {
			continue
		}
		if err := c.Frame(ctx, &wire.Frame{Kind: wire.FrameUnsubscribed, Key: key, Code: wire.CodeDeleted}); err != nil {
			return err
		}
	}
	return nil
}

// maxKeptText bounds the memory that a socket keeps for the texts of frames.
const maxKeptText = 64 << 10

// send writes one frame. A timer of the socket bounds it: a context with a deadline for each frame would cost more than the frame.
func (c *socket) send(b []byte) error {
	c.server.frames.Add(1)
	c.late.Reset(writeTimeout)
	defer c.late.Stop()
	kind := websocket.MessageText
	if c.binary {
		kind = websocket.MessageBinary
	}
	return c.conn.Write(context.Background(), kind, b)
}
