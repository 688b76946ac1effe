package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/store/migrations"
)

// ErrUnsafe says that the server is configured to lose acknowledged writes.
var ErrUnsafe = errors.New("PostgreSQL runs with fsync=off and loses acknowledged writes when its machine stops")

// unsafeParameter is the parameter of the URL that admits a server with fsync=off.
const unsafeParameter = "loam_unsafe_durability"

// Open connects, migrates and takes the lock of this process. Processes that start at the same time migrate one after
// another. Close ends it.
//
// Errors: store.ErrUnreachable with the host and never the password, store.ErrNewerSchema when a newer Loam changed the
// schema beyond what this one knows, ErrUnsafe for a server with fsync=off.
func Open(ctx context.Context, options Options) (store.Store, error) {
	if err := options.fill(); err != nil {
		return nil, err
	}
	config, accepted, err := parse(options.URL)
	if err != nil {
		return nil, err
	}
	s := &db{options: options, gate: newGate(options.Writers)}
	s.writeDB = openHandle(config, options.Writers)
	s.readDB = openHandle(config, options.Readers)
	if err := s.open(ctx, config, accepted); err != nil {
		return nil, errors.Join(opening(config, err), s.writeDB.Close(), s.readDB.Close())
	}
	return s, nil
}

// parse reads a URL. accepted says that it admits a server with fsync=off.
func parse(url string) (config *pgx.ConnConfig, accepted bool, err error) {
	if config, err = pgx.ParseConfig(url); err != nil {
		// The parser's text repeats parts of the URL.
		return nil, false, errors.New("the PostgreSQL URL cannot be read; it looks like postgres://user:password@host:5432/database")
	}
	accepted = config.RuntimeParams[unsafeParameter] == "accept"
	delete(config.RuntimeParams, unsafeParameter)
	config.RuntimeParams["application_name"] = "loam"
	return config, accepted, nil
}

// opening says which database an error is about, and never the password.
func opening(config *pgx.ConnConfig, err error) error {
	return fmt.Errorf("open PostgreSQL database %s at %s:%d: %w", config.Database, config.Host, config.Port, err)
}

func (s *db) open(ctx context.Context, config *pgx.ConnConfig, accepted bool) error {
	c, err := s.writeDB.Conn(ctx)
	if err != nil {
		return translate(err)
	}
	defer c.Close()
	var fsync string
	if err := c.QueryRowContext(ctx, "SHOW fsync").Scan(&fsync); err != nil {
		return err
	}
	if fsync != "on" {
		if !accepted {
			return fmt.Errorf("%w; turn it on", ErrUnsafe)
		}
		s.options.Logger.Warn("PostgreSQL runs with fsync=off: acknowledged writes can be lost")
	}
	if s.epoch, err = s.migrate(ctx, c); err != nil {
		return err
	}
	s.node, err = startNode(ctx, config, s.epoch, s.options.Logger)
	return err
}

// migrate brings the schema to head under a lock and counts the start.
func (s *db) migrate(ctx context.Context, c *sql.Conn) (epoch int64, err error) {
	unlock, err := lockSchema(ctx, c)
	if err != nil {
		return 0, err
	}
	defer unlock()
	state, err := migrations.Prepare(ctx, c)
	if err != nil {
		return 0, err
	}
	pending, err := migrations.Pending(state, s.options.Migrations)
	if err != nil {
		return 0, err
	}
	if len(pending) > 0 && state.Version > 0 && s.options.BeforeMigrating != nil {
		if err := s.options.BeforeMigrating(ctx, pending[len(pending)-1].Version); err != nil {
			return 0, fmt.Errorf("back up before migrating: %w", err)
		}
	}
	if err := migrations.Apply(ctx, c, pending, s.options.Point); err != nil {
		return 0, err
	}
	for _, m := range pending {
		s.options.Logger.Info("schema migrated", "migration", m.Name)
	}
	return migrations.NextEpoch(ctx, c)
}

// lockSchema keeps other processes from opening the database until unlock is called.
func lockSchema(ctx context.Context, c *sql.Conn) (unlock func(), err error) {
	if _, err := c.ExecContext(ctx, "SELECT pg_advisory_lock(?, 0)", lockClass); err != nil {
		return nil, fmt.Errorf("wait for other processes that migrate: %w", err)
	}
	return func() {
		if _, err := c.ExecContext(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock_all()"); err != nil {
			discard(c)
		}
	}, nil
}

// openHandle opens a pool of up to n connections; they are made on first use and kept.
func openHandle(config *pgx.ConnConfig, n int) *sql.DB {
	handle := sql.OpenDB(connector{stdlib.GetConnector(*config, stdlib.OptionAfterConnect(flushCommits))})
	handle.SetMaxOpenConns(n)
	handle.SetMaxIdleConns(n)
	return handle
}

// flushCommits makes the server flush every commit of this connection before it answers, whatever its default.
func flushCommits(ctx context.Context, c *pgx.Conn) error {
	_, err := c.Exec(ctx, "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'")
	return err
}
