package verbs_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/sessionlog"
	"github.com/loam-agents/loam/internal/store"
)

func TestStatusNamesAndDescribesAThread(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		for i, c := range []struct{ arguments, want, title, description string }{
			{`{"title":" Tea \n in\u0000May "}`, `{"ok":true,"title":"Tea in May"}`, "Tea in May", ""},
			{`{"description":"half\u0000 done"}`, `{"description":"half done","ok":true}`, "Tea in May", "half done"},
			{`{"title":"Tea","description":"done"}`, `{"description":"done","ok":true,"title":"Tea"}`, "Tea", "done"},
			{`{"title":" ","description":""}`, `{"description":"","ok":true}`, "Tea", ""},
		} {
			out, err := b.call("run", "status", c.arguments)
			got, _ := json.Marshal(out)
			if s := b.row(); err != nil || string(got) != c.want || s.Title != c.title || s.Description != c.description {
				t.Errorf("step %d: %s, %v; the session is %q, %q", i, got, err, s.Title, s.Description)
			}
		}
	})
}

func TestATitleThatTheUserGaveStays(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		b.write(func(tx store.Tx) error {
			_, err := b.log.SetTitle(tx, b.session, "Mine", sessionlog.TitleUser)
			return err
		})
		out, err := b.call("run", "status", `{"title":"Yours","description":"d"}`)
		if s := b.row(); err != nil || out["title"] != nil || out["note"] == nil || s.Title != "Mine" || s.Description != "d" {
			t.Errorf("status = %v, %v; the session is %q, %q", out, err, s.Title, s.Description)
		}
	})
}

func TestStatusRefusesNothingAndTooMuch(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		for arguments, want := range map[string]string{
			`{}`:                 "Give a title or a description",
			`null`:               "Give a title or a description",
			`{"title":"  "}`:     "Give a title or a description",
			`{"title":"\u0000"}`: "Give a title or a description",
			`{"title":"` + strings.Repeat("é", 200) + `"}`:       "Title is too large: at most 256 bytes",
			`{"description":"` + strings.Repeat("é", 600) + `"}`: "Description is too large: at most 1024 bytes",
		} {
			if _, err := b.call("run", "status", arguments); fault.CodeOf(err) != fault.ValidationFailed || err.Error() != want {
				t.Errorf("%.40s: %v", arguments, err)
			}
		}
	})
}
