package trigger

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/loam-agents/loam/internal/bounded"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/trigger/schedule"
	"github.com/loam-agents/loam/principal"
	"github.com/loam-agents/loam/wire"
)

// The types of sources.
const (
	Schedule              = "schedule"
	Webhook               = "webhook"
	RunCompleted          = "run-completed"
	DocumentComment       = "document-comment"
	UserMention           = "user-mention"
	SiteUpdate            = "site-update"
	CommentReply          = "comment-reply"
	DocumentAuthorComment = "document-author-comment"
	AnyActivity           = "activity"
)

// ofNetwork tells whether a source is something on the hypermedia network, as a whole or as a condition of one.
func ofNetwork(kind string) bool {
	switch kind {
	case DocumentComment, UserMention, SiteUpdate, CommentReply, DocumentAuthorComment:
		return true
	}
	return false
}

// IsActivity tells whether a source waits for activities of the network.
func IsActivity(kind string) bool { return kind == AnyActivity || ofNetwork(kind) }

func refuse(field, format string, args ...any) error {
	return fault.Invalid(format, args...).With("field", "source."+field)
}

// ParseSource checks a source and brings it into the form in which it is kept: what does not belong to its type is dropped. Errors are
// fault.Invalid and name the field.
func ParseSource(in wire.TriggerSource) (wire.TriggerSource, error) {
	switch in.Type {
	case Schedule:
		if in.Schedule == nil {
			return in, refuse("schedule", "%s", wire.MsgRequired("Trigger schedule"))
		}
		s, err := schedule.Parse(*in.Schedule)
		if err != nil {
			return in, err
		}
		kept := s.Wire()
		return wire.TriggerSource{Type: Schedule, Schedule: &kept}, nil
	case Webhook:
		return wire.TriggerSource{Type: Webhook, Signed: in.Signed}, nil
	case RunCompleted:
		return parseRunCompleted(in)
	case AnyActivity:
		return parseConditions(in)
	}
	if ofNetwork(in.Type) {
		return parseActivity(in)
	}
	return in, refuse("type", "Trigger source type must be %s", strings.Join([]string{
		Schedule, Webhook, RunCompleted, DocumentComment, UserMention, SiteUpdate, CommentReply, DocumentAuthorComment,
	}, ", ")+" or "+AnyActivity)
}

func parseRunCompleted(in wire.TriggerSource) (out wire.TriggerSource, err error) {
	out = wire.TriggerSource{Type: RunCompleted, Status: in.Status}
	switch in.Status {
	case "", "succeeded", "failed", "canceled":
	default:
		return out, refuse("status", "Trigger status must be succeeded, failed or canceled")
	}
	if out.AgentID, err = optional(in.AgentID, "Trigger agent", "agentId", bounded.MaxName); err != nil {
		return out, err
	}
	out.TitleMatch, err = optional(in.TitleMatch, "Trigger title match", "titleMatch", MaxTitleMatch)
	return out, err
}

func parseConditions(in wire.TriggerSource) (wire.TriggerSource, error) {
	out := wire.TriggerSource{Type: AnyActivity}
	if n := len(in.Conditions); n == 0 || n > MaxConditions {
		return out, refuse("conditions", "Trigger conditions must be from 1 to %d", MaxConditions)
	}
	for _, c := range in.Conditions {
		id, err := bounded.Name(c.ID, "Condition ID")
		if err != nil {
			return out, fault.From(err).With("field", "source.conditions")
		}
		if !ofNetwork(c.Source.Type) {
			return out, refuse("conditions", "Trigger conditions are activities: %s is none", cmp.Or(c.Source.Type, "nothing"))
		}
		if slices.ContainsFunc(out.Conditions, func(o wire.TriggerCondition) bool { return o.ID == id }) {
			return out, refuse("conditions", "Trigger condition %q stands twice", id)
		}
		source, err := parseActivity(c.Source)
		if err != nil {
			return out, err
		}
		out.Conditions = append(out.Conditions, wire.TriggerCondition{ID: id, Source: source})
	}
	return out, nil
}

func parseActivity(in wire.TriggerSource) (out wire.TriggerSource, err error) {
	out.Type = in.Type
	switch in.Type {
	case DocumentComment:
		if out.Resource, err = address(in.Resource, "Trigger resource", "resource"); err != nil {
			return out, err
		}
		if in.Author != "" {
			out.Author, err = accountID(in.Author, "author")
		}
		return out, err
	case SiteUpdate:
		if out.EventTypes, err = eventTypes(in.EventTypes); err != nil {
			return out, err
		}
		out.ResourcePrefix, err = address(in.ResourcePrefix, "Trigger resource prefix", "resourcePrefix")
		return out, err
	case UserMention:
		list := in.MentionedAccounts
		if len(list) == 0 && in.MentionedAccount != "" {
			list = []string{in.MentionedAccount}
		}
		out.MentionedAccounts, err = accounts(list, "mentionedAccounts")
	case CommentReply:
		out.RepliedToAccounts, err = accounts(in.RepliedToAccounts, "repliedToAccounts")
	case DocumentAuthorComment:
		out.DocumentAuthors, err = accounts(in.DocumentAuthors, "documentAuthors")
	}
	if err == nil && strings.TrimSpace(in.ResourcePrefix) != "" {
		out.ResourcePrefix, err = address(in.ResourcePrefix, "Trigger resource prefix", "resourcePrefix")
	}
	return out, err
}

func optional(value, label, field string, limit int) (string, error) {
	if strings.TrimSpace(value) == "" {
		return "", nil
	}
	text, err := bounded.Text(value, label, limit)
	if err != nil {
		return "", fault.From(err).With("field", "source."+field)
	}
	return text, nil
}

// address checks the address of an account or a document and writes it in one way: hm://account/path, without version or fragment.
func address(value, label, field string) (string, error) {
	text, err := bounded.Text(value, label, MaxResource)
	if err != nil {
		return "", fault.From(err).With("field", "source."+field)
	}
	out, ok := Canonical(text)
	if !ok {
		return "", refuse(field, "%s must name an account or document: hm://ACCOUNT/path", label)
	}
	return out, nil
}

// Canonical writes the address of an account or a document in one way; ok is false for what is no such address.
func Canonical(text string) (out string, ok bool) {
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil || u.Scheme != "hm" || u.Host == "" {
		return "", false
	}
	if _, err := principal.ParseID(u.Host); err != nil {
		return "", false
	}
	out = "hm://" + u.Host
	for part := range strings.SplitSeq(u.Path, "/") {
		if part != "" {
			out += "/" + part
		}
	}
	return out, true
}

func accountID(value, field string) (string, error) {
	id, err := principal.ParseID(strings.TrimPrefix(strings.TrimSpace(value), "hm://"))
	if err != nil {
		return "", refuse(field, "Trigger %s must name accounts, z6Mk…", field)
	}
	return id.String(), nil
}

func accounts(list []string, field string) ([]string, error) {
	if n := len(list); n == 0 || n > MaxAccounts {
		return nil, refuse(field, "Trigger %s must name from 1 to %d accounts", field, MaxAccounts)
	}
	var out []string
	for _, item := range list {
		id, err := accountID(item, field)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out, nil
}

func eventTypes(list []string) ([]string, error) {
	if len(list) > MaxEventTypes {
		return nil, refuse("eventTypes", "Trigger event types are at most %d", MaxEventTypes)
	}
	var out []string
	for _, item := range list {
		name, err := bounded.Text(item, "Trigger event type", 64)
		if err != nil {
			return nil, fault.From(err).With("field", "source.eventTypes")
		}
		if name = strings.ToLower(name); !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out, nil
}

// When says for people what makes a trigger fire.
func When(s *wire.TriggerSource) string {
	switch s.Type {
	case Schedule:
		if parsed, err := schedule.Parse(*s.Schedule); err == nil {
			return parsed.String()
		}
	case Webhook:
		if s.Signed {
			return "signed webhook"
		}
		return "webhook"
	case RunCompleted:
		text := "a run " + cmp.Or(map[string]string{"succeeded": "succeeds", "failed": "fails", "canceled": "is canceled"}[s.Status], "ends")
		if s.AgentID != "" {
			text += " of agent " + s.AgentID
		}
		if s.TitleMatch != "" {
			text += fmt.Sprintf(" whose title contains %q", s.TitleMatch)
		}
		return text
	case DocumentComment:
		return "a comment on " + s.Resource
	case SiteUpdate:
		return "an update below " + s.ResourcePrefix
	case UserMention:
		return "a mention of " + strings.Join(s.MentionedAccounts, ", ")
	case CommentReply:
		return "a reply to " + strings.Join(s.RepliedToAccounts, ", ")
	case DocumentAuthorComment:
		return "a comment on a document of " + strings.Join(s.DocumentAuthors, ", ")
	case AnyActivity:
		parts := make([]string, len(s.Conditions))
		for i := range s.Conditions {
			parts[i] = When(&s.Conditions[i].Source)
		}
		return strings.Join(parts, ", or ")
	}
	return s.Type
}
