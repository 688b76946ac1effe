package sqlite_test

import (
	"bufio"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/store/sqlite"
)

func TestAKilledProcessLosesNoAcknowledgedWriteAndKeepsNoHalfOne(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "loam.db")
	acknowledged := map[string]bool{}
	for round := range 3 {
		for _, id := range killAfter(t, path, 40+round*60) {
			acknowledged[id] = true
		}
		halves := readPairs(t, path)
		for id := range acknowledged {
			if halves[id] != 2 {
				t.Errorf("round %d: acknowledged write %s has %d halves", round, id, halves[id])
			}
		}
		for id, n := range halves {
			if n != 2 {
				t.Errorf("round %d: write %s is there by half", round, id)
			}
		}
	}
}

// killAfter kills a writing child when it has acknowledged n writes and returns all that it acknowledged.
func killAfter(t *testing.T, path string, n int) []string {
	t.Helper()
	cmd, err := childCommand("crash", path)
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var ids []string
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if id, ok := strings.CutPrefix(lines.Text(), "ack "); ok {
			ids = append(ids, id)
		}
		if len(ids) == n {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); err == nil || len(ids) < n {
		t.Fatalf("the child ended by itself after %d writes: %v", len(ids), err)
	}
	return ids
}

func readPairs(t *testing.T, path string) map[string]int {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlite.Options{Path: path, Migrations: pairSchema()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	halves := map[string]int{}
	err = s.Read(t.Context(), func(tx store.Tx) error {
		rows, err := tx.Query("SELECT id FROM pairs")
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var id string
			if err := rows.Scan(&id); err != nil {
				return err
			}
			halves[id]++
		}
		return rows.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	return halves
}
