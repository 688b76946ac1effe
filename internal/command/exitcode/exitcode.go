// Package exitcode gives every way in which a command can end its number, for scripts and supervisors.
//
// The numbers are stable: a new reason gets a new number, and none is used twice. docs/exit-codes.md is written from this
// table. The package belongs to the room internal/command (tier 8); it imports store, vault and backup for their errors.
package exitcode

import (
	"errors"
	"io/fs"
	"syscall"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/internal/backup"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/vault"
)

// Code is the number that a process ends with.
type Code int

// The codes. Their meanings are in Table.
const (
	OK                  Code = 0
	Failure             Code = 1
	Usage               Code = 2
	AddressInUse        Code = 3
	DataInUse           Code = 4
	NewerSchema         Code = 5
	CorruptDatabase     Code = 6
	DiskFull            Code = 7
	VaultKey            Code = 8
	DatabaseUnreachable Code = 9
	DataUnwritable      Code = 10
	ServerUnreachable   Code = 11
	NotAuthorized       Code = 12
	TurnFailed          Code = 13
	BackupLocked        Code = 14
	BackupDamaged       Code = 15
	NotEmpty            Code = 16
	Interrupted         Code = 130
)

// Entry explains one code.
type Entry struct {
	Code Code
	// Meaning says what happened, Remedy what a person can do.
	Meaning, Remedy string
}

// Table lists every code in ascending order.
func Table() []Entry {
	return []Entry{
		{OK, "The command did what it was asked.", ""},
		{Failure, "Something failed that has no code of its own; doctor found something broken.", "Read the message."},
		{Usage, "A flag, variable, key of loam.yaml or argument is wrong.", "The message names it; `loam COMMAND --help` lists what is allowed."},
		{AddressInUse, "Another program listens on the address.", "Stop it, or choose another one with `--listen`."},
		{DataInUse, "Another process works on the data folder.", "Stop it, or choose another folder with `--data`."},
		{NewerSchema, "A newer Loam has changed the database.", "Run that version or a newer one."},
		{CorruptDatabase, "The database file is damaged or is no database.", "Restore a backup; copies from before migrations lie beside it."},
		{DiskFull, "The disk has no room. Nothing acknowledged is lost.", "Make room and start again."},
		{VaultKey, "The key of the secrets is missing or belongs to another database.", "Bring the right key back from your backup."},
		{DatabaseUnreachable, "The PostgreSQL server does not answer.", "Start it, or correct `--database-url`."},
		{DataUnwritable, "A file or folder may not be read or written.", "Correct its owner and mode, or choose another folder with `--data`."},
		{ServerUnreachable, "No Loam server answers.", "Start one with `loam serve`, or name it with `--url`."},
		{NotAuthorized, "The server refuses the key.", "Use the owner's key or one that the server knows, with `--key`."},
		{TurnFailed, "The agent's turn ended with an error or was stopped.", "The message says why. After an error, `/retry` in `loam chat --last` tries again; a turn that was stopped stays so."},
		{BackupLocked, "The passphrase is wrong, or no identity is one that the backup was encrypted for.", "Name the right one with `--passphrase-file` or `--identity`. Nothing was restored."},
		{BackupDamaged, "The file is no backup, was cut off, or was changed.", "Fetch it again, or take an older one. Nothing was restored."},
		{NotEmpty, "The data folder or the database to restore into holds something.", "Name a new folder with `--data`, a new database with `--database-url`. Nothing was restored."},
		{Interrupted, "Ctrl-C ended the command.", ""},
	}
}

// Error is an error whose code was decided where it happened.
type Error struct {
	// Code is the process's exit code.
	Code Code
	// Err says what happened.
	Err error
}

// Error implements error with the text of the cause.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// With gives an error its code; nil stays nil.
func With(code Code, err error) error {
	if err == nil {
		return nil
	}
	return &Error{Code: code, Err: err}
}

// causes are looked for in order: the first that is in an error's chain decides.
func causes() []struct {
	err  error
	code Code
} {
	return []struct {
		err  error
		code Code
	}{
		{store.ErrLocked, DataInUse},
		{store.ErrNewerSchema, NewerSchema},
		{store.ErrCorrupt, CorruptDatabase},
		{store.ErrFull, DiskFull},
		{syscall.ENOSPC, DiskFull},
		{syscall.EDQUOT, DiskFull},
		{store.ErrUnreachable, DatabaseUnreachable},
		{vault.ErrWrongKey, VaultKey},
		{vault.ErrNoKey, VaultKey},
		{backup.ErrLocked, BackupLocked},
		{backup.ErrDamaged, BackupDamaged},
		{store.ErrNotEmpty, NotEmpty},
		{syscall.EADDRINUSE, AddressInUse},
		{fs.ErrPermission, DataUnwritable},
		{syscall.EROFS, DataUnwritable},
		{syscall.ENOTDIR, DataUnwritable},
	}
}

// Of finds the code of an error: one that was decided where it happened, else one by its cause, else Failure.
func Of(err error) Code {
	if err == nil {
		return OK
	}
	if decided, ok := errors.AsType[*Error](err); ok {
		return decided.Code
	}
	if refused, ok := errors.AsType[*client.Error](err); ok {
		if refused.Status == 401 || refused.Status == 403 {
			return NotAuthorized
		}
		return Failure
	}
	for _, c := range causes() {
		if errors.Is(err, c.err) {
			return c.code
		}
	}
	return Failure
}
