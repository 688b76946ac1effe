// Package sqlite is the store on one SQLite file: the default of Loam, for one process on one machine.
//
// The file is in WAL mode with synchronous=FULL. All writes go through one connection. The caller that finds it free
// commits its closure together with those that are queued: one fsync acknowledges up to 64 of them, and it never waits for more.
// Reads use a pool of read-only connections, each read in a transaction of its own, and do not wait for writes. Prepared
// statements are kept by their text on every connection.
//
// The package promises that Write returns nil only after the commit was flushed (a test watches the system calls), that a
// failing or panicking closure leaves no trace and does not hurt others of its batch, that callbacks run in commit order
// before their Write returns, and that only one process works in a data directory. It does not promise to run on a
// network file system, whose locks SQLite cannot trust.
//
// A closure that calls Write of the same store waits for itself for ever; one that calls Close does too.
//
// sqlite is part of tier 1. It imports store, store/migrations, clock and fault; only the composition root and tests
// import it.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/store/migrations"
)

// Options say where the database is and what it may use.
type Options struct {
	// Path is the database file, such as loam-data/loam.db. It and its folder are made when missing, with modes 0600 and
	// 0700. The folder also gets loam.lock and copies of the database from before migrations.
	Path string
	// Clock is what Tx.Now reads; nil is the machine's clock.
	Clock clock.Clock
	// Logger receives migrations, backups and panics of callbacks; nil discards them.
	Logger *slog.Logger
	// Migrations replace the embedded ones, for tests of the runner itself.
	Migrations []migrations.Migration
	// Readers is the number of reads that run at once; zero is 8.
	Readers int
	// StatementCache is the number of prepared statements that each connection keeps; zero is 256, negative is none.
	StatementCache int
	// BatchTime is how much work a commit may gather from the queue before it ends; zero is 2 ms (design §5).
	BatchTime time.Duration
	// Point is called at the named points of a migration; a crash test kills the process there. May be nil.
	Point func(name string)
	// Committed is told how many closures a durable commit covered and how long it took, for metrics. May be nil; it must be
	// quick.
	Committed func(writes int, took time.Duration)
}

func (o *Options) fill() error {
	if o.Clock == nil {
		o.Clock = clock.System{}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Readers == 0 {
		o.Readers = 8
	}
	if o.Committed == nil {
		o.Committed = func(int, time.Duration) {}
	}
	if o.BatchTime == 0 {
		o.BatchTime = defaultBatchTime
	}
	switch {
	case o.StatementCache == 0:
		o.StatementCache = 256
	case o.StatementCache < 0:
		o.StatementCache = 0
	}
	if o.Migrations != nil {
		return nil
	}
	embedded, err := migrations.Embedded(store.SQLite)
	o.Migrations = embedded
	return err
}

// db implements store.Store.
type db struct {
	options Options
	epoch   int64
	lock    *dirLock
	writeDB *sql.DB
	writer  *writer
	readDB  *sql.DB

	mu      sync.Mutex
	closed  bool
	reading sync.WaitGroup
	closing sync.Once
	closeIs error
}

// Dialect implements store.Store.
func (s *db) Dialect() store.Dialect { return store.SQLite }

// Epoch implements store.Store.
func (s *db) Epoch() int64 { return s.epoch }

// Alive implements store.Store: the directory's lock leaves room for one process.
func (s *db) Alive(_ context.Context, epoch int64) (bool, error) { return epoch == s.epoch, nil }

// Peers implements store.Store: the directory's lock leaves room for one process.
func (s *db) Peers(context.Context) (int, error) { return 0, nil }

// Stats implements store.Store.
func (s *db) Stats() store.Stats {
	if s.writer == nil {
		return store.Stats{}
	}
	return store.Stats{Commits: s.writer.commits.Load(), Writes: s.writer.writes.Load(), Queued: s.writer.queue.length()}
}

// Write implements store.Store.
func (s *db) Write(ctx context.Context, p store.Priority, fn func(store.Tx) error) error {
	if s.writer == nil {
		return store.ErrReadOnly
	}
	return s.writer.write(ctx, p, fn)
}

// Close implements store.Store.
func (s *db) Close() error {
	s.closing.Do(func() {
		s.mu.Lock()
		s.closed = true
		s.mu.Unlock()
		if s.writer == nil {
			s.reading.Wait()
			s.closeIs = s.readDB.Close()
			return
		}
		s.writer.stop()
		s.reading.Wait()
		s.closeIs = errors.Join(s.readDB.Close(), s.writer.conn.Close(), s.writeDB.Close(), s.lock.release())
	})
	return s.closeIs
}

// Check implements store.Store: the b-trees are walked and every reference is looked up, which reads the whole file.
func (s *db) Check(ctx context.Context) error {
	return s.Read(ctx, func(t store.Tx) error {
		if err := checkPages(t); err != nil {
			return err
		}
		return checkReferences(t)
	})
}

func checkPages(t store.Tx) error {
	rows, err := t.Query("PRAGMA integrity_check(10)")
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var finding string
		if err := rows.Scan(&finding); err != nil {
			return err
		}
		if finding != "ok" {
			return fmt.Errorf("%w: %s", store.ErrCorrupt, finding)
		}
	}
	return rows.Err()
}

func checkReferences(t store.Tx) error {
	rows, err := t.Query("PRAGMA foreign_key_check")
	if err != nil {
		return err
	}
	defer rows.Close()
	if rows.Next() {
		var table, parent string
		var row sql.NullInt64
		var key int64
		if err := rows.Scan(&table, &row, &parent, &key); err != nil {
			return err
		}
		return fmt.Errorf("%w: row %d of table %s refers to a row of %s that does not exist", store.ErrCorrupt, row.Int64, table, parent)
	}
	return rows.Err()
}
