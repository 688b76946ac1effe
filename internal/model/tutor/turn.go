package tutor

import (
	"strings"

	"github.com/loam-agents/loam/internal/model"
)

// turn is a conversation as the tutor sees it: the last thing a person said, and what was done about it since.
type turn struct {
	text    string
	offered map[string]model.ToolSpec
	// scenes are all that the tutor knows, in the order in which they are tried.
	scenes []scene
	// rounds are the answers with calls since text, oldest first.
	rounds []round
	// callsSoFar counts the calls of the whole conversation.
	callsSoFar int
}

// round is the outcome of one answer with calls.
type round []outcome

type outcome struct {
	name     string
	result   string
	isError  bool
	answered bool
}

// frames are the tags with which the server wraps what it adds to a person's words. They are not what the person said.
var frames = []string{
	"message_sender", "window_context", "attachments", "plan_state", "session_status", "context_usage", "space",
	"background_work_update", "concurrent_user_messages", "user_action", "user_action_result",
}

func readTurn(req model.Request) turn {
	t := turn{offered: map[string]model.ToolSpec{}}
	for _, spec := range req.Tools {
		t.offered[spec.Name] = spec
	}
	messages := req.Messages
	if n := len(messages); req.VolatileTail && n > 0 {
		messages = messages[:n-1]
	}
	start := 0
	for i, m := range messages {
		if text := said(m); text != "" {
			t.text, start = text, i+1
		}
	}
	results := map[string]model.Part{}
	for _, m := range messages {
		for _, p := range m.Parts {
			switch p.Kind {
			case model.PartToolCall:
				t.callsSoFar++
			case model.PartToolResult:
				results[p.CallID] = p
			}
		}
	}
	for _, m := range messages[start:] {
		if r := readRound(m, results); len(r) > 0 {
			t.rounds = append(t.rounds, r)
		}
	}
	return t
}

func readRound(m model.Message, results map[string]model.Part) round {
	var r round
	for _, p := range m.Parts {
		if p.Kind != model.PartToolCall {
			continue
		}
		result, ok := results[p.CallID]
		r = append(r, outcome{name: p.Name, result: result.Text, isError: result.IsError, answered: ok})
	}
	return r
}

// said is what a person said in a message; empty when the message holds only frames or is not a person's.
func said(m model.Message) string {
	if m.Role != model.User {
		return ""
	}
	var texts []string
	for _, p := range m.Parts {
		if p.Kind == model.PartText {
			texts = append(texts, p.Text)
		}
	}
	text := strings.Join(texts, "\n")
	for _, tag := range frames {
		text = unframe(text, tag)
	}
	return strings.TrimSpace(text)
}

// unframe removes every <tag …>…</tag> of a text; one without an end reaches to the end of the text.
func unframe(text, tag string) string {
	from := 0
	for {
		at := strings.Index(text[from:], "<"+tag)
		if at < 0 {
			return text
		}
		start := from + at
		rest := text[start+1+len(tag):]
		if rest != "" && !strings.ContainsRune("> \t\r\n/", rune(rest[0])) {
			from = start + 1
			continue
		}
		closing := "</" + tag + ">"
		end := strings.Index(rest, closing)
		if end < 0 {
			return text[:start]
		}
		text = text[:start] + rest[end+len(closing):]
		from = start
	}
}

// has tells whether every named tool is offered.
func (t turn) has(names ...string) bool {
	for _, name := range names {
		if _, ok := t.offered[name]; !ok {
			return false
		}
	}
	return true
}
