package migrations

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/loam-agents/loam/internal/store"
)

// State is what a database says about its schema. The zero State is a database that Loam has not touched.
type State struct {
	// Version is the number of the last migration that was applied.
	Version int64
	// MinCompatible is that of the last migration.
	MinCompatible int64
	// Epoch counts the starts of processes on this database.
	Epoch int64
}

// The one row of schema_state is what the store knows about itself; no migration touches it.
const createState = `CREATE TABLE IF NOT EXISTS schema_state (
  id             INTEGER PRIMARY KEY CHECK (id = 1),
  version        BIGINT NOT NULL,
  min_compatible BIGINT NOT NULL,
  epoch          BIGINT NOT NULL
)`

const insertState = `INSERT INTO schema_state (id, version, min_compatible, epoch) VALUES (1, 0, 0, 0) ON CONFLICT (id) DO NOTHING`

// Prepare makes the table schema_state when it is missing and returns the state. The caller holds the lock that keeps
// other processes from migrating at the same time.
func Prepare(ctx context.Context, conn *sql.Conn) (State, error) {
	for _, text := range []string{createState, insertState} {
		if _, err := conn.ExecContext(ctx, text); err != nil {
			return State{}, fmt.Errorf("create schema_state: %w", err)
		}
	}
	var s State
	row := conn.QueryRowContext(ctx, `SELECT version, min_compatible, epoch FROM schema_state WHERE id = 1`)
	if err := row.Scan(&s.Version, &s.MinCompatible, &s.Epoch); err != nil {
		return State{}, fmt.Errorf("read schema_state: %w", err)
	}
	return s, nil
}

// Pending returns the migrations that the database still needs. It returns store.ErrNewerSchema when the schema was
// changed by a newer program in a way that this one cannot work with.
func Pending(s State, all []Migration) ([]Migration, error) {
	known := int64(len(all))
	if s.MinCompatible > known {
		return nil, fmt.Errorf("%w: the database has schema %d and needs a program that knows at least schema %d, but this one knows schema %d; install the newer Loam again, or restore the backup that was taken before the upgrade",
			store.ErrNewerSchema, s.Version, s.MinCompatible, known)
	}
	if s.Version >= known {
		return nil, nil
	}
	return all[s.Version:], nil
}

// The named points of a migration: before it is committed, and after that.
const (
	PointMigrating = "migrating"
	PointMigrated  = "migrated"
)

// Apply runs the migrations, each in one transaction together with its change of schema_state, and stops at the first
// that fails: the ones before it stay. point is called at the named points; it may be nil.
func Apply(ctx context.Context, conn *sql.Conn, pending []Migration, point func(name string)) error {
	if point == nil {
		point = func(string) {}
	}
	for _, m := range pending {
		if err := applyOne(ctx, conn, m, point); err != nil {
			return fmt.Errorf("migration %s: %w", m.Name, err)
		}
		point(PointMigrated)
	}
	return nil
}

func applyOne(ctx context.Context, conn *sql.Conn, m Migration, point func(name string)) error {
	statements := []string{
		"BEGIN",
		m.SQL,
		fmt.Sprintf("UPDATE schema_state SET version = %d, min_compatible = %d WHERE id = 1", m.Version, m.MinCompatible),
		commit,
	}
	for _, text := range statements {
		if text == commit {
			point(PointMigrating)
		}
		if _, err := conn.ExecContext(ctx, text); err != nil {
			_, rollbackErr := conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
			return errors.Join(err, rollbackErr)
		}
	}
	return nil
}

const commit = "COMMIT"

// NextEpoch counts a start and returns the new epoch.
func NextEpoch(ctx context.Context, conn *sql.Conn) (int64, error) {
	var epoch int64
	row := conn.QueryRowContext(ctx, `UPDATE schema_state SET epoch = epoch + 1 WHERE id = 1 RETURNING epoch`)
	if err := row.Scan(&epoch); err != nil {
		return 0, fmt.Errorf("count the start: %w", err)
	}
	return epoch, nil
}
