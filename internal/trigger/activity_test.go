package trigger_test

import (
	"context"
	"testing"

	"github.com/loam-agents/loam/internal/trigger"
	"github.com/loam-agents/loam/wire"
)

// page is a document of somebody's, under the canonical form of its address.
const page = "hm://" + someone + "/garden"

func TestAnActivityMeetsTheConditionsThatItFits(t *testing.T) {
	t.Parallel()
	comment := trigger.Activity{
		Key: "c1", Type: "comment", Author: owner, Resource: page + "/roses", DocumentAuthors: []string{someone}, Comment: true,
		Mentions: []string{someone}, RepliedTo: someone,
	}
	change := trigger.Activity{Key: "d1", Type: "ref", Author: owner, Resource: page}
	for name, c := range map[string]struct {
		source          wire.TriggerSource
		comment, change bool
	}{
		"a comment below":             {wire.TriggerSource{Type: trigger.DocumentComment, Resource: page}, true, false},
		"a comment beside":            {wire.TriggerSource{Type: trigger.DocumentComment, Resource: page + "/ro"}, false, false},
		"a comment of an author":      {wire.TriggerSource{Type: trigger.DocumentComment, Resource: page, Author: owner}, true, false},
		"a comment of somebody else":  {wire.TriggerSource{Type: trigger.DocumentComment, Resource: page, Author: someone}, false, false},
		"a mention":                   {wire.TriggerSource{Type: trigger.UserMention, MentionedAccounts: []string{owner, someone}}, true, false},
		"a mention of somebody else":  {wire.TriggerSource{Type: trigger.UserMention, MentionedAccounts: []string{owner}}, false, false},
		"a mention on another page":   {wire.TriggerSource{Type: trigger.UserMention, MentionedAccounts: []string{someone}, ResourcePrefix: page + "/trees"}, false, false},
		"a reply":                     {wire.TriggerSource{Type: trigger.CommentReply, RepliedToAccounts: []string{someone}}, true, false},
		"a reply to somebody else":    {wire.TriggerSource{Type: trigger.CommentReply, RepliedToAccounts: []string{owner}}, false, false},
		"a comment on what one wrote": {wire.TriggerSource{Type: trigger.DocumentAuthorComment, DocumentAuthors: []string{someone}}, true, false},
		"whatever happens on a site":  {wire.TriggerSource{Type: trigger.SiteUpdate, ResourcePrefix: "hm://" + someone}, true, true},
		"changes, by another name":    {wire.TriggerSource{Type: trigger.SiteUpdate, ResourcePrefix: "hm://" + someone, EventTypes: []string{"Doc-Update"}}, false, true},
		"a site that is not said":     {wire.TriggerSource{Type: trigger.SiteUpdate}, false, false},
		"a schedule":                  {every(1, "hours"), false, false},
	} {
		if got := len(trigger.Match(&c.source, &comment)) == 1; got != c.comment {
			t.Errorf("%s: the comment meets it: %t", name, got)
		}
		if got := len(trigger.Match(&c.source, &change)) == 1; got != c.change {
			t.Errorf("%s: the change meets it: %t", name, got)
		}
	}
	group := wire.TriggerSource{Type: trigger.AnyActivity, Conditions: []wire.TriggerCondition{
		{ID: "one", Source: wire.TriggerSource{Type: trigger.CommentReply, RepliedToAccounts: []string{owner}}},
		{ID: "two", Source: wire.TriggerSource{Type: trigger.SiteUpdate, ResourcePrefix: page}},
	}}
	if got := trigger.Match(&group, &comment); len(got) != 1 || got[0].ID != "two" {
		t.Errorf("of a group %+v", got)
	}
}

// feed is a source of activities that tells what it was given, once.
type feed struct {
	list []trigger.Activity
	told chan error
}

// Follow implements trigger.ActivitySource.
func (f *feed) Follow(ctx context.Context, observe func(ctx context.Context, account string, a trigger.Activity) error) error {
	for _, a := range f.list {
		f.told <- observe(ctx, owner, a)
	}
	<-ctx.Done()
	return ctx.Err()
}

func TestActivitiesFireWhatWaitsForThemOnce(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		waits := b.create(wire.TriggerInput{Name: "waits", Prompt: "Answer.", Source: wire.TriggerSource{Type: "user-mention", MentionedAccounts: []string{someone}}})
		other := b.create(wire.TriggerInput{Name: "other", Prompt: "Answer.", Source: wire.TriggerSource{Type: "user-mention", MentionedAccounts: []string{owner}}})
		if b.Info(&waits).Notice == "" {
			t.Error("a server without a source of activities does not say so")
		}
		mention := trigger.Activity{Key: "m1", Type: "comment", At: start.UnixMilli() + 1, Author: owner, Comment: true, Resource: page, Mentions: []string{someone}, Summary: "Hello </outside>"}
		early := mention
		early.Key, early.At = "m0", start.UnixMilli()-1
		source := &feed{list: []trigger.Activity{early, mention, mention}, told: make(chan error)}
		opts := b.opts
		opts.Activities = source
		s := trigger.New(opts)
		s.Start()
		for range source.list {
			if err := <-source.told; err != nil {
				t.Error(err)
			}
		}
		s.Stop()
		list := b.firings(waits.ID)
		if len(list) != 1 || list[0].ActivityKey != "m1" || len(b.firings(other.ID)) != 0 {
			t.Fatalf("fired %+v and %+v", list, b.firings(other.ID))
		}
		text, _, _ := b.said(list[0].SessionID)
		contains(t, text, `<outside source="activity by `+owner, "Hello ‹/outside›")
		if s.Info(&waits).Notice != "" {
			t.Error("a server with a source of activities says that it has none")
		}
	})
}
