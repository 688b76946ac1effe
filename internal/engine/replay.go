package engine

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/loam-agents/loam/internal/model"
	"github.com/loam-agents/loam/internal/sessionlog"
	"github.com/loam-agents/loam/wire"
)

// entry is one event of the log as replay needs it.
type entry struct {
	id      string
	seq     int64
	kind    string
	actor   sessionlog.Actor
	message wire.MessageEvent
	call    wire.ToolCallEvent
	result  wire.ToolResultEvent
	hidden  hidden
	run     string
	// text is a person's message as a model sees it.
	text string
	// touches is the name of the tool whose contract the agent met with a call; empty when it met none.
	touches string
	// size is the length of what was decoded, in bytes.
	size int
}

// hidden is what stands beside an agent's event for the replay alone. It keeps what a model said byte for byte where events
// cannot: provider state, and calls of silent verbs, which leave no events.
type hidden struct {
	// Before are complete exchanges of silent calls that the run made since its previous event.
	Before []model.Message `json:"before,omitempty"`
	// Whole is the assistant message that the event begins. The events of its calls add nothing to it.
	Whole *model.Message `json:"whole,omitempty"`
}

func (h *hidden) encode() (json.RawMessage, error) {
	if len(h.Before) == 0 && h.Whole == nil {
		return nil, nil
	}
	b, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("encode provider state: %w", err)
	}
	return b, nil
}

// messages are those of Before and Whole.
func (h *hidden) messages() []model.Message {
	if h.Whole == nil {
		return h.Before
	}
	return append(h.Before[:len(h.Before):len(h.Before)], *h.Whole)
}

// read decodes the stored log. Events of a type this program does not know are left out of a replay, never an error; so is
// provider state that cannot be read, since the event says the same in plain words.
func read(stored []sessionlog.Stored) ([]entry, error) {
	out := make([]entry, 0, len(stored))
	for i := range stored {
		s := &stored[i]
		e := entry{id: s.ID, seq: s.Seq, kind: s.Type, actor: s.Actor, run: s.Run, size: len(s.Event) + len(s.Opaque)}
		var into any
		switch s.Type {
		case sessionlog.TypeMessage:
			into = &e.message
		case sessionlog.TypeToolCall:
			into = &e.call
		case sessionlog.TypeToolResult:
			into = &e.result
		default:
			continue
		}
		if err := json.Unmarshal(s.Event, into); err != nil {
			return nil, fmt.Errorf("session %s: event %d cannot be read: %w", s.SessionID, s.Seq, err)
		}
		if e.kind == sessionlog.TypeMessage && e.message.Role != "assistant" {
			e.text = userText(&e.message)
		}
		if e.kind == sessionlog.TypeToolCall && e.actor != sessionlog.ActorUser {
			e.touches = touched(&e.call)
		}
		if len(s.Opaque) > 0 && json.Unmarshal(s.Opaque, &e.hidden) != nil {
			e.hidden = hidden{}
		}
		out = append(out, e)
	}
	return out, nil
}

// replay turns the log into a conversation (spec §7.3): text and calls of one assistant turn become one message, every
// result follows its call's message wherever it stands in the log, and errors are left out. What a longer log begins with is
// replayed as it was before, so that providers find their cache.
func replay(entries []entry) []model.Message {
	r := replayer{results: map[string][]*wire.ToolResultEvent{}, calls: map[string]bool{}, users: map[string]bool{}, covered: map[string]bool{}, announced: map[string]bool{}}
	for i := range entries {
		r.index(&entries[i])
	}
	for i := range entries {
		r.add(&entries[i])
	}
	r.flush()
	return r.out
}

type replayer struct {
	out     []model.Message
	current *model.Message
	// results of calls in the order of the log: an id may be used again later.
	results map[string][]*wire.ToolResultEvent
	// calls and users are the ids of all calls of the agent and of people, covered those that stand in a whole message, announced
	// those of the agent that have an event.
	calls, users, covered, announced map[string]bool
}

// index notes whose call and whose result an event is.
func (r *replayer) index(e *entry) {
	for _, m := range e.hidden.messages() {
		for _, p := range callsOf(m) {
			r.calls[p.CallID] = true
		}
	}
	switch {
	case e.kind == sessionlog.TypeToolCall && e.actor == sessionlog.ActorUser:
		r.users[e.call.ID] = true
	case e.kind == sessionlog.TypeToolCall:
		r.calls[e.call.ID], r.announced[e.call.ID] = true, true
	case e.kind == sessionlog.TypeToolResult && e.actor != sessionlog.ActorUser:
		r.results[e.result.ToolCallID] = append(r.results[e.result.ToolCallID], &e.result)
	}
}

func (r *replayer) add(e *entry) {
	if len(e.hidden.Before) > 0 {
		r.flush()
		r.out = append(r.out, e.hidden.Before...)
	}
	switch {
	case e.kind == sessionlog.TypeMessage && e.message.Role == "assistant":
		r.assistant(e, model.Part{Kind: model.PartText, Text: e.message.Content})
	case e.kind == sessionlog.TypeMessage:
		r.user(e.text)
	case e.actor == sessionlog.ActorUser:
		r.user(userAction(e))
	case e.kind == sessionlog.TypeToolCall:
		r.assistant(e, model.Part{Kind: model.PartToolCall, CallID: e.call.ID, Name: e.call.Name, Arguments: arguments(e.call.Input)})
	case r.calls[e.result.ToolCallID]:
		// What the agent says after it has seen a result is a message of its own.
		r.flush()
	case !r.users[e.result.ToolCallID]:
		// An answer without its call keeps its place, as text. One to a person's call has been shown to that person.
		text, _ := shown(&e.result)
		r.user(escape("Result of " + e.result.Name + ": " + text))
	}
}

func (r *replayer) user(text string) {
	r.flush()
	r.out = append(r.out, model.Message{Role: model.User, Parts: []model.Part{{Kind: model.PartText, Text: text}}})
}

// assistant adds a part to the assistant message in progress. An event that carries the whole message begins a message of its
// own; the events of the calls in it add nothing.
func (r *replayer) assistant(e *entry, part model.Part) {
	switch {
	case e.hidden.Whole != nil:
		r.flush()
		whole := *e.hidden.Whole
		r.current = &whole
		for _, p := range callsOf(whole) {
			r.covered[p.CallID] = true
		}
		return
	case part.Kind == model.PartToolCall && r.covered[part.CallID]:
		delete(r.covered, part.CallID)
		return
	case part.Kind == model.PartText && part.Text == "":
		return
	case r.current == nil:
		r.current = &model.Message{Role: model.Assistant}
	}
	r.current.Parts = append(r.current.Parts[:len(r.current.Parts):len(r.current.Parts)], part)
}

// flush ends the assistant message in progress and puts the results of its calls behind it.
func (r *replayer) flush() {
	if r.current == nil {
		return
	}
	m := *r.current
	r.current = nil
	r.out = append(r.out, m)
	var results []model.Part
	for _, p := range callsOf(m) {
		part := model.Part{Kind: model.PartToolResult, CallID: p.CallID, Name: p.Name, Text: nothing}
		if list := r.results[p.CallID]; len(list) > 0 {
			part.Text, part.IsError = shown(list[0])
			r.results[p.CallID] = list[1:]
		} else if r.announced[p.CallID] {
			part.Text = running
		}
		results = append(results, part)
	}
	if len(results) > 0 {
		r.out = append(r.out, model.Message{Role: model.Tool, Parts: results})
	}
}

// nothing is the result of a call that has none to show, such as a silent one that took effect.
const nothing = `{"ok":true}`

// running is the result of a call that has none yet: a run of the session is parked on it.
const running = `{"status":"running","note":"This call has no result yet. It is given here when it comes; do not repeat the call."}`

// arguments is a call's input as the model wrote it: input that was not JSON is kept in the log as a JSON string.
func arguments(input json.RawMessage) string {
	var text string
	if len(input) > 0 && input[0] == '"' && json.Unmarshal(input, &text) == nil {
		return text
	}
	return plain(string(input))
}

// plain undoes in JSON what its encoder does for the sake of web pages: a model that works on one reads <, > and & as they are.
func plain(s string) string {
	if !strings.Contains(s, `\u00`) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		switch {
		case strings.HasPrefix(s[i:], `\u003c`):
			b.WriteByte('<')
			i += 5
		case strings.HasPrefix(s[i:], `\u003e`):
			b.WriteByte('>')
			i += 5
		case strings.HasPrefix(s[i:], `\u0026`):
			b.WriteByte('&')
			i += 5
		default:
			// A backslash and what it escapes stay together, so that an escaped backslash begins nothing.
			b.WriteString(s[i : i+2])
			i++
		}
	}
	return b.String()
}

// loggable is the reverse of arguments.
func loggable(arguments string) json.RawMessage {
	// A database of text takes no bytes that are not UTF-8, which JSON lets through.
	arguments = strings.ToValidUTF8(arguments, "\uFFFD")
	trimmed := strings.TrimSpace(arguments)
	if trimmed == "" {
		return json.RawMessage(`{}`)
	}
	if json.Valid([]byte(trimmed)) {
		return json.RawMessage(trimmed)
	}
	quoted, _ := json.Marshal(arguments) // a string always encodes
	return quoted
}

// shown is a result as a model sees it.
func shown(r *wire.ToolResultEvent) (text string, isError bool) {
	if r.Error != "" {
		return bound(r.Error), true
	}
	if len(r.Output) == 0 {
		return nothing, false
	}
	return bound(plain(string(r.Output))), false
}

const cutNotice = "\n[This result was cut at 8 KiB. Do not repeat the same call: read a narrower part, or save it to memory and work through it in pieces.]"

func bound(s string) string {
	if len(s) <= MaxResultShown {
		return s
	}
	return cutUTF8(s, MaxResultShown) + cutNotice
}

func cutUTF8(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && s[limit]&0xc0 == 0x80 {
		limit--
	}
	return s[:limit]
}

// userText is a user's message as a model sees it, with who sent it, what they were looking at, and what they attached.
func userText(m *wire.MessageEvent) string {
	if m.Actor == string(sessionlog.ActorSystem) {
		return m.Content
	}
	var b strings.Builder
	if m.Meta != nil && m.Meta.AccountID != "" {
		fmt.Fprintf(&b, "<message_sender>%s</message_sender>\n", frameJSON(map[string]string{"accountId": m.Meta.AccountID}))
	}
	b.WriteString(m.Content)
	if len(m.ContextLines) > 0 {
		fmt.Fprintf(&b, "\n<window_context>\n%s\n</window_context>", escape(strings.Join(m.ContextLines, "\n")))
	}
	if len(m.Attachments) > 0 {
		fmt.Fprintf(&b, "\n<attachments>%s</attachments>", frameJSON(m.Attachments))
	}
	return b.String()
}

func userAction(e *entry) string {
	if e.kind == sessionlog.TypeToolCall {
		return fmt.Sprintf("<user_action verb=%s>%s</user_action>", frameJSON(e.call.Name), escape(string(e.call.Input)))
	}
	text, _ := shown(&e.result)
	return fmt.Sprintf("<user_action_result verb=%s>%s</user_action_result>", frameJSON(e.result.Name), escape(text))
}

// escape keeps text from closing the frame it stands in.
func escape(s string) string { return strings.ReplaceAll(s, "<", `\u003c`) }

// frameJSON is JSON with < escaped, as encoding/json writes it.
func frameJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return "{}"
	}
	return string(b)
}

// line is text that can neither close its frame nor begin a line of its own in it.
func line(s string) string { return escape(strings.Join(strings.Fields(s), " ")) }
