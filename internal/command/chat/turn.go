package chat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/wire"
)

// What Say and Retry return about a turn that was carried out.
var (
	// ErrTurnFailed says that the turn ended with an error, which the view has shown as an event.
	ErrTurnFailed = errors.New("the turn failed")
	// ErrStopped says that Interrupt has ended the turn.
	ErrStopped = errors.New("the turn was stopped")
)

// Say sends a message and shows what happens until the turn has ended. own, when not nil, is told the message's id before it
// is sent. The message counts once, even when the connection breaks and it is sent again. Errors: ErrTurnFailed,
// ErrStopped, *client.Error when the server refuses the message, and the end of ctx.
func (c *Conversation) Say(ctx context.Context, text string, own func(clientMessageID string)) error {
	if err := c.create(ctx); err != nil {
		return err
	}
	part, err := json.Marshal(map[string]string{"type": "text", "text": text})
	if err != nil {
		return err
	}
	once := c.ids()
	if own != nil {
		own(once)
	}
	return c.turn(ctx, func(ctx context.Context) (wire.MessageSessionResponse, error) {
		return client.Call[wire.MessageSessionResponse](ctx, c.client, "MessageSession", wire.MessageSessionRequest{
			SessionID: c.session, Content: []json.RawMessage{part}, ClientMessageID: &once,
		})
	})
}

// Retry repeats the latest turn of the session after it failed. Errors are those of Say.
func (c *Conversation) Retry(ctx context.Context) error {
	return c.turn(ctx, func(ctx context.Context) (wire.MessageSessionResponse, error) {
		return client.Call[wire.MessageSessionResponse](ctx, c.client, "RetrySession", wire.SessionRequest{SessionID: c.session})
	})
}

// Stop asks the server to end the turn in progress and tells whether there was one.
func (c *Conversation) Stop(ctx context.Context) (bool, error) {
	if c.session == "" {
		return false, nil
	}
	reply, err := client.Call[wire.StopSessionResponse](ctx, c.client, "StopSession", wire.SessionRequest{SessionID: c.session})
	return reply.Stopped, err
}

// turn carries out a request that is answered when the turn ends, and shows the stream meanwhile.
func (c *Conversation) turn(ctx context.Context, request func(context.Context) (wire.MessageSessionResponse, error)) error {
	c.failure, c.stopped, c.streaming, c.parked, c.children = "", false, false, false, false
	c.release()
	if err := c.join(ctx); err != nil {
		return err
	}
	err := c.answer(ctx, request)
	if err == nil || isTurnError(err) {
		if end := c.settle(ctx); err == nil {
			err = end
		}
		c.asked(ctx)
	}
	switch {
	case c.failure != "":
		return fmt.Errorf("%w: %s", ErrTurnFailed, c.failure)
	case err == nil && c.stopped:
		return ErrStopped
	}
	return err
}

// asked shows what the agent has asked a person about, when its turn was answered before its end. A server that knows no approvals has
// none.
func (c *Conversation) asked(ctx context.Context) {
	if !c.parked {
		return
	}
	reply, err := client.Call[wire.ListApprovalsResponse](ctx, c.client, "ListApprovals", map[string]any{"sessionId": c.session, "status": "pending"})
	if err == nil && len(reply.Approvals) > 0 {
		c.view.Asked(reply.Approvals)
	}
}

// join waits until the live stream has begun, so that the first pieces of an answer are not missed. It gives up after
// settleTime: the answer is read from the log then.
func (c *Conversation) join(ctx context.Context) error {
	timeout := c.clock.After(settleTime)
	for !c.joined {
		select {
		case f := <-c.frames:
			c.show(f)
		case err := <-c.ended:
			return err
		case reason := <-c.lost:
			c.view.Lost(reason)
		case <-c.interrupts:
			return ErrStopped
		case <-timeout:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// isTurnError tells an answer about the turn from one about the request.
func isTurnError(err error) bool {
	refused, ok := errors.AsType[*client.Error](err)
	return ok && refused.Status >= 500
}

// answer sends the request and shows frames until it is answered.
func (c *Conversation) answer(ctx context.Context, request func(context.Context) (wire.MessageSessionResponse, error)) error {
	ctx, cancel := context.WithCancel(ctx)
	answered := make(chan error, 1)
	var sending sync.WaitGroup
	sending.Go(func() {
		reply, err := retried(ctx, c, request)
		c.parked = err == nil && reply.AssistantEventID == ""
		answered <- err
	})
	defer sending.Wait()
	defer cancel()
	for {
		select {
		case err := <-answered:
			return err
		case err := <-c.ended:
			return err
		case <-ctx.Done():
			return ctx.Err()
		case f := <-c.frames:
			c.show(f)
		case reason := <-c.lost:
			c.view.Lost(reason)
		case <-c.interrupts:
			if c.stopped {
				return context.Canceled
			}
			c.stopped = true
			sending.Go(func() { _, _ = c.Stop(ctx) })
		}
	}
}

// settleTime bounds the wait for frames that the server says exist.
const settleTime = 3 * time.Second

// settle shows everything up to the present end of the log, and goes on as long as the session works or waits for children: the answer
// to a message that queued behind another turn, or whose turn is parked, comes at once.
func (c *Conversation) settle(ctx context.Context) error {
	for {
		missing, working, err := c.missing(ctx)
		if err != nil {
			return err
		}
		c.await(ctx, missing, false)
		for _, e := range missing {
			c.event(e)
		}
		if !working {
			return nil
		}
		c.await(ctx, nil, true)
	}
}

// missing reads the events that were not shown yet, and whether the session works. The runs are read before the log: one that ends, or
// goes on, in between shows in the other.
func (c *Conversation) missing(ctx context.Context) (events []wire.SessionEvent, working bool, err error) {
	if c.parked {
		if working, err = c.goesOn(ctx); err != nil {
			return nil, false, err
		}
	}
	reply, err := retried(ctx, c, func(ctx context.Context) (wire.GetSessionResponse, error) {
		return client.Call[wire.GetSessionResponse](ctx, c.client, "GetSession", wire.GetSessionRequest{SessionID: c.session, AfterSeq: &c.last})
	})
	if err != nil {
		return nil, false, err
	}
	c.status = reply.Session.Status
	return reply.Events, working || c.status == statusWorking, nil
}

// goesOn tells whether a turn of the session has not ended and does not wait for a person, and notes whether it waits for children.
func (c *Conversation) goesOn(ctx context.Context) (bool, error) {
	reply, err := retried(ctx, c, func(ctx context.Context) (wire.ListRunsResponse, error) {
		return client.Call[wire.ListRunsResponse](ctx, c.client, "ListRuns", map[string]any{"sessionId": c.session})
	})
	if err != nil {
		return false, err
	}
	live := false
	c.children = false
	for _, r := range reply.Runs {
		waits := r.Wait != nil && r.Wait.Reason == "children"
		live = live || r.FinishedAt == 0 && (r.Wait == nil || waits)
		c.children = c.children || waits
	}
	return live, nil
}

// await shows frames until the given events have come, or, with idle, until the session no longer works. What an interrupted
// turn has said is written down a moment after its end, so that is waited for. await gives up after settleTime, and the caller
// looks again.
func (c *Conversation) await(ctx context.Context, events []wire.SessionEvent, idle bool) {
	end := c.last
	if len(events) > 0 {
		end = events[len(events)-1].Seq
	}
	timeout := c.clock.After(settleTime)
	for c.last < end || idle && (c.status == statusWorking || c.children) || c.stopped && c.streaming {
		select {
		case f := <-c.frames:
			c.show(f)
		case reason := <-c.lost:
			c.view.Lost(reason)
		case <-c.interrupts:
			c.stopped, c.children = true, false
			_, _ = c.Stop(ctx)
		case <-timeout:
			return
		case <-ctx.Done():
			return
		}
	}
}
