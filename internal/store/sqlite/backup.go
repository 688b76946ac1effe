package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// keptBackups is how many copies from before migrations stay beside the database.
const keptBackups = 2

// backup writes a copy of the database as it is to <path>.before-<version>, complete and flushed before the name appears,
// and removes the oldest copies.
func backup(ctx context.Context, conn *sql.Conn, o Options, version int64) error {
	target := fmt.Sprintf("%s.before-%04d", o.Path, version)
	partial := target + ".partial"
	if err := os.Remove(partial); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	// The file is made here for its mode; SQLite fills an empty one.
	f, err := os.OpenFile(partial, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	if _, err := conn.ExecContext(ctx, "VACUUM INTO ?", partial); err != nil {
		return errors.Join(err, f.Close(), os.Remove(partial))
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(partial, target); err != nil {
		return err
	}
	o.Logger.Info("database copied before migrating", "copy", target)
	return errors.Join(dropOldBackups(o.Path), syncDir(filepath.Dir(o.Path)))
}

func dropOldBackups(path string) error {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return err
	}
	var copies []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), filepath.Base(path)+".before-") && !strings.HasSuffix(e.Name(), ".partial") {
			copies = append(copies, filepath.Join(filepath.Dir(path), e.Name()))
		}
	}
	sort.Strings(copies)
	var errs []error
	for len(copies) > keptBackups {
		errs = append(errs, os.Remove(copies[0]))
		copies = copies[1:]
	}
	return errors.Join(errs...)
}
