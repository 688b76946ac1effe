package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/store/migrations"
)

// OpenReader opens an existing database for reading, beside the processes that work on it: it migrates nothing and counts no
// start. Write is store.ErrReadOnly. Errors: store.ErrUnreachable.
func OpenReader(ctx context.Context, options Options) (store.Store, error) {
	if err := options.fill(); err != nil {
		return nil, err
	}
	config, _, err := parse(options.URL)
	if err != nil {
		return nil, err
	}
	s := &db{options: options, gate: newGate(1), readDB: openHandle(config, options.Readers)}
	if err := s.readDB.PingContext(ctx); err != nil {
		return nil, errors.Join(opening(config, translate(err)), s.readDB.Close())
	}
	return s, nil
}

// Fill makes the schema in a database and fills it in one transaction, while no other process can open it. A database that
// holds a row of Loam's, or a newer schema than the rows, is store.ErrNotEmpty; other tables are left alone. A database that
// could not be filled keeps the empty tables.
func Fill(ctx context.Context, options Options, filling store.Filling) (err error) {
	if err := options.fill(); err != nil {
		return err
	}
	steps, err := migrations.Until(options.Migrations, filling.Schema)
	if err != nil {
		return err
	}
	config, _, err := parse(options.URL)
	if err != nil {
		return err
	}
	handle := openHandle(config, 1)
	defer func() { err = errors.Join(err, handle.Close()) }()
	c, err := handle.Conn(ctx)
	if err != nil {
		return opening(config, translate(err))
	}
	defer func() { err = errors.Join(err, ignoreDone(c.Close())) }()
	unlock, err := lockSchema(ctx, c)
	if err != nil {
		return err
	}
	defer unlock()
	if err := prepareEmpty(ctx, c, steps); err != nil {
		return err
	}
	return fill(ctx, c, filling)
}

// prepareEmpty brings the schema to that of the rows and makes sure that no table holds anything.
func prepareEmpty(ctx context.Context, c *sql.Conn, steps []migrations.Migration) error {
	state, err := migrations.Prepare(ctx, c)
	if err != nil {
		return err
	}
	if state.Version > int64(len(steps)) {
		return fmt.Errorf("%w: the database has schema %d, and the rows are of schema %d; use a new database", store.ErrNotEmpty, state.Version, len(steps))
	}
	if err := migrations.Apply(ctx, c, steps[state.Version:], nil); err != nil {
		return err
	}
	for _, table := range migrations.Tables(steps) {
		var found bool
		if err := c.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM "+pgx.Identifier{table}.Sanitize()+")").Scan(&found); err != nil {
			return err
		}
		if found {
			return fmt.Errorf("%w: table %s of the database holds rows", store.ErrNotEmpty, table)
		}
	}
	return nil
}

func fill(ctx context.Context, c *sql.Conn, filling store.Filling) (err error) {
	if _, err := c.ExecContext(ctx, "BEGIN"); err != nil {
		return err
	}
	defer func() {
		if err == nil {
			return
		}
		if _, undo := c.ExecContext(context.WithoutCancel(ctx), "ROLLBACK"); undo != nil {
			discard(c)
		}
	}()
	if err := filling.Fill(&loader{ctx: ctx, conn: c}); err != nil {
		return err
	}
	if _, err := c.ExecContext(ctx, fmt.Sprintf("UPDATE schema_state SET epoch = %d WHERE id = 1", filling.Epoch)); err != nil {
		return err
	}
	_, err = c.ExecContext(ctx, "COMMIT")
	return err
}

// loader implements store.Loader with COPY.
type loader struct {
	ctx  context.Context
	conn *sql.Conn
}

// Load implements store.Loader.
func (l *loader) Load(table string, columns []string, rows [][]any) error {
	err := l.conn.Raw(func(driverConn any) error {
		_, err := driverConn.(*conn).Conn.Conn().CopyFrom(l.ctx, pgx.Identifier{table}, columns, pgx.CopyFromRows(rows))
		return translate(err)
	})
	if err != nil {
		return fmt.Errorf("fill table %s: %w", table, err)
	}
	return nil
}
