package storetest

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/loam-agents/loam/internal/store"
)

var writeRules = []rule{
	{"a write that returned is seen by the next read", func(t *testing.T, s store.Store) {
		write(t, s, func(tx store.Tx) error { return insert(tx, "a", 7) })
		read(t, s, func(tx store.Tx) error {
			if n, err := number(tx, "a"); err != nil || n != 7 {
				t.Errorf("n = %d, %v", n, err)
			}
			return nil
		})
	}},
	{"a closure that fails leaves nothing and its error comes back", func(t *testing.T, s store.Store) {
		err := s.Write(t.Context(), store.Background, func(tx store.Tx) error {
			if err := insert(tx, "a", 1); err != nil {
				return err
			}
			return fmt.Errorf("wrapped: %w", errOwn)
		})
		if !errors.Is(err, errOwn) {
			t.Errorf("got %v", err)
		}
		if n := count(t, s); n != 0 {
			t.Errorf("%d rows stayed", n)
		}
	}},
	{"a closure that panics leaves nothing and the store works on", func(t *testing.T, s store.Store) {
		err := s.Write(t.Context(), store.Interactive, func(tx store.Tx) error {
			if err := insert(tx, "a", 1); err != nil {
				return err
			}
			panic("oh no")
		})
		if !errors.Is(err, store.ErrPanic) {
			t.Errorf("got %v", err)
		}
		write(t, s, func(tx store.Tx) error { return insert(tx, "b", 1) })
		if n := count(t, s); n != 1 {
			t.Errorf("%d rows, want 1", n)
		}
	}},
	{"a closure that ends its goroutine leaves nothing and the store works on", endsGoroutine},
	{"a failed statement dooms the transaction though the closure drops its error", func(t *testing.T, s store.Store) {
		write(t, s, func(tx store.Tx) error { return insert(tx, "a", 1) })
		err := s.Write(t.Context(), store.Interactive, func(tx store.Tx) error {
			_ = insert(tx, "a", 2)
			_ = insert(tx, "b", 2)
			return nil
		})
		if !errors.Is(err, store.ErrUnique) {
			t.Errorf("got %v", err)
		}
		if n := count(t, s); n != 1 {
			t.Errorf("%d rows, want 1", n)
		}
	}},
	{"a reference to nothing is refused as such", func(t *testing.T, s store.Store) {
		err := s.Write(t.Context(), store.Interactive, func(tx store.Tx) error {
			_, err := tx.Exec("INSERT INTO details (id, item) VALUES (?, ?)", "d", "nobody")
			return err
		})
		if !errors.Is(err, store.ErrForeignKey) {
			t.Errorf("got %v", err)
		}
	}},
	{"exec tells how many rows it touched", func(t *testing.T, s store.Store) {
		write(t, s, func(tx store.Tx) error {
			for i := range 3 {
				if err := insert(tx, fmt.Sprint(i), i); err != nil {
					return err
				}
			}
			n, err := tx.Exec("UPDATE items SET note = ? WHERE n < ?", "small", 2)
			if n != 2 {
				t.Errorf("%d rows, want 2", n)
			}
			return err
		})
	}},
	{"a closure sees what it wrote, and on conflict returning works", func(t *testing.T, s store.Store) {
		write(t, s, func(tx store.Tx) error {
			for want := 1; want <= 3; want++ {
				var n int
				err := tx.QueryRow("INSERT INTO items (id, n) VALUES (?, 1) ON CONFLICT (id) DO UPDATE SET n = items.n + 1 RETURNING n", "a").Scan(&n)
				if err != nil || n != want {
					return fmt.Errorf("n = %d, want %d: %w", n, want, err)
				}
			}
			return nil
		})
	}},
	{"concurrent writes all count, and failed ones do not", concurrentWrites},
	{"any mix of concurrent closures adds up", concurrentMix},
}

func endsGoroutine(t *testing.T, s store.Store) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = s.Write(t.Context(), store.Interactive, func(tx store.Tx) error {
			if err := insert(tx, "a", 1); err != nil {
				t.Error(err)
			}
			runtime.Goexit()
			return nil
		})
	}()
	<-ended
	write(t, s, func(tx store.Tx) error { return insert(tx, "b", 1) })
	if n := count(t, s); n != 1 {
		t.Errorf("%d rows, want 1", n)
	}
}

func concurrentWrites(t *testing.T, s store.Store) {
	const writers, each = 8, 25
	write(t, s, func(tx store.Tx) error { return insert(tx, "sum", 0) })
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				err := s.Write(t.Context(), store.Priority(w%2), func(tx store.Tx) error {
					if err := insert(tx, fmt.Sprintf("%d-%d", w, i), i); err != nil {
						return err
					}
					if _, err := tx.Exec("UPDATE items SET n = n + 1 WHERE id = 'sum'"); err != nil {
						return err
					}
					if i%5 == 0 {
						return errOwn
					}
					return nil
				})
				if err != nil && !errors.Is(err, errOwn) {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	const kept = writers * each * 4 / 5
	read(t, s, func(tx store.Tx) error {
		if n, err := number(tx, "sum"); err != nil || n != kept {
			t.Errorf("the sum is %d, %v; want %d", n, err, kept)
		}
		return nil
	})
	if n := count(t, s); n != kept+1 {
		t.Errorf("%d rows, want %d", n, kept+1)
	}
	if stats := s.Stats(); stats.Writes < kept || stats.Commits > stats.Writes {
		t.Errorf("stats %+v", stats)
	}
}

// transfer moves an amount between two accounts, or fails after it has written.
type transfer struct {
	from, to, amount int
	fails            bool
}

func concurrentMix(t *testing.T, s store.Store) {
	const accounts = 4
	write(t, s, func(tx store.Tx) error {
		for i := range accounts {
			if err := insert(tx, fmt.Sprint(i), 0); err != nil {
				return err
			}
		}
		return nil
	})
	var want [accounts]int
	account := rapid.IntRange(0, accounts-1)
	plan := rapid.SliceOfN(rapid.Custom(func(r *rapid.T) transfer {
		return transfer{account.Draw(r, "from"), account.Draw(r, "to"), rapid.IntRange(1, 9).Draw(r, "amount"), rapid.IntRange(0, 4).Draw(r, "fails") == 0}
	}), 40, 40).Example(int(s.Epoch()))
	var wg sync.WaitGroup
	for _, tr := range plan {
		if !tr.fails {
			want[tr.from] -= tr.amount
			want[tr.to] += tr.amount
		}
		wg.Go(func() {
			if err := s.Write(t.Context(), store.Background, tr.apply); err != nil && !errors.Is(err, errOwn) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	read(t, s, func(tx store.Tx) error {
		for i, w := range want {
			if n, err := number(tx, fmt.Sprint(i)); err != nil || n != w {
				t.Errorf("account %d has %d, %v; want %d", i, n, err, w)
			}
		}
		return nil
	})
}

func (tr transfer) apply(tx store.Tx) error {
	for id, delta := range map[int]int{tr.from: -tr.amount, tr.to: tr.amount} {
		if tr.from == tr.to {
			delta = 0
		}
		n, err := number(tx, fmt.Sprint(id))
		if err != nil {
			return err
		}
		if _, err := tx.Exec("UPDATE items SET n = ? WHERE id = ?", n+delta, fmt.Sprint(id)); err != nil {
			return err
		}
	}
	if tr.fails {
		return errOwn
	}
	return nil
}
