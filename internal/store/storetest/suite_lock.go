package storetest

import (
	"fmt"
	"sync"
	"testing"

	"github.com/loam-agents/loam/internal/store"
)

var lockRules = []rule{
	{"no write skew when the lock comes first", func(t *testing.T, s store.Store) {
		writeSkew(t, s, func(tx store.Tx) error { return tx.Lock("ward") })
	}},
	{"no write skew when the lock comes after a query", func(t *testing.T, s store.Store) {
		writeSkew(t, s, func(tx store.Tx) error {
			if _, err := number(tx, "0"); err != nil {
				return err
			}
			return tx.Lock("ward")
		})
	}},
	{"no write skew when the closure drops the answer of lock", func(t *testing.T, s store.Store) {
		writeSkew(t, s, func(tx store.Tx) error {
			_, err := number(tx, "0")
			_ = tx.Lock("ward")
			return err
		})
	}},
	{"a lock may be taken twice, and is free after a failure", func(t *testing.T, s store.Store) {
		for range 20 {
			_ = s.Write(t.Context(), store.Interactive, func(tx store.Tx) error {
				if err := tx.Lock("k"); err != nil {
					return err
				}
				if err := tx.Lock("k"); err != nil {
					t.Error(err)
				}
				return errOwn
			})
			_ = s.Write(t.Context(), store.Interactive, func(tx store.Tx) error {
				_ = tx.Lock("k")
				panic("oh no")
			})
		}
		write(t, s, func(tx store.Tx) error { return tx.Lock("k") })
	}},
	{"locks in any order do not stand still", crossedLocks},
}

// writeSkew lets pairs of closures race that each may go off duty only while another stays on.
func writeSkew(t *testing.T, s store.Store, lock func(store.Tx) error) {
	const doctors = 4
	write(t, s, func(tx store.Tx) error {
		for i := range doctors {
			if err := insert(tx, fmt.Sprint(i), 1); err != nil {
				return err
			}
		}
		return nil
	})
	for range 5 {
		write(t, s, func(tx store.Tx) error { _, err := tx.Exec("UPDATE items SET n = 1"); return err })
		var wg sync.WaitGroup
		for i := range doctors {
			wg.Go(func() {
				err := s.Write(t.Context(), store.Interactive, func(tx store.Tx) error {
					if err := lock(tx); err != nil {
						return err
					}
					return goOffDuty(tx, fmt.Sprint(i))
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		read(t, s, func(tx store.Tx) error {
			if on, err := onDuty(tx); err != nil || on != 1 {
				t.Errorf("%d are on duty, %v; want 1", on, err)
			}
			return nil
		})
	}
}

func onDuty(tx store.Tx) (n int, err error) {
	err = tx.QueryRow("SELECT COUNT(*) FROM items WHERE n = 1").Scan(&n)
	return n, err
}

func goOffDuty(tx store.Tx, id string) error {
	on, err := onDuty(tx)
	if err != nil || on < 2 {
		return err
	}
	_, err = tx.Exec("UPDATE items SET n = 0 WHERE id = ?", id)
	return err
}

func crossedLocks(t *testing.T, s store.Store) {
	write(t, s, func(tx store.Tx) error { return insert(tx, "sum", 0) })
	keys := []string{"a", "b", "c"}
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			err := s.Write(t.Context(), store.Interactive, func(tx store.Tx) error {
				for k := range keys {
					if err := tx.Lock(keys[(i+k*(1+i%2))%len(keys)]); err != nil {
						return err
					}
				}
				_, err := tx.Exec("UPDATE items SET n = n + 1")
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	read(t, s, func(tx store.Tx) error {
		if n, err := number(tx, "sum"); err != nil || n != 6 {
			t.Errorf("the sum is %d, %v", n, err)
		}
		return nil
	})
}
