package signed

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/coder/websocket"

	"github.com/loam-agents/loam/dagcbor"
	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/wire"
)

// unsubscribe takes a bare Unsubscribe, a CBOR map or a JSON object, and has the writer answer it; false says that the message is
// something else. A key that was not subscribed is answered as well: it has no frames any more.
func (c *socket) unsubscribe(kind websocket.MessageType, raw []byte) bool {
	var m struct {
		Name string `json:"_"`
		Key  string `json:"key"`
	}
	decode := dagcbor.Unmarshal
	if kind == websocket.MessageText {
		decode = json.Unmarshal
	}
	if decode(raw, &m) != nil || m.Name != wire.UnsubscribeAction {
		return false
	}
	c.release(m.Key)
	c.enqueue(func(ctx context.Context) error { return c.leave(ctx, m.Key) })
	return true
}

// leave ends a subscription. A topic that another key of the socket also shows goes on.
func (c *socket) leave(ctx context.Context, key string) error {
	topic, ok := c.topics[key]
	delete(c.topics, key)
	shared := false
	for _, other := range c.topics {
		shared = shared || other == topic
	}
	if ok && !shared {
		c.feed.Leave(topic)
		delete(c.alias, topic)
	}
	return c.Frame(ctx, &wire.Frame{Kind: wire.FrameUnsubscribed, Key: key})
}

// Ended implements live.Sink. A client of the first stream notices nothing.
func (c *socket) Ended(ctx context.Context, key string) error {
	delete(c.topics, key)
	c.release(key)
	if !c.second {
		return nil
	}
	return c.Frame(ctx, &wire.Frame{Kind: wire.FrameUnsubscribed, Key: key})
}

// heartbeat tells the client that the connection lives and how far every session was sent, so that it notices a gap.
func (c *socket) heartbeat(ctx context.Context) error {
	f := wire.Frame{Kind: wire.FrameHeartbeat, At: clock.Millis(c.server.opts.Clock)}
	for key, topic := range c.topics {
		if strings.HasPrefix(topic, wire.KeySession) {
			if f.Seqs == nil {
				f.Seqs = map[string]int64{}
			}
			f.Seqs[key] = c.feed.Sent(topic)
		}
	}
	return c.Frame(ctx, &f)
}
