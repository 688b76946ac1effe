//go:build linux

package sqlite_test

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/loam-agents/loam/internal/store/sqlite"
)

// copies duplicates every descriptor of this process on a file, as a fork does, until the test ends.
func copies(t *testing.T, path string) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	var found []int
	for _, e := range entries {
		target, err := os.Readlink(filepath.Join("/proc/self/fd", e.Name()))
		if err != nil || target != path {
			continue
		}
		fd, err := strconv.Atoi(e.Name())
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, fd)
	}
	for _, fd := range found {
		dup, err := syscall.Dup(fd)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = syscall.Close(dup) })
	}
	return len(found)
}

func TestAClosedStoreGivesItsDirectoryBackThoughAChildStillHoldsTheLockFile(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	options := sqlite.Options{Path: filepath.Join(dir, "loam.db")}
	s, err := sqlite.Open(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	if n := copies(t, filepath.Join(dir, "loam.lock")); n != 1 {
		t.Fatalf("the lock file is open %d times", n)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := sqlite.Open(t.Context(), options)
	if err != nil {
		t.Fatalf("the directory was not given back: %v", err)
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
}
