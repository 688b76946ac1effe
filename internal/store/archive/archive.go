// Package archive reads a whole database table by table, the same way on both databases, so that a backup of one can be
// restored into the other.
//
// It belongs to the store (tier 1) and imports store and store/migrations. internal/backup calls it inside one Read, whose
// snapshot makes the tables agree with one another; what writes rows back is store.Loader.
package archive

import (
	"fmt"
	"slices"
	"strings"

	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/store/migrations"
)

// Table is a table with the columns that hold its truth. Generated columns are left out.
type Table struct {
	Name    string
	Columns []string
}

// State reads which schema the database has. It is store.ErrNewerSchema when this program does not know all of its tables.
func State(tx store.Tx) (migrations.State, error) {
	var s migrations.State
	row := tx.QueryRow(`SELECT version, min_compatible, epoch FROM schema_state WHERE id = 1`)
	if err := row.Scan(&s.Version, &s.MinCompatible, &s.Epoch); err != nil {
		return s, fmt.Errorf("read schema_state: %w", err)
	}
	_, err := known(tx.Dialect(), s.Version)
	return s, err
}

func known(d store.Dialect, version int64) ([]migrations.Migration, error) {
	all, err := migrations.Embedded(d)
	if err != nil {
		return nil, err
	}
	return migrations.Until(all, version)
}

// Tables lists Loam's tables of a schema, in the order in which they were made, so that a row comes after those that it refers
// to. Tables of others in the same database are not among them.
func Tables(tx store.Tx, version int64) ([]Table, error) {
	steps, err := known(tx.Dialect(), version)
	if err != nil {
		return nil, err
	}
	var out []Table
	for _, name := range migrations.Tables(steps) {
		columns, err := columnsOf(tx, name)
		if err != nil {
			return nil, fmt.Errorf("columns of table %s: %w", name, err)
		}
		out = append(out, Table{name, columns})
	}
	return out, nil
}

func columnsOf(tx store.Tx, table string) ([]string, error) {
	query := `SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0`
	if tx.Dialect() == store.Postgres {
		query = `SELECT attname FROM pg_attribute WHERE attrelid = to_regclass(?) AND attnum > 0 AND NOT attisdropped AND attgenerated = ''`
	}
	rows, err := tx.Query(query, table)
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
	slices.Sort(out)
	return out, rows.Err()
}

// Rows hands every row of a table to fn, with the values in the order of the columns: nil, int64, float64, string or []byte.
// The slice is fn's to keep.
func Rows(tx store.Tx, t Table, fn func(row []any) error) error {
	rows, err := tx.Query(`SELECT "` + strings.Join(t.Columns, `", "`) + `" FROM "` + t.Name + `"`)
	if err != nil {
		return fmt.Errorf("read table %s: %w", t.Name, err)
	}
	defer rows.Close()
	for rows.Next() {
		row := make([]any, len(t.Columns))
		into := make([]any, len(row))
		for i := range row {
			into[i] = &row[i]
		}
		if err := rows.Scan(into...); err != nil {
			return fmt.Errorf("read table %s: %w", t.Name, err)
		}
		if err := fn(row); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read table %s: %w", t.Name, err)
	}
	return nil
}
