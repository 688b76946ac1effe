package chat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/id"
	"github.com/loam-agents/loam/wire"
)

// Conversation is one session as its participant sees it. Its methods are called from one goroutine, except
// Lost and Interrupt.
type Conversation struct {
	client *client.Client
	view   View
	clock  clock.Clock
	ids    id.Source
	agent  string

	session string
	last    int64
	status  string
	// failure is the text of the latest error since a turn began.
	failure string
	// stopped says that the turn was interrupted, streaming that pieces of a message came and the message did not yet.
	stopped, streaming bool
	// parked says that the turn was answered before its end, and children that it waits for children: it goes on by itself.
	parked, children bool
	// joined says that the live stream of the session has begun, whole that every piece of the message that is being written
	// has come. A message that began before has no known start, so only its event is shown.
	joined, whole bool

	frames     chan client.Frame
	held       []client.Frame
	lost       chan error
	ended      chan error
	interrupts chan struct{}
	stop       context.CancelFunc
	reading    sync.WaitGroup
}

// New makes a conversation with an agent. The session is made with the first message; see Resume for an old one. The client's
// OnDisconnect has to call Lost. Close it after use.
func New(c *client.Client, agentID string, view View) *Conversation {
	system := clock.System{}
	return &Conversation{client: c, view: view, clock: system, ids: id.NewSource(system, nil), agent: agentID,
		lost: make(chan error, 1), interrupts: make(chan struct{}, 1)}
}

// SessionID is the session, or empty before the first message.
func (c *Conversation) SessionID() string { return c.session }

// Resume goes on with a session whose events up to a seq have been shown.
func (c *Conversation) Resume(ctx context.Context, sessionID string, lastSeq int64) {
	c.Close()
	c.session, c.last = sessionID, lastSeq
	c.follow(ctx)
}

// Leave forgets the session, so that the next message begins a new one.
func (c *Conversation) Leave() {
	c.Close()
	c.session, c.last, c.status = "", 0, ""
}

// Close ends the live stream. A second Close does nothing.
func (c *Conversation) Close() {
	if c.stop != nil {
		c.stop()
		c.reading.Wait()
		c.stop, c.frames, c.held = nil, nil, nil
	}
}

// Lost takes note of a broken connection, from any goroutine.
func (c *Conversation) Lost(err error) {
	select {
	case c.lost <- err:
	default:
	}
}

// Interrupt stops the turn in progress, from any goroutine. A second one gives up waiting for it.
func (c *Conversation) Interrupt() {
	select {
	case c.interrupts <- struct{}{}:
	default:
	}
}

// hold keeps what arrives while a person types, since it would be printed into the line. Pieces of messages are dropped; the
// messages follow.
func (c *Conversation) hold(f client.Frame) {
	switch f.Kind {
	case wire.FrameSubscribed:
		c.joined, c.whole = true, false
	case wire.FrameAppendPartial:
		c.whole = false
	}
	if f.Kind == wire.FrameAppend || f.Kind == wire.FrameChange {
		c.held = append(c.held, f)
	}
}

// release shows what was held, and forgets interrupts and broken connections from before.
func (c *Conversation) release() {
	for _, f := range c.held {
		c.show(f)
	}
	c.held = nil
	select {
	case <-c.interrupts:
	default:
	}
	select {
	case <-c.lost:
	default:
	}
}

// create opens the session on the server.
func (c *Conversation) create(ctx context.Context) error {
	if c.session != "" {
		return nil
	}
	once := c.ids()
	reply, err := retried(ctx, c, func(ctx context.Context) (wire.CreateSessionResponse, error) {
		return client.Call[wire.CreateSessionResponse](ctx, c.client, "CreateSession", wire.CreateSessionRequest{
			AgentID: c.agent, ClientRequestID: &once,
		})
	})
	if err != nil {
		return err
	}
	c.session = reply.SessionID
	c.follow(ctx)
	return nil
}

// follow subscribes to the session until Close.
func (c *Conversation) follow(ctx context.Context) {
	ctx, c.stop = context.WithCancel(ctx)
	frames, ended := make(chan client.Frame, 64), make(chan error, 1)
	c.frames, c.ended = frames, ended
	c.joined, c.whole = false, false
	key, after := wire.KeySession+c.session, c.last
	c.reading.Go(func() {
		for f, err := range c.client.Subscribe(ctx, key, after) {
			if err != nil {
				ended <- err
				return
			}
			select {
			case frames <- f:
			case <-ctx.Done():
				return
			}
		}
	})
}

// show hands one frame to the view.
func (c *Conversation) show(f client.Frame) {
	switch f.Kind {
	case wire.FrameSubscribed:
		c.joined, c.whole = true, false
		c.view.Back()
	case wire.FrameError:
		// The server refused the stream. What happens is read when the turn has ended.
		c.joined = true
	case wire.FrameAppend:
		var e wire.SessionEvent
		if json.Unmarshal(f.Event, &e) == nil {
			c.event(e)
		}
	case wire.FrameAppendPartial:
		var p wire.PartialPatch
		if json.Unmarshal(f.Patch, &p) == nil {
			c.partial(f.PartialID, p)
		}
	case wire.FrameChange:
		var s wire.SessionInfo
		if json.Unmarshal(f.Value, &s) == nil && s.ID == c.session {
			c.status = s.Status
			c.children = c.children && c.status != statusWorking
			c.view.Session(s)
		}
	}
}

// partial shows a piece of a message whose beginning was seen: the server says that it responds before the first one.
func (c *Conversation) partial(id string, p wire.PartialPatch) {
	c.streaming = c.streaming || p.TextDelta != ""
	if p.Activity != nil && p.Activity.Phase == phaseResponding {
		c.whole = true
	}
	if c.whole || p.TextDelta == "" {
		c.view.Partial(id, p)
	}
}

// event shows a durable event once.
func (c *Conversation) event(e wire.SessionEvent) {
	if e.Seq <= c.last {
		return
	}
	c.last = e.Seq
	switch p := decode(e); {
	case p.Type == typeError:
		c.failure = p.Message
	case p.Type == typeMessage && p.Role == roleAssistant:
		c.streaming = false
	}
	c.view.Event(e)
}

// Waits between attempts to reach a server that went away.
const (
	firstWait   = 250 * time.Millisecond
	longestWait = 4 * time.Second
)

// passing tells whether an attempt may succeed later: the server was not reached, or says that it is about to stop.
func passing(err error) bool {
	refused, ok := errors.AsType[*client.Error](err)
	if !ok {
		return true
	}
	return refused.Status == 503 || refused.Status == 504
}

// retried repeats a request that is safe to repeat until the server answers it.
func retried[T any](ctx context.Context, c *Conversation, request func(context.Context) (T, error)) (T, error) {
	for wait := firstWait; ; wait = min(2*wait, longestWait) {
		reply, err := request(ctx)
		if err == nil || ctx.Err() != nil || !passing(err) {
			return reply, err
		}
		c.Lost(err)
		select {
		case <-c.clock.After(wait):
		case <-ctx.Done():
			return reply, fmt.Errorf("%w: %w", ctx.Err(), err)
		}
	}
}
