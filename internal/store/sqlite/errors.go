package sqlite

import (
	"errors"
	"fmt"
	"syscall"

	sqlitedriver "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/loam-agents/loam/internal/store"
)

// translate gives a driver's error the store's meaning and keeps it in the chain.
func translate(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("%w: free some space and try again: %w", store.ErrFull, err)
	}
	e, ok := errors.AsType[*sqlitedriver.Error](err)
	if !ok {
		return err
	}
	switch e.Code() {
	case sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY, sqlite3.SQLITE_CONSTRAINT_ROWID:
		return fmt.Errorf("%w: %w", store.ErrUnique, err)
	case sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY:
		return fmt.Errorf("%w: %w", store.ErrForeignKey, err)
	case sqlite3.SQLITE_IOERR_SHMSIZE:
		// The index of the log cannot be made: SQLite has no code of its own for a disk without room for it.
		return fmt.Errorf("%w: free some space and try again: %w", store.ErrFull, err)
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_FULL:
		return fmt.Errorf("%w: free some space and try again: %w", store.ErrFull, err)
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return fmt.Errorf("%w: restore a backup, or move the file away to start anew: %w", store.ErrCorrupt, err)
	}
	return err
}
