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
	seq     int64
	kind    string
	actor   sessionlog.Actor
	message wire.MessageEvent
	call    wire.ToolCallEvent
	result  wire.ToolResultEvent
	// whole is the assistant message as the model made it, when it holds provider state; it stands on the turn's first event.
	whole *model.Message
	run   string
	// silent calls and results live only as long as the run that made them.
	silent bool
}

// read decodes the stored log. Events of a type this program does not know are left out of a replay, never an error.
func read(stored []sessionlog.Stored) ([]entry, error) {
	out := make([]entry, 0, len(stored))
	for i := range stored {
		s := &stored[i]
		e := entry{seq: s.Seq, kind: s.Type, actor: s.Actor, run: s.Run}
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
		if len(s.Opaque) > 0 {
			var whole model.Message
			if err := json.Unmarshal(s.Opaque, &whole); err == nil {
				e.whole = &whole
			}
		}
		out = append(out, e)
	}
	return out, nil
}

// replay turns the log into a conversation (spec §7.3): text and calls of one assistant turn become one message, every
// result follows its call's message wherever it stands in the log, and errors are left out.
func replay(entries []entry) []model.Message {
	r := replayer{results: map[string]wire.ToolResultEvent{}, known: map[string]bool{}}
	for i := range entries {
		if e := &entries[i]; e.kind == sessionlog.TypeToolResult && e.actor != sessionlog.ActorUser {
			r.results[e.result.ToolCallID] = e.result
		}
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
	// whole holds the calls of the message in progress when it was kept whole; nil otherwise.
	whole   map[string]bool
	results map[string]wire.ToolResultEvent
	known   map[string]bool
}

func (r *replayer) add(e *entry) {
	switch {
	case e.kind == sessionlog.TypeMessage && e.message.Role == "assistant":
		r.assistant(e, model.Part{Kind: model.PartText, Text: e.message.Content})
	case e.kind == sessionlog.TypeMessage:
		r.flush()
		r.out = append(r.out, model.Message{Role: model.User, Parts: []model.Part{{Kind: model.PartText, Text: userText(&e.message)}}})
	case e.actor == sessionlog.ActorUser:
		r.flush()
		r.out = append(r.out, model.Message{Role: model.User, Parts: []model.Part{{Kind: model.PartText, Text: userAction(e)}}})
	case e.kind == sessionlog.TypeToolCall:
		r.known[e.call.ID] = true
		r.assistant(e, model.Part{Kind: model.PartToolCall, CallID: e.call.ID, Name: e.call.Name, Arguments: arguments(e.call.Input)})
	case e.kind == sessionlog.TypeToolResult && !r.known[e.result.ToolCallID]:
		// An answer without its call keeps its place, as text.
		r.flush()
		text, _ := shown(&e.result)
		r.out = append(r.out, model.Message{Role: model.User, Parts: []model.Part{{Kind: model.PartText, Text: "Result of " + e.result.Name + ": " + text}}})
	}
}

// assistant adds a part to the assistant message in progress. An event that carries the whole message begins a message of its
// own; the events of the calls in it add nothing.
func (r *replayer) assistant(e *entry, part model.Part) {
	if e.whole != nil {
		r.flush()
		whole := *e.whole
		r.current, r.whole = &whole, map[string]bool{}
		for _, p := range whole.Parts {
			if p.Kind == model.PartToolCall {
				r.known[p.CallID], r.whole[p.CallID] = true, true
			}
		}
		return
	}
	if r.whole[part.CallID] {
		return
	}
	if r.whole != nil {
		r.flush()
	}
	if r.current == nil {
		r.current = &model.Message{Role: model.Assistant}
	}
	r.current.Parts = append(r.current.Parts, part)
}

// flush ends the assistant message in progress and puts the results of its calls behind it.
func (r *replayer) flush() {
	if r.current == nil {
		return
	}
	m := *r.current
	r.current, r.whole = nil, nil
	r.out = append(r.out, m)
	var results []model.Part
	for _, p := range m.Parts {
		if p.Kind != model.PartToolCall {
			continue
		}
		part := model.Part{Kind: model.PartToolResult, CallID: p.CallID, Name: p.Name, Text: `{"ok":true}`}
		if res, ok := r.results[p.CallID]; ok {
			part.Text, part.IsError = shown(&res)
		}
		results = append(results, part)
	}
	if len(results) > 0 {
		r.out = append(r.out, model.Message{Role: model.Tool, Parts: results})
	}
}

// arguments is a call's input as the model wrote it: input that was not JSON is kept in the log as a JSON string.
func arguments(input json.RawMessage) string {
	var text string
	if json.Unmarshal(input, &text) == nil {
		return text
	}
	return string(input)
}

// loggable is the reverse of arguments.
func loggable(arguments string) json.RawMessage {
	trimmed := strings.TrimSpace(arguments)
	if trimmed == "" {
		return json.RawMessage(`{}`)
	}
	if json.Valid([]byte(trimmed)) {
		return json.RawMessage(trimmed)
	}
	quoted, _ := json.Marshal(strings.ToValidUTF8(arguments, "\uFFFD"))
	return quoted
}

// shown is a result as a model sees it.
func shown(r *wire.ToolResultEvent) (text string, isError bool) {
	if r.Error != "" {
		return bound(r.Error), true
	}
	if len(r.Output) == 0 {
		return `{"ok":true}`, false
	}
	return bound(string(r.Output)), false
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
		return fmt.Sprintf("<user_action verb=%q>%s</user_action>", e.call.Name, escape(string(e.call.Input)))
	}
	text, _ := shown(&e.result)
	return fmt.Sprintf("<user_action_result verb=%q>%s</user_action_result>", e.result.Name, escape(text))
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
