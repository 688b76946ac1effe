package client

import (
	"encoding/json"
	"fmt"

	"github.com/loam-agents/loam/wire"
)

// Frame is one event of a live stream. Nested values stay JSON, so that a newer server loses nothing on the way; package
// wire has the types to decode them into.
type Frame struct {
	// Kind is one of wire.FrameConnected, FrameSubscribed, FrameAppend, FrameAppendPartial, FrameChange, FrameError, or a
	// kind that this package does not know.
	Kind string `json:"_"`
	// Key is the subscription that the frame belongs to. Frames of a run tree carry the root's key.
	Key string `json:"key"`
	// ConnectedAt is the server's time in a connected frame, in epoch milliseconds.
	ConnectedAt int64 `json:"connectedAt"`
	// AccountID is the verified account in a subscribed frame.
	AccountID string `json:"accountId"`
	// Event is a session's durable event (wire.SessionEvent) and EventID its id.
	Event   json.RawMessage `json:"event"`
	EventID string          `json:"-"`
	// Seq is the position of a durable event or journal entry in its log; zero in other frames.
	Seq int64 `json:"seq"`
	// RunID is the run of a journal entry or partial, Entry the journal entry, CreatedAt its time in epoch milliseconds.
	RunID     string          `json:"runId"`
	Entry     json.RawMessage `json:"entry"`
	CreatedAt int64           `json:"createdAt"`
	// PartialID names a streaming message, Patch is the addition to it (wire.PartialPatch).
	PartialID string          `json:"partialId"`
	Patch     json.RawMessage `json:"patch"`
	// Value is the new state in a change frame, by key a session, an agent, a run or an account hint.
	Value json.RawMessage `json:"value"`
	// Message and Code are those of an error frame. The socket stays open after one.
	Message string `json:"message"`
	Code    string `json:"code"`
}

// ParseFrame reads one frame, as a server sends it in a text message. Fields that a frame of its kind lacks are zero.
func ParseFrame(data []byte) (Frame, error) {
	var f Frame
	if err := json.Unmarshal(data, &f); err != nil {
		return Frame{}, fmt.Errorf("malformed frame: %w", err)
	}
	if f.Kind != wire.FrameAppend || len(f.Event) == 0 {
		return f, nil
	}
	var event struct {
		ID  string `json:"id"`
		Seq int64  `json:"seq"`
	}
	if err := json.Unmarshal(f.Event, &event); err != nil {
		return Frame{}, fmt.Errorf("malformed event: %w", err)
	}
	f.EventID, f.Seq = event.ID, event.Seq
	return f, nil
}

// identity names a durable frame, to know it again; empty for all others.
func (f Frame) identity() string {
	switch {
	case f.Kind != wire.FrameAppend:
		return ""
	case f.EventID != "":
		return "event " + f.EventID
	case f.RunID != "":
		return fmt.Sprintf("run %s %d", f.RunID, f.Seq)
	}
	return ""
}

// rememberedFrames is how many durable frames a subscription knows again. A session is resumed by its cursor, so the
// memory only has to span what a server sends twice around a reconnection; a run tree is sent from its start.
const rememberedFrames = 8192

// memory is a set of bounded size that forgets the oldest.
type memory struct {
	known map[string]struct{}
	order []string
	next  int
}

func newMemory() *memory { return &memory{known: map[string]struct{}{}} }

// add reports whether the name is new.
func (m *memory) add(name string) bool {
	if _, ok := m.known[name]; ok {
		return false
	}
	m.known[name] = struct{}{}
	if len(m.order) < rememberedFrames {
		m.order = append(m.order, name)
		return true
	}
	delete(m.known, m.order[m.next])
	m.order[m.next] = name
	m.next = (m.next + 1) % rememberedFrames
	return true
}
