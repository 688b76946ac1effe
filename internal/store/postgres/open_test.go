package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"go.uber.org/goleak"

	"github.com/loam-agents/loam/internal/pgtest"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/store/migrations"
	"github.com/loam-agents/loam/internal/store/postgres"
	"github.com/loam-agents/loam/internal/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, storetest.Leaks()) }

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

func open(t *testing.T, o postgres.Options) store.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), o)
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

const (
	first  = "-- min_compatible: 1\nCREATE TABLE notes (id TEXT PRIMARY KEY, body TEXT NOT NULL DEFAULT '');"
	second = "-- min_compatible: 1\nALTER TABLE notes ADD COLUMN at BIGINT;"
	third  = "-- min_compatible: 3\nALTER TABLE notes DROP COLUMN body;"
)

func TestAServerThatCannotBeReachedIsNamedWithoutThePassword(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"postgres://loam:canary-5ecret@127.0.0.1:1/loam?sslmode=disable",
		"host=127.0.0.1 port=1 user=loam password=canary-5ecret dbname=loam",
		"postgres://loam:canary-5ecret@[broken",
		"postgres://loam:canary-5ecret@127.0.0.1:1/loam?sslmode=canary-5ecret",
	} {
		_, err := postgres.Open(t.Context(), postgres.Options{URL: url})
		if err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("got %v", err)
		}
		if strings.HasSuffix(url, "disable") && (!errors.Is(err, store.ErrUnreachable) || !strings.Contains(err.Error(), "127.0.0.1:1")) {
			t.Errorf("got %v", err)
		}
	}
}

func TestProcessesThatStartAtOnceMigrateOnceAndGetTheirOwnEpochs(t *testing.T) {
	t.Parallel()
	url := storetest.EmptyPostgresURL(t, pgtest.Shared(t))
	all := schema(t, first, second)
	var mu sync.Mutex
	var wg sync.WaitGroup
	epochs := map[int64]bool{}
	for range 4 {
		wg.Go(func() {
			s, err := postgres.Open(t.Context(), postgres.Options{URL: url, Migrations: all})
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			epochs[s.Epoch()] = true
			mu.Unlock()
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if len(epochs) != 4 {
		t.Errorf("epochs %v", epochs)
	}
}

func TestASchemaThatIsTooNewIsRefusedAndACompatibleOneIsNot(t *testing.T) {
	t.Parallel()
	server := pgtest.Shared(t)
	cases := []struct {
		name    string
		written []string
		known   []string
		want    error
	}{
		{"newer but compatible", []string{first, second}, []string{first}, nil},
		{"contracted", []string{first, second, third}, []string{first, second}, store.ErrNewerSchema},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			url := storetest.EmptyPostgresURL(t, server)
			open(t, postgres.Options{URL: url, Migrations: schema(t, c.written...)})
			s, err := postgres.Open(t.Context(), postgres.Options{URL: url, Migrations: schema(t, c.known...)})
			if !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			if err == nil {
				s.Close()
			}
		})
	}
}

func TestAServerThatDoesNotFlushIsRefusedUnlessItIsAccepted(t *testing.T) {
	t.Parallel()
	url := storetest.PostgresURL(t)
	open(t, postgres.Options{URL: url})
	if !strings.Contains(url, "loam_unsafe_durability=accept") {
		t.Fatalf("the URL of the test server does not accept: %s", url)
	}
	_, err := postgres.Open(t.Context(), postgres.Options{URL: strings.Replace(url, "loam_unsafe_durability=accept", "loam_unsafe_durability=refuse", 1)})
	if !errors.Is(err, postgres.ErrUnsafe) {
		t.Errorf("got %v", err)
	}
}

func TestCommitsAreFlushedWhateverTheServersDefault(t *testing.T) {
	t.Parallel()
	server, err := pgtest.Start(pgtest.Options{Fsync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	url := strings.Replace(server.URL(), "loam_unsafe_durability=accept", "loam_unsafe_durability=refuse", 1)
	s := open(t, postgres.Options{URL: url, Migrations: schema(t, first)})
	setDefault(t, s, "off")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, postgres.Options{URL: url, Migrations: schema(t, first)})
	var commit, fsync string
	err = s.Write(t.Context(), store.Interactive, func(tx store.Tx) error {
		return tx.QueryRow("SELECT current_setting('synchronous_commit'), current_setting('fsync')").Scan(&commit, &fsync)
	})
	if err != nil || commit != "on" || fsync != "on" {
		t.Errorf("synchronous_commit=%s fsync=%s %v", commit, fsync, err)
	}
}

func setDefault(t *testing.T, s store.Store, value string) {
	t.Helper()
	err := s.Write(t.Context(), store.Interactive, func(tx store.Tx) error {
		_, err := tx.Exec("ALTER ROLE CURRENT_USER SET synchronous_commit = '" + value + "'")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestAProcessIsAliveForOthersUntilItCloses(t *testing.T) {
	t.Parallel()
	url := storetest.PostgresURL(t)
	a := open(t, postgres.Options{URL: url})
	b := open(t, postgres.Options{URL: url})
	for _, want := range []bool{true, false} {
		if alive, err := a.Alive(t.Context(), b.Epoch()); err != nil || alive != want {
			t.Errorf("alive = %v, %v; want %v", alive, err, want)
		}
		if peers, err := a.Peers(t.Context()); err != nil || peers > 0 != want {
			t.Errorf("%d peers, %v; want some: %v", peers, err, want)
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		waitUntil(t, a, func() bool {
			alive, err := a.Alive(t.Context(), b.Epoch())
			return err == nil && !alive
		})
	}
}

// waitUntil asks again until the condition holds; the test's own deadline bounds it. Each question is a round trip.
func waitUntil(t *testing.T, s store.Store, holds func() bool) {
	t.Helper()
	for !holds() {
		if err := s.Read(t.Context(), func(tx store.Tx) error { _, err := tx.Query("SELECT pg_sleep(0.01)"); return err }); err != nil {
			t.Fatal(err)
		}
	}
}

// killOthers ends every connection to the database but the one that asks.
func killOthers(t *testing.T, s store.Store) {
	t.Helper()
	err := s.Read(context.WithoutCancel(t.Context()), func(tx store.Tx) error {
		var n int
		return tx.QueryRow("SELECT COUNT(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name = 'loam'").Scan(&n)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestAStoreSurvivesTheLossOfItsConnections(t *testing.T) {
	t.Parallel()
	url := storetest.PostgresURL(t)
	s := open(t, postgres.Options{URL: url})
	other := open(t, postgres.Options{URL: url})
	add := func(id string) error {
		return s.Write(t.Context(), store.Interactive, func(tx store.Tx) error {
			_, err := tx.Exec("INSERT INTO accounts (id, created_at, updated_at) VALUES (?, 1, 1)", id)
			return err
		})
	}
	if err := add("before"); err != nil {
		t.Fatal(err)
	}
	killOthers(t, other)
	if err := add("after"); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, other, func() bool {
		alive, err := other.Alive(t.Context(), s.Epoch())
		return err == nil && alive
	})
}

func TestInteractiveWritesGoFirst(t *testing.T) {
	t.Parallel()
	s := open(t, postgres.Options{URL: storetest.PostgresURL(t), Writers: 1})
	inside, goOn := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	var ran []int
	write := func(p store.Priority, fn func(store.Tx) error) {
		wg.Go(func() {
			if err := s.Write(t.Context(), p, fn); err != nil {
				t.Error(err)
			}
		})
	}
	write(store.Interactive, func(store.Tx) error { close(inside); <-goOn; return nil })
	<-inside
	ctx, cancel := context.WithCancel(t.Context())
	canceled := make(chan error, 1)
	go func() {
		canceled <- s.Write(ctx, store.Interactive, func(store.Tx) error { t.Error("it ran"); return nil })
	}()
	for s.Stats().Queued != 1 {
	}
	cancel()
	if err := <-canceled; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	for i, p := range []store.Priority{store.Background, store.Interactive, store.Interactive} {
		write(p, func(store.Tx) error { ran = append(ran, i); return nil })
		for s.Stats().Queued != int64(i+1) {
		}
	}
	close(goOn)
	wg.Wait()
	if fmt.Sprint(ran) != "[1 2 0]" {
		t.Errorf("ran %v", ran)
	}
}
