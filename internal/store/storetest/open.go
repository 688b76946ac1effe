// Package storetest opens stores for tests and holds the suite that every driver of the store must pass.
//
// A package that keeps data writes its tests once and runs them on both databases:
//
//	func TestAppendIsDense(t *testing.T) {
//		t.Parallel()
//		storetest.Each(t, func(t *testing.T, s store.Store) { … })
//	}
//
// Every store is a fresh database with the schema of head: a SQLite file in a folder of the test, and a database on the
// PostgreSQL server of pgtest that is copied from a migrated template. A machine without PostgreSQL fails the test with
// the name of the missing package.
//
// storetest is for tests only (tier 1); it imports the store, its drivers and pgtest.
package storetest

import (
	"path/filepath"
	"testing"

	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/store/postgres"
	"github.com/loam-agents/loam/internal/store/sqlite"
)

// Option changes how a store is opened.
type Option func(*options)

type options struct {
	clock clock.Clock
}

// WithClock makes Tx.Now tell the time of c on both databases.
func WithClock(c clock.Clock) Option { return func(o *options) { o.clock = c } }

// Opener opens one database again and again, as restarts of a process do. The store is closed when the test ends; on
// SQLite it must be closed before the next call. The test fails when opening does.
type Opener func(t testing.TB) store.Store

// Each runs fn as a parallel subtest on a fresh store of each database.
func Each(t *testing.T, fn func(t *testing.T, s store.Store), opts ...Option) {
	t.Helper()
	EachDatabase(t, func(t *testing.T, open Opener) { fn(t, open(t)) }, opts...)
}

// EachDatabase runs fn as a parallel subtest on a fresh database of each kind, which fn opens itself.
func EachDatabase(t *testing.T, fn func(t *testing.T, open Opener), opts ...Option) {
	t.Helper()
	for dialect, fresh := range map[store.Dialect]func(testing.TB, ...Option) Opener{store.SQLite: SQLiteDatabase, store.Postgres: PostgresDatabase} {
		t.Run(string(dialect), func(t *testing.T) {
			t.Parallel()
			fn(t, fresh(t, opts...))
		})
	}
}

// SQLite opens a fresh SQLite store. The schema is that of head.
func SQLite(t testing.TB, opts ...Option) store.Store {
	t.Helper()
	return SQLiteDatabase(t, opts...)(t)
}

// SQLiteDatabase names a fresh SQLite file, loam.db in a folder of its own.
func SQLiteDatabase(t testing.TB, opts ...Option) Opener {
	t.Helper()
	o := gather(opts)
	path := filepath.Join(t.TempDir(), "loam.db")
	return func(t testing.TB) store.Store {
		t.Helper()
		s, err := sqlite.Open(t.Context(), sqlite.Options{Path: path, Clock: o.clock})
		return closing(t, s, err)
	}
}

// Postgres opens a fresh PostgreSQL store. The schema is that of head.
func Postgres(t testing.TB, opts ...Option) store.Store {
	t.Helper()
	return PostgresDatabase(t, opts...)(t)
}

// PostgresDatabase makes a fresh PostgreSQL database.
func PostgresDatabase(t testing.TB, opts ...Option) Opener {
	t.Helper()
	o := gather(opts)
	url := PostgresURL(t)
	return func(t testing.TB) store.Store {
		t.Helper()
		s, err := postgres.Open(t.Context(), postgres.Options{URL: url, Clock: o.clock})
		return closing(t, s, err)
	}
}

func gather(opts []Option) options {
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	return o
}

func closing(t testing.TB, s store.Store, err error) store.Store {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close the store: %v", err)
		}
	})
	return s
}
