package migrations_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/store/migrations"
)

func TestBothDialectsHaveTheSameMigrations(t *testing.T) {
	t.Parallel()
	lite, err := migrations.Embedded(store.SQLite)
	if err != nil {
		t.Fatal(err)
	}
	pg, err := migrations.Embedded(store.Postgres)
	if err != nil {
		t.Fatal(err)
	}
	if len(lite) == 0 || len(lite) != len(pg) {
		t.Fatalf("%d and %d migrations", len(lite), len(pg))
	}
	for i := range lite {
		if lite[i].Name != pg[i].Name || lite[i].MinCompatible != pg[i].MinCompatible {
			t.Errorf("%s (min_compatible %d) stands beside %s (%d)", lite[i].Name, lite[i].MinCompatible, pg[i].Name, pg[i].MinCompatible)
		}
	}
}

func TestParseRefusesFilesThatBreakTheRules(t *testing.T) {
	t.Parallel()
	const header = "-- min_compatible: 1\n"
	cases := []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"good", map[string]string{"0001_a.sql": header, "0002_b.sql": "-- min_compatible: 2\n", "readme.md": ""}, ""},
		{"gap", map[string]string{"0001_a.sql": header, "0003_b.sql": header}, "number 2 expected"},
		{"twice", map[string]string{"0001_a.sql": header, "0001_b.sql": header}, "number 2 expected"},
		{"no number", map[string]string{"first_a.sql": header}, "NNNN_name.sql"},
		{"zero", map[string]string{"0000_a.sql": header}, "NNNN_name.sql"},
		{"no name", map[string]string{"0001.sql": header}, "NNNN_name.sql"},
		{"no header", map[string]string{"0001_a.sql": "CREATE TABLE a (id TEXT);"}, "min_compatible"},
		{"header of the future", map[string]string{"0001_a.sql": "-- min_compatible: 2\n"}, "min_compatible"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			fsys := fstest.MapFS{}
			for name, text := range c.files {
				fsys[name] = &fstest.MapFile{Data: []byte(text)}
			}
			_, err := migrations.Parse(fsys)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestPendingKnowsWhatADatabaseNeeds(t *testing.T) {
	t.Parallel()
	all := make([]migrations.Migration, 3)
	cases := []struct {
		name  string
		state migrations.State
		want  int
		err   error
	}{
		{"fresh", migrations.State{}, 3, nil},
		{"behind", migrations.State{Version: 1, MinCompatible: 1}, 2, nil},
		{"at head", migrations.State{Version: 3, MinCompatible: 2}, 0, nil},
		{"ahead and compatible", migrations.State{Version: 5, MinCompatible: 3}, 0, nil},
		{"ahead and contracted", migrations.State{Version: 5, MinCompatible: 4}, 0, store.ErrNewerSchema},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := migrations.Pending(c.state, all)
			if len(got) != c.want || !errors.Is(err, c.err) {
				t.Errorf("%d pending, %v", len(got), err)
			}
		})
	}
}

func TestTablesFollowWhatMigrationsMakeAndDrop(t *testing.T) {
	t.Parallel()
	all := []migrations.Migration{
		{SQL: "-- CREATE TABLE in a comment\nCREATE TABLE a (id TEXT);\n  create table if not exists b (id TEXT);\nCREATE INDEX i ON a (id);"},
		{SQL: "CREATE VIRTUAL TABLE words USING fts5 (text);\nDROP TABLE a;\nCREATE TABLE c_2 (id TEXT);"},
	}
	if got := migrations.Tables(all); !slices.Equal(got, []string{"b", "c_2"}) {
		t.Errorf("Tables() = %q", got)
	}
	if _, err := migrations.Until(all, 3); !errors.Is(err, store.ErrNewerSchema) {
		t.Errorf("Until(3) of 2 = %v", err)
	}
	if got, err := migrations.Until(all, 1); err != nil || len(got) != 1 {
		t.Errorf("Until(1) = %v, %v", got, err)
	}
}
