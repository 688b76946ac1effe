package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/store/migrations"
	"github.com/loam-agents/loam/internal/store/sqlite"
)

// schema parses migrations from texts; each gets the given min_compatible.
func schema(t *testing.T, texts ...string) []migrations.Migration {
	t.Helper()
	files := fstest.MapFS{}
	for i, text := range texts {
		files[fmt.Sprintf("%04d_test.sql", i+1)] = &fstest.MapFile{Data: []byte(text)}
	}
	all, err := migrations.Parse(files)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

const (
	first  = "-- min_compatible: 1\nCREATE TABLE notes (id TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT;"
	second = "-- min_compatible: 1\nALTER TABLE notes ADD COLUMN at INTEGER NOT NULL DEFAULT 0;"
	third  = "-- min_compatible: 3\nALTER TABLE notes DROP COLUMN body;"
)

func open(t *testing.T, o sqlite.Options) store.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

func addNote(t *testing.T, s store.Store, id string) {
	t.Helper()
	err := s.Write(t.Context(), store.Interactive, func(tx store.Tx) error {
		_, err := tx.Exec("INSERT INTO notes (id, body) VALUES (?, ?)", id, "text")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestEveryStartRaisesTheEpoch(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "data", "loam.db")
	var last int64
	for range 3 {
		s, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		if s.Epoch() <= last {
			t.Errorf("epoch %d after %d", s.Epoch(), last)
		}
		for epoch, want := range map[int64]bool{s.Epoch(): true, last: false} {
			if alive, err := s.Alive(t.Context(), epoch); err != nil || alive != want {
				t.Errorf("Alive(%d) = %v, %v; want %v", epoch, alive, err, want)
			}
		}
		last = s.Epoch()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFilesAreForTheirOwnerOnly(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	s := open(t, sqlite.Options{Path: filepath.Join(dir, "loam.db"), Migrations: schema(t, first)})
	addNote(t, s, "a")
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", e.Name(), info.Mode())
		}
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("data directory: %v, %v", info.Mode(), err)
	}
}

func TestASecondProcessIsToldWhoHasTheDirectory(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "loam.db")
	open(t, sqlite.Options{Path: path})
	_, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
	if !errors.Is(err, store.ErrLocked) || !strings.Contains(err.Error(), fmt.Sprintf("process %d ", os.Getpid())) {
		t.Errorf("got %v", err)
	}
}

func TestMigratingCopiesTheDatabaseFirstAndKeepsTwoCopies(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "loam.db")
	texts := []string{first, second, second[:strings.Index(second, "at ")] + "b TEXT;", second[:strings.Index(second, "at ")] + "c TEXT;"}
	for n := 1; n <= len(texts); n++ {
		s, err := sqlite.Open(t.Context(), sqlite.Options{Path: path, Migrations: schema(t, texts[:n]...)})
		if err != nil {
			t.Fatal(err)
		}
		addNote(t, s, fmt.Sprint("note ", n))
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	copies, err := filepath.Glob(path + ".before-*")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{path + ".before-0003", path + ".before-0004"}
	if strings.Join(copies, " ") != strings.Join(want, " ") {
		t.Fatalf("copies %v, want %v", copies, want)
	}
	var notes int
	restored := filepath.Join(t.TempDir(), "loam.db")
	data, err := os.ReadFile(copies[1])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(restored, data, 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, sqlite.Options{Path: restored, Migrations: schema(t, texts[:3]...)})
	err = s.Read(t.Context(), func(tx store.Tx) error { return tx.QueryRow("SELECT COUNT(*) FROM notes").Scan(&notes) })
	if err != nil || notes != 3 {
		t.Errorf("the copy has %d notes, %v; want 3", notes, err)
	}
}

func TestASchemaThatIsTooNewIsRefusedAndACompatibleOneIsNot(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name    string
		written []string
		known   []string
		want    error
	}{
		{"newer but compatible", []string{first, second}, []string{first}, nil},
		{"contracted", []string{first, second, third}, []string{first, second}, store.ErrNewerSchema},
		{"the same", []string{first, second}, []string{first, second}, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "loam.db")
			s, err := sqlite.Open(t.Context(), sqlite.Options{Path: path, Migrations: schema(t, c.written...)})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s, err = sqlite.Open(t.Context(), sqlite.Options{Path: path, Migrations: schema(t, c.known...)})
			if !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			if err == nil {
				s.Close()
			}
		})
	}
}

func TestAMigrationThatFailsLeavesTheSchemaOfTheOneBefore(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "loam.db")
	broken := "-- min_compatible: 1\nCREATE TABLE half (id TEXT) STRICT; CREATE TABLE half (id TEXT) STRICT;"
	if _, err := sqlite.Open(t.Context(), sqlite.Options{Path: path, Migrations: schema(t, first, broken)}); err == nil || !strings.Contains(err.Error(), "0002_test.sql") {
		t.Fatalf("got %v", err)
	}
	s := open(t, sqlite.Options{Path: path, Migrations: schema(t, first)})
	addNote(t, s, "a")
	err := s.Read(t.Context(), func(tx store.Tx) error {
		var name string
		return tx.QueryRow("SELECT name FROM sqlite_master WHERE name = 'half'").Scan(&name)
	})
	if !errors.Is(err, sql.ErrNoRows) {
		t.Errorf("the failed migration left its table: %v", err)
	}
}

func TestAFileThatIsNoDatabaseIsCorrupt(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "loam.db")
	if err := os.WriteFile(path, []byte(strings.Repeat("this is not a database. ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.Open(t.Context(), sqlite.Options{Path: path}); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("got %v", err)
	}
}

func TestCheckFindsDanglingReferences(t *testing.T) {
	t.Parallel()
	tables := "-- min_compatible: 1\nCREATE TABLE parents (id TEXT PRIMARY KEY) STRICT; CREATE TABLE children (id TEXT PRIMARY KEY, parent TEXT REFERENCES parents (id)) STRICT;"
	path := filepath.Join(t.TempDir(), "loam.db")
	s := open(t, sqlite.Options{Path: path, Migrations: schema(t, tables)})
	if err := s.Check(t.Context()); err != nil {
		t.Fatalf("a fresh database: %v", err)
	}
	// Another program, which does not enforce references, writes a dangling one.
	raw, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	if _, err := raw.ExecContext(context.Background(), "INSERT INTO children VALUES ('c', 'nobody')"); err != nil {
		t.Fatal(err)
	}
	if err := s.Check(t.Context()); !errors.Is(err, store.ErrCorrupt) || !strings.Contains(err.Error(), "children") {
		t.Errorf("got %v", err)
	}
}

func TestCheckFindsDamagedPages(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "loam.db")
	s, err := sqlite.Open(t.Context(), sqlite.Options{Path: path, Migrations: schema(t, first)})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 300 {
		addNote(t, s, fmt.Sprintf("%0100d", i))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	// The first page stays whole, so that the file still opens.
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt(make([]byte, 4096), info.Size()-4096)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	s = open(t, sqlite.Options{Path: path, Migrations: schema(t, first)})
	if err := s.Check(t.Context()); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("got %v", err)
	}
}

// openWithoutRoom is a child whose files may not grow at all.
func openWithoutRoom(path string) error {
	signal.Ignore(syscall.SIGXFSZ)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 64, Max: 64}); err != nil {
		return err
	}
	s, err := sqlite.Open(context.Background(), sqlite.Options{Path: path, Migrations: pairSchema()})
	if err == nil {
		return s.Close()
	}
	if !errors.Is(err, store.ErrFull) {
		return fmt.Errorf("no room is reported as %w", err)
	}
	fmt.Println("full")
	return nil
}

func TestADatabaseThatFindsNoRoomForItsIndexSaysThatTheDiskIsFull(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "loam.db")
	s, err := sqlite.Open(t.Context(), sqlite.Options{Path: path, Migrations: pairSchema()})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	cmd, err := childCommand("no room", path)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := cmd.Output(); err != nil || string(out) != "full\n" {
		t.Errorf("%v: %s", err, out)
	}
}
