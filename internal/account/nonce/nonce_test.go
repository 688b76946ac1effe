package nonce_test

import (
	"errors"
	"fmt"
	"maps"
	"testing"

	"pgregory.net/rapid"

	"github.com/loam-agents/loam/internal/account/nonce"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/store/storetest"
)

func write(t *testing.T, s store.Store, fn func(tx store.Tx) error) {
	t.Helper()
	if err := s.Write(t.Context(), store.Interactive, fn); err != nil {
		t.Fatalf("write: %v", err)
	}
}

func lookup(t *testing.T, s store.Store, hash string) (response []byte, known bool) {
	t.Helper()
	err := s.Read(t.Context(), func(tx store.Tx) (err error) {
		response, known, err = nonce.Lookup(tx, hash)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return response, known
}

func TestARecordedActionIsAnsweredAsTheFirstTime(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s store.Store) {
		if _, known := lookup(t, s, "h"); known {
			t.Fatal("an action is known before it came")
		}
		write(t, s, func(tx store.Tx) error {
			return nonce.Record(tx, nonce.Entry{Hash: "h", Account: "z", Action: "CreateAgent", Response: []byte("\x00answer"), ExpiresAt: 10})
		})
		if response, known := lookup(t, s, "h"); !known || string(response) != "\x00answer" {
			t.Errorf("the recorded answer: %q, %v", response, known)
		}
		again := s.Write(t.Context(), store.Interactive, func(tx store.Tx) error {
			return nonce.Record(tx, nonce.Entry{Hash: "h", Account: "z", Action: "CreateAgent", Response: []byte("other")})
		})
		if !errors.Is(again, nonce.ErrSeen) {
			t.Errorf("second record: %v", again)
		}
		if response, _ := lookup(t, s, "h"); string(response) != "\x00answer" {
			t.Errorf("after the refused record: %q", response)
		}
	})
}

func TestPruneRemovesTheOldestExpiredFirst(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s store.Store) {
		write(t, s, func(tx store.Tx) error {
			for i := range 6 {
				e := nonce.Entry{Hash: fmt.Sprint(i), Account: "z", Action: "a", Response: []byte{}, ExpiresAt: int64(i)}
				if err := nonce.Record(tx, e); err != nil {
					return err
				}
			}
			return nil
		})
		for _, step := range []struct{ removed, first int64 }{{3, 3}, {1, 4}, {0, 4}} {
			var removed int64
			write(t, s, func(tx store.Tx) (err error) {
				removed, err = nonce.Prune(tx, 4, 3)
				return err
			})
			if removed != step.removed {
				t.Errorf("removed %d, want %d", removed, step.removed)
			}
			for i := range int64(6) {
				if _, known := lookup(t, s, fmt.Sprint(i)); known != (i >= step.first) {
					t.Errorf("after pruning below %d: entry %d known = %v", step.first, i, known)
				}
			}
		}
	})
}

// TestAHashIsRecordedOnceUntilItIsPruned compares the table with a map under random operations.
func TestAHashIsRecordedOnceUntilItIsPruned(t *testing.T) {
	t.Parallel()
	s := storetest.SQLite(t)
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		round++
		model := map[string]int64{}
		hashes := rapid.SampledFrom([]string{"a", "b", "c"})
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			hash := fmt.Sprint(round, hashes.Draw(rt, "hash"))
			expires := rapid.Int64Range(1, 20).Draw(rt, "expires")
			prune := rapid.Bool().Draw(rt, "prune")
			if prune {
				maps.DeleteFunc(model, func(_ string, at int64) bool { return at < expires })
				write(t, s, func(tx store.Tx) error {
					_, err := nonce.Prune(tx, expires, 1000)
					return err
				})
				continue
			}
			err := s.Write(t.Context(), store.Interactive, func(tx store.Tx) error {
				return nonce.Record(tx, nonce.Entry{Hash: hash, Account: "z", Action: "x", ExpiresAt: expires})
			})
			_, seen := model[hash]
			if err != nil && !errors.Is(err, nonce.ErrSeen) || seen != (err != nil) {
				rt.Fatalf("record of %s: %v; seen before: %v", hash, err, seen)
			}
			if !seen {
				model[hash] = expires
			}
			if _, known := lookup(t, s, hash); !known {
				rt.Fatalf("%s is not known after its record", hash)
			}
		}
	})
}
