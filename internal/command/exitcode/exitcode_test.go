package exitcode_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/internal/command/exitcode"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/vault"
)

func TestEveryCauseHasItsCode(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want exitcode.Code
	}{
		{nil, exitcode.OK},
		{errors.New("x"), exitcode.Failure},
		{store.ErrLocked, exitcode.DataInUse},
		{store.ErrNewerSchema, exitcode.NewerSchema},
		{store.ErrCorrupt, exitcode.CorruptDatabase},
		{store.ErrFull, exitcode.DiskFull},
		{&fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}, exitcode.DiskFull},
		{store.ErrUnreachable, exitcode.DatabaseUnreachable},
		{vault.ErrWrongKey, exitcode.VaultKey},
		{vault.ErrNoKey, exitcode.VaultKey},
		{&net.OpError{Op: "listen", Err: os.NewSyscallError("bind", syscall.EADDRINUSE)}, exitcode.AddressInUse},
		{&fs.PathError{Op: "mkdir", Path: "x", Err: syscall.EACCES}, exitcode.DataUnwritable},
		{&fs.PathError{Op: "mkdir", Path: "x", Err: syscall.EROFS}, exitcode.DataUnwritable},
		{&client.Error{Status: 401}, exitcode.NotAuthorized},
		{&client.Error{Status: 403}, exitcode.NotAuthorized},
		{&client.Error{Status: 404}, exitcode.Failure},
		{exitcode.With(exitcode.Usage, store.ErrLocked), exitcode.Usage},
		{exitcode.With(exitcode.Usage, nil), exitcode.OK},
	} {
		err := c.err
		if err != nil {
			err = errors.Join(fmt.Errorf("open: %w", err), nil)
		}
		if got := exitcode.Of(err); got != c.want {
			t.Errorf("%v has code %d, want %d", c.err, got, c.want)
		}
	}
}

func TestAFileWhereAFolderIsNeededIsUnwritable(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := exitcode.Of(os.MkdirAll(filepath.Join(file, "data"), 0o700)); got != exitcode.DataUnwritable {
		t.Errorf("code %d", got)
	}
}

func TestNoNumberIsUsedTwiceAndEachIsExplained(t *testing.T) {
	t.Parallel()
	last := exitcode.Code(-1)
	for _, e := range exitcode.Table() {
		if e.Code <= last || e.Meaning == "" {
			t.Errorf("code %d after %d: %q", e.Code, last, e.Meaning)
		}
		last = e.Code
	}
}
