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
	if most := c.server.opts.MaxSubscriptions; c.full(key, most) {
		return fault.New(fault.TooLarge, "Too many subscriptions on one socket: at most %d", most).With("limit", most)
	}
	who := caller(env, "websocket", c.server.opts.IDs())
	ctx = about(ctx, who, key)
	admitted, err := c.server.opts.Operations.Admit(ctx, who, key)
	if err != nil {
		return err
	}
	if err := c.hold(admitted.Caller.Account, key); err != nil {
		return err
	}
	c.account = account
	c.enqueue(func(ctx context.Context) error { return c.begin(about(ctx, who, key), account, admitted, after) })
	return nil
}

// full tells whether the socket has no room for a key that it does not hold.
func (c *socket) full(key string, most int) bool {
	c.held.Lock()
	defer c.held.Unlock()
	return len(c.keys) >= most && c.keys[key] == nil
}

// hold takes the socket, with its first key, and the key into the quota of their account.
func (c *socket) hold(account, key string) (err error) {
	c.held.Lock()
	defer c.held.Unlock()
	if c.keys[key] != nil {
		return nil
	}
	if c.seat == nil {
		if c.seat, err = c.server.opts.Quota.Socket(account); err != nil {
			return err
		}
	}
	leave, err := c.server.opts.Quota.Subscription(account)
	if err != nil {
		if c.account == "" {
			// The socket belongs to nobody yet: another account may take it.
			c.seat()
			c.seat = nil
		}
		return err
	}
	c.keys[key] = leave
	return nil
}

func (c *socket) release(key string) {
	c.held.Lock()
	defer c.held.Unlock()
	if leave := c.keys[key]; leave != nil {
		leave()
		delete(c.keys, key)
	}
}

// releaseAll gives back whatever the socket counts as.
func (c *socket) releaseAll() {
	c.held.Lock()
	defer c.held.Unlock()
	for _, leave := range c.keys {
		leave()
	}
	if c.seat != nil {
		c.seat()
	}
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
	if err := c.feed.Replay(ctx, s, after); err != nil || !c.second {
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
