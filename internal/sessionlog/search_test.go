package sessionlog_test

import (
	"fmt"
	"testing"

	"github.com/loam-agents/loam/internal/sessionlog"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

func TestASearchFindsAllWordsInTheMessagesOfTheAgentAndOfWhomItIsFor(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		open := func(agent, by string, texts ...string) string {
			t.Helper()
			var id string
			b.write(t, func(tx store.Tx) error {
				s, err := b.log.Create(tx, sessionlog.CreateParams{Account: "z1", Agent: agent, CreatedBy: by})
				if err != nil {
					return err
				}
				id = s.ID
				for _, text := range texts {
					if _, err := b.log.Append(tx, id, nil, sessionlog.Entry{Payload: wire.MessageEvent{Type: "message", Role: "user", Content: text}}); err != nil {
						return err
					}
				}
				return nil
			})
			return id
		}
		first := open("a1", "z1", "Grüne TEE-Blätter", "water", "tea and water_pipes")
		second := open("a1", "z2", "tea in the afternoon")
		open("a2", "z1", "tea of another agent")
		search := func(by, query string) string {
			t.Helper()
			hits, err := sessionlog.Search(t.Context(), b.store, "a1", by, query, 10)
			if err != nil {
				t.Fatalf("%q: %v", query, err)
			}
			out := ""
			for _, h := range hits {
				name := map[string]string{first: "first", second: "second"}[h.Session]
				out += fmt.Sprintf("%s/%d ", name, h.Seq)
			}
			return out
		}
		for _, c := range [][3]string{
			{"", "water tea", "first/3 "}, {"", "grüne blätter", "first/1 "}, {"", "wat", "first/3 first/2 "}, {"z2", "tea", "second/1 "}, {"z3", "tea", ""},
			{"", `tea" OR "water`, ""}, {"", "tea & ! (", "first/3 second/1 "}, {"", " '*:% ", ""}, {"", "", ""}, {"", "pipes", "first/3 "},
		} {
			got := search(c[0], c[1])
			if got != c[2] && !(c[2] == "first/3 second/1 " && got == "second/1 first/3 ") {
				t.Errorf("%q for %q finds %q, want %q", c[1], c[0], got, c[2])
			}
		}
		// What is appended after a search is found by the next one.
		b.write(t, func(tx store.Tx) error {
			_, err := b.log.Append(tx, first, nil, sessionlog.Entry{Payload: wire.MessageEvent{Type: "message", Role: "assistant", Content: "kettle"}})
			return err
		})
		if got := search("", "kettle"); got != "first/4 " {
			t.Errorf("kettle: %q", got)
		}
		b.write(t, func(tx store.Tx) error { return b.log.Delete(tx, first) })
		if got := search("", "water"); got != "" {
			t.Errorf("a deleted session: %q", got)
		}
		for _, table := range []string{"thread_index", "thread_indexed"} {
			n := read(t, b, func(tx store.Tx) (n int64, err error) {
				err = tx.QueryRow(`SELECT COUNT(*) FROM `+table+` WHERE session_id = ?`, first).Scan(&n)
				return n, err
			})
			if n != 0 {
				t.Errorf("%s holds %d rows of a deleted session", table, n)
			}
		}
	})
}
