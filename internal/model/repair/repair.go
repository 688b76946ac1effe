// Package repair makes a stored conversation acceptable to strict providers, the same way for every adapter.
//
// Logs are written by crashes, cancellations and many models; providers refuse a call without a result, a result without
// a call, two calls with one id, and arguments that are not an object. Conversation returns messages in which
//
//   - every call has exactly one result, in a Tool message placed directly after the message of the call, in call order;
//   - a call without a result gets one that says so (Unanswered) and is marked as an error;
//   - a second result for one call is dropped: the first one is what the model was told;
//   - call ids are unique: a repeated or empty id becomes "<id>_2", "<id>_3" … ("call", "call_2" … for empty ones), and its
//     result follows it;
//   - a result whose call is unknown becomes user text, so that its content is not lost;
//   - messages without parts and empty texts are dropped, and text beside calls stays where it was.
//
// The same input always gives the same output, so that a cached prompt prefix stays a prefix. Inputs are not changed.
//
// repair is part of tier 3 and calls nothing but the vocabulary of package model. The adapters call it.
package repair

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/loam-agents/loam/internal/model"
)

// Unanswered is the result of a call that has none.
const Unanswered = "This call was interrupted. It has no result; whether it took effect is unknown."

// Conversation returns the repaired messages. See the package documentation.
func Conversation(messages []model.Message) []model.Message {
	r := repairer{seen: map[string]bool{}, open: map[string][]slot{}}
	for _, m := range messages {
		if m.Role == model.Tool {
			r.results(m)
			continue
		}
		r.message(m)
	}
	return r.finish()
}

// Arguments returns what a provider accepts in place of arguments: the arguments themselves when they are a JSON object,
// and `{}` when they are empty, null, another kind of value or no JSON at all. What the model really wrote is in the log,
// and the result of the call tells it what was wrong.
func Arguments(arguments string) string {
	trimmed := strings.TrimSpace(arguments)
	if strings.HasPrefix(trimmed, "{") && json.Valid([]byte(trimmed)) {
		return arguments
	}
	return "{}"
}

// slot is the place where the result of a call belongs.
type slot struct{ message, part int }

type repairer struct {
	out []model.Message
	// seen holds the ids that are taken.
	seen map[string]bool
	// open holds, for each id as it was logged, the places of the calls that wait for a result, oldest first.
	open map[string][]slot
}

// message adds a user or assistant message, and after one with calls the Tool message that will hold their results.
func (r *repairer) message(m model.Message) {
	parts := make([]model.Part, 0, len(m.Parts))
	var waiting []model.Part
	var ids []string
	for _, p := range m.Parts {
		switch {
		case p.Kind == model.PartText && p.Text == "":
			continue
		case p.Kind == model.PartToolCall:
			ids = append(ids, p.CallID)
			p.CallID = r.unique(p.CallID)
			waiting = append(waiting, model.Part{
				Kind: model.PartToolResult, CallID: p.CallID, Name: p.Name, Text: Unanswered, IsError: true,
			})
		}
		parts = append(parts, p)
	}
	if len(parts) == 0 {
		return
	}
	r.out = append(r.out, model.Message{Role: m.Role, Parts: parts})
	if len(waiting) == 0 {
		return
	}
	for i, id := range ids {
		r.open[id] = append(r.open[id], slot{message: len(r.out), part: i})
	}
	r.out = append(r.out, model.Message{Role: model.Tool, Parts: waiting})
}

// results puts each result into the place of its call, and what is left over into a user message.
func (r *repairer) results(m model.Message) {
	var orphans []model.Part
	for _, p := range m.Parts {
		waiting, known := r.open[p.CallID]
		switch {
		case p.Kind != model.PartToolResult:
			orphans = append(orphans, p)
		case len(waiting) > 0:
			s := waiting[0]
			r.open[p.CallID] = waiting[1:]
			place := &r.out[s.message].Parts[s.part]
			place.Text, place.IsError = p.Text, p.IsError
		case !known:
			orphans = append(orphans, model.Part{Kind: model.PartText, Text: orphanText(p)})
		}
	}
	if len(orphans) > 0 {
		r.out = append(r.out, model.Message{Role: model.User, Parts: orphans})
	}
}

func (r *repairer) finish() []model.Message { return slices.Clip(r.out) }

func (r *repairer) unique(id string) string {
	if id == "" {
		id = "call"
	}
	candidate := id
	for n := 2; r.seen[candidate]; n++ {
		candidate = fmt.Sprintf("%s_%d", id, n)
	}
	r.seen[candidate] = true
	return candidate
}

// orphanText introduces a result that answers no known call. `<` is escaped, so that the text cannot close the fence.
func orphanText(p model.Part) string {
	body := strings.ReplaceAll(p.Text, "<", `\u003c`)
	return fmt.Sprintf("<tool_result name=%q>\n%s\n</tool_result>", strings.ReplaceAll(p.Name, "<", `\u003c`), body)
}
