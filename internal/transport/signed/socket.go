package signed

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"

	"github.com/coder/websocket"

	"github.com/loam-agents/loam/internal/bus"
	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/wire"
)

// Limits of sockets.
const (
	// maxFrame bounds a client's frame in bytes: an envelope with a Subscribe action, in its text form at most four times as
	// long.
	maxFrame = 256 << 10
	// MaxSubscriptions bounds the keys of one socket.
	MaxSubscriptions = 256
	// CloseTooSlow is the close code for a consumer that cannot keep up: it reconnects and resumes from its last seq.
	CloseTooSlow = websocket.StatusCode(4008)
)

// sockets are the open connections, so that a stopping server can end them.
type sockets struct {
	mu     sync.Mutex
	open   map[*socket]struct{}
	closed bool
	wait   sync.WaitGroup
}

func (s *sockets) add(c *socket) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	if s.open == nil {
		s.open = map[*socket]struct{}{}
	}
	s.open[c] = struct{}{}
	s.wait.Add(1)
	return true
}

func (s *sockets) remove(c *socket) {
	s.mu.Lock()
	delete(s.open, c)
	s.mu.Unlock()
	s.wait.Done()
}

func (s *sockets) closeAll(ctx context.Context) {
	s.mu.Lock()
	s.closed = true
	for c := range s.open {
		c.end(websocket.StatusGoingAway, wire.MsgShuttingDown)
	}
	s.mu.Unlock()
	done := make(chan struct{})
	go func() {
		s.wait.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// socket is one connection. One goroutine reads subscriptions, one writes frames; both end with ctx.
type socket struct {
	server *Server
	conn   *websocket.Conn
	sub    *bus.Subscription
	cancel context.CancelFunc

	closing sync.Once
	code    websocket.StatusCode
	reason  string

	// jobs are what the reader asks the writer to send: answers to subscriptions, and errors.
	mu   sync.Mutex
	jobs []job
	wake chan struct{}

	// account and keys belong to the reader.
	account string
	keys    map[string]bool
	// sent is the last seq of each session topic that the writer has sent.
	sent map[string]int64
}

func (s *Server) socket(w http.ResponseWriter, r *http.Request) {
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		http.Error(w, wire.MsgUpgradeFailed, http.StatusBadRequest)
		return
	}
	// The signature is the authentication, and nothing ambient is used: any origin may connect.
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		s.opts.Logger.Debug("upgrade socket", "error", err)
		return
	}
	conn.SetReadLimit(maxFrame)
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	c := &socket{
		server: s, conn: conn, sub: s.opts.Bus.Subscribe(), cancel: cancel, wake: make(chan struct{}, 1), keys: map[string]bool{},
		sent: map[string]int64{}, code: websocket.StatusNormalClosure,
	}
	if !s.sockets.add(c) {
		cancel()
		_ = conn.Close(websocket.StatusGoingAway, wire.MsgShuttingDown)
		return
	}
	defer s.sockets.remove(c)
	s.opts.Logger.Debug("[agents/ws] open")
	c.run(ctx)
	s.opts.Logger.Debug("[agents/ws] close", "code", int(c.code))
}

func (c *socket) run(ctx context.Context) {
	var reader sync.WaitGroup
	reader.Go(func() {
		defer c.cancel()
		c.read(ctx)
	})
	c.write(ctx)
	c.cancel()
	c.sub.Close()
	_ = c.conn.Close(c.code, c.reason)
	reader.Wait()
}

// end closes the connection with a code; the first reason wins.
func (c *socket) end(code websocket.StatusCode, reason string) {
	c.closing.Do(func() { c.code, c.reason = code, reason })
	c.cancel()
}

func (c *socket) read(ctx context.Context) {
	for {
		kind, data, err := c.conn.Read(ctx)
		if err != nil {
			return
		}
		if kind == websocket.MessageText {
			if data, err = wire.DecodeTextFrame(data); err != nil {
				c.fail(authFault(err))
				continue
			}
		}
		if err := c.subscribe(ctx, data); err != nil {
			c.fail(err)
		}
	}
}

// fail reports an error on the socket, which stays open with the subscriptions it has.
func (c *socket) fail(err error) {
	f := fault.From(err)
	if f.Code == fault.Internal {
		c.server.opts.Logger.Error("subscribe", "error", err)
	}
	frame := wire.Frame{Kind: wire.FrameError, Message: f.Message}
	if f.Code == codeProtocolTooOld {
		frame.Code = wire.CodeProtocolTooOld
	}
	c.enqueue(func(ctx context.Context) error { return c.frame(ctx, frame) })
}

// job is something that the writer sends.
type job func(ctx context.Context) error

func (c *socket) enqueue(j job) {
	c.mu.Lock()
	c.jobs = append(c.jobs, j)
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// write sends until the connection ends. It alone decides the order of frames: a subscription joins its topic inside its own
// job, so whatever is published afterwards is sent after the replay.
func (c *socket) write(ctx context.Context) {
	err := c.frame(ctx, wire.Frame{Kind: wire.FrameConnected, ConnectedAt: clock.Millis(c.server.opts.Clock)})
	for err == nil {
		select {
		case <-c.wake:
			err = c.runJobs(ctx)
		case <-c.sub.Ready():
			var batch []*bus.Message
			if batch, err = c.sub.Take(); err == nil {
				err = c.writeLive(ctx, batch)
			}
		case <-ctx.Done():
			return
		}
	}
	if errors.Is(err, bus.ErrTooSlow) {
		c.end(CloseTooSlow, "Too slow: reconnect and resume from your last seq")
	}
}

func (c *socket) runJobs(ctx context.Context) error {
	c.mu.Lock()
	jobs := c.jobs
	c.jobs = nil
	c.mu.Unlock()
	for _, j := range jobs {
		if err := j(ctx); err != nil {
			return err
		}
	}
	return nil
}

// writeLive sends published frames, leaving out durable events that the replay has already sent.
func (c *socket) writeLive(ctx context.Context, batch []*bus.Message) error {
	for _, m := range batch {
		if ev := m.Frame.Event; ev != nil {
			if ev.Seq <= c.sent[m.Topic] {
				continue
			}
			c.sent[m.Topic] = ev.Seq
		}
		if err := c.send(ctx, m.JSON()); err != nil {
			return err
		}
	}
	return nil
}

func (c *socket) frame(ctx context.Context, f wire.Frame) error {
	b, err := json.Marshal(&f)
	if err != nil {
		return err
	}
	return c.send(ctx, b)
}

func (c *socket) send(ctx context.Context, b []byte) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	return c.conn.Write(ctx, websocket.MessageText, b)
}
