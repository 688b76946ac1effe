package sqlite_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/signal"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/store/sqlite"
)

// busyStore is a store whose writer is in the middle of a closure until release is called.
func busyStore(t *testing.T) (s store.Store, release func()) {
	t.Helper()
	s = open(t, sqlite.Options{Path: filepath.Join(t.TempDir(), "loam.db"), Migrations: schema(t, first), BatchTime: time.Minute})
	inside, goOn, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		err := s.Write(t.Context(), store.Interactive, func(store.Tx) error {
			close(inside)
			<-goOn
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}()
	<-inside
	return s, func() { close(goOn); <-done }
}

// enqueue starts a write and returns when it waits in the queue: the writer is busy, so nothing can overtake it.
func enqueue(t *testing.T, wg *sync.WaitGroup, s store.Store, queued func() int, p store.Priority, fn func(store.Tx) error) {
	t.Helper()
	before := queued()
	wg.Go(func() {
		if err := s.Write(t.Context(), p, fn); err != nil {
			t.Error(err)
		}
	})
	for queued() == before {
	}
}

func queueLength(s store.Store) func() int {
	return func() int { return int(s.Stats().Queued) }
}

func TestInteractiveWritesGoFirstAndOthersInOrder(t *testing.T) {
	t.Parallel()
	s, release := busyStore(t)
	var wg sync.WaitGroup
	var ran []string
	for i, p := range []store.Priority{store.Background, store.Background, store.Interactive, store.Interactive} {
		enqueue(t, &wg, s, queueLength(s), p, func(store.Tx) error { ran = append(ran, fmt.Sprint(i)); return nil })
	}
	release()
	wg.Wait()
	if want := []string{"2", "3", "0", "1"}; !slices.Equal(ran, want) {
		t.Errorf("ran %v, want %v", ran, want)
	}
}

func TestQueuedWritesShareACommitAndABadOneHurtsNoOther(t *testing.T) {
	t.Parallel()
	s, release := busyStore(t)
	before := s.Stats()
	var wg sync.WaitGroup
	var announced []string
	errs := make([]error, 3)
	for i, id := range []string{"a", "bad", "c"} {
		before := queueLength(s)()
		wg.Go(func() {
			errs[i] = s.Write(t.Context(), store.Interactive, func(tx store.Tx) error {
				tx.AfterCommit(func() { announced = append(announced, id) })
				if _, err := tx.Exec("INSERT INTO notes (id, body) VALUES (?, '')", id); err != nil {
					return err
				}
				if id == "bad" {
					_, err := tx.Exec("INSERT INTO notes (id, body) VALUES ('a', '')")
					return err
				}
				return nil
			})
		})
		for queueLength(s)() == before {
		}
	}
	release()
	wg.Wait()
	if errs[0] != nil || !errors.Is(errs[1], store.ErrUnique) || errs[2] != nil {
		t.Errorf("errors %v", errs)
	}
	after := s.Stats()
	if after.Writes-before.Writes != 3 || after.Commits-before.Commits > 2 {
		t.Errorf("from %+v to %+v: want 3 writes in at most 2 commits", before, after)
	}
	if !slices.Equal(announced, []string{"a", "c"}) {
		t.Errorf("announced %v", announced)
	}
}

func TestAWriteThatIsCanceledInTheQueueNeverRuns(t *testing.T) {
	t.Parallel()
	s, release := busyStore(t)
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() {
		result <- s.Write(ctx, store.Interactive, func(store.Tx) error { t.Error("it ran"); return nil })
	}()
	for queueLength(s)() == 0 {
	}
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	release()
	addNote(t, s, "a")
}

func TestConcurrentWritesNeedFewerCommits(t *testing.T) {
	t.Parallel()
	s := open(t, sqlite.Options{Path: filepath.Join(t.TempDir(), "loam.db"), Migrations: schema(t, first), BatchTime: time.Minute})
	var wg sync.WaitGroup
	for w := range 32 {
		wg.Go(func() {
			for i := range 10 {
				addNote(t, s, fmt.Sprintf("%d-%d", w, i))
			}
		})
	}
	wg.Wait()
	if stats := s.Stats(); stats.Writes != 320 || stats.Commits >= 160 {
		t.Errorf("%+v: want far fewer commits than writes", stats)
	}
}

func TestAFullDatabaseIsErrFullAndKeepsNothing(t *testing.T) {
	t.Parallel()
	s := open(t, sqlite.Options{Path: filepath.Join(t.TempDir(), "loam.db"), Migrations: schema(t, first)})
	err := s.Write(t.Context(), store.Interactive, func(tx store.Tx) error {
		var pages int
		return tx.QueryRow("PRAGMA max_page_count = 20").Scan(&pages)
	})
	if err != nil {
		t.Fatal(err)
	}
	err = s.Write(t.Context(), store.Interactive, func(tx store.Tx) error {
		if _, err := tx.Exec("INSERT INTO notes (id, body) VALUES ('small', '')"); err != nil {
			return err
		}
		_, err := tx.Exec("INSERT INTO notes (id, body) VALUES ('big', ?)", string(bytes.Repeat([]byte("x"), 1<<20)))
		return err
	})
	if !errors.Is(err, store.ErrFull) {
		t.Errorf("got %v", err)
	}
	addNote(t, s, "small")
}

// writeUntilFull is a child whose files may not grow beyond 256 KiB: the commit itself fails, not a statement.
func writeUntilFull(path string) error {
	s, err := sqlite.Open(context.Background(), sqlite.Options{Path: path, Migrations: pairSchema()})
	if err != nil {
		return err
	}
	defer s.Close()
	signal.Ignore(syscall.SIGXFSZ)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 256 << 10, Max: 256 << 10}); err != nil {
		return err
	}
	announced := false
	err = s.Write(context.Background(), store.Interactive, func(tx store.Tx) error {
		tx.AfterCommit(func() { announced = true })
		_, err := tx.Exec("INSERT INTO pairs (id, half, body) VALUES ('big', 0, ?)", string(bytes.Repeat([]byte("x"), 1<<20)))
		if err != nil {
			return fmt.Errorf("the statement failed, not the commit: %w", err)
		}
		return nil
	})
	if err == nil || announced {
		return fmt.Errorf("error %v, announced %v", err, announced)
	}
	fmt.Println("commit:", err)
	return s.Write(context.Background(), store.Interactive, func(tx store.Tx) error { return insertPair(tx, "small", false) })
}

func TestACommitThatFailsIsReportedAndNotAnnounced(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "loam.db")
	cmd, err := childCommand("full", path)
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.Output()
	if err != nil || !bytes.HasPrefix(out, []byte("commit: commit: ")) {
		t.Fatalf("%v: %s", err, out)
	}
	if halves := readPairs(t, path); len(halves) != 1 || halves["small"] != 2 {
		t.Errorf("the database holds %v", halves)
	}
}
