package memory

import (
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

// MaxEntries is where a listing stops.
const MaxEntries = 2000

// Listing is a list of files and folders, sorted by path.
type Listing struct {
	// Path is the folder that was listed; empty for the root.
	Path string
	// Entries is never nil, so that it is sent as a list.
	Entries []wire.MemoryEntry
	// TotalBytes is the size of every file under Path, listed or not; TotalFiles is their number.
	TotalBytes, TotalFiles int64
	// Truncated says that there is more than MaxEntries.
	Truncated bool
}

// Totals are the sum over an agent's files.
type Totals struct {
	Files, Bytes int64
}

// SumUp counts the files of an agent.
func SumUp(tx store.Tx, agentID string) (t Totals, err error) {
	err = tx.QueryRow(`SELECT COUNT(*), COALESCE(SUM(size), 0) FROM memory_files WHERE agent_id = ?`, agentID).
		Scan(&t.Files, &t.Bytes)
	if err != nil {
		return Totals{}, fmt.Errorf("sum up memory: %w", err)
	}
	return t, nil
}

// List returns the whole tree with its folders. It stops at MaxEntries; the time of a folder is then that of its newest
// listed file.
func List(tx store.Tx, agentID string) (Listing, error) {
	sum, err := SumUp(tx, agentID)
	if err != nil {
		return Listing{}, err
	}
	out := Listing{Entries: []wire.MemoryEntry{}, TotalBytes: sum.Bytes, TotalFiles: sum.Files}
	dirs := map[string]*dir{}
	err = walk(tx, agentID, "", MaxEntries+1, func(f File) {
		out.Entries = append(out.Entries, f.Entry())
		for _, parent := range parents(f.Path) {
			dirAt(dirs, parent).add(f.UpdatedAt)
		}
	})
	if err != nil {
		return Listing{}, err
	}
	return out.finish(dirs, false), nil
}

// ListDir returns one level of a folder; folders in it carry the number of their own direct entries. A file is
// fault.Invalid, a folder that is not there fault.NotFound; the root is always there.
func ListDir(tx store.Tx, agentID, path string) (Listing, error) {
	path, err := Normalize(path)
	if err != nil {
		return Listing{}, err
	}
	out := Listing{Path: path, Entries: []wire.MemoryEntry{}}
	base := ""
	if path != "" {
		base = path + "/"
	}
	dirs := map[string]*dir{}
	err = walk(tx, agentID, base, -1, func(f File) {
		out.TotalBytes += f.Size
		out.TotalFiles++
		name, rest, below := strings.Cut(f.Path[len(base):], "/")
		if !below {
			out.Entries = append(out.Entries, f.Entry())
			return
		}
		child, _, _ := strings.Cut(rest, "/")
		d := dirAt(dirs, base+name)
		d.add(f.UpdatedAt)
		d.children[child] = true
	})
	if err != nil {
		return Listing{}, err
	}
	if path != "" && out.TotalFiles == 0 {
		return Listing{}, notADir(tx, agentID, path)
	}
	return out.finish(dirs, true), nil
}

func notADir(tx store.Tx, agentID, path string) error {
	_, found, err := lookup(tx, agentID, path)
	if err != nil {
		return err
	}
	if found {
		return fault.Invalid("Memory path is a file, not a directory: %s", path)
	}
	return fault.Missing("Memory directory not found")
}

// dir gathers what a folder's entry shows.
type dir struct {
	updatedAt int64
	children  map[string]bool
}

func dirAt(dirs map[string]*dir, path string) *dir {
	if dirs[path] == nil {
		dirs[path] = &dir{children: map[string]bool{}}
	}
	return dirs[path]
}

func (d *dir) add(updatedAt int64) { d.updatedAt = max(d.updatedAt, updatedAt) }

// finish adds the folders, sorts, and cuts.
func (l Listing) finish(dirs map[string]*dir, counts bool) Listing {
	for path, d := range dirs {
		e := wire.MemoryEntry{Path: path, Type: typeDir, UpdatedAt: d.updatedAt}
		if counts {
			e.EntryCount = int64(len(d.children))
		}
		l.Entries = append(l.Entries, e)
	}
	sort.Slice(l.Entries, func(i, j int) bool { return l.Entries[i].Path < l.Entries[j].Path })
	if len(l.Entries) > MaxEntries {
		l.Entries, l.Truncated = l.Entries[:MaxEntries], true
	}
	return l
}

// walk visits the files whose path starts with base in byte order, at most limit of them unless it is negative.
func walk(tx store.Tx, agentID, base string, limit int, visit func(File)) error {
	query := `SELECT path, hash, size, mime_type, encoding, updated_at FROM memory_files
		WHERE agent_id = ? AND substr(path, 1, ?) = ? ORDER BY path` + byteOrder(tx)
	args := []any{agentID, utf8.RuneCountInString(base), base}
	if limit >= 0 {
		query, args = query+` LIMIT ?`, append(args, limit)
	}
	rows, err := tx.Query(query, args...)
	if err != nil {
		return fmt.Errorf("list memory: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var f File
		if err := rows.Scan(&f.Path, &f.Hash, &f.Size, &f.MimeType, &f.Encoding, &f.UpdatedAt); err != nil {
			return fmt.Errorf("list memory: %w", err)
		}
		visit(f)
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("list memory: %w", err)
	}
	return nil
}

// byteOrder makes PostgreSQL sort as SQLite and Go do, whatever the locale of the database.
func byteOrder(tx store.Tx) string {
	if tx.Dialect() == store.Postgres {
		return ` COLLATE "C"`
	}
	return ""
}
