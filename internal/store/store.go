// Package store is where the truth is kept: one interface over SQLite and PostgreSQL.
//
// A caller hands Write a closure; when Write returns nil, everything the closure did is on disk (fsynced). Closures from
// many callers share one commit on SQLite (group commit) and retry on PostgreSQL when two of them conflict, so a closure
// must do nothing but talk to its Tx: no I/O, no request context, no lasting effect in memory before Write returns. What
// must happen after the commit, and only then, goes through Tx.AfterCommit.
//
// SQL is written once, with ? placeholders, in the subset both databases share (TEXT ids, BIGINT epoch milliseconds,
// BLOB/BYTEA payloads, ON CONFLICT … RETURNING); text that must differ asks Tx.Dialect.
//
// store is tier 1. Domain packages (sessionlog, runs, agent, …) keep their SQL beside the function that runs it and import
// this package, never a driver; only the composition root and tests import store/sqlite and store/postgres.
package store

import (
	"context"
	"database/sql"
	"errors"
)

// Dialect names the database behind a store.
type Dialect string

// The two databases that Loam runs on.
const (
	SQLite   Dialect = "sqlite"
	Postgres Dialect = "postgres"
)

// Priority orders writes that wait for their turn.
type Priority int

// Interactive writes are taken before Background ones; within one priority the order is that of arrival.
const (
	Interactive Priority = iota
	Background
)

// Errors that every driver returns. They arrive wrapped, with a text that says what to do.
var (
	// ErrClosed says that the store was closed.
	ErrClosed = errors.New("store is closed")
	// ErrLocked says that another process holds the data directory.
	ErrLocked = errors.New("data directory is in use by another process")
	// ErrNewerSchema says that the database was written by a newer Loam.
	ErrNewerSchema = errors.New("database schema is newer than this program")
	// ErrCorrupt says that the database file is damaged or not a database.
	ErrCorrupt = errors.New("database is corrupt")
	// ErrFull says that the disk is full; nothing of the failed write is kept.
	ErrFull = errors.New("disk is full")
	// ErrUnreachable says that the database server cannot be reached.
	ErrUnreachable = errors.New("database server cannot be reached")
	// ErrUnique says that a row with the same key exists; the transaction is doomed, so look for it in a new one or use
	// ON CONFLICT.
	ErrUnique = errors.New("a row with the same key exists")
	// ErrForeignKey says that a row refers to one that does not exist, or is still referred to.
	ErrForeignKey = errors.New("a row that is referred to does not exist")
	// ErrReadOnly says that a store was opened for reading.
	ErrReadOnly = errors.New("the database was opened for reading only")
	// ErrNotEmpty says that a database which is to be filled holds something already.
	ErrNotEmpty = errors.New("there are data already")
	// ErrPanic says that a closure panicked or left its goroutine; it is wrapped with the panic's value and stack.
	ErrPanic = errors.New("closure panicked")
)

// Store is a database that was opened and migrated.
type Store interface {
	// Write runs fn in a transaction and returns after the commit is durable. fn may run more than once; only the last run
	// counts. When fn returns an error nothing of it is kept and Write returns that error. ctx bounds the wait for a turn:
	// once fn has started it is not interrupted.
	Write(ctx context.Context, p Priority, fn func(Tx) error) error
	// Read runs fn on one consistent snapshot. Exec fails inside it. Reads do not wait for writes.
	Read(ctx context.Context, fn func(Tx) error) error
	// Dialect tells which database this is.
	Dialect() Dialect
	// Epoch is a number that grows with every start of a process on this database: leases taken under an older epoch of the
	// same node are dead.
	Epoch() int64
	// Alive tells whether the process that opened this database under an epoch still holds it. A false answer is certain to
	// stay false; a true one may be late by the time that a server needs to notice a dead peer.
	Alive(ctx context.Context, epoch int64) (bool, error)
	// Peers is how many other processes hold this database. One that has just been killed may still be counted.
	Peers(ctx context.Context) (int, error)
	// Stats are counters since the store was opened.
	Stats() Stats
	// Check verifies the integrity of the database, for `loam doctor`.
	Check(ctx context.Context) error
	// Close waits for writes in progress and releases the database. A second Close does nothing.
	Close() error
}

// Stats counts what a store did.
type Stats struct {
	// Commits is the number of durable commits; each is one fsync on SQLite.
	Commits int64
	// Writes is the number of closures that were committed.
	Writes int64
	// Retries is the number of times a closure ran again after a serialization failure.
	Retries int64
	// Queued is the number of writes that wait for their turn at this moment.
	Queued int64
}

// Tx is what a closure may do. It is valid only inside the closure and not safe for concurrent use.
//
// Both databases keep the stricter rules of the two: a statement that fails dooms the transaction even when the closure
// drops its error, and the rows of a query are read to the end or closed before the next statement. Arguments obey
// CheckArg. SUM of integers is cast (CAST(SUM(n) AS BIGINT)), since PostgreSQL makes it a numeric.
type Tx interface {
	// Exec runs a statement and returns the number of rows that it touched.
	Exec(query string, args ...any) (int64, error)
	// Query runs a query; the caller closes the rows.
	Query(query string, args ...any) (*sql.Rows, error)
	// QueryRow runs a query of at most one row; Scan returns sql.ErrNoRows when there is none.
	QueryRow(query string, args ...any) *sql.Row
	// Lock makes this transaction the only one that works on the session (or other key) until it ends. On SQLite, where
	// one transaction writes at a time, it does nothing.
	Lock(key string) error
	// Now is the database's clock in epoch milliseconds, the clock that leases are measured with.
	Now() int64
	// AfterCommit registers fn to run once the transaction is durable. Callbacks run in order, before Write returns, and not
	// at all when the transaction fails. They must be quick and must not call the store.
	AfterCommit(fn func())
	// Dialect tells which database this is.
	Dialect() Dialect
}
