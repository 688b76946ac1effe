package signed

import (
	"context"
	"strings"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/operation"
	"github.com/loam-agents/loam/wire"
)

// subscribe verifies one Subscribe envelope and has the writer answer it.
func (c *socket) subscribe(ctx context.Context, raw []byte) error {
	env, err := c.server.authenticate(raw)
	if err != nil {
		return err
	}
	if env.Name != wire.SubscribeAction {
		return fault.Invalid(wire.MsgExpectedSubscribe)
	}
	account := env.Account.String()
	if c.account != "" && c.account != account {
		return fault.Invalid(wire.MsgAccountSwitch)
	}
	key, after, err := subscription(env.Action)
	if err != nil {
		return err
	}
	if c.full(key) {
		return fault.New(fault.TooLarge, "Too many subscriptions on one socket: at most %d", MaxSubscriptions)
	}
	who := caller(env, "websocket", c.server.opts.IDs())
	ctx = about(ctx, who, key)
	admitted, err := c.server.opts.Operations.Admit(ctx, who, key)
	if err != nil {
		return err
	}
	c.account = account
	c.hold(key)
	c.enqueue(func(ctx context.Context) error { return c.begin(about(ctx, who, key), account, admitted, after) })
	return nil
}

// full tells whether the socket has no room for a key that it does not hold.
func (c *socket) full(key string) bool {
	c.held.Lock()
	defer c.held.Unlock()
	return len(c.keys) >= MaxSubscriptions && !c.keys[key]
}

func (c *socket) hold(key string) {
	c.held.Lock()
	defer c.held.Unlock()
	c.keys[key] = true
}

func (c *socket) release(key string) {
	c.held.Lock()
	defer c.held.Unlock()
	delete(c.keys, key)
}

// about names in log lines whose subscription something is, and to what.
func about(ctx context.Context, who operation.Caller, key string) context.Context {
	fields := map[string]any{}
	for prefix, field := range map[string]string{wire.KeySession: "sessionId", wire.KeyAgent: "agentId", wire.KeyRun: "runId"} {
		if id, ok := strings.CutPrefix(key, prefix); ok {
			fields[field] = id
		}
	}
	return operation.LogContext(ctx, who, fields)
}

// begin joins the topic, then sends the state and the events that the client does not have. Nothing published after the join
// is lost, and nothing that the replay sent is sent again.
func (c *socket) begin(ctx context.Context, account string, s operation.Subscription, after int64) error {
	snapshot, err := c.feed.Join(ctx, s)
	if err != nil {
		return c.fail(ctx, err)
	}
	c.server.opts.Logger.DebugContext(ctx, "[agents/ws] subscribed", "key", s.Key)
	c.topics[s.Key] = s.Topic
	if s.Key != s.Topic && strings.HasPrefix(s.Key, wire.KeyAccount) {
		c.alias[s.Topic] = s.Key
	}
	first := []wire.Frame{{Kind: wire.FrameSubscribed, Key: s.Key, AccountID: account}}
	for _, f := range append(first, snapshot...) {
		if err := c.Frame(ctx, &f); err != nil {
			return err
		}
	}
	if err := c.feed.Replay(ctx, s.Key, after); err != nil || !c.second {
		return err
	}
	return c.Frame(ctx, &wire.Frame{Kind: wire.FrameCaughtUp, Key: s.Key, Seq: c.feed.Sent(s.Topic)})
}

// subscription reads the fields of a Subscribe action.
func subscription(action map[string]any) (key string, after int64, err error) {
	key, ok := action["key"].(string)
	if !ok {
		return "", 0, fault.Invalid(wire.MsgInvalidSubscription)
	}
	switch v := action["afterSeq"].(type) {
	case nil:
		return key, 0, nil
	case int64:
		after, err = operation.AfterSeq(&v)
		return key, after, err
	case float64:
		// Some encoders write whole numbers as floats.
		if after = int64(v); float64(after) == v && after >= 0 {
			return key, after, nil
		}
	}
	return "", 0, fault.Invalid(wire.MsgAfterSeq)
}
