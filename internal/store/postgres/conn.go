package postgres

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"

	"github.com/jackc/pgx/v5/stdlib"

	"github.com/loam-agents/loam/internal/store"
)

// connector opens connections that rebind placeholders, check arguments and remember a failed statement.
type connector struct{ driver.Connector }

// Connect implements driver.Connector.
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	inner, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, translate(err)
	}
	return &conn{Conn: inner.(*stdlib.Conn)}, nil
}

// conn is one connection. database/sql calls it from one goroutine at a time.
type conn struct {
	*stdlib.Conn
	// open is the result set that is being read; the protocol has room for one.
	open *rows
	// failed is the first error of a statement since it was last taken: the server has doomed the transaction.
	failed error
}

var errOpenRows = errors.New("the rows of the previous query are still open: read them to the end or close them first")

// fail notes err and returns it translated.
func (c *conn) fail(err error) error {
	if err == nil {
		return nil
	}
	err = translate(err)
	if c.failed == nil {
		c.failed = err
	}
	return err
}

// takeFailure returns what failed since the last call and forgets it.
func (c *conn) takeFailure() error {
	err := c.failed
	c.failed = nil
	return err
}

// CheckNamedValue implements driver.NamedValueChecker.
func (c *conn) CheckNamedValue(arg *driver.NamedValue) error {
	v, err := store.CheckArg(arg.Value)
	if err != nil {
		return c.fail(err)
	}
	arg.Value = v
	return nil
}

// ExecContext implements driver.ExecerContext. A text without arguments may hold several statements.
func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if c.open != nil {
		return nil, c.fail(errOpenRows)
	}
	if len(args) > 0 {
		query = rebind(query)
	}
	result, err := c.Conn.ExecContext(ctx, query, args)
	return result, c.fail(err)
}

// QueryContext implements driver.QueryerContext.
func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if c.open != nil {
		return nil, c.fail(errOpenRows)
	}
	if len(args) > 0 {
		query = rebind(query)
	}
	inner, err := c.Conn.QueryContext(ctx, query, args)
	if err != nil {
		return nil, c.fail(err)
	}
	c.open = &rows{Rows: inner, conn: c}
	return c.open, nil
}

// rows is a result set that tells its connection when it is closed.
type rows struct {
	driver.Rows
	conn *conn
}

// Next implements driver.Rows.
func (r *rows) Next(dest []driver.Value) error {
	err := r.Rows.Next(dest)
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	return r.conn.fail(err)
}

// Close implements driver.Rows; a second call does nothing.
func (r *rows) Close() error {
	if r.conn.open != r {
		return nil
	}
	r.conn.open = nil
	return r.conn.fail(r.Rows.Close())
}
