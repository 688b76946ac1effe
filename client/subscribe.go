package client

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/loam-agents/loam/wire"
)

const (
	firstRetry  = 500 * time.Millisecond
	longestWait = 10 * time.Second
	// handshakeTime bounds one attempt to connect and subscribe; pongTime the answer to a ping, where pings are not closer.
	handshakeTime = 30 * time.Second
	pongTime      = 10 * time.Second
)

// Subscribe follows one key, such as "sessions/<id>", over a socket of its own, or, with a token, over an event stream; there
// sessions, runs and the account can be followed. afterSeq is the last event of a session
// that the caller already has; zero replays all. Other keys ignore it.
//
// The sequence runs on the caller's goroutine, reconnects by itself and ends when ctx does or the caller breaks. The
// wait before attempt n is at most min(10 s, 500 ms · 2^n) and at least half of that; a successful subscription starts
// over at n = 0. Each connection delivers a connected and a subscribed frame of its own, after which a session goes on
// after the last event that was delivered; a durable event or journal entry is delivered once.
//
// A lost connection is not an error: see WithOnDisconnect. An error is delivered last, when another attempt cannot
// help: the server answers the upgrade with a redirect or a refusal (*Error), or the action cannot be signed. A server
// that refuses the subscription itself says so in a frame of kind wire.FrameError and leaves the socket open; the
// caller decides whether to go on.
func (c *Client) Subscribe(ctx context.Context, key string, afterSeq int64) iter.Seq2[Frame, error] {
	return func(yield func(Frame, error) bool) {
		s := &subscription{client: c, key: key, afterSeq: afterSeq, seen: newMemory(), yield: yield}
		s.run(ctx)
	}
}

// subscription is the state of one Subscribe loop across its connections.
type subscription struct {
	client   *Client
	key      string
	afterSeq int64
	seen     *memory
	retry    int
	yield    func(Frame, error) bool
	// reading is true while the loop waits for a frame, rather than for its caller.
	reading atomic.Bool
}

// errStopped says that the caller broke out of the sequence.
var errStopped = errors.New("client: the subscriber stopped")

// permanentError marks a failure that another attempt cannot mend.
type permanentError struct{ err error }

func (e permanentError) Error() string { return e.err.Error() }
func (e permanentError) Unwrap() error { return e.err }

func (s *subscription) run(ctx context.Context) {
	for ctx.Err() == nil {
		err := s.connection(ctx)
		if errors.Is(err, errStopped) || ctx.Err() != nil {
			return
		}
		var permanent permanentError
		if errors.As(err, &permanent) {
			s.yield(Frame{}, permanent.err)
			return
		}
		wait := s.backoff()
		s.client.onDisconnect(s.key, err, wait)
		select {
		case <-ctx.Done():
		case <-s.client.clock.After(wait):
		}
	}
}

// backoff is the wait before the next attempt, spread so that clients of a restarted server do not return at once.
func (s *subscription) backoff() time.Duration {
	wait := longestWait
	if s.retry < 5 {
		wait = min(longestWait, firstRetry<<s.retry)
	}
	s.retry++
	return wait - time.Duration(s.client.jitter()*float64(wait/2))
}

// connection serves one socket from the upgrade to its end. It returns the reason of the end, never nil.
func (s *subscription) connection(ctx context.Context) error {
	if s.client.token != "" {
		return s.events(ctx)
	}
	conn, err := s.open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.CloseNow() }()
	stopPings := s.startPings(ctx, conn)
	defer stopPings()
	for {
		s.reading.Store(true)
		_, data, err := conn.Read(ctx)
		s.reading.Store(false)
		if err != nil {
			return fmt.Errorf("client: the stream ended: %w", err)
		}
		frame, err := ParseFrame(data)
		if err != nil {
			// One frame that cannot be read must not end the stream; peers skip it too.
			continue
		}
		if !s.deliver(frame) {
			_ = conn.Close(websocket.StatusNormalClosure, "")
			return errStopped
		}
	}
}

// open connects and sends the subscription.
func (s *subscription) open(ctx context.Context) (*websocket.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, handshakeTime)
	defer cancel()
	body, err := s.client.sign(s.action())
	if err != nil {
		return nil, permanentError{err}
	}
	conn, resp, err := websocket.Dial(ctx, s.client.base+wire.SocketPath, &websocket.DialOptions{HTTPClient: s.client.http})
	if err != nil {
		return nil, dialError(resp, err)
	}
	conn.SetReadLimit(s.client.maxResponse)
	if err := conn.Write(ctx, websocket.MessageBinary, body); err != nil {
		_ = conn.CloseNow()
		return nil, fmt.Errorf("client: subscribe: %w", err)
	}
	return conn, nil
}

func dialError(resp *http.Response, err error) error {
	err = fmt.Errorf("client: connect: %w", err)
	if resp == nil {
		return err
	}
	switch status := resp.StatusCode; {
	case status == http.StatusRequestTimeout, status == http.StatusTooManyRequests:
		return err
	case status >= 300 && status < 500:
		return permanentError{&Error{Status: status, Message: fmt.Sprintf("The server refused the stream: %d %s", status, http.StatusText(status))}}
	}
	return err
}

func (s *subscription) action() map[string]any {
	action := map[string]any{"_": wire.SubscribeAction, "key": s.key}
	if strings.HasPrefix(s.key, wire.KeySession) && s.afterSeq > 0 {
		action["afterSeq"] = s.afterSeq
	}
	return action
}

// deliver hands a frame to the caller unless it was delivered before, and reports whether to go on.
func (s *subscription) deliver(f Frame) bool {
	if f.Kind == wire.FrameSubscribed {
		s.retry = 0
	}
	if name := f.identity(); name != "" && !s.seen.add(name) {
		return true
	}
	if f.EventID != "" && f.Key == s.key {
		s.afterSeq = max(s.afterSeq, f.Seq)
	}
	return s.yield(f, nil)
}

// startPings finds a dead peer on a quiet socket and closes it. The returned function stops it and waits for its end.
func (s *subscription) startPings(ctx context.Context, conn *websocket.Conn) (stop func()) {
	if s.client.keepAlive <= 0 {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(s.client.keepAlive)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			if !s.ping(ctx, conn) {
				_ = conn.CloseNow()
				return
			}
		}
	}()
	return func() { cancel(); <-done }
}

// ping reports false when the peer is dead. A pong is only seen while the loop reads, so silence counts only then.
func (s *subscription) ping(ctx context.Context, conn *websocket.Conn) bool {
	if !s.reading.Load() {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, min(pongTime, s.client.keepAlive))
	defer cancel()
	return conn.Ping(ctx) == nil || !s.reading.Load()
}
