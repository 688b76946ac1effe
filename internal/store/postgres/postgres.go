// Package postgres is the store on a PostgreSQL server (14 or newer), for any number of processes.
//
// A closure runs in a REPEATABLE READ transaction and runs again when it loses against another one. Snapshot isolation
// alone allows write skew: two closures that each read what the other writes. A closure that decides on rows which it
// does not write calls Tx.Lock, and then its snapshot is taken after the lock is held; the cheapest place is before its
// first statement. Tx.Now is the server's clock.
//
// The package promises that Write returns nil only after the server has flushed the commit: it refuses a server with
// fsync=off and sets synchronous_commit=on where it is off. When the connection breaks during COMMIT, Write returns an
// error though the write may have happened; before that it runs the closure again. Advisory locks belong to connections,
// so a pooler between Loam and the server must be in session mode.
//
// postgres is part of tier 1. It imports store, store/migrations, clock and fault; only the composition root and tests import it.
package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/store/migrations"
)

// Options say where the database is and what it may use.
type Options struct {
	// URL is a connection string as libpq reads it, such as postgres://loam:secret@db.example:5432/loam?sslmode=require.
	// The parameter loam_unsafe_durability=accept admits a server with fsync=off, which loses acknowledged writes when its
	// machine stops: for tests.
	URL string
	// Clock replaces the server's clock behind Tx.Now, for tests that decide what time it is; nil is the server's clock.
	Clock clock.Clock
	// Logger receives migrations, lost connections and panics of callbacks; nil discards them.
	Logger *slog.Logger
	// Migrations replace the embedded ones, for tests of the runner itself.
	Migrations []migrations.Migration
	// Point is called at the named points of a migration; a crash test kills the process there. May be nil.
	Point func(name string)
	// Writers is the number of closures that run at once; zero is 8.
	Writers int
	// Readers is the number of reads that run at once; zero is 12.
	Readers int
	// BeforeMigrating is called before the first change of a schema that is there, with the version that it is brought to; an
	// error keeps the database as it is. Other processes wait meanwhile. May be nil.
	BeforeMigrating func(ctx context.Context, version int64) error
	// Committed is told that a closure was committed and how long it took, for metrics. May be nil; it must be quick.
	Committed func(writes int, took time.Duration)
}

func (o *Options) fill() error {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Committed == nil {
		o.Committed = func(int, time.Duration) {}
	}
	if o.Writers == 0 {
		o.Writers = 8
	}
	if o.Readers == 0 {
		o.Readers = 12
	}
	if o.Migrations != nil {
		return nil
	}
	embedded, err := migrations.Embedded(store.Postgres)
	o.Migrations = embedded
	return err
}

// db implements store.Store.
type db struct {
	options Options
	epoch   int64
	gate    *gate
	node    *node
	writeDB *sql.DB
	readDB  *sql.DB

	commits atomic.Int64
	writes  atomic.Int64
	retries atomic.Int64

	mu      sync.Mutex
	closed  bool
	working sync.WaitGroup
	closing sync.Once
	closeIs error
}

// enter counts a call in; false says that the store is closed.
func (s *db) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.working.Add(1)
	return true
}

// Dialect implements store.Store.
func (s *db) Dialect() store.Dialect { return store.Postgres }

// Epoch implements store.Store.
func (s *db) Epoch() int64 { return s.epoch }

// Stats implements store.Store.
func (s *db) Stats() store.Stats {
	return store.Stats{Commits: s.commits.Load(), Writes: s.writes.Load(), Retries: s.retries.Load(), Queued: s.gate.length()}
}

// Alive implements store.Store: a process that lives holds the advisory lock of its epoch.
func (s *db) Alive(ctx context.Context, epoch int64) (bool, error) {
	held, err := s.countLocks(ctx, "objid::bigint = ?", epoch)
	return held > 0, err
}

// Peers implements store.Store.
func (s *db) Peers(ctx context.Context) (int, error) {
	return s.countLocks(ctx, "objid::bigint <> ?", s.epoch)
}

// countLocks counts the locks of living processes whose epoch meets the condition.
func (s *db) countLocks(ctx context.Context, condition string, epoch int64) (held int, err error) {
	err = s.Read(ctx, func(t store.Tx) error {
		return t.QueryRow(`SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 2
			AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
			AND classid::bigint = ? AND `+condition, lockClass, epoch).Scan(&held)
	})
	return held, err
}

// Check implements store.Store: the server answers, keeps its promises of durability, and every index is usable.
func (s *db) Check(ctx context.Context) error {
	return s.Read(ctx, func(t store.Tx) error {
		var invalid int64
		if err := t.QueryRow("SELECT count(*) FROM pg_index WHERE NOT indisvalid").Scan(&invalid); err != nil {
			return err
		}
		if invalid > 0 {
			return fmt.Errorf("%w: %d indexes are invalid; run REINDEX DATABASE", store.ErrCorrupt, invalid)
		}
		return nil
	})
}

// Close implements store.Store.
func (s *db) Close() error {
	s.closing.Do(func() {
		s.mu.Lock()
		s.closed = true
		s.mu.Unlock()
		s.working.Wait()
		s.closeIs = s.readDB.Close()
		if s.writeDB != nil {
			s.closeIs = errors.Join(s.closeIs, s.writeDB.Close())
			s.node.stop()
		}
	})
	return s.closeIs
}
