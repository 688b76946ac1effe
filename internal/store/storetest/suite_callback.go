package storetest

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/loam-agents/loam/internal/store"
)

var callbackRules = []rule{
	{"callbacks run in order, after the commit and before the write returns", func(t *testing.T, s store.Store) {
		var ran []int
		write(t, s, func(tx store.Tx) error {
			for i := range 3 {
				tx.AfterCommit(func() { ran = append(ran, i) })
			}
			if len(ran) > 0 {
				t.Error("a callback ran before the commit")
			}
			return insert(tx, "a", 1)
		})
		if !slices.Equal(ran, []int{0, 1, 2}) {
			t.Errorf("ran %v", ran)
		}
	}},
	{"callbacks of a failed write do not run", func(t *testing.T, s store.Store) {
		for name, end := range map[string]func(store.Tx) error{
			"error":             func(store.Tx) error { return errOwn },
			"panic":             func(store.Tx) error { panic("oh no") },
			"dropped statement": func(tx store.Tx) error { _, _ = tx.Exec("UPDATE nothing SET n = 1"); return nil },
		} {
			err := s.Write(t.Context(), store.Interactive, func(tx store.Tx) error {
				tx.AfterCommit(func() { t.Errorf("%s: the callback ran", name) })
				return end(tx)
			})
			if err == nil {
				t.Errorf("%s: no error", name)
			}
		}
	}},
	{"what a callback announces is there to be read", func(t *testing.T, s store.Store) {
		announced := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			<-announced
			if n := count(t, s); n != 1 {
				t.Errorf("%d rows, want 1", n)
			}
		})
		write(t, s, func(tx store.Tx) error {
			tx.AfterCommit(func() { close(announced) })
			return insert(tx, "a", 1)
		})
		wg.Wait()
	}},
	{"a callback that panics does not fail its write", func(t *testing.T, s store.Store) {
		write(t, s, func(tx store.Tx) error {
			tx.AfterCommit(func() { panic("oh no") })
			return insert(tx, "a", 1)
		})
		write(t, s, func(tx store.Tx) error { return insert(tx, "b", 1) })
	}},
	{"a read runs its callbacks when it succeeds", func(t *testing.T, s store.Store) {
		ran := 0
		read(t, s, func(tx store.Tx) error { tx.AfterCommit(func() { ran++ }); return nil })
		err := s.Read(t.Context(), func(tx store.Tx) error { tx.AfterCommit(func() { ran++ }); return errOwn })
		if !errors.Is(err, errOwn) || ran != 1 {
			t.Errorf("%d callbacks, %v", ran, err)
		}
	}},
}
