package storetest

import (
	"context"
	"net/url"
	"testing"

	"github.com/loam-agents/loam/internal/pgtest"
)

// PostgresURL returns the URL of a PostgreSQL database with the schema of head and no rows, for tests that start a whole
// server. It belongs to the test until it ends.
//
// Making a database costs a few hundred milliseconds on a small machine, so a database that is free again is emptied and
// given to the next test, also to one of another process on the same server. One whose schema a test has changed is
// dropped.
func PostgresURL(t testing.TB) string {
	t.Helper()
	a := adminOf(pgtest.Shared(t))
	d, err := a.acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.release(context.WithoutCancel(t.Context()), d); err != nil {
			t.Errorf("give back the database of the test: %v", err)
		}
	})
	return on(a.server, d.name)
}

// EmptyPostgresURL makes a database without any table on a server and returns its URL. It is dropped when the test ends.
func EmptyPostgresURL(t testing.TB, server string) string {
	t.Helper()
	a := adminOf(server)
	name := "loam_empty_" + randomName()
	if err := a.exec(t.Context(), "CREATE DATABASE "+name+" TEMPLATE template0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.exec(context.WithoutCancel(t.Context()), "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			t.Errorf("drop the database of the test: %v", err)
		}
	})
	return on(server, name)
}

// on is the URL of another database of a server.
func on(server, database string) string {
	u, err := url.Parse(server)
	if err != nil {
		return server
	}
	u.Path = "/" + database
	return u.String()
}
