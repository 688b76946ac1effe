package storetest

import (
	"errors"
	"testing"

	"github.com/loam-agents/loam/internal/store"
)

// Run is the suite that every driver passes: what store.Store and store.Tx promise, and where the two databases had to be
// made alike. open returns a fresh store and closes it when the test ends. Run returns when all of its parallel subtests
// have ended.
func Run(t *testing.T, open func(testing.TB) store.Store) {
	for _, group := range [][]rule{writeRules, callbackRules, readRules, valueRules, lockRules, lifeRules} {
		for _, r := range group {
			t.Run(r.name, func(t *testing.T) {
				t.Parallel()
				s := open(t)
				makeTables(t, s)
				r.check(t, s)
			})
		}
	}
}

// rule is one promise and the test of it. The store has the tables items and details and is otherwise empty.
type rule struct {
	name  string
	check func(t *testing.T, s store.Store)
}

func makeTables(t testing.TB, s store.Store) {
	t.Helper()
	strict, bytes, real := " STRICT", "BLOB", "REAL"
	if s.Dialect() == store.Postgres {
		strict, bytes, real = "", "BYTEA", "DOUBLE PRECISION"
	}
	write(t, s, func(tx store.Tx) error {
		if _, err := tx.Exec("CREATE TABLE items (id TEXT PRIMARY KEY, n INTEGER NOT NULL DEFAULT 0, note TEXT, data " + bytes + ", f " + real + ")" + strict); err != nil {
			return err
		}
		_, err := tx.Exec("CREATE TABLE details (id TEXT PRIMARY KEY, item TEXT NOT NULL REFERENCES items (id))" + strict)
		return err
	})
}

// write fails the test when the write does.
func write(t testing.TB, s store.Store, fn func(store.Tx) error) {
	t.Helper()
	if err := s.Write(t.Context(), store.Interactive, fn); err != nil {
		t.Fatalf("write: %v", err)
	}
}

func read(t testing.TB, s store.Store, fn func(store.Tx) error) {
	t.Helper()
	if err := s.Read(t.Context(), fn); err != nil {
		t.Fatalf("read: %v", err)
	}
}

func insert(tx store.Tx, id string, n int) error {
	_, err := tx.Exec("INSERT INTO items (id, n) VALUES (?, ?)", id, n)
	return err
}

func number(tx store.Tx, id string) (n int, err error) {
	err = tx.QueryRow("SELECT n FROM items WHERE id = ?", id).Scan(&n)
	return n, err
}

func count(t testing.TB, s store.Store) (n int) {
	t.Helper()
	read(t, s, func(tx store.Tx) error { return tx.QueryRow("SELECT COUNT(*) FROM items").Scan(&n) })
	return n
}

var errOwn = errors.New("the closure's own error")
