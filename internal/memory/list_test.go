package memory_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/memory"
	"github.com/loam-agents/loam/internal/store"
)

func shown(l memory.Listing) string {
	var out []string
	for _, e := range l.Entries {
		out = append(out, fmt.Sprintf("%s %s %d@%d+%d", e.Type, e.Path, e.Size, e.UpdatedAt, e.EntryCount))
	}
	return strings.Join(out, "\n")
}

func TestListShowsTheWholeTreeByPath(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		for i, path := range []string{"b/x/y", "a.md", "b/z", "b-1", "B", "é"} {
			b.put(path, strings.Repeat("x", i), int64(i))
		}
		got, err := look(b, func(tx store.Tx) (memory.Listing, error) { return memory.List(tx, "agent") })
		if err != nil {
			b.t.Fatal(err)
		}
		want := strings.Join([]string{
			"file B 4@4+0", "file a.md 1@1+0", "dir b 0@2+0", "file b-1 3@3+0", "dir b/x 0@0+0", "file b/x/y 0@0+0",
			"file b/z 2@2+0", "file é 5@5+0",
		}, "\n")
		if diff := cmp.Diff(want, shown(got)); diff != "" {
			b.t.Errorf("entries (-want +got):\n%s", diff)
		}
		if got.TotalBytes != 15 || got.TotalFiles != 6 || got.Truncated {
			b.t.Errorf("listing = %+v", got)
		}
	})
}

func TestAnEmptyMemoryListsAsAnEmptyList(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		for name, list := range map[string]func(tx store.Tx) (memory.Listing, error){
			"tree": func(tx store.Tx) (memory.Listing, error) { return memory.List(tx, "agent") },
			"root": func(tx store.Tx) (memory.Listing, error) { return memory.ListDir(tx, "agent", "./") },
		} {
			if got, err := look(b, list); err != nil || got.Entries == nil || len(got.Entries) != 0 {
				b.t.Errorf("%s: %+v, %v", name, got, err)
			}
		}
	})
}

func TestListDirShowsOneLevelWithCounts(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		for i, path := range []string{"top", "d/one", "d/sub/a", "d/sub/b", "d/sub/deep/c", "d/sub/deep/d"} {
			b.put(path, "xx", int64(i))
		}
		for path, want := range map[string]struct {
			entries string
			bytes   int64
		}{
			"":         {"dir d 0@5+2\nfile top 2@0+0", 12},
			"d":        {"file d/one 2@1+0\ndir d/sub 0@5+3", 10},
			"./d/sub/": {"file d/sub/a 2@2+0\nfile d/sub/b 2@3+0\ndir d/sub/deep 0@5+2", 8},
		} {
			got, err := look(b, func(tx store.Tx) (memory.Listing, error) { return memory.ListDir(tx, "agent", path) })
			if err != nil || shown(got) != want.entries || got.TotalBytes != want.bytes {
				b.t.Errorf("%q: %v, %d bytes\n%s", path, err, got.TotalBytes, shown(got))
			}
		}
		for path, want := range map[string]fault.Code{"none": fault.NotFound, "top": fault.ValidationFailed, "..": fault.ValidationFailed} {
			_, err := look(b, func(tx store.Tx) (memory.Listing, error) { return memory.ListDir(tx, "agent", path) })
			if fault.CodeOf(err) != want {
				b.t.Errorf("%q: %v", path, err)
			}
		}
	})
}

func TestListingsStopAtTheLimit(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		p, err := memory.Prepare(b.t.Context(), b.blobs, []byte("x"))
		if err != nil {
			b.t.Fatal(err)
		}
		err = b.store.Write(b.t.Context(), store.Interactive, func(tx store.Tx) error {
			for i := range memory.MaxEntries + 5 {
				if _, err := tx.Exec(`INSERT INTO memory_files (agent_id, path, hash, size, encoding, updated_at)
					VALUES (?, ?, ?, ?, ?, ?)`, "agent", fmt.Sprintf("d/%04d", i), p.Hash, p.Size, p.Encoding, 1); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.t.Fatal(err)
		}
		for name, list := range map[string]func(tx store.Tx) (memory.Listing, error){
			"tree": func(tx store.Tx) (memory.Listing, error) { return memory.List(tx, "agent") },
			"dir":  func(tx store.Tx) (memory.Listing, error) { return memory.ListDir(tx, "agent", "d") },
		} {
			got, err := look(b, list)
			if err != nil || len(got.Entries) != memory.MaxEntries || !got.Truncated || got.TotalFiles != memory.MaxEntries+5 {
				b.t.Errorf("%s: %d entries of %d, truncated %v, %v", name, len(got.Entries), got.TotalFiles, got.Truncated, err)
			}
		}
	})
}

func TestSummarizeNamesTheTopLevel(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		line := func(limit int) string {
			b.t.Helper()
			s, err := look(b, func(tx store.Tx) (memory.Summary, error) { return memory.Summarize(tx, "agent", limit) })
			if err != nil {
				b.t.Fatal(err)
			}
			return s.String()
		}
		if got := line(12); got != "memory/ — empty" {
			b.t.Errorf("empty: %s", got)
		}
		b.put("b.md", "x", 1)
		if got := line(12); got != "memory/ — 1 file: b.md" {
			b.t.Errorf("one: %s", got)
		}
		for _, path := range []string{"a/1", "a/2/3", "a/2/4", "z"} {
			b.put(path, "x", 1)
		}
		if got := line(12); got != "memory/ — 5 files: a/(3) · b.md · z" {
			b.t.Errorf("all: %s", got)
		}
		if got := line(2); got != "memory/ — 5 files: a/(3) · b.md · …" {
			b.t.Errorf("cut: %s", got)
		}
	})
}
