package sqlite_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/store/sqlite"
)

func TestFillingIsAllOrNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	options := sqlite.Options{Path: filepath.Join(dir, "loam.db"), Migrations: schema(t, first)}
	fill := func(schema int64, table string) error {
		return sqlite.Fill(t.Context(), options, store.Filling{Schema: schema, Epoch: 41, Fill: func(l store.Loader) error {
			return l.Load(table, []string{"id", "body"}, [][]any{{"a", "one"}, {"b", "two"}})
		}})
	}
	if err := fill(1, "nowhere"); err == nil {
		t.Error("a table that does not exist was filled")
	}
	if err := fill(2, "notes"); !errors.Is(err, store.ErrNewerSchema) {
		t.Errorf("a schema of the future: %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if err := fill(1, "notes"); err != nil {
		t.Fatal(err)
	}
	if err := fill(1, "notes"); !errors.Is(err, store.ErrNotEmpty) {
		t.Errorf("a file that is there: %v", err)
	}
	// A reader needs nobody who works on the database, and does not hinder who does.
	for range 2 {
		r, err := sqlite.OpenReader(t.Context(), options)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		}()
		var n int64
		err = r.Read(t.Context(), func(tx store.Tx) error { return tx.QueryRow(`SELECT COUNT(*) FROM notes`).Scan(&n) })
		if err != nil || n != 2 {
			t.Errorf("a reader sees %d rows, %v", n, err)
		}
		if err := r.Write(t.Context(), store.Interactive, func(store.Tx) error { return nil }); !errors.Is(err, store.ErrReadOnly) {
			t.Errorf("a reader writes: %v", err)
		}
		if s := open(t, options); s.Epoch() < 42 {
			t.Errorf("epoch %d after one of 41", s.Epoch())
		} else if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
