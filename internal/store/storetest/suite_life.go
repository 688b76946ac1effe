package storetest

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/loam-agents/loam/internal/store"
)

var lifeRules = []rule{
	{"a canceled context runs nothing", func(t *testing.T, s store.Store) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		never := func(store.Tx) error { t.Error("the closure ran"); return nil }
		if err := s.Write(ctx, store.Interactive, never); !errors.Is(err, context.Canceled) {
			t.Errorf("write: %v", err)
		}
		if err := s.Read(ctx, never); !errors.Is(err, context.Canceled) {
			t.Errorf("read: %v", err)
		}
	}},
	{"a context that ends inside a closure does not interrupt it", func(t *testing.T, s store.Store) {
		ctx, cancel := context.WithCancel(t.Context())
		err := s.Write(ctx, store.Interactive, func(tx store.Tx) error {
			cancel()
			return insert(tx, "a", 1)
		})
		if err != nil || count(t, s) != 1 {
			t.Errorf("got %v", err)
		}
	}},
	{"close waits for writes in progress and refuses later ones", closeDrains},
	{"the process that opened the store is alive, others are not", func(t *testing.T, s store.Store) {
		for epoch, want := range map[int64]bool{s.Epoch(): true, s.Epoch() + 1: false, s.Epoch() - 1: false} {
			if alive, err := s.Alive(t.Context(), epoch); err != nil || alive != want {
				t.Errorf("Alive(%d) = %v, %v; want %v", epoch, alive, err, want)
			}
		}
	}},
	{"a process alone has no peers", func(t *testing.T, s store.Store) {
		if peers, err := s.Peers(t.Context()); err != nil || peers != 0 {
			t.Errorf("%d peers, %v", peers, err)
		}
	}},
	{"a sound database passes its check", func(t *testing.T, s store.Store) {
		if err := s.Check(t.Context()); err != nil {
			t.Error(err)
		}
	}},
	{"tx and store name one dialect", func(t *testing.T, s store.Store) {
		read(t, s, func(tx store.Tx) error {
			if tx.Dialect() != s.Dialect() {
				t.Errorf("%s and %s", tx.Dialect(), s.Dialect())
			}
			return nil
		})
	}},
}

func closeDrains(t *testing.T, s store.Store) {
	inside, goOn := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		err := s.Write(t.Context(), store.Interactive, func(tx store.Tx) error {
			close(inside)
			<-goOn
			return insert(tx, "a", 1)
		})
		if err != nil {
			t.Errorf("the write in progress: %v", err)
		}
	})
	<-inside
	wg.Go(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	// The closure is let go only when the store refuses others, so Close had to wait for it.
	for s.Read(t.Context(), func(store.Tx) error { return nil }) == nil {
	}
	close(goOn)
	wg.Wait()
	never := func(store.Tx) error { t.Error("a closure ran after close"); return nil }
	if err := s.Write(t.Context(), store.Interactive, never); !errors.Is(err, store.ErrClosed) {
		t.Errorf("write after close: %v", err)
	}
	if err := s.Read(t.Context(), never); !errors.Is(err, store.ErrClosed) {
		t.Errorf("read after close: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
}
