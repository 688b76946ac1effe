package wire

import (
	"encoding/json"
	"strconv"
)

// Frame is one event of the live stream, server to client (seeds/002 "Server events"). On the wire it is a JSON object.
type Frame struct {
	// Kind is the discriminator `_`.
	Kind string `json:"_"`
	// Key is the subscription the frame belongs to.
	Key string `json:"key,omitempty"`
	// ConnectedAt stands in the first frame of a socket.
	ConnectedAt int64 `json:"connectedAt,omitempty"`
	// AccountID of a subscribed frame is the verified subscriber's account.
	AccountID string `json:"accountId,omitempty"`
	// Event is the durable event of a session's append.
	Event *SessionEvent `json:"event,omitempty"`
	// RunID and the next three stand in frames of runs/ keys.
	RunID     string  `json:"runId,omitempty"`
	Seq       int64   `json:"seq,omitempty"`
	Entry     Payload `json:"entry,omitempty"`
	CreatedAt int64   `json:"createdAt,omitempty"`
	// PartialID and Patch stand in an appendPartial.
	PartialID string        `json:"partialId,omitempty"`
	Patch     *PartialPatch `json:"patch,omitempty"`
	// Value is the snapshot of a change: SessionInfo, AgentInfo, RunInfo or AccountHint by key.
	Value any `json:"value,omitempty"`
	// Message is the text of an error.
	Message string `json:"message,omitempty"`
	// Code names an error that clients act on, only protocol_too_old today, or why the server ended a subscription: deleted.
	Code string `json:"code,omitempty"`
	// At and Seqs stand in a heartbeat: the server's time in epoch milliseconds, and the last seq that was sent for each session key.
	At   int64            `json:"at,omitempty"`
	Seqs map[string]int64 `json:"seqs,omitempty"`
}

// AppendJSON appends the frame's text form to b. It is what encoding/json makes of the frame; a durable event, of which a client
// may be sent thousands, is put together without looking into its payload, which is JSON already.
func (f *Frame) AppendJSON(b []byte) ([]byte, error) {
	if e := f.Event; f.onlyEvent() && len(e.Event) > 0 && plain(f.Key) && plain(e.ID) && plain(e.SessionID) {
		b = append(b, `{"_":"append","key":"`...)
		b = append(b, f.Key...)
		b = append(b, `","event":{"id":"`...)
		b = append(b, e.ID...)
		b = append(b, `","sessionId":"`...)
		b = append(b, e.SessionID...)
		b = append(b, `","seq":`...)
		b = strconv.AppendInt(b, e.Seq, 10)
		b = append(b, `,"event":`...)
		b = append(b, e.Event...)
		b = append(b, `,"createdAt":`...)
		b = strconv.AppendInt(b, e.CreatedAt, 10)
		return append(b, `}}`...), nil
	}
	text, err := json.Marshal(f)
	return append(b, text...), err
}

// onlyEvent tells whether a frame has a key and an event and nothing else.
func (f *Frame) onlyEvent() bool {
	return f.Kind == FrameAppend && f.Event != nil && !f.Event.Truncated && f.ConnectedAt == 0 && f.AccountID == "" && f.RunID == "" && f.Seq == 0 &&
		f.Entry == nil && f.CreatedAt == 0 && f.PartialID == "" && f.Patch == nil && f.Value == nil && f.Message == "" && f.Code == "" &&
		f.At == 0 && f.Seqs == nil
}

// plain tells whether a text stands in JSON as it is.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && c != '-' && c != '/' && c != '_' {
			return false
		}
	}
	return s != ""
}

// The kinds of frames.
const (
	FrameConnected     = "connected"
	FrameSubscribed    = "subscribed"
	FrameAppend        = "append"
	FrameAppendPartial = "appendPartial"
	FrameChange        = "change"
	FrameError         = "error"
	// Stream 2 only. A heartbeat comes every 15 seconds; caught_up ends the replay of a subscription and carries the last seq;
	// unsubscribed is the last frame of a key, with the code deleted when the server ended it.
	FrameHeartbeat    = "heartbeat"
	FrameCaughtUp     = "caught_up"
	FrameUnsubscribed = "unsubscribed"
)

// The WebSocket subprotocols of stream 2 (design §7): frames as JSON text, or as canonical DAG-CBOR in binary messages. Without one
// of them a socket speaks the first stream, which has no heartbeat, caught_up or unsubscribe.
const (
	StreamJSON = "loam.stream2+json"
	StreamCBOR = "loam.stream2+cbor"
)

// PartialPatch is a piece of an answer in progress. Nothing of it is durable.
type PartialPatch struct {
	TextDelta string       `json:"textDelta,omitempty"`
	Done      bool         `json:"done,omitempty"`
	Usage     *Usage       `json:"usage,omitempty"`
	Activity  *RunActivity `json:"activity,omitempty"`
}

// AccountHint is the value of a change on account/<id>: something of the account changed for Reason.
type AccountHint struct {
	Reason    string         `json:"reason"`
	AgentID   string         `json:"agentId,omitempty"`
	SessionID string         `json:"sessionId,omitempty"`
	Activity  *AgentActivity `json:"activity,omitempty"`
	Session   *SessionInfo   `json:"session,omitempty"`
}

// The prefixes of subscription keys.
const (
	KeyAccount = "account/"
	KeyAgent   = "agents/"
	KeySession = "sessions/"
	KeyRun     = "runs/"
)
