package sessionlog_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/sessionlog"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

func TestANewSessionIsIdleAndItsTitleProvisional(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		override := &wire.ModelOverride{Provider: "p", Model: "m", ReasoningLevel: "high"}
		made := b.create(t, sessionlog.CreateParams{Account: "account", Agent: "agent", Title: " Plans ", ModelOverride: override})
		got := b.session(t, made.ID)
		if diff := cmp.Diff(made, got); diff != "" {
			t.Errorf("Create returned another session than is kept (-returned +kept):\n%s", diff)
		}
		want := wire.SessionInfo{
			ID: made.ID, Account: "account", AgentID: "agent", Title: "Plans", Status: "idle",
			CreatedAt: start.UnixMilli(), UpdatedAt: start.UnixMilli(), ModelOverride: override,
		}
		if diff := cmp.Diff(want, got.Info()); diff != "" || got.TitleSource != sessionlog.TitleSystem {
			t.Errorf("the session is (-want +got):\n%s", diff)
		}
	})
}

func TestPlaceholderTitlesAreNoTitle(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		for title, want := range map[string]string{
			"Untitled session": "", "untitled SUB-session": "", " new chat ": "", "New chats": "New chats", "": "",
		} {
			if s := b.create(t, sessionlog.CreateParams{Account: "a", Agent: "a", Title: title}); s.Title != want {
				t.Errorf("title %q became %q, want %q", title, s.Title, want)
			}
		}
	})
}

func TestATitleIsReplacedByAnEqualOrStrongerSourceOnly(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		s := b.create(t, sessionlog.CreateParams{Account: "a", Agent: "a", Title: "created"})
		for _, step := range []struct {
			source string
			taken  bool
		}{
			{sessionlog.TitleSystem, true}, {sessionlog.TitleAgent, true}, {sessionlog.TitleSystem, false}, {sessionlog.TitleAgent, true},
			{sessionlog.TitleUser, true}, {sessionlog.TitleAgent, false}, {sessionlog.TitleSystem, false}, {sessionlog.TitleUser, true},
		} {
			before := b.session(t, s.ID)
			b.reasons()
			title := step.source + " over " + before.TitleSource
			var taken bool
			b.write(t, func(tx store.Tx) (err error) {
				taken, err = b.log.SetTitle(tx, s.ID, title, step.source)
				return err
			})
			after := b.session(t, s.ID)
			if taken != step.taken || (after.Title == title) != step.taken || (len(b.reasons()) == 1) != step.taken {
				t.Errorf("%s: taken %v, title is %q, want taken %v", title, taken, after.Title, step.taken)
			}
		}
	})
}

func TestSetStatusAnnouncesOnlyTransitions(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		s := b.create(t, sessionlog.CreateParams{})
		b.reasons()
		watched := b.watch(t, s.ID)
		for _, status := range []string{"idle", "streaming", "streaming", "error", "error", "idle"} {
			b.write(t, func(tx store.Tx) error { return b.log.SetStatus(tx, s.ID, status) })
		}
		var seen []string
		for _, m := range frames(t, b, watched) {
			info, ok := m.Frame.Value.(wire.SessionInfo)
			if !ok || m.Frame.Kind != wire.FrameChange || info.ID != s.ID {
				t.Fatalf("frame is %s", m.JSON())
			}
			seen = append(seen, info.Status)
		}
		if want := []string{"streaming", "error", "idle"}; !slices.Equal(seen, want) {
			t.Errorf("announced %v, want %v", seen, want)
		}
		if reasons := b.reasons(); !slices.Equal(reasons, []string{"session-updated", "session-updated", "session-updated"}) {
			t.Errorf("changes are %v", reasons)
		}
	})
}

func TestChangesOfASessionAreKeptAndAnnounced(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		s := b.create(t, sessionlog.CreateParams{})
		b.clock.Advance(time.Second)
		plan := &wire.RunPlan{Title: "plan", Steps: []wire.PlanStep{{ID: "1", Label: "go", Status: "pending"}}}
		override := &wire.ModelOverride{Provider: "p", Model: "m"}
		b.write(t, func(tx store.Tx) error { return b.log.SetDescription(tx, s.ID, "what it is about") })
		b.write(t, func(tx store.Tx) error { return b.log.SetPlan(tx, s.ID, plan) })
		b.write(t, func(tx store.Tx) error { return b.log.SetModelOverride(tx, s.ID, override) })
		got := b.session(t, s.ID)
		if got.Description != "what it is about" || !cmp.Equal(got.Plan, plan) || !cmp.Equal(got.ModelOverride, override) || got.UpdatedAt != start.UnixMilli()+1000 {
			t.Errorf("the session is %+v", got)
		}
		watched := b.watch(t, s.ID)
		b.write(t, func(tx store.Tx) error { return b.log.SetPlan(tx, s.ID, nil) })
		b.write(t, func(tx store.Tx) error { return b.log.SetModelOverride(tx, s.ID, nil) })
		if got := b.session(t, s.ID); got.Plan != nil || got.ModelOverride != nil {
			t.Errorf("after clearing the session is %+v", got)
		}
		announced, kept := frames(t, b, watched), b.session(t, s.ID)
		if len(announced) != 2 || !cmp.Equal(announced[1].Frame.Value, any(kept.Info())) {
			t.Errorf("announced %d changes, the last of which is not what is kept", len(announced))
		}
	})
}

func TestWhatIsAskedOfAMissingSessionIsNotFound(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		for name, fn := range map[string]func(tx store.Tx) error{
			"Get":              func(tx store.Tx) error { _, err := sessionlog.Get(tx, "x"); return err },
			"SetTitle":         func(tx store.Tx) error { _, err := b.log.SetTitle(tx, "x", "t", "user"); return err },
			"SetStatus":        func(tx store.Tx) error { return b.log.SetStatus(tx, "x", "idle") },
			"SetPlan":          func(tx store.Tx) error { return b.log.SetPlan(tx, "x", nil) },
			"SetDescription":   func(tx store.Tx) error { return b.log.SetDescription(tx, "x", "d") },
			"SetModelOverride": func(tx store.Tx) error { return b.log.SetModelOverride(tx, "x", nil) },
			"Delete":           func(tx store.Tx) error { return b.log.Delete(tx, "x") },
			"Attach":           func(tx store.Tx) error { _, err := b.log.Attach(tx, "x", sessionlog.Attachment{}); return err },
		} {
			err := b.store.Write(t.Context(), store.Interactive, fn)
			if fault.CodeOf(err) != fault.NotFound || err.Error() != "Session not found" {
				t.Errorf("%s = %v", name, err)
			}
		}
	})
}

func TestActivityRollsUpTheLatestEventAndTheLatestMessage(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		activity := func() *wire.AgentActivity {
			return read(t, b, func(tx store.Tx) (*wire.AgentActivity, error) { return sessionlog.Activity(tx, "agent") })
		}
		first, second := b.create(t, sessionlog.CreateParams{}), b.create(t, sessionlog.CreateParams{})
		b.append(t, b.create(t, sessionlog.CreateParams{Account: "x", Agent: "another"}).ID, says("user", "x"))
		if a := activity(); a != nil {
			t.Errorf("before anything happened the activity is %+v", a)
		}
		call := sessionlog.Entry{Payload: wire.ToolCallEvent{Type: "tool_call", ID: "c", Name: "read"}}
		userCall := sessionlog.Entry{Payload: wire.ToolCallEvent{Type: "tool_call", ID: "c", Name: "read", Actor: "user"}}
		answer := sessionlog.Entry{Payload: wire.ToolResultEvent{Type: "tool_result", ToolCallID: "c", Name: "read"}}
		broken := sessionlog.Entry{Payload: wire.ErrorEvent{Type: "error", Message: "m"}}
		at := start.UnixMilli()
		for i, step := range []struct {
			session string
			entries []sessionlog.Entry
			kind    string
			said    int
			from    string
			where   string
		}{
			{first.ID, []sessionlog.Entry{system("note")}, "agent", 0, "", ""},
			{first.ID, []sessionlog.Entry{call}, "tool", 0, "", ""},
			{first.ID, []sessionlog.Entry{says("user", "hi")}, "user", 3, "user", first.ID},
			{second.ID, []sessionlog.Entry{says("user", "hi"), says("assistant", "yes"), call}, "tool", 4, "agent", second.ID},
			{first.ID, []sessionlog.Entry{answer}, "tool", 4, "agent", second.ID},
			{first.ID, []sessionlog.Entry{userCall}, "tool", 4, "agent", second.ID},
			{first.ID, []sessionlog.Entry{system("note")}, "agent", 4, "agent", second.ID},
			{second.ID, []sessionlog.Entry{broken}, "agent", 4, "agent", second.ID},
			{first.ID, []sessionlog.Entry{says("assistant", "so"), says("user", "no"), system("note")}, "agent", 9, "user", first.ID},
		} {
			b.clock.Advance(time.Millisecond)
			b.append(t, step.session, step.entries...)
			want := &wire.AgentActivity{At: at + int64(i+1), Kind: step.kind, MessageFrom: step.from, SessionID: step.where}
			if step.said > 0 {
				want.MessageAt = at + int64(step.said)
			}
			if diff := cmp.Diff(want, activity()); diff != "" {
				t.Errorf("step %d (-want +got):\n%s", i+1, diff)
			}
		}
		last := b.session(t, second.ID)
		if got := last.Info().Activity; !cmp.Equal(got, &wire.SessionActivity{MessageAt: at + 4, MessageFrom: "agent"}) {
			t.Errorf("the second session's activity is %+v", got)
		}
	})
}

// listed pages through a list and returns the ids in order.
func (b *bench) listed(t *testing.T, q sessionlog.Query) (ids []string) {
	t.Helper()
	for {
		more := false
		page := read(t, b, func(tx store.Tx) (page []sessionlog.Session, err error) {
			page, more, err = sessionlog.List(tx, q)
			return page, err
		})
		if more && int64(len(page)) != q.Limit || int64(len(page)) > q.Limit {
			t.Fatalf("a page of %d with more %v, limit %d", len(page), more, q.Limit)
		}
		for _, s := range page {
			ids = append(ids, s.ID)
		}
		if !more {
			return ids
		}
		last := page[len(page)-1]
		q.After = &wire.SessionListCursor{UpdatedBefore: last.UpdatedAt, IDBefore: last.ID}
	}
}

func TestPagesOfSessionsLoseAndRepeatNothingWithinAMillisecond(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		var want []string
		for i := range 13 {
			want = append(want, b.create(t, sessionlog.CreateParams{}).ID)
			if i%5 == 4 {
				b.clock.Advance(time.Millisecond)
			}
		}
		// Newest first, and within a millisecond the greatest id first, which the ids of this test grow towards.
		slices.Reverse(want)
		for limit := int64(1); limit <= 14; limit++ {
			for _, q := range []sessionlog.Query{{Account: "account", Limit: limit}, {Agent: "agent", Limit: limit, TopLevel: true}} {
				if got := b.listed(t, q); !slices.Equal(got, want) {
					t.Errorf("in pages of %d: %v, want %v", limit, got, want)
				}
			}
		}
	})
}

// adopt makes a session the child of another.
func (b *bench) adopt(t *testing.T, child, parent string) {
	t.Helper()
	b.write(t, func(tx store.Tx) error {
		_, err := tx.Exec(`UPDATE sessions SET parent_session_id = ? WHERE id = ?`, parent, child)
		return err
	})
}

func TestListsSelectByAccountAgentAndParent(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		var ids []string
		for _, p := range []sessionlog.CreateParams{{Account: "a", Agent: "1"}, {Account: "a", Agent: "1"}, {Account: "a", Agent: "2"}, {Account: "b", Agent: "3"}} {
			ids = append(ids, b.create(t, p).ID)
		}
		b.adopt(t, ids[1], ids[0])
		for _, c := range []struct {
			query sessionlog.Query
			want  []string
		}{
			{sessionlog.Query{Account: "a"}, []string{ids[2], ids[1], ids[0]}},
			{sessionlog.Query{Account: "a", TopLevel: true}, []string{ids[2], ids[0]}},
			{sessionlog.Query{Agent: "1"}, []string{ids[1], ids[0]}},
			{sessionlog.Query{Agent: "1", TopLevel: true}, []string{ids[0]}},
			{sessionlog.Query{Parent: ids[0]}, []string{ids[1]}},
			{sessionlog.Query{Parent: ids[0], TopLevel: true}, []string{ids[1]}},
			{sessionlog.Query{Account: "nobody"}, nil},
		} {
			c.query.Limit = 10
			if got := b.listed(t, c.query); !slices.Equal(got, c.want) {
				t.Errorf("%+v lists %v, want %v", c.query, got, c.want)
			}
		}
		n := read(t, b, func(tx store.Tx) (int64, error) { return sessionlog.CountTopLevel(tx, "1", "") })
		if parent := b.session(t, ids[0]); n != 1 || parent.Info().ChildSessionCount != 1 {
			t.Errorf("%d top-level sessions, %d children", n, parent.Children)
		}
	})
}

func TestDeleteRemovesTheRowsAndPromotesTheChildren(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		doomed, child, other := b.create(t, sessionlog.CreateParams{}), b.create(t, sessionlog.CreateParams{}), b.create(t, sessionlog.CreateParams{})
		b.adopt(t, child.ID, doomed.ID)
		for _, s := range []string{doomed.ID, child.ID, other.ID} {
			b.append(t, s, says("user", "hi"))
			b.attach(t, s, "a.txt", "content")
		}
		b.reasons()
		watched := b.watch(t, doomed.ID)
		b.write(t, func(tx store.Tx) error { return b.log.Delete(tx, doomed.ID) })
		if got := b.session(t, child.ID); got.Parent != "" {
			t.Errorf("the child is %+v", got)
		}
		if got := b.rows(t); got != "2 sessions, 2 events, 2 attachments" {
			t.Errorf("%s are left", got)
		}
		if seen := frames(t, b, watched); len(seen) != 1 || !seen[0].Gone || !slices.Equal(b.reasons(), []string{"session-deleted"}) {
			t.Errorf("a deletion tells its watchers %v", seen)
		}
		last := read(t, b, func(tx store.Tx) (map[string]int64, error) {
			return sessionlog.LastSeqs(tx, []string{doomed.ID, child.ID, other.ID})
		})
		if !maps.Equal(last, map[string]int64{child.ID: 1, other.ID: 1}) {
			t.Errorf("the last seqs are %v", last)
		}
		b.write(t, func(tx store.Tx) error { return b.log.DeleteAgent(tx, "agent") })
		if got := b.rows(t); got != "0 sessions, 0 events, 0 attachments" {
			t.Errorf("%s are left of the agent", got)
		}
	})
}

func (b *bench) rows(t *testing.T) string {
	t.Helper()
	return read(t, b, func(tx store.Tx) (string, error) {
		var sessions, events, attachments int
		err := tx.QueryRow(`SELECT (SELECT count(*) FROM sessions), (SELECT count(*) FROM session_events), (SELECT count(*) FROM session_attachments)`).
			Scan(&sessions, &events, &attachments)
		return fmt.Sprintf("%d sessions, %d events, %d attachments", sessions, events, attachments), err
	})
}

func TestSessionsThatATriggerStartedCanBeLeftOut(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		byUser := b.create(t, sessionlog.CreateParams{}).ID
		b.create(t, sessionlog.CreateParams{StartedByTrigger: &wire.SessionTrigger{TriggerID: "t", FiringID: "f"}})
		for without, want := range map[string]int{"": 2, sessionlog.Triggered: 1} {
			got := read(t, b, func(tx store.Tx) ([]sessionlog.Session, error) {
				page, _, err := sessionlog.List(tx, sessionlog.Query{Account: "account", Without: without, Limit: 10})
				return page, err
			})
			if len(got) != want || without != "" && got[0].ID != byUser {
				t.Errorf("without %q: %d sessions", without, len(got))
			}
		}
	})
}
