package memory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

// File is the row of a file.
type File struct {
	Path, Hash, MimeType, Encoding string
	// Size is in bytes, UpdatedAt in epoch milliseconds.
	Size, UpdatedAt int64
}

// Entry is the file as listings show it.
func (f File) Entry() wire.MemoryEntry {
	return wire.MemoryEntry{Path: f.Path, Type: typeFile, Size: f.Size, UpdatedAt: f.UpdatedAt, MimeType: f.MimeType}
}

// Stat finds a file. A folder is fault.Invalid, nothing is fault.NotFound.
func Stat(tx store.Tx, agentID, path string) (File, error) {
	path, err := filePath(path)
	if err != nil {
		return File{}, err
	}
	f, found, err := lookup(tx, agentID, path)
	if err != nil || found {
		return f, err
	}
	dir, err := isDir(tx, agentID, path)
	if err != nil {
		return File{}, err
	}
	if dir {
		return File{}, fault.Invalid("Memory path is a directory: %s", path)
	}
	return File{}, fault.Missing("Memory file not found")
}

// Load fetches the bytes of a file that Stat found. It does I/O: call it outside of transactions.
func Load(ctx context.Context, blobs Blobs, f File) (wire.MemoryFile, error) {
	raw, err := blobs.ReadAll(ctx, f.Hash, f.Size)
	if err != nil {
		return wire.MemoryFile{}, fmt.Errorf("read memory file %s: %w", f.Path, err)
	}
	out := wire.MemoryFile{
		Path: f.Path, Size: f.Size, UpdatedAt: f.UpdatedAt, MimeType: f.MimeType, Encoding: f.Encoding,
	}
	if f.Encoding == UTF8 {
		text := string(raw)
		out.Content = &text
	} else {
		out.Data = raw
	}
	return out, nil
}

// Delete removes a file, or a folder with everything under it, and tells whether anything was there.
func Delete(tx store.Tx, agentID, path string) (bool, error) {
	path, err := filePath(path)
	if err != nil {
		return false, err
	}
	below := path + "/"
	n, err := tx.Exec(`DELETE FROM memory_files WHERE agent_id = ? AND (path = ? OR substr(path, 1, ?) = ?)`,
		agentID, path, utf8.RuneCountInString(below), below)
	if err != nil {
		return false, fmt.Errorf("delete memory file: %w", err)
	}
	return n > 0, nil
}

// DeleteAll removes every file of an agent that goes away.
func DeleteAll(tx store.Tx, agentID string) error {
	if _, err := tx.Exec(`DELETE FROM memory_files WHERE agent_id = ?`, agentID); err != nil {
		return fmt.Errorf("delete memory: %w", err)
	}
	return nil
}

func lookup(tx store.Tx, agentID, path string) (File, bool, error) {
	f := File{Path: path}
	err := tx.QueryRow(`SELECT hash, size, mime_type, encoding, updated_at FROM memory_files
		WHERE agent_id = ? AND path = ?`, agentID, path).Scan(&f.Hash, &f.Size, &f.MimeType, &f.Encoding, &f.UpdatedAt)
	if errors.Is(err, sql.ErrNoRows) {
		return File{}, false, nil
	}
	if err != nil {
		return File{}, false, fmt.Errorf("look up memory file: %w", err)
	}
	return f, true, nil
}

func isDir(tx store.Tx, agentID, path string) (bool, error) {
	below := path + "/"
	var found int64
	err := tx.QueryRow(`SELECT 1 FROM memory_files WHERE agent_id = ? AND substr(path, 1, ?) = ? LIMIT 1`,
		agentID, utf8.RuneCountInString(below), below).Scan(&found)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look up memory directory: %w", err)
	}
	return true, nil
}
