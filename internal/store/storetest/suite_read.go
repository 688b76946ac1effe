package storetest

import (
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/loam-agents/loam/internal/store"
)

var readRules = []rule{
	{"a read keeps its snapshot while others write", func(t *testing.T, s store.Store) {
		write(t, s, func(tx store.Tx) error { return insert(tx, "a", 1) })
		read(t, s, func(tx store.Tx) error {
			if n, err := number(tx, "a"); err != nil || n != 1 {
				t.Errorf("before: %d, %v", n, err)
			}
			write(t, s, func(tx store.Tx) error { _, err := tx.Exec("UPDATE items SET n = 2"); return err })
			if n, err := number(tx, "a"); err != nil || n != 1 {
				t.Errorf("after: %d, %v", n, err)
			}
			return nil
		})
		read(t, s, func(tx store.Tx) error {
			if n, err := number(tx, "a"); err != nil || n != 2 {
				t.Errorf("next read: %d, %v", n, err)
			}
			return nil
		})
	}},
	{"a read does not wait for a write in progress and does not see it", func(t *testing.T, s store.Store) {
		inside, goOn := make(chan struct{}), make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			write(t, s, func(tx store.Tx) error {
				err := insert(tx, "a", 1)
				close(inside)
				<-goOn
				return err
			})
		})
		<-inside
		if n := count(t, s); n != 0 {
			t.Errorf("%d rows of an open transaction", n)
		}
		close(goOn)
		wg.Wait()
	}},
	{"a read cannot write", func(t *testing.T, s store.Store) {
		for name, try := range map[string]func(store.Tx) error{
			"exec": func(tx store.Tx) error { return insert(tx, "a", 1) },
			"returning": func(tx store.Tx) error {
				var n int
				return tx.QueryRow("INSERT INTO items (id) VALUES ('a') RETURNING n").Scan(&n)
			},
			"lock": func(tx store.Tx) error { return tx.Lock("k") },
		} {
			if err := s.Read(t.Context(), try); err == nil {
				t.Errorf("%s: no error", name)
			}
		}
		if n := count(t, s); n != 0 {
			t.Errorf("%d rows", n)
		}
	}},
	{"a read that panics or fails frees its connection", func(t *testing.T, s store.Store) {
		for range 50 {
			if err := s.Read(t.Context(), func(store.Tx) error { panic("oh no") }); !errors.Is(err, store.ErrPanic) {
				t.Fatalf("got %v", err)
			}
			if err := s.Read(t.Context(), func(store.Tx) error { return errOwn }); !errors.Is(err, errOwn) {
				t.Fatalf("got %v", err)
			}
		}
	}},
	{"a row that is missing is sql.ErrNoRows and dooms nothing", func(t *testing.T, s store.Store) {
		write(t, s, func(tx store.Tx) error {
			if _, err := number(tx, "nobody"); !errors.Is(err, sql.ErrNoRows) {
				t.Errorf("got %v", err)
			}
			return insert(tx, "a", 1)
		})
	}},
	{"the rows of a query are read before the next statement", openRows},
	{"what a closure leaves open is closed for it", leftOpen},
	{"a tx is dead outside its closure", func(t *testing.T, s store.Store) {
		var leaked store.Tx
		write(t, s, func(tx store.Tx) error { leaked = tx; return nil })
		if err := insert(leaked, "a", 1); err == nil {
			t.Error("exec worked")
		}
		if _, err := leaked.Query("SELECT 1"); err == nil {
			t.Error("query worked")
		}
		if _, err := number(leaked, "a"); err == nil || errors.Is(err, sql.ErrNoRows) {
			t.Errorf("query row: %v", err)
		}
		if err := leaked.Lock("k"); err == nil {
			t.Error("lock worked")
		}
	}},
}

func openRows(t *testing.T, s store.Store) {
	write(t, s, func(tx store.Tx) error { return errors.Join(insert(tx, "a", 1), insert(tx, "b", 2)) })
	err := s.Write(t.Context(), store.Interactive, func(tx store.Tx) error {
		rows, err := tx.Query("SELECT id FROM items")
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			if err := insert(tx, "c", 3); err == nil {
				t.Error("a statement ran between the rows of another")
			}
		}
		return nil
	})
	if err == nil {
		t.Error("no error")
	}
	write(t, s, func(tx store.Tx) error {
		for range 2 {
			n := 0
			rows, err := tx.Query("SELECT id FROM items")
			if err != nil {
				return err
			}
			for rows.Next() {
				n++
			}
			if err := errors.Join(rows.Err(), rows.Close()); err != nil || n != 2 {
				return fmt.Errorf("%d rows: %w", n, err)
			}
		}
		return nil
	})
}

func leftOpen(t *testing.T, s store.Store) {
	write(t, s, func(tx store.Tx) error { return errors.Join(insert(tx, "a", 1), insert(tx, "b", 2)) })
	forget := map[string]func(store.Tx) error{
		"rows":     func(tx store.Tx) error { rows, err := tx.Query("SELECT id FROM items"); rows.Next(); return err },
		"row":      func(tx store.Tx) error { tx.QueryRow("SELECT id FROM items"); return nil },
		"and fail": func(tx store.Tx) error { rows, _ := tx.Query("SELECT id FROM items"); rows.Next(); return errOwn },
	}
	for name, fn := range forget {
		for range 20 {
			if err := s.Write(t.Context(), store.Interactive, fn); err != nil && !errors.Is(err, errOwn) {
				t.Fatalf("%s: %v", name, err)
			}
			if err := s.Read(t.Context(), fn); err != nil && !errors.Is(err, errOwn) {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
	write(t, s, func(tx store.Tx) error { return insert(tx, "c", 3) })
}
