package verbs

import (
	"context"
	"encoding/json"
	"strings"
	"unicode"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/sessionlog"
	"github.com/loam-agents/loam/internal/space"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/tooldoc"
)

// Limits of a title and a description in bytes (spec §3.0).
const (
	maxTitle       = 256
	maxDescription = 1024
)

// Status is the session verb `status`: the title and the live description of a thread.
type Status struct{ log *sessionlog.Log }

// NewStatus returns the verb.
func NewStatus(log *sessionlog.Log) *Status { return &Status{log: log} }

// Document implements Verb.
func (*Status) Document() tooldoc.Document {
	return tooldoc.Document{
		Name: "status", Kind: tooldoc.Verb, Summary: "Name the thread and say where its work stands.",
		Description: "Set the title (what the whole thread is about; once, early, at most 8 words) or the description (where the work " +
			"stands; at milestones and at the end). Pass only what changes. A title that the user gave stays.",
		Input: json.RawMessage(`{"type":"object","properties":{` +
			`"title":{"type":"string","maxLength":256},"description":{"type":"string","maxLength":1024}},` +
			`"additionalProperties":false}`),
	}
}

// Prepare implements Verb.
func (v *Status) Prepare(_ context.Context, scope space.Scope, input json.RawMessage) Action {
	return Action{Effect: tooldoc.Idempotent, Run: func(context.Context) (Result, error) { return v.prepare(scope, input) }}
}

func (v *Status) prepare(scope space.Scope, input json.RawMessage) (Result, error) {
	var req struct{ Title, Description *string }
	if err := decode(input, &req); err != nil {
		return Result{}, err
	}
	title, description := line(req.Title), trimmed(req.Description)
	switch {
	case title == "" && req.Description == nil:
		return Result{}, fault.Invalid("Give a title or a description")
	case len(title) > maxTitle:
		return Result{}, fault.Invalid("Title is too large: at most %d bytes", maxTitle)
	case len(description) > maxDescription:
		return Result{}, fault.Invalid("Description is too large: at most %d bytes", maxDescription)
	}
	return Result{Change: change(func(tx store.Tx) (space.Result, error) {
		out := space.Result{"ok": true}
		if title != "" {
			taken, err := v.log.SetTitle(tx, scope.Session, title, sessionlog.TitleAgent)
			if err != nil {
				return nil, err
			}
			out["title"] = title
			if !taken {
				delete(out, "title")
				out["note"] = "The user named this thread; the title stays."
			}
		}
		if req.Description != nil {
			if err := v.log.SetDescription(tx, scope.Session, description); err != nil {
				return nil, err
			}
			out["description"] = description
		}
		return out, nil
	})}, nil
}

// trimmed is a text without what a database cannot keep: it takes everything but the NUL character.
func trimmed(s *string) string {
	if s == nil {
		return ""
	}
	return strings.TrimSpace(strings.ReplaceAll(*s, "\x00", ""))
}

// line is a text on one line, without control characters.
func line(s *string) string {
	if s == nil {
		return ""
	}
	text := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, *s)
	return strings.Join(strings.Fields(text), " ")
}
