package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/store"
)

var (
	errTxOver   = errors.New("the transaction is over: a Tx must not leave its closure")
	errReadOnly = errors.New("this transaction only reads")
)

// tx is one closure's view of a transaction.
type tx struct {
	conn     *sql.Conn
	clock    clock.Clock
	readOnly bool
	over     bool
	after    []func()
	// The last result is closed at the end for a closure that returns early and forgets it.
	rows *sql.Rows
	row  *sql.Row
}

// Exec implements store.Tx.
func (t *tx) Exec(query string, args ...any) (int64, error) {
	switch {
	case t.over:
		return 0, errTxOver
	case t.readOnly:
		return 0, errReadOnly
	}
	result, err := t.conn.ExecContext(context.Background(), query, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// Query implements store.Tx.
func (t *tx) Query(query string, args ...any) (*sql.Rows, error) {
	if t.over {
		return nil, errTxOver
	}
	rows, err := t.conn.QueryContext(context.Background(), query, args...)
	if err == nil {
		t.rows = rows
	}
	return rows, err
}

// QueryRow implements store.Tx.
func (t *tx) QueryRow(query string, args ...any) *sql.Row {
	ctx := context.Background()
	if t.over {
		canceled, cancel := context.WithCancel(ctx)
		cancel()
		return t.conn.QueryRowContext(canceled, query, args...)
	}
	t.row = t.conn.QueryRowContext(ctx, query, args...)
	return t.row
}

// Lock implements store.Tx.
func (t *tx) Lock(string) error {
	switch {
	case t.over:
		return errTxOver
	case t.readOnly:
		return errReadOnly
	}
	return nil
}

// Now implements store.Tx.
func (t *tx) Now() int64 { return clock.Millis(t.clock) }

// AfterCommit implements store.Tx.
func (t *tx) AfterCommit(fn func()) { t.after = append(t.after, fn) }

// Dialect implements store.Tx.
func (t *tx) Dialect() store.Dialect { return store.SQLite }

// finish ends the view and closes what the closure left open. It returns the first error of a statement, even of one
// whose error the closure did not look at.
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
