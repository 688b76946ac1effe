package postgres_test

import (
	"context"
	"errors"
	"testing"

	"github.com/loam-agents/loam/internal/pgtest"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/store/postgres"
	"github.com/loam-agents/loam/internal/store/storetest"
)

func TestACopyIsTakenBeforeTheFirstChangeOfASchemaAndItsFailureKeepsTheSchema(t *testing.T) {
	t.Parallel()
	url := storetest.EmptyPostgresURL(t, pgtest.Shared(t))
	var versions []int64
	failed := errors.New("no room for a copy")
	options := func(texts []string, fail error) postgres.Options {
		return postgres.Options{URL: url, Migrations: schema(t, texts...), BeforeMigrating: func(_ context.Context, version int64) error {
			versions = append(versions, version)
			return fail
		}}
	}
	for _, step := range []struct {
		texts []string
		fail  error
		want  int
	}{
		{[]string{first}, failed, 0}, // a new database has nothing to copy
		{[]string{first}, failed, 0},
		{[]string{first, second}, failed, 1},
		{[]string{first, second}, nil, 2},
		{[]string{first, second}, failed, 2},
	} {
		s, err := postgres.Open(t.Context(), options(step.texts, step.fail))
		if err == nil {
			err = s.Close()
		}
		asked := len(versions) == step.want && (step.want == 0 || versions[step.want-1] == 2)
		if wantErr := step.want == 1; !asked || errors.Is(err, failed) != wantErr || err != nil && !wantErr {
			t.Fatalf("with %d migrations: %v, asked for %v", len(step.texts), err, versions)
		}
	}
}

func TestFillingIsAllOrNothing(t *testing.T) {
	t.Parallel()
	url := storetest.EmptyPostgresURL(t, pgtest.Shared(t))
	options := postgres.Options{URL: url, Migrations: schema(t, first)}
	rows := [][]any{{"a", "one"}, {"b", "two"}}
	fill := func(schema int64, then error) error {
		return postgres.Fill(t.Context(), options, store.Filling{Schema: schema, Epoch: 41, Fill: func(l store.Loader) error {
			return errors.Join(l.Load("notes", []string{"id", "body"}, rows), then)
		}})
	}
	broken := errors.New("broken")
	if err := fill(1, broken); !errors.Is(err, broken) {
		t.Errorf("a filling that fails: %v", err)
	}
	if err := fill(2, nil); !errors.Is(err, store.ErrNewerSchema) {
		t.Errorf("a schema of the future: %v", err)
	}
	if err := fill(1, nil); err != nil {
		t.Fatalf("the database was not empty any more: %v", err)
	}
	if err := fill(1, nil); !errors.Is(err, store.ErrNotEmpty) {
		t.Errorf("a database with rows: %v", err)
	}
	s := open(t, options)
	var n int64
	err := s.Read(t.Context(), func(tx store.Tx) error { return tx.QueryRow(`SELECT COUNT(*) FROM notes`).Scan(&n) })
	if err != nil || n != 2 || s.Epoch() != 42 {
		t.Errorf("%d rows, epoch %d, %v", n, s.Epoch(), err)
	}
	r, err := postgres.OpenReader(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Write(t.Context(), store.Interactive, func(store.Tx) error { return nil }); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("a reader writes: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}
