package verbs

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/fence"
	"github.com/loam-agents/loam/internal/sessionlog"
	"github.com/loam-agents/loam/internal/space"
	"github.com/loam-agents/loam/wire"
)

// Limits of a projection: recent events of the predecessor, bytes of one of them and of one source, and bytes of the whole.
const (
	maxRecent     = 20
	maxEventText  = 1 << 10
	maxExcerpt    = 4 << 10
	maxProjection = 96 << 10
)

// excerpt is a source and what stands there.
type excerpt struct{ name, text string }

// excerpts reads the sources with the agent's own eyes: what it may not read it cannot hand over. A resource is only named.
func (v *Continue) excerpts(ctx context.Context, scope space.Scope, sources []source) ([]excerpt, error) {
	var out []excerpt
	for i := range sources {
		s := &sources[i]
		req := space.ReadRequest{}
		switch s.Type {
		case "resource":
			if s.Address == "" {
				return nil, fault.Invalid("sources[%d] needs an address", i)
			}
			out = append(out, excerpt{name: s.Address})
			continue
		case "memory":
			req.Address = "~/memory/" + strings.TrimPrefix(s.Path, "~/memory/")
		case "session_event", "session_events":
			from, to := s.Seq, s.Seq
			if s.Type == "session_events" {
				from, to = s.FromSeq, s.ToSeq
			}
			if from < 1 || to < from {
				return nil, fault.Invalid("sources[%d] needs seq, or fromSeq and toSeq", i)
			}
			session := s.SessionID
			if session == "" {
				session = scope.Session
			}
			req.Address = "thread:" + session
			req.Options = map[string]any{"fromSeq": float64(from), "toSeq": float64(to)}
		default:
			return nil, fault.Invalid("sources[%d].type must be memory, resource, session_event or session_events", i)
		}
		got, err := v.router.Read(ctx, scope, req)
		if f := fault.From(err); err != nil && f.Code != fault.Internal {
			return nil, fault.Invalid("sources[%d] cannot be read: %s", i, f.Message)
		}
		if err != nil {
			return nil, err
		}
		text, _ := got["markdown"].(string)
		if content, ok := got["content"].(string); ok {
			text = content
		}
		out = append(out, excerpt{req.Address, short(text, maxExcerpt)})
	}
	return out, nil
}

// known are the sections of a handoff that have their place.
var known = []string{"purpose", "currentRequest", "establishedFacts", "decisions", "openQuestions", "nextActions", "cautions"}

// project is what a successor begins with: where it comes from, what is handed over, and excerpts.
func project(from *sessionlog.Session, req *handover, excerpts []excerpt, recent []wire.SessionEvent) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<continued_from thread=%q title=%q>\n", "thread:"+from.ID, attribute(from.Title))
	fmt.Fprintf(&b, "This thread goes on with the work of that one. What you handed over follows; all of it can be read at thread:%s. The user's message comes next: answer it.\n\nReason: %s\n", from.ID, tame(req.Reason))
	keys := slices.Concat(known, slices.DeleteFunc(slices.Sorted(maps.Keys(req.Handoff)), func(k string) bool { return slices.Contains(known, k) }))
	for _, key := range keys {
		if text := section(req.Handoff[key]); text != "" {
			fmt.Fprintf(&b, "\n## %s\n\n%s\n", heading(key), tame(text))
		}
	}
	if len(excerpts) > 0 {
		b.WriteString("\n## Sources\n")
		for _, e := range excerpts {
			fmt.Fprintf(&b, "\n- %s\n%s\n", tame(e.name), fence.Outside(e.name, e.text))
		}
	}
	if lines := conversation(recent); lines != "" {
		fmt.Fprintf(&b, "\n## Said last\n\n%s", lines)
	}
	return short(b.String(), maxProjection) + "\n</continued_from>"
}

// section is a value of a handoff as text: a list becomes bullets, anything that is neither text nor list its JSON.
func section(raw json.RawMessage) string {
	var text string
	if len(raw) == 0 || string(raw) == "null" || json.Unmarshal(raw, &text) == nil {
		return strings.TrimSpace(text)
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return string(raw)
	}
	var b strings.Builder
	for _, item := range list {
		if s := section(item); s != "" {
			fmt.Fprintf(&b, "- %s\n", strings.ReplaceAll(s, "\n", "\n  "))
		}
	}
	return strings.TrimSpace(b.String())
}

// heading is a key in words: establishedFacts becomes Established facts.
func heading(key string) string {
	var b strings.Builder
	for i, r := range key {
		switch {
		case unicode.IsControl(r) || r == '#' || r == '<':
		case i == 0:
			b.WriteRune(unicode.ToUpper(r))
		case unicode.IsUpper(r):
			b.WriteString(" " + string(unicode.ToLower(r)))
		default:
			b.WriteRune(r)
		}
	}
	return short(b.String(), 100)
}

// conversation is what was said in events, oldest first.
func conversation(events []wire.SessionEvent) string {
	var b strings.Builder
	for i := range events {
		var m wire.MessageEvent
		if json.Unmarshal(events[i].Event, &m) != nil || m.Type != sessionlog.TypeMessage || strings.TrimSpace(m.Content) == "" || m.Actor == string(sessionlog.ActorSystem) {
			continue
		}
		fmt.Fprintf(&b, "[%d] %s: %s\n", events[i].Seq, m.Role, tame(short(strings.TrimSpace(m.Content), maxEventText)))
	}
	return b.String()
}

// tame keeps text from closing the frame that it stands in.
func tame(s string) string { return strings.ReplaceAll(s, "<", "‹") }

// attribute is a text on one line.
func attribute(s string) string { return tame(line(&s)) }

func short(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}
