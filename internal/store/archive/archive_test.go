package archive_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/store/archive"
	"github.com/loam-agents/loam/internal/store/storetest"
)

func TestBothDatabasesHaveTheSameTablesAndNoneIsForgotten(t *testing.T) {
	t.Parallel()
	found := map[store.Dialect][]archive.Table{}
	for dialect, s := range map[store.Dialect]store.Store{store.SQLite: storetest.SQLite(t), store.Postgres: storetest.Postgres(t)} {
		err := s.Read(t.Context(), func(tx store.Tx) error {
			state, err := archive.State(tx)
			if err != nil {
				return err
			}
			tables, err := archive.Tables(tx, state.Version)
			found[dialect] = tables
			if err != nil {
				return err
			}
			// The first says how far the schema is; the others are made anew from the log of sessions.
			names := []string{"schema_state", "thread_index", "thread_indexed"}
			for _, table := range tables {
				names = append(names, table.Name)
				if len(table.Columns) == 0 {
					t.Errorf("%s: table %s has no columns", dialect, table.Name)
				}
			}
			there, err := catalogue(tx)
			if err != nil {
				return err
			}
			slices.Sort(names)
			if diff := cmp.Diff(there, names); diff != "" {
				t.Errorf("%s: the database has other tables than a backup (-database +backup):\n%s", dialect, diff)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(found[store.SQLite], found[store.Postgres]); diff != "" {
		t.Errorf("a row of one database does not fit the other (-sqlite +postgres):\n%s", diff)
	}
}

func catalogue(tx store.Tx) ([]string, error) {
	query := `SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name`
	if tx.Dialect() == store.Postgres {
		query = `SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY relname COLLATE "C"`
	}
	rows, err := tx.Query(query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		out = append(out, name)
	}
	return out, rows.Err()
}

func TestASchemaOfTheFutureIsNotCopiedInPart(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s store.Store) {
		err := s.Write(t.Context(), store.Interactive, func(tx store.Tx) error {
			_, err := tx.Exec(`UPDATE schema_state SET version = 900`)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		err = s.Read(t.Context(), func(tx store.Tx) error {
			_, err := archive.State(tx)
			return err
		})
		if !errors.Is(err, store.ErrNewerSchema) {
			t.Errorf("State() = %v", err)
		}
	})
}
