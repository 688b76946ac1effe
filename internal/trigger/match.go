package trigger

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/loam-agents/loam/internal/bounded"
	"github.com/loam-agents/loam/internal/fence"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

// Activity is something that happened on the hypermedia network, in the words of triggers. Addresses are canonical (see Canonical).
type Activity struct {
	// Key is the same for the same event. A comment and the citation that it makes are one event: both are keyed by the comment.
	Key string
	// Type is what the network calls it, such as comment, citation or doc-update.
	Type string
	// At is when it was observed, in epoch milliseconds.
	At int64
	// Author is the account that did it, Resource what it was done to or what a comment stands on, DocumentAuthors whose document that is.
	Author, Resource string
	DocumentAuthors  []string
	// Comment says that it is a comment; Mentions are the accounts that it mentions in its structure, and RepliedTo whom it answers.
	Comment   bool
	Mentions  []string
	RepliedTo string
	// Summary says in a line what happened. It was written by others.
	Summary string
	// Detail is told to the agent.
	Detail map[string]any
}

// Match returns the conditions of a source that an activity meets; none when it meets none. A source that is no group is a condition
// without an id. A criterion that is empty never matches by itself.
func Match(source *wire.TriggerSource, a *Activity) []wire.TriggerCondition {
	if source.Type != AnyActivity {
		if meets(source, a) {
			return []wire.TriggerCondition{{Source: *source}}
		}
		return nil
	}
	var out []wire.TriggerCondition
	for i := range source.Conditions {
		if meets(&source.Conditions[i].Source, a) {
			out = append(out, source.Conditions[i])
		}
	}
	return out
}

func meets(s *wire.TriggerSource, a *Activity) bool {
	if s.ResourcePrefix != "" && !below(a.Resource, s.ResourcePrefix) {
		return false
	}
	switch s.Type {
	case DocumentComment:
		return a.Comment && below(a.Resource, s.Resource) && (s.Author == "" || s.Author == a.Author)
	case UserMention:
		return slices.ContainsFunc(s.MentionedAccounts, func(id string) bool { return slices.Contains(a.Mentions, id) })
	case SiteUpdate:
		return s.ResourcePrefix != "" && (len(s.EventTypes) == 0 || slices.ContainsFunc(s.EventTypes, func(name string) bool {
			return sameType(name, a.Type)
		}))
	case CommentReply:
		return a.Comment && a.RepliedTo != "" && slices.Contains(s.RepliedToAccounts, a.RepliedTo)
	case DocumentAuthorComment:
		return a.Comment && slices.ContainsFunc(s.DocumentAuthors, func(id string) bool { return slices.Contains(a.DocumentAuthors, id) })
	}
	return false
}

// below tells whether a resource is another one or stands below it.
func below(resource, prefix string) bool {
	return prefix != "" && (resource == prefix || strings.HasPrefix(resource, prefix+"/"))
}

// sameType compares types of events; the ways to say that a document changed are one.
func sameType(a, b string) bool {
	fold := func(name string) string {
		switch name = strings.ToLower(name); name {
		case "change", "ref", "doc-update", "document-update":
			return "doc-update"
		}
		return name
	}
	return fold(a) == fold(b)
}

// Observe fires the triggers of an account that wait for an activity. It may be called again with the same one.
func (s *Service) Observe(ctx context.Context, account string, a Activity) error {
	key, err := bounded.Text(a.Key, "Activity key", MaxResource)
	if err != nil {
		return err
	}
	return s.opts.Store.Write(ctx, store.Background, func(tx store.Tx) error {
		waiting, err := list(tx, `account_id = ? AND source_type NOT IN (?, ?, ?) AND enabled = 1 ORDER BY created_at, id`, account, Schedule, Webhook, RunCompleted)
		if err != nil {
			return err
		}
		for i := range waiting {
			t := &waiting[i]
			matched := Match(&t.Source, &a)
			if len(matched) == 0 || a.At < t.ArmedAt {
				continue
			}
			if t.Source.Type != AnyActivity {
				matched = nil
			}
			detail := map[string]any{"type": a.Type, "author": a.Author, "resource": a.Resource, "at": a.At}
			for name, value := range a.Detail {
				detail[name] = value
			}
			e := event{key: key, summary: fence.Inline(a.Summary), activity: detail, author: "activity by " + a.Author, matched: matched}
			if _, _, err := s.fire(tx, t, e); err != nil {
				return fmt.Errorf("fire trigger %s: %w", t.ID, err)
			}
		}
		return nil
	})
}

// follow listens to the source of activities.
func (s *Service) follow(ctx context.Context) {
	for ctx.Err() == nil {
		if err := s.opts.Activities.Follow(ctx, s.Observe); err != nil && ctx.Err() == nil {
			s.opts.Logger.ErrorContext(ctx, "follow the activities of the network", "error", err)
		}
		select {
		case <-s.opts.Clock.After(lookEvery):
		case <-ctx.Done():
		}
	}
}
