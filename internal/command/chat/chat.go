// Package chat shows a conversation with an agent in a terminal, or in a pipe.
//
// A Conversation sends messages and follows the live stream until a turn has ended; what arrives goes to a View. Printer is
// the View for people: text as it comes, one line for each tool call, the plan when it changes. Run is the dialogue around
// both. What the package promises: every durable event is shown once, also when the server restarts in the middle of a
// turn, and a message that was sent twice because the connection broke counts once. Text from agents cannot control the
// terminal. The package belongs to the room internal/command (tier 8); it calls client, and nothing of the server.
package chat

import (
	"encoding/json"
	"time"

	"github.com/loam-agents/loam/wire"
)

// View is shown what happens in a conversation, in order and from one goroutine.
type View interface {
	// Event is a durable event that was not shown before.
	Event(e wire.SessionEvent)
	// Partial is a piece of a message that is being written; the message follows as an Event.
	Partial(id string, patch wire.PartialPatch)
	// Session is the present state of the session.
	Session(s wire.SessionInfo)
	// Lost says that the connection broke and is tried again.
	Lost(err error)
	// Back says that it is there again.
	Back()
	// Asked shows the calls that wait for a person.
	Asked(approvals []wire.ApprovalInfo)
}

// payload holds what the fields of every kind of event have in common.
type payload struct {
	Type            string          `json:"type"`
	Role            string          `json:"role"`
	Content         string          `json:"content"`
	Actor           string          `json:"actor"`
	ClientMessageID string          `json:"clientMessageId"`
	ID              string          `json:"id"`
	Name            string          `json:"name"`
	Input           json.RawMessage `json:"input"`
	ToolCallID      string          `json:"toolCallId"`
	Error           string          `json:"error"`
	Message         string          `json:"message"`
	Meta            *wire.EventMeta `json:"meta"`
}

// decode reads an event. One that this version cannot read has no type and shows as nothing.
func decode(e wire.SessionEvent) payload {
	var p payload
	if err := json.Unmarshal(e.Event, &p); err != nil {
		return payload{}
	}
	return p
}

// Types of events and roles, as the log spells them.
const (
	typeMessage    = "message"
	typeToolCall   = "tool_call"
	typeToolResult = "tool_result"
	typeError      = "error"
	roleUser       = "user"
	roleAssistant  = "assistant"
	statusWorking  = "streaming"
	// phaseResponding is what a server does from the first piece of a message on.
	phaseResponding = "responding"
)

// duration is the time between two events in epoch milliseconds.
func duration(from, to int64) time.Duration { return time.Duration(max(to-from, 0)) * time.Millisecond }

// Answer is what an agent said, made harmless to a terminal; ok is false for every other event.
func Answer(e wire.SessionEvent) (text string, ok bool) {
	p := decode(e)
	return harmless(p.Content), p.Type == typeMessage && p.Role == roleAssistant
}
