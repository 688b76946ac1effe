package sessionlog_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/loam-agents/loam/internal/sessionlog"
	"github.com/loam-agents/loam/internal/store"
)

// memory is what the log must look like, kept in the simplest way.
type memory struct {
	sessions map[string]*remembered
}

type remembered struct {
	title, source, status, parent string
	updated                       int64
	events                        []string
	files                         map[string]bool
}

var ranks = map[string]int{"system": 0, "agent": 1, "user": 2}

func (m *memory) ids() []string {
	var ids []string
	for id := range m.sessions {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// Random operations, a third of which are rolled back, leave the log as a simple model of it.
func TestRandomOperationsAgreeWithTheModel(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		rapid.Check(t, func(rt *rapid.T) {
			b.write(t, func(tx store.Tx) error { return b.log.DeleteAgent(tx, "agent") })
			m := &memory{sessions: map[string]*remembered{}}
			for range rapid.IntRange(1, 30).Draw(rt, "steps") {
				b.clock.Advance(time.Duration(rapid.IntRange(0, 2).Draw(rt, "ms")) * time.Millisecond)
				b.step(t, rt, m)
			}
			b.compare(t, rt, m)
		})
	})
}

// step does one operation and, when it is kept, does it to the model.
func (b *bench) step(t *testing.T, rt *rapid.T, m *memory) {
	kept := rapid.IntRange(0, 2).Draw(rt, "kept") > 0
	rollback := errors.New("rolled back")
	var apply func()
	fn := b.draw(rt, m, &apply)
	err := b.store.Write(t.Context(), store.Interactive, func(tx store.Tx) error {
		if err := fn(tx); err != nil || kept {
			return err
		}
		return rollback
	})
	switch {
	case err == nil:
		apply()
	case !errors.Is(err, rollback):
		rt.Fatal(err)
	}
}

func (b *bench) draw(rt *rapid.T, m *memory, apply *func()) func(tx store.Tx) error {
	now := b.clock.Now().UnixMilli()
	if len(m.sessions) == 0 || rapid.IntRange(0, 4).Draw(rt, "create") == 0 {
		return func(tx store.Tx) error {
			s, err := b.log.Create(tx, sessionlog.CreateParams{Account: "account", Agent: "agent", Title: "t"})
			*apply = func() {
				m.sessions[s.ID] = &remembered{title: "t", source: "system", status: "idle", updated: now, files: map[string]bool{}}
			}
			return err
		}
	}
	id := rapid.SampledFrom(m.ids()).Draw(rt, "session")
	s := m.sessions[id]
	switch rapid.SampledFrom([]string{"append", "append", "title", "status", "attach", "adopt", "delete"}).Draw(rt, "operation") {
	case "append":
		texts := rapid.SliceOfN(rapid.String(), 0, 3).Draw(rt, "texts")
		var entries []sessionlog.Entry
		for _, text := range texts {
			entries = append(entries, says("user", text))
		}
		*apply = func() {
			if s.events = append(s.events, texts...); len(texts) > 0 {
				s.updated = now
			}
		}
		return func(tx store.Tx) error { _, err := b.log.Append(tx, id, nil, entries...); return err }
	case "title":
		source := rapid.SampledFrom([]string{"system", "agent", "user"}).Draw(rt, "source")
		*apply = func() {
			if ranks[source] >= ranks[s.source] {
				s.title, s.source, s.updated = "by "+source, source, now
			}
		}
		return func(tx store.Tx) error { _, err := b.log.SetTitle(tx, id, "by "+source, source); return err }
	case "status":
		status := rapid.SampledFrom([]string{"idle", "streaming", "error"}).Draw(rt, "status")
		*apply = func() {
			if s.status != status {
				s.status, s.updated = status, now
			}
		}
		return func(tx store.Tx) error { return b.log.SetStatus(tx, id, status) }
	case "attach":
		hash := fmt.Sprint(rapid.IntRange(0, 3).Draw(rt, "file"))
		*apply = func() { s.files[hash] = true }
		return func(tx store.Tx) error {
			_, err := b.log.Attach(tx, id, sessionlog.Attachment{Hash: hash, Size: 1, Name: "f"})
			return err
		}
	case "adopt":
		child := rapid.SampledFrom(m.ids()).Draw(rt, "child")
		*apply = func() { m.sessions[child].parent = id }
		return func(tx store.Tx) error {
			_, err := tx.Exec(`UPDATE sessions SET parent_session_id = ? WHERE id = ?`, id, child)
			return err
		}
	}
	*apply = func() {
		delete(m.sessions, id)
		for _, other := range m.sessions {
			if other.parent == id {
				other.parent = ""
			}
		}
	}
	return func(tx store.Tx) error { return b.log.Delete(tx, id) }
}

func (b *bench) compare(t *testing.T, rt *rapid.T, m *memory) {
	order := m.ids()
	slices.SortFunc(order, func(x, y string) int {
		return cmp.Or(cmp.Compare(m.sessions[y].updated, m.sessions[x].updated), cmp.Compare(y, x))
	})
	if got := b.listed(t, sessionlog.Query{Agent: "agent", Limit: 3}); !slices.Equal(got, order) {
		rt.Fatalf("listed %v, want %v", got, order)
	}
	files := 0
	for id, want := range m.sessions {
		s := b.session(t, id)
		got := remembered{title: s.Title, source: s.TitleSource, status: s.Status, parent: s.Parent, updated: s.UpdatedAt, files: want.files}
		replayed := read(t, b, func(tx store.Tx) ([]sessionlog.Stored, error) { return sessionlog.Replay(tx, id, 0) })
		for i, e := range replayed {
			if e.Seq != int64(i+1) {
				rt.Fatalf("event %d of %s has seq %d", i, id, e.Seq)
			}
			got.events = append(got.events, textOf(rt, e))
		}
		if s.LastSeq != int64(len(replayed)) {
			rt.Fatalf("last seq of %s is %d of %d events", id, s.LastSeq, len(replayed))
		}
		if diff := gocmp.Diff(*want, got, gocmp.AllowUnexported(remembered{}), cmpopts.EquateEmpty()); diff != "" {
			rt.Fatalf("session %s (-model +log):\n%s", id, diff)
		}
		files += len(want.files)
	}
	events := 0
	for _, s := range m.sessions {
		events += len(s.events)
	}
	if got, want := b.rows(t), fmt.Sprintf("%d sessions, %d events, %d attachments", len(m.sessions), events, files); got != want {
		rt.Fatalf("there are %s, want %s", got, want)
	}
}

func textOf(rt *rapid.T, e sessionlog.Stored) string {
	var m struct{ Content string }
	if err := json.Unmarshal(e.Event, &m); err != nil {
		rt.Fatal(err)
	}
	return m.Content
}
