// Package migrations holds the schema: numbered SQL files, one folder for each dialect, embedded in the binary, and the
// small runner that both drivers use.
//
// A file is named NNNN_name.sql and holds plain statements. The first line must be a comment of the form
//
//	-- min_compatible: N
//
// where N is the lowest schema version that a program may be built for and still work with the database after this
// migration. Expanding changes keep the N of the file before; a contracting change raises it. A program that knows
// versions up to H refuses a database whose min_compatible is above H (store.ErrNewerSchema) and works with a newer one
// whose min_compatible is not, which is what a rolling upgrade needs. Migrations only go forward, and a released file is
// never edited.
//
// The runner is ours and not goose, which was considered: min_compatible must change in the transaction of its
// migration, the backup must be taken between reading the state and the first change, and both databases are migrated on
// one connection that holds a lock; goose wants a hook for each, keeps a second table, and brings five modules.
//
// migrations belongs to the store (tier 1); only the drivers and store/archive import it.
package migrations

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/loam-agents/loam/internal/store"
)

//go:embed sqlite/*.sql postgres/*.sql
var files embed.FS

// Migration is one step of the schema.
type Migration struct {
	// Version is the number in the file's name; versions are dense and start at 1.
	Version int64
	// Name is the file's name without folder.
	Name string
	// MinCompatible is the lowest version that a program may be built for and still use the schema after this step.
	MinCompatible int64
	// SQL is the text of the file.
	SQL string
}

// Embedded returns the migrations of a dialect in order. It fails only when a file in this folder breaks the rules.
func Embedded(d store.Dialect) ([]Migration, error) {
	sub, err := fs.Sub(files, string(d))
	if err != nil {
		return nil, err
	}
	return Parse(sub)
}

// Until returns the migrations up to a version. A version that this program does not know is store.ErrNewerSchema.
func Until(all []Migration, version int64) ([]Migration, error) {
	if version < 1 || version > int64(len(all)) {
		return nil, fmt.Errorf("%w: schema %d is asked for, and this program knows schema %d", store.ErrNewerSchema, version, len(all))
	}
	return all[:version], nil
}

// What makes and removes tables. Full-text and other derived tables are virtual: they are filled from their source.
var tableChange = regexp.MustCompile(`(?mi)^\s*(CREATE TABLE(?: IF NOT EXISTS)?|DROP TABLE(?: IF EXISTS)?)\s+([a-z_0-9]+)`)

// derived names a table whose rows are made anew from others, so that no backup needs them.
var derived = regexp.MustCompile(`(?m)^-- derived: ([a-z_0-9]+)$`)

// Tables names the tables that migrations leave, in the order in which they were made. schema_state is not among them, nor are those
// that a migration calls derived.
func Tables(all []Migration) []string {
	var names []string
	for _, m := range all {
		for _, match := range tableChange.FindAllStringSubmatch(m.SQL, -1) {
			if strings.HasPrefix(strings.ToUpper(match[1]), "DROP") {
				names = slices.DeleteFunc(names, func(n string) bool { return n == match[2] })
				continue
			}
			names = append(names, match[2])
		}
		for _, match := range derived.FindAllStringSubmatch(m.SQL, -1) {
			names = slices.DeleteFunc(names, func(n string) bool { return n == match[1] })
		}
	}
	return names
}

// Parse reads every .sql file at the top of fsys. It fails when a name has no number, a number is missing or used twice,
// or a file does not state its min_compatible.
func Parse(fsys fs.FS) ([]Migration, error) {
	names, err := fs.Glob(fsys, "*.sql")
	if err != nil {
		return nil, err
	}
	sort.Strings(names)
	var out []Migration
	for i, name := range names {
		m, err := parseFile(fsys, name)
		if err != nil {
			return nil, err
		}
		if m.Version != int64(i+1) {
			return nil, fmt.Errorf("migration %s: number %d expected, so that the order is dense", name, i+1)
		}
		out = append(out, m)
	}
	return out, nil
}

func parseFile(fsys fs.FS, name string) (Migration, error) {
	number, _, ok := strings.Cut(path.Base(name), "_")
	version, err := strconv.ParseInt(number, 10, 64)
	if !ok || err != nil || version < 1 {
		return Migration{}, fmt.Errorf("migration %s: the name must be NNNN_name.sql", name)
	}
	text, err := fs.ReadFile(fsys, name)
	if err != nil {
		return Migration{}, err
	}
	first, _, _ := strings.Cut(string(text), "\n")
	value, ok := strings.CutPrefix(strings.TrimSpace(first), "-- min_compatible: ")
	lowest, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
	if !ok || err != nil || lowest < 1 || lowest > version {
		return Migration{}, fmt.Errorf("migration %s: the first line must be \"-- min_compatible: N\" with 1 <= N <= %d", name, version)
	}
	return Migration{Version: version, Name: name, MinCompatible: lowest, SQL: string(text)}, nil
}
