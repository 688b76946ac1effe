package storetest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/id"
	"github.com/loam-agents/loam/internal/pgtest"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/store/migrations"
	"github.com/loam-agents/loam/internal/store/postgres"
)

// PostgresURL makes a fresh database with the schema of head and returns its URL, for tests that start a whole server. It
// is dropped when the test ends.
func PostgresURL(t testing.TB) string {
	t.Helper()
	server := pgtest.Shared(t)
	template, err := templateOf(server)
	if err != nil {
		t.Fatal(err)
	}
	return createDatabase(t, server, "TEMPLATE "+template)
}

// EmptyPostgresURL makes a fresh database without any table on a server and returns its URL. It is dropped when the test
// ends.
func EmptyPostgresURL(t testing.TB, server string) string {
	t.Helper()
	return createDatabase(t, server, "TEMPLATE template0")
}

func createDatabase(t testing.TB, server, from string) string {
	t.Helper()
	name := "t_" + hex.EncodeToString([]byte(newID())[24:])
	err := administer(t.Context(), server, "CREATE DATABASE "+name+" "+from)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		err := administer(context.WithoutCancel(t.Context()), server, "DROP DATABASE "+name+" WITH (FORCE)")
		if err != nil {
			t.Errorf("drop the database of the test: %v", err)
		}
	})
	return on(server, name)
}

var newID = id.NewSource(clock.System{}, nil)

// on is the URL of another database of a server.
func on(server, database string) string {
	u, err := url.Parse(server)
	if err != nil {
		return server
	}
	u.Path = "/" + database
	return u.String()
}

// administer runs one statement on a connection of its own.
func administer(ctx context.Context, server, statement string) error {
	return withAdmin(ctx, server, func(c *pgx.Conn) error {
		_, err := c.Exec(ctx, statement)
		return err
	})
}

func withAdmin(ctx context.Context, server string, fn func(*pgx.Conn) error) error {
	config, err := pgx.ParseConfig(server)
	if err != nil {
		return fmt.Errorf("read the URL of the test server: %w", err)
	}
	delete(config.RuntimeParams, "loam_unsafe_durability")
	c, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	return errors.Join(fn(c), c.Close(ctx))
}

// templates are the migrated templates that this process has seen, by server.
var templates sync.Map

// templateOf returns the name of a database with the schema of head on a server. Processes that test at the same time
// share it; its name changes with the schema.
func templateOf(server string) (string, error) {
	once, _ := templates.LoadOrStore(server, sync.OnceValues(func() (string, error) { return makeTemplate(server) }))
	return once.(func() (string, error))()
}

func makeTemplate(server string) (string, error) {
	all, err := migrations.Embedded(store.Postgres)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	for _, m := range all {
		sum.Write([]byte(m.SQL))
	}
	name := "loam_head_" + hex.EncodeToString(sum.Sum(nil)[:8])
	ctx := context.Background()
	return name, withAdmin(ctx, server, func(c *pgx.Conn) error {
		// Held until the connection closes: one process makes the template.
		if _, err := c.Exec(ctx, "SELECT pg_advisory_lock(hashtext($1))", name); err != nil {
			return err
		}
		var ready bool
		if err := c.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM pg_database WHERE datname = $1 AND datistemplate)", name).Scan(&ready); err != nil || ready {
			return err
		}
		return fillTemplate(ctx, c, server, name)
	})
}

func fillTemplate(ctx context.Context, c *pgx.Conn, server, name string) error {
	for _, text := range []string{"DROP DATABASE IF EXISTS " + name, "CREATE DATABASE " + name + " TEMPLATE template0"} {
		if _, err := c.Exec(ctx, text); err != nil {
			return err
		}
	}
	s, err := postgres.Open(ctx, postgres.Options{URL: on(server, name)})
	if err != nil {
		return err
	}
	if err := s.Close(); err != nil {
		return err
	}
	_, err = c.Exec(ctx, "ALTER DATABASE "+name+" IS_TEMPLATE true")
	return err
}
