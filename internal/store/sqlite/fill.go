package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/store/migrations"
)

// OpenReader opens an existing database for reading, beside a process that works on it: it takes no lock, migrates nothing
// and counts no start. Write is store.ErrReadOnly. The folder must be writable, since readers share memory through a file.
// Errors: os.ErrNotExist when there is no database, store.ErrCorrupt.
func OpenReader(ctx context.Context, options Options) (store.Store, error) {
	if err := options.fill(); err != nil {
		return nil, err
	}
	path, err := filepath.Abs(options.Path)
	if err != nil {
		return nil, err
	}
	options.Path = path
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	s := &db{options: options}
	if s.readDB, err = openHandle(s.options, readParams(), options.Readers); err != nil {
		return nil, err
	}
	if err := s.readDB.PingContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", path, translate(err)), s.readDB.Close())
	}
	return s, nil
}

// Fill makes a database file and fills it in one transaction. It fails with store.ErrNotEmpty when the file exists; a file
// that could not be filled is removed.
func Fill(ctx context.Context, options Options, filling store.Filling) (err error) {
	if err := options.fill(); err != nil {
		return err
	}
	steps, err := migrations.Until(options.Migrations, filling.Schema)
	if err != nil {
		return err
	}
	if options.Path, err = filepath.Abs(options.Path); err != nil {
		return err
	}
	f, err := os.OpenFile(options.Path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%w: %s", store.ErrNotEmpty, options.Path)
	}
	if err != nil {
		return translate(err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(translate(err), removeFiles(options.Path))
		}
	}()
	if err := f.Close(); err != nil {
		return err
	}
	return fillFile(ctx, options, steps, filling)
}

// removeFiles removes a database with what SQLite keeps beside it.
func removeFiles(path string) error {
	var errs []error
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(path + suffix); !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func fillFile(ctx context.Context, o Options, steps []migrations.Migration, filling store.Filling) (err error) {
	handle, err := openHandle(o, writeParams(), 1)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, handle.Close()) }()
	conn, err := handle.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if _, err := migrations.Prepare(ctx, conn); err != nil {
		return err
	}
	if err := migrations.Apply(ctx, conn, steps, nil); err != nil {
		return err
	}
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	if err := filling.Fill(&loader{ctx: ctx, conn: conn}); err != nil {
		return err
	}
	for _, text := range []string{
		fmt.Sprintf("UPDATE schema_state SET epoch = %d WHERE id = 1", filling.Epoch), "COMMIT", "PRAGMA wal_checkpoint(TRUNCATE)",
	} {
		if _, err := conn.ExecContext(ctx, text); err != nil {
			return err
		}
	}
	return nil
}

// loader implements store.Loader.
type loader struct {
	ctx  context.Context
	conn *sql.Conn
}

// Load implements store.Loader.
func (l *loader) Load(table string, columns []string, rows [][]any) error {
	text := fmt.Sprintf("INSERT INTO %s (%s) VALUES (?%s)", quote(table), quoteAll(columns), strings.Repeat(", ?", len(columns)-1))
	for _, row := range rows {
		if _, err := l.conn.ExecContext(l.ctx, text, row...); err != nil {
			return fmt.Errorf("fill table %s: %w", table, err)
		}
	}
	return nil
}

func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

func quoteAll(names []string) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = quote(n)
	}
	return strings.Join(out, ", ")
}
