// Package bus carries live frames and hints from what happened to who watches.
//
// It is never the truth: what travels here is either already durable (the subscriber can read it again by seq) or not
// worth keeping (a partial). Publish never blocks and never fails; a subscriber that falls behind has its partials merged,
// loses no durable frame, and is told with ErrTooSlow when its mailbox is full, so that it can resume from its cursor.
//
// bus is tier 1 and imports wire and dagcbor only. sessionlog, runs and notify publish; transports subscribe.
package bus

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/loam-agents/loam/dagcbor"
	"github.com/loam-agents/loam/wire"
)

// Message is one frame on its way to every subscriber of a topic. It is immutable once published.
type Message struct {
	// Topic is the subscription key, such as sessions/<id>.
	Topic string
	// Frame is what subscribers receive.
	Frame wire.Frame
	// Gone says, in place of a frame, that what the topic is about was deleted: nothing is published on it any more.
	Gone bool

	once    sync.Once
	encoded []byte

	onceCBOR sync.Once
	cbor     []byte
}

// New makes a message. A frame without a key gets the topic as its key; a subscriber of an agent also receives frames of the
// agent's sessions, which keep theirs.
func New(topic string, frame wire.Frame) *Message {
	if frame.Key == "" {
		frame.Key = topic
	}
	return &Message{Topic: topic, Frame: frame}
}

// Gone makes the message that what a topic is about was deleted.
func Gone(topic string) *Message { return &Message{Topic: topic, Gone: true} }

// JSON is the frame's text form. It is encoded once however many subscribers send it.
func (m *Message) JSON() []byte {
	m.once.Do(func() {
		b, err := m.Frame.AppendJSON(nil)
		if err != nil {
			b = fmt.Appendf(nil, `{"_":"error","message":%q}`, "frame could not be encoded")
		}
		m.encoded = b
	})
	return m.encoded
}

// CBOR is the frame in canonical DAG-CBOR, encoded once.
func (m *Message) CBOR() []byte {
	m.onceCBOR.Do(func() {
		b, err := dagcbor.Marshal(&m.Frame)
		if err != nil {
			b, _ = dagcbor.Marshal(map[string]any{"_": wire.FrameError, "message": "frame could not be encoded"}) // texts always encode
		}
		m.cbor = b
	})
	return m.cbor
}

// Partial tells whether the message may be merged with another or lost.
func (m *Message) Partial() bool { return m.Frame.Kind == wire.FrameAppendPartial }

// Bus is what publishers and subscribers share.
type Bus interface {
	// Publish hands m to every subscription of its topic. It never blocks.
	Publish(m *Message)
	// Subscribe returns a subscription without topics. The caller closes it.
	Subscribe() *Subscription
	// Watched tells whether a topic may have a subscription. False is certain at this moment; who subscribes later reads the
	// present state first. What is costly to make for watchers alone need not be made without them.
	Watched(topic string) bool
	// WatchedBelow tells whether any topic of a kind, such as account/, may have a subscription.
	WatchedBelow(kind string) bool
}

// Local is the bus of one process.
type Local struct {
	mu     sync.RWMutex
	topics map[string]map[*Subscription]struct{}
	// kinds counts the topics by what they begin with.
	kinds map[string]int

	merged, lost atomic.Int64
}

// Stats counts what a bus did.
type Stats struct {
	// Merged is how many partials were folded into the one before, and Lost how many subscriptions overflowed.
	Merged, Lost int64
}

// Stats returns the counters since the bus was made.
func (b *Local) Stats() Stats { return Stats{Merged: b.merged.Load(), Lost: b.lost.Load()} }

// NewLocal returns an empty bus.
func NewLocal() *Local {
	return &Local{topics: map[string]map[*Subscription]struct{}{}, kinds: map[string]int{}}
}

// Publish implements Bus.
func (b *Local) Publish(m *Message) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	for s := range b.topics[m.Topic] {
		s.push(m)
	}
}

// Watched implements Bus.
func (b *Local) Watched(topic string) bool {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return len(b.topics[topic]) > 0
}

// WatchedBelow implements Bus.
func (b *Local) WatchedBelow(kind string) bool {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.kinds[kind] > 0
}

// kindOf is what a topic begins with, up to its first slash.
func kindOf(topic string) string {
	i := strings.IndexByte(topic, '/')
	return topic[:i+1]
}

// Subscribe implements Bus.
func (b *Local) Subscribe() *Subscription {
	return &Subscription{bus: b, topics: map[string]struct{}{}, ready: make(chan struct{}, 1)}
}

func (b *Local) join(topic string, s *Subscription) {
	b.mu.Lock()
	defer b.mu.Unlock()
	subs := b.topics[topic]
	if subs == nil {
		subs = map[*Subscription]struct{}{}
		b.topics[topic] = subs
		b.kinds[kindOf(topic)]++
	}
	subs[s] = struct{}{}
}

func (b *Local) leave(topic string, s *Subscription) {
	b.mu.Lock()
	defer b.mu.Unlock()
	subs, ok := b.topics[topic]
	if delete(subs, s); ok && len(subs) == 0 {
		delete(b.topics, topic)
		b.kinds[kindOf(topic)]--
	}
}
