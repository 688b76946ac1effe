package sqlite_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/loam-agents/loam/internal/store/storetest"

	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/store/migrations"
	"github.com/loam-agents/loam/internal/store/sqlite"
)

// The test binary runs itself for what needs a process of its own; the variable names the role.
const roleVariable = "LOAM_SQLITE_TEST_ROLE"

var roles = map[string]func(path string) error{
	// Writes for ever from several goroutines and prints a line for each write that was acknowledged.
	"crash": func(path string) error { return writeAndAcknowledge(path, 4, 1<<30, false) },
	// Writes 50 times, one after another, and prints a line after each.
	"ordered": func(path string) error { return writeAndAcknowledge(path, 1, 50, false) },
	// The same, but prints from inside the closure as well, before the commit: the tracer has to notice.
	"hasty":       func(path string) error { return writeAndAcknowledge(path, 1, 50, true) },
	"trace":       func(path string) error { return trace(path, "ordered") },
	"trace hasty": func(path string) error { return trace(path, "hasty") },
	"full":        writeUntilFull,
	"no room":     openWithoutRoom,
}

func TestMain(m *testing.M) {
	role, ok := roles[os.Getenv(roleVariable)]
	if !ok {
		goleak.VerifyTestMain(m, storetest.Leaks())
		return
	}
	if err := role(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// childCommand runs this binary in a role.
func childCommand(role, path string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, path)
	cmd.Env = append(os.Environ(), roleVariable+"="+role)
	cmd.Stderr = os.Stderr
	return cmd, nil
}

const pairs = "-- min_compatible: 1\nCREATE TABLE pairs (id TEXT NOT NULL, half INTEGER NOT NULL, body TEXT NOT NULL, PRIMARY KEY (id, half)) STRICT;"

func pairSchema() []migrations.Migration {
	return []migrations.Migration{{Version: 1, Name: "0001_pairs.sql", MinCompatible: 1, SQL: pairs}}
}

func writeAndAcknowledge(path string, writers, each int, hasty bool) error {
	s, err := sqlite.Open(context.Background(), sqlite.Options{Path: path, Migrations: pairSchema()})
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				id := fmt.Sprintf("%d-%d-%d", s.Epoch(), w, i)
				err := s.Write(context.Background(), store.Interactive, func(tx store.Tx) error {
					return insertPair(tx, id, hasty)
				})
				if err != nil {
					fmt.Fprintln(os.Stderr, err)
					os.Exit(1)
				}
				fmt.Printf("ack %s\n", id)
			}
		})
	}
	wg.Wait()
	return s.Close()
}

func insertPair(tx store.Tx, id string, hasty bool) error {
	for half := range 2 {
		if _, err := tx.Exec("INSERT INTO pairs (id, half, body) VALUES (?, ?, ?)", id, half, "some text"); err != nil {
			return err
		}
	}
	if hasty {
		fmt.Printf("ack %s\n", id)
	}
	return nil
}
