// Package live lets transports follow what happens: a Feed joins the bus before it reads what was, so that no event is lost or
// doubled between; a Group ends the streams of a server that stops.
//
// It is part of transport (tier 7): it imports operation and bus. The WebSocket and the event streams of REST send what it hands
// them, each in its own form.
package live

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/loam-agents/loam/internal/bus"
	"github.com/loam-agents/loam/internal/notify"
	"github.com/loam-agents/loam/internal/operation"
	"github.com/loam-agents/loam/wire"
)

// Sink sends frames to one client. An error ends the stream.
type Sink interface {
	// Frame sends a frame that only this client gets.
	Frame(ctx context.Context, f *wire.Frame) error
	// Message sends a frame that was published to all.
	Message(ctx context.Context, m *bus.Message) error
	// Gone says that what a topic is about was deleted: nothing of it comes any more.
	Gone(ctx context.Context, topic string) error
	// Ended says that the caller lost access to a key: nothing of it is sent any more.
	Ended(ctx context.Context, key string) error
}

// Feed is what one client follows. One goroutine uses it.
type Feed struct {
	ops  *operation.Service
	sub  *bus.Subscription
	sink Sink
	// sent is the last seq of each session topic that was sent.
	sent map[string]int64
	// written is the last seq of each journal that was sent, by the topic of its tree and the id of its run.
	written map[string]map[string]int64
	// left are topics that were left: what of them still waits is not sent.
	left map[string]bool
	// guarded are the subscriptions, by key, whose access somebody may take away.
	guarded map[string]guarded
}

// NewFeed returns a feed without topics. The caller closes it.
func NewFeed(ops *operation.Service, b bus.Bus, sink Sink) *Feed {
	return &Feed{ops: ops, sub: b.Subscribe(), sink: sink, sent: map[string]int64{}, written: map[string]map[string]int64{}, left: map[string]bool{}, guarded: map[string]guarded{}}
}

// Close leaves every topic.
func (f *Feed) Close() { f.sub.Close() }

// Ready receives when Flush may have something to send.
func (f *Feed) Ready() <-chan struct{} { return f.sub.Ready() }

// Join joins the topic of a subscription and returns the state that a client gets first. Whatever is published afterwards is sent
// by Flush, and Flush fails with ErrRevoked once the caller's credential is revoked.
func (f *Feed) Join(ctx context.Context, s operation.Subscription) (snapshot []wire.Frame, err error) {
	f.sub.Join(s.Topic)
	delete(f.left, s.Topic)
	if s.Caller.Credential != "" {
		f.sub.Join(notify.KeyCredential + s.Caller.Credential)
	}
	if s.Guard != "" {
		err = f.guard(ctx, s)
	}
	if err == nil {
		snapshot, err = f.ops.Snapshot(ctx, s)
	}
	if err != nil {
		f.Leave(s.Topic)
	}
	return snapshot, err
}

// Leave ends a topic: nothing of it is sent any more.
func (f *Feed) Leave(topic string) {
	for key, g := range f.guarded {
		if g.joined == topic || g.now.Topic == topic {
			topic = g.now.Topic
			delete(f.guarded, key)
		}
	}
	f.sub.Leave(topic)
	f.left[topic] = true
	delete(f.sent, topic)
	delete(f.written, topic)
}

// ErrRevoked says that the credential which opened a stream was revoked.
var ErrRevoked = errors.New("credential was revoked")

// Replay sends what a subscription that has joined does not have after a seq: the events of a session, or the entries of the
// journals of a tree of runs, where the seq counts in each of them. Other keys have none. What Replay sent is not sent again.
func (f *Feed) Replay(ctx context.Context, s operation.Subscription, after int64) error {
	if root, ok := strings.CutPrefix(s.Topic, wire.KeyRun); ok {
		return f.journals(ctx, root, after)
	}
	session, ok := strings.CutPrefix(s.Key, wire.KeySession)
	if !ok {
		return nil
	}
	last, err := f.ops.LastSeq(ctx, session)
	if err != nil {
		return err
	}
	// A cursor from before a restore would hide what is said from now on.
	return f.events(ctx, session, min(after, last))
}

// Sent is the seq of the last event of a session that was sent, or that the client had.
func (f *Feed) Sent(key string) int64 { return f.sent[key] }

// Flush sends what was published. Durable events that a replay has already sent are left out, and so are the partials before
// them, which would show their text once more. Transactions may announce themselves in another order than they committed in:
// where a seq is missing, the log is read. It fails with bus.ErrTooSlow when messages are missing, with ErrRevoked, and with the
// sink's errors.
func (f *Feed) Flush(ctx context.Context) error {
	batch, err := f.sub.Take()
	if err != nil {
		return err
	}
	for i, m := range batch {
		switch ev := m.Frame.Event; {
		case strings.HasPrefix(m.Topic, notify.KeyCredential):
			return ErrRevoked
		case strings.HasPrefix(m.Topic, notify.KeyAccess):
			err = f.recheck(ctx, m.Topic)
		case f.left[m.Topic]:
		case m.Gone:
			err = f.gone(ctx, m.Topic)
		case m.Frame.Entry != nil:
			err = f.entry(ctx, m)
		case ev == nil:
			if m.Partial() && f.overtaken(m.Topic, batch[i+1:]) {
				continue
			}
			err = f.sink.Message(ctx, m)
		case ev.Seq <= f.sent[m.Topic]:
		case ev.Seq > f.sent[m.Topic]+1:
			err = f.events(ctx, ev.SessionID, f.sent[m.Topic])
		default:
			f.sent[m.Topic] = ev.Seq
			err = f.sink.Message(ctx, m)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// CompareEvery is how often a stream calls Compare.
const CompareEvery = 4 * time.Second

// Compare asks the database how far the sessions and journals have come that are followed, and sends what is missing with the state that
// belongs to it: the announcement of a last event may be lost between servers, and no later one would show the gap (design §7).
// Sessions that were deleted are Gone. A database that cannot be asked now is asked again the next time.
func (f *Feed) Compare(ctx context.Context) error {
	if err := f.recheck(ctx, ""); err != nil {
		return err
	}
	if err := f.compareJournals(ctx); err != nil {
		return err
	}
	var sessions []string
	for topic := range f.sent {
		if id, ok := strings.CutPrefix(topic, wire.KeySession); ok {
			sessions = append(sessions, id)
		}
	}
	if len(sessions) == 0 {
		return nil
	}
	last, err := f.ops.LastSeqs(ctx, sessions)
	if err != nil {
		return nil
	}
	for _, id := range sessions {
		topic := wire.KeySession + id
		seq, there := last[id]
		switch {
		case !there:
			err = f.gone(ctx, topic)
		case seq > f.sent[topic]:
			err = f.catchUp(ctx, id)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// catchUp sends a session's events that were not sent, and its state, whose announcement was lost with theirs. The state is read
// first: a newer one could say that the session is idle before the events that it became idle with were sent.
func (f *Feed) catchUp(ctx context.Context, session string) error {
	state, err := f.ops.SessionState(ctx, session)
	if err != nil {
		return err
	}
	if err := f.events(ctx, session, f.sent[wire.KeySession+session]); err != nil {
		return err
	}
	return f.sink.Frame(ctx, &state)
}

func (f *Feed) gone(ctx context.Context, topic string) error {
	f.Leave(topic)
	return f.sink.Gone(ctx, topic)
}

// overtaken tells whether the next durable event of a topic was already sent.
func (f *Feed) overtaken(topic string, rest []*bus.Message) bool {
	for _, m := range rest {
		if m.Topic == topic && m.Frame.Event != nil {
			return m.Frame.Event.Seq <= f.sent[topic]
		}
	}
	return false
}

// pageSize is how many events a replay reads at once.
const pageSize = 500

// events sends a session's durable events after a seq, page by page. The next page is read while one is sent.
func (f *Feed) events(ctx context.Context, session string, after int64) error {
	topic := wire.KeySession + session
	next := f.fetch(ctx, session, after)
	for more := true; more; {
		p := <-next
		if p.err != nil {
			return p.err
		}
		if more = len(p.events) == pageSize; more {
			next = f.fetch(ctx, session, p.events[pageSize-1].Seq)
		}
		for i := range p.events {
			if err := f.sink.Frame(ctx, &wire.Frame{Kind: wire.FrameAppend, Key: topic, Event: &p.events[i]}); err != nil {
				if more {
					<-next
				}
				return err
			}
			after = p.events[i].Seq
		}
	}
	f.sent[topic] = max(f.sent[topic], after)
	return nil
}

// page is some events of a log, or why they cannot be read.
type page struct {
	events []wire.SessionEvent
	err    error
}

// fetch reads a page beside the caller, who takes it from the channel.
func (f *Feed) fetch(ctx context.Context, session string, after int64) <-chan page {
	c := make(chan page, 1)
	go func() {
		var p page
		p.events, p.err = f.ops.EventsAfter(ctx, session, after, pageSize)
		c <- p
	}()
	return c
}
