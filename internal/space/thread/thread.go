// Package thread serves thread: addresses: the agent's own conversations, listed, searched and read. An agent does not read the
// conversations of another one, whatever account they share (seeds/000 "read"); and in a conversation that somebody else than the owner
// has opened it reads only those that the same account has opened.
//
// It is a scheme of the Space (tier 4), read-only, over sessionlog.
package thread

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/sessionlog"
	"github.com/loam-agents/loam/internal/space"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

const prefix = "thread:"

// Limits (spec §8.1): events of a transcript and threads of a list, when none are asked for and at most; bytes of a transcript, and
// of one event in it.
const (
	defaultEvents  = 200
	maxEvents      = 1000
	defaultThreads = 25
	maxThreads     = 100
	maxTranscript  = 256 << 10
	maxEvent       = 8 << 10
	maxSnippet     = 160
)

// Scheme serves thread:.
type Scheme struct{ store store.Store }

// New returns the scheme.
func New(s store.Store) *Scheme { return &Scheme{store: s} }

// Serves implements space.Scheme.
func (*Scheme) Serves(address string) bool { return strings.HasPrefix(address, prefix) }

// Forms implements space.Scheme.
func (*Scheme) Forms() []space.Form {
	return []space.Form{
		{Address: prefix, Read: "your conversations, newest first; options.query searches them"},
		{Address: prefix + "<id>", Read: "what was said in one; options.fromSeq, toSeq and limit choose a part"},
	}
}

// Read implements space.Scheme.
func (s *Scheme) Read(ctx context.Context, scope space.Scope, req space.ReadRequest) (space.Result, error) {
	only, err := s.only(ctx, scope)
	if err != nil {
		return nil, err
	}
	id := strings.Trim(strings.TrimPrefix(req.Address, prefix), "/ ")
	if id == "" {
		return s.list(ctx, scope, only, req.Options)
	}
	return s.transcript(ctx, scope, only, id, req.Options)
}

// only is the account whose threads may be read from here; empty when all may be.
func (s *Scheme) only(ctx context.Context, scope space.Scope) (string, error) {
	if scope.Session == "" {
		return "", nil
	}
	var session sessionlog.Session
	err := s.store.Read(ctx, func(tx store.Tx) (err error) {
		session, err = sessionlog.Get(tx, scope.Session)
		return err
	})
	if session.CreatedBy == session.Account {
		return "", err
	}
	return session.CreatedBy, err
}

// entry is one thread of a list.
type entry struct {
	Thread       string `json:"thread"`
	Title        string `json:"title,omitempty"`
	Description  string `json:"description,omitempty"`
	Agent        string `json:"agent"`
	AgentID      string `json:"agentId"`
	Status       string `json:"status"`
	ParentThread string `json:"parentThread,omitempty"`
	UpdatedAt    int64  `json:"updatedAt"`
	Snippet      string `json:"snippet,omitempty"`
}

func (s *Scheme) list(ctx context.Context, scope space.Scope, only string, options map[string]any) (space.Result, error) {
	if err := space.KnownOptions(options, prefix, "query", "limit"); err != nil {
		return nil, err
	}
	limit, err := space.Count(options, "limit", defaultThreads, maxThreads)
	if err != nil {
		return nil, err
	}
	query, isText := options["query"].(string)
	if options["query"] != nil && !isText {
		return nil, fault.Invalid("options.query must be a text")
	}
	if query = strings.TrimSpace(query); query != "" {
		return s.search(ctx, scope, only, query, limit)
	}
	threads := []entry{}
	err = s.store.Read(ctx, func(tx store.Tx) error {
		page, _, err := sessionlog.List(tx, sessionlog.Query{Agent: scope.Agent, CreatedBy: only, Limit: limit})
		threads = threads[:0]
		for i := range page {
			threads = append(threads, describe(scope, &page[i], ""))
		}
		return err
	})
	return space.Result{"summary": fmt.Sprintf("%d conversations", len(threads)), "threads": threads}, err
}

// search looks for words in titles first and then in messages.
func (s *Scheme) search(ctx context.Context, scope space.Scope, only, query string, limit int64) (space.Result, error) {
	const hitsPerThread = 4
	hits, err := sessionlog.Search(ctx, s.store, scope.Agent, only, query, limit*hitsPerThread)
	if err != nil {
		return nil, err
	}
	threads := []entry{}
	err = s.store.Read(ctx, func(tx store.Tx) error {
		threads = threads[:0]
		seen := map[string]bool{}
		titled, err := sessionlog.Titled(tx, scope.Agent, only, query, limit)
		if err != nil {
			return err
		}
		for i := range titled {
			seen[titled[i].ID] = true
			threads = append(threads, describe(scope, &titled[i], ""))
		}
		for _, h := range hits {
			if seen[h.Session] || int64(len(threads)) >= limit {
				continue
			}
			seen[h.Session] = true
			session, err := sessionlog.Get(tx, h.Session)
			if fault.CodeOf(err) == fault.NotFound {
				continue
			}
			if err != nil {
				return err
			}
			threads = append(threads, describe(scope, &session, fmt.Sprintf("[%d] %s", h.Seq, snippet(h.Text, query))))
		}
		return nil
	})
	return space.Result{"summary": fmt.Sprintf("%d conversations with %q", len(threads), clip(query, maxSnippet)), "query": query, "threads": threads}, err
}

func describe(scope space.Scope, s *sessionlog.Session, snippet string) entry {
	out := entry{
		Thread: prefix + s.ID, Title: s.Title, Description: s.Description, Agent: scope.Definition.Name, AgentID: s.Agent, Status: s.Status,
		UpdatedAt: s.UpdatedAt, Snippet: snippet,
	}
	if s.Parent != "" {
		out.ParentThread = prefix + s.Parent
	}
	return out
}

// snippet is the part of a text around the first word of a query.
func snippet(text, query string) string {
	text = strings.Join(strings.Fields(text), " ")
	start := 0
	if words := sessionlog.Words(query); len(words) > 0 {
		if at := strings.Index(strings.ToLower(text), words[0]); at > maxSnippet/2 && at <= len(text) {
			start = at - maxSnippet/2
		}
	}
	part := strings.ToValidUTF8(text[start:], "")
	if start > 0 {
		part = "…" + part
	}
	return clip(part, maxSnippet)
}

func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}

func (s *Scheme) transcript(ctx context.Context, scope space.Scope, only, id string, options map[string]any) (space.Result, error) {
	if err := space.KnownOptions(options, prefix+"<id>", "fromSeq", "toSeq", "limit"); err != nil {
		return nil, err
	}
	limit, err := space.Count(options, "limit", defaultEvents, maxEvents)
	if err != nil {
		return nil, err
	}
	from, err := space.Count(options, "fromSeq", 0, 1<<53)
	if err != nil {
		return nil, err
	}
	to, err := space.Count(options, "toSeq", 1<<53, 1<<53)
	if err != nil {
		return nil, err
	}
	var session sessionlog.Session
	var events []wire.SessionEvent
	var before string
	var after []string
	err = s.store.Read(ctx, func(tx store.Tx) error {
		if session, err = sessionlog.Get(tx, id); err != nil || session.Agent != scope.Agent || only != "" && session.CreatedBy != only {
			if err == nil || fault.CodeOf(err) == fault.NotFound {
				return fault.Missing("There is no conversation %s of yours. Read %s to list them", clip(id, maxSnippet), prefix)
			}
			return err
		}
		if before, after, err = sessionlog.Lineage(tx, id); err != nil {
			return err
		}
		if from > 0 {
			events, err = sessionlog.Events(tx, id, from-1, min(limit, max(to-from+1, 1)))
		} else {
			events, err = sessionlog.EventsBefore(tx, id, to+1, limit)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	out := render(&session, events)
	if before != "" {
		out["continues"] = prefix + before
	}
	if len(after) > 0 {
		for i := range after {
			after[i] = prefix + after[i]
		}
		out["continuedBy"] = after
	}
	return out, nil
}

// render is a transcript as Markdown, one paragraph an event, each with its seq.
func render(session *sessionlog.Session, events []wire.SessionEvent) space.Result {
	var b strings.Builder
	shown, truncated := 0, false
	for i := range events {
		text := line(&events[i])
		if text == "" {
			continue
		}
		if b.Len()+len(text) > maxTranscript {
			truncated = true
			break
		}
		shown++
		fmt.Fprintf(&b, "[%d] %s\n\n", events[i].Seq, text)
	}
	out := space.Result{
		"summary": fmt.Sprintf("%d events of %s", shown, prefix+session.ID), "sessionId": session.ID, "title": session.Title,
		"lastSeq": session.LastSeq, "markdown": strings.TrimSpace(b.String()),
	}
	if session.Description != "" {
		out["description"] = session.Description
	}
	if session.Parent != "" {
		out["parentThread"] = prefix + session.Parent
	}
	if truncated {
		out["truncated"] = true
	}
	return out
}

// line is an event as text. A transcript is what was said and done, so it needs no more of an event.
func line(e *wire.SessionEvent) string {
	var ev struct {
		Type, Role, Content, Name, Error, Message, Actor, Title, RunID string
		Input, Output                                                  json.RawMessage
	}
	if json.Unmarshal(e.Event, &ev) != nil {
		return ""
	}
	switch ev.Type {
	case sessionlog.TypeMessage:
		who := ev.Role
		if ev.Actor != "" {
			who = ev.Actor
		}
		return fmt.Sprintf("**%s**: %s", who, clip(ev.Content, maxEvent))
	case sessionlog.TypeToolCall:
		return fmt.Sprintf("call `%s` %s", ev.Name, clip(string(ev.Input), maxEvent))
	case sessionlog.TypeToolResult:
		if ev.Error != "" {
			return fmt.Sprintf("`%s` failed: %s", ev.Name, clip(ev.Error, maxEvent))
		}
		return fmt.Sprintf("result of `%s` %s", ev.Name, clip(string(ev.Output), maxEvent))
	case sessionlog.TypeToolSpawn:
		return fmt.Sprintf("`%s` started %s as run:%s", ev.Name, clip(ev.Title, maxEvent), ev.RunID)
	case sessionlog.TypeError:
		return "error: " + clip(ev.Message, maxEvent)
	}
	return ""
}
