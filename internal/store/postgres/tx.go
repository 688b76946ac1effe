package postgres

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/store"
)

var (
	errTxOver   = errors.New("the transaction is over: a Tx must not leave its closure")
	errReadOnly = errors.New("this transaction only reads")
	errRestart  = errors.New("the closure runs again with the lock held")
)

const (
	beginWrite = "BEGIN ISOLATION LEVEL REPEATABLE READ"
	beginRead  = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
	selectNow  = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint"
)

// tx is one run of a closure. It begins with the first statement and not before, so that Lock can come first.
//
// In REPEATABLE READ the first statement takes the snapshot, and pg_advisory_xact_lock is a statement: a transaction that
// waited in it would wake up with the snapshot of before the wait, and write skew would be back. Lock is therefore a
// session-level lock, taken on the same connection outside the transaction and released after the commit. When a closure
// locks after its first statement, the run is given up and repeated with the key locked from the start.
type tx struct {
	conn     *sql.Conn
	clock    clock.Clock
	begun    bool
	readOnly bool
	over     bool
	now      int64
	after    []func()
	// locked are the keys that this run holds, missing the ones that it asked for too late.
	locked  []string
	missing []string
	rows    *sql.Rows
	row     *sql.Row
}

func (t *tx) begin() error {
	switch {
	case t.over:
		return errTxOver
	case t.begun:
		return nil
	}
	text := beginWrite
	if t.readOnly {
		text = beginRead
	}
	if _, err := t.conn.ExecContext(context.Background(), text); err != nil {
		return err
	}
	t.begun = true
	return nil
}

// Exec implements store.Tx.
func (t *tx) Exec(query string, args ...any) (int64, error) {
	if t.readOnly {
		return 0, errReadOnly
	}
	if err := t.begin(); err != nil {
		return 0, err
	}
	result, err := t.conn.ExecContext(context.Background(), query, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// Query implements store.Tx.
func (t *tx) Query(query string, args ...any) (*sql.Rows, error) {
	if err := t.begin(); err != nil {
		return nil, err
	}
	rows, err := t.conn.QueryContext(context.Background(), query, args...)
	if err == nil {
		t.rows = rows
	}
	return rows, err
}

// QueryRow implements store.Tx. When the transaction cannot begin, the row reports a canceled context and Write reports
// the reason.
func (t *tx) QueryRow(query string, args ...any) *sql.Row {
	ctx := context.Background()
	if err := t.begin(); err != nil {
		canceled, cancel := context.WithCancel(ctx)
		cancel()
		return t.conn.QueryRowContext(canceled, query, args...)
	}
	t.row = t.conn.QueryRowContext(ctx, query, args...)
	return t.row
}

// Lock implements store.Tx.
func (t *tx) Lock(key string) error {
	switch {
	case t.over:
		return errTxOver
	case t.readOnly:
		return errReadOnly
	case slices.Contains(t.locked, key):
		return nil
	case t.begun:
		t.missing = append(t.missing, key)
		return errRestart
	}
	if _, err := t.conn.ExecContext(context.Background(), "SELECT pg_advisory_lock(?)", lockNumber(key)); err != nil {
		return fmt.Errorf("lock %s: %w", key, err)
	}
	t.locked = append(t.locked, key)
	t.now = 0
	return nil
}

// lockNumber is the advisory lock of a key. Two keys that share one of the 2^64 numbers only wait for each other.
func lockNumber(key string) int64 {
	sum := sha256.Sum256([]byte("loam lock " + key))
	return int64(binary.BigEndian.Uint64(sum[:8]))
}

// Now implements store.Tx. It is read once and again after a Lock, which may have waited; 0 means that the read failed,
// and then the transaction fails too.
func (t *tx) Now() int64 {
	if t.clock != nil {
		return clock.Millis(t.clock)
	}
	if t.now == 0 && !t.over {
		_ = t.conn.QueryRowContext(context.Background(), selectNow).Scan(&t.now)
	}
	return t.now
}

// AfterCommit implements store.Tx.
func (t *tx) AfterCommit(fn func()) { t.after = append(t.after, fn) }

// Dialect implements store.Tx.
func (t *tx) Dialect() store.Dialect { return store.Postgres }

// finish ends the run and closes what the closure left open. It returns the first error of a statement, even of one whose
// error the closure did not look at: the server would answer COMMIT with a rollback.
func (t *tx) finish() error {
	t.over = true
	if t.rows != nil {
		t.rows.Close()
	}
	if t.row != nil {
		_ = t.row.Scan()
	}
	return takeFailure(t.conn)
}

// takeFailure asks the connection beneath c what failed since it was last asked.
func takeFailure(c *sql.Conn) error {
	var failed error
	err := c.Raw(func(inner any) error {
		failed = inner.(*conn).takeFailure()
		return nil
	})
	return errors.Join(failed, err)
}
