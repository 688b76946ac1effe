package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"

	sqlitedriver "modernc.org/sqlite"

	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/store/migrations"
)

// Open locks the folder, makes or migrates the database and makes the writer. Close ends it.
//
// Errors: store.ErrLocked when another process has the folder, store.ErrNewerSchema when a newer Loam changed the schema
// beyond what this one knows, store.ErrCorrupt when the file is damaged or not a database, store.ErrFull.
func Open(ctx context.Context, options Options) (store.Store, error) {
	if err := options.fill(); err != nil {
		return nil, err
	}
	path, err := filepath.Abs(options.Path)
	if err != nil {
		return nil, err
	}
	options.Path = path
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("make the data directory: %w", translate(err))
	}
	lock, err := lockDir(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	s := &db{options: options, lock: lock}
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", path, translate(err)), s.abandon())
	}
	return s, nil
}

func (s *db) open(ctx context.Context) error {
	if err := createFile(s.options.Path); err != nil {
		return err
	}
	epoch, err := prepare(ctx, s.options)
	if err != nil {
		return err
	}
	s.epoch = epoch
	if s.writeDB, err = openHandle(s.options, writeParams(), 1); err != nil {
		return err
	}
	conn, err := s.writeDB.Conn(ctx)
	if err != nil {
		return err
	}
	s.writer = newWriter(conn, &s.options)
	s.readDB, err = openHandle(s.options, readParams(), s.options.Readers)
	return err
}

// abandon releases what a failed open has taken.
func (s *db) abandon() error {
	var errs []error
	if s.writer != nil {
		s.writer.stop()
		errs = append(errs, s.writer.conn.Close())
	}
	if s.writeDB != nil {
		errs = append(errs, s.writeDB.Close())
	}
	return errors.Join(append(errs, s.lock.release())...)
}

// createFile makes an empty database file with its mode and makes its name durable.
func createFile(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), syncDir(filepath.Dir(path)))
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// prepare migrates on a connection of its own, so that no statement prepared before a migration lives after it.
func prepare(ctx context.Context, o Options) (epoch int64, err error) {
	handle, err := openHandle(o, writeParams(), 1)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, handle.Close()) }()
	conn, err := handle.Conn(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	state, err := migrations.Prepare(ctx, conn)
	if err != nil {
		return 0, err
	}
	pending, err := migrations.Pending(state, o.Migrations)
	if err != nil {
		return 0, err
	}
	if len(pending) > 0 && state.Version > 0 {
		if err := backup(ctx, conn, o, pending[len(pending)-1].Version); err != nil {
			return 0, fmt.Errorf("back up before migrating: %w", err)
		}
	}
	if err := migrations.Apply(ctx, conn, pending, o.Point); err != nil {
		return 0, err
	}
	for _, m := range pending {
		o.Logger.Info("schema migrated", "migration", m.Name)
	}
	return migrations.NextEpoch(ctx, conn)
}

// openHandle opens a pool of up to n connections; they are made on first use and kept.
func openHandle(o Options, params url.Values, n int) (*sql.DB, error) {
	dsn := url.URL{Scheme: "file", Path: o.Path, RawQuery: params.Encode()}
	inner, err := sqlitedriver.NewConnector(dsn.String())
	if err != nil {
		return nil, err
	}
	handle := sql.OpenDB(connector{Connector: inner, limit: o.StatementCache})
	handle.SetMaxOpenConns(n)
	handle.SetMaxIdleConns(n)
	return handle, nil
}

// The write-ahead log is copied back every 4 MiB and never keeps more than 64 MiB on disk after a long read.
func writeParams() url.Values {
	return pragmas("busy_timeout(5000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)",
		"journal_size_limit(67108864)", "cache_size(-"+strconv.Itoa(16<<10)+")", "temp_store(MEMORY)", "trusted_schema(0)")
}

func readParams() url.Values {
	p := pragmas("busy_timeout(5000)", "query_only(1)", "cache_size(-"+strconv.Itoa(8<<10)+")", "temp_store(MEMORY)", "trusted_schema(0)")
	p.Set("mode", "ro")
	return p
}

func pragmas(list ...string) url.Values { return url.Values{"_pragma": list} }
