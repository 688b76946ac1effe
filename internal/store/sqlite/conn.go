package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"

	"github.com/loam-agents/loam/internal/store"
)

// connector opens connections that keep their prepared statements, check arguments and remember a failed statement.
type connector struct {
	driver.Connector
	limit int
}

// Connect implements driver.Connector.
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	inner, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, translate(err)
	}
	raw, ok := inner.(rawConn)
	if !ok {
		return nil, errors.Join(errors.New("sqlite: the driver lost an interface that the store needs"), inner.Close())
	}
	return &conn{raw: raw, statements: newStatementCache(c.limit)}, nil
}

// rawConn is what the store uses of the driver's connection.
type rawConn interface {
	driver.Conn
	driver.ConnPrepareContext
	driver.ConnBeginTx
}

// conn is one connection. database/sql calls it from one goroutine at a time.
type conn struct {
	raw        rawConn
	statements *statementCache
	// open is the result set that is being read; statements wait for it, as they do on PostgreSQL.
	open *rows
	// failed is the first error of a statement since reset: it dooms the transaction, as it does on PostgreSQL.
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

// Prepare implements driver.Conn for callers outside the store's own paths.
func (c *conn) Prepare(query string) (driver.Stmt, error) { return c.raw.Prepare(query) }

// Close implements driver.Conn.
func (c *conn) Close() error { return errors.Join(c.statements.close(), c.raw.Close()) }

// Begin implements driver.Conn. The store begins with statements of its own.
func (c *conn) Begin() (driver.Tx, error) {
	return c.raw.BeginTx(context.Background(), driver.TxOptions{})
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

// ExecContext implements driver.ExecerContext.
func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	stmt, err := c.statement(ctx, query)
	if err != nil {
		return nil, c.fail(err)
	}
	result, err := stmt.ExecContext(ctx, args)
	c.statements.put(query, stmt)
	return result, c.fail(err)
}

// QueryContext implements driver.QueryerContext.
func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	stmt, err := c.statement(ctx, query)
	if err != nil {
		return nil, c.fail(err)
	}
	inner, err := stmt.QueryContext(ctx, args)
	if err != nil {
		c.statements.put(query, stmt)
		return nil, c.fail(err)
	}
	c.open = &rows{Rows: inner, conn: c, query: query, stmt: stmt}
	return c.open, nil
}

// statement takes the prepared statement of a text out of the cache, or prepares it.
func (c *conn) statement(ctx context.Context, query string) (statement, error) {
	if c.open != nil {
		return nil, errOpenRows
	}
	if stmt := c.statements.take(query); stmt != nil {
		return stmt, nil
	}
	prepared, err := c.raw.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	return prepared.(statement), nil
}

// rows is a result set whose statement goes back to the cache when it is closed.
type rows struct {
	driver.Rows
	conn  *conn
	query string
	stmt  statement
}

// Next implements driver.Rows.
func (r *rows) Next(dest []driver.Value) error {
	err := r.Rows.Next(dest)
	if err != nil {
		if errors.Is(err, io.EOF) {
			return err
		}
		return r.conn.fail(err)
	}
	for i, v := range dest {
		// The driver hands out an empty BLOB as a nil slice, which callers would take for NULL.
		if b, ok := v.([]byte); ok && b == nil {
			dest[i] = []byte{}
		}
	}
	return nil
}

// Close implements driver.Rows; a second call does nothing.
func (r *rows) Close() error {
	if r.conn.open != r {
		return nil
	}
	r.conn.open = nil
	err := r.Rows.Close()
	r.conn.statements.put(r.query, r.stmt)
	return r.conn.fail(err)
}
