//go:build unix

package sqlite

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/loam-agents/loam/internal/store"
)

// dirLock holds a data directory for one process. The kernel releases it when the process ends, however it ends.
type dirLock struct{ file *os.File }

// lockDir takes the lock of dir or says who has it.
func lockDir(dir string) (*dirLock, error) {
	f, err := os.OpenFile(filepath.Join(dir, "loam.lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock file: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		defer f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("%w: process %s works on %s; stop it, or choose another directory", store.ErrLocked, holder(f), dir)
		}
		return nil, fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	if err := f.Truncate(0); err != nil {
		return nil, errors.Join(fmt.Errorf("write the lock file: %w", err), f.Close())
	}
	if _, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0); err != nil {
		return nil, errors.Join(fmt.Errorf("write the lock file: %w", err), f.Close())
	}
	return &dirLock{f}, nil
}

func holder(f *os.File) string {
	text, err := io.ReadAll(io.LimitReader(f, 32))
	pid := strings.TrimSpace(string(text))
	if err != nil || pid == "" {
		return "(unknown)"
	}
	return pid
}

// release gives the directory back. The file stays: removing it would let two processes lock two files of one name. Closing
// alone is not enough: a child that was being started at this moment holds a copy of the file until it executes its program.
func (l *dirLock) release() error {
	err := syscall.Flock(int(l.file.Fd()), syscall.LOCK_UN)
	return errors.Join(err, l.file.Close())
}
