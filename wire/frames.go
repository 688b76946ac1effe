package wire

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
	// Code names an error that clients act on, only protocol_too_old today.
	Code string `json:"code,omitempty"`
}

// The kinds of frames.
const (
	FrameConnected     = "connected"
	FrameSubscribed    = "subscribed"
	FrameAppend        = "append"
	FrameAppendPartial = "appendPartial"
	FrameChange        = "change"
	FrameError         = "error"
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
