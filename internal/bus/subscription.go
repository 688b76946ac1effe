package bus

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/loam-agents/loam/wire"
)

// Limits of a mailbox.
const (
	// MaxPending is the number of messages a subscriber may have outstanding before it is given up.
	MaxPending = 16384
	// mergeFrom is the backlog from which consecutive text deltas of one partial are merged into one frame.
	mergeFrom = 32
)

// Errors of Next.
var (
	// ErrTooSlow says that the mailbox overflowed: messages are missing from here on.
	ErrTooSlow = errors.New("subscriber is too slow")
	// ErrClosed says that the subscription was closed.
	ErrClosed = errors.New("subscription is closed")
)

// Subscription is a mailbox on any number of topics. One goroutine reads it.
type Subscription struct {
	bus   *Local
	ready chan struct{}

	mu      sync.Mutex
	topics  map[string]struct{}
	pending []*Message
	// text is that of the last waiting message while deltas are merged into it; nil when it is whole. Joining them once, when
	// somebody takes them, keeps Publish quick however long a subscriber does not read.
	text *strings.Builder
	err  error
}

// Join adds a topic. Messages published after Join returns are received.
func (s *Subscription) Join(topic string) {
	s.mu.Lock()
	_, dup := s.topics[topic]
	closed := errors.Is(s.err, ErrClosed)
	if !dup && !closed {
		s.topics[topic] = struct{}{}
	}
	s.mu.Unlock()
	if !dup && !closed {
		s.bus.join(topic, s)
	}
}

// Leave removes a topic; messages already in the mailbox stay.
func (s *Subscription) Leave(topic string) {
	s.mu.Lock()
	delete(s.topics, topic)
	s.mu.Unlock()
	s.bus.leave(topic, s)
}

// Ready receives when Take may have something to return. A reader that also waits for other things selects on it.
func (s *Subscription) Ready() <-chan struct{} { return s.ready }

// Take returns everything that waits, oldest first; nothing when nothing does. It fails with ErrTooSlow after an overflow and
// ErrClosed after Close.
func (s *Subscription) Take() ([]*Message, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seal()
	batch := s.pending
	s.pending = nil
	return batch, s.err
}

// Next is Take that blocks until something waits, or until ctx ends with its error.
func (s *Subscription) Next(ctx context.Context) ([]*Message, error) {
	for {
		if batch, err := s.Take(); err != nil || len(batch) > 0 {
			return batch, err
		}
		select {
		case <-s.ready:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Close leaves every topic. A blocked Next returns ErrClosed.
func (s *Subscription) Close() {
	s.mu.Lock()
	topics := s.topics
	s.topics = map[string]struct{}{}
	s.err, s.pending, s.text = ErrClosed, nil, nil
	s.mu.Unlock()
	for topic := range topics {
		s.bus.leave(topic, s)
	}
	s.signal()
}

func (s *Subscription) push(m *Message) {
	s.mu.Lock()
	switch {
	case s.err != nil:
	case s.merge(m):
		s.bus.merged.Add(1)
	case len(s.pending) >= MaxPending:
		s.bus.lost.Add(1)
		s.err, s.pending, s.text = ErrTooSlow, nil, nil
	default:
		s.seal()
		s.pending = append(s.pending, m)
	}
	s.mu.Unlock()
	s.signal()
}

// merge folds a text delta into the last waiting message when both are deltas of the same partial and a backlog exists.
func (s *Subscription) merge(m *Message) bool {
	if len(s.pending) < mergeFrom || !m.Partial() {
		return false
	}
	last := s.pending[len(s.pending)-1]
	if last.Topic != m.Topic || !last.Partial() || last.Frame.PartialID != m.Frame.PartialID || last.Frame.RunID != m.Frame.RunID {
		return false
	}
	a, b := last.Frame.Patch, m.Frame.Patch
	if a == nil || b == nil || a.Done || b.Done {
		return false
	}
	if s.text == nil {
		// What was published is everybody's: this mailbox goes on with a message of its own.
		patch, frame := *a, last.Frame
		frame.Patch = &patch
		s.text = new(strings.Builder)
		s.text.WriteString(a.TextDelta)
		s.pending[len(s.pending)-1] = &Message{Topic: m.Topic, Frame: frame}
		a = &patch
	}
	s.text.WriteString(b.TextDelta)
	if b.Usage != nil {
		a.Usage = b.Usage
	}
	if b.Activity != nil {
		a.Activity = b.Activity
	}
	return true
}

// seal gives the last waiting message the text that was merged into it.
func (s *Subscription) seal() {
	if s.text != nil {
		s.pending[len(s.pending)-1].Frame.Patch.TextDelta = s.text.String()
		s.text = nil
	}
}

func (s *Subscription) signal() {
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

// Partial builds an appendPartial message of a session.
func Partial(sessionID, partialID string, patch wire.PartialPatch) *Message {
	return New(wire.KeySession+sessionID, wire.Frame{Kind: wire.FrameAppendPartial, PartialID: partialID, Patch: &patch})
}
