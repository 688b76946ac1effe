// Package memory is an agent's files: rows of (agent, path, hash) over the blob store.
//
// Folders are not stored: a folder is there as long as a file is under it. A write has two halves, since bytes must be on
// disk before the row that names them and a transaction must not wait for a disk: Prepare puts the bytes into the blob
// store, Write puts the row into the caller's transaction. Likewise Stat finds the row and Load fetches the bytes.
// Replaced and deleted bytes stay in the blob store until garbage collection.
//
// Limits: paths as Normalize says, files of at most MaxFileBytes, listings of at most MaxEntries. The number of files and
// their sum have no limit here.
//
// memory is tier 2: it imports store, fault and wire, and meets the blob store through Blobs. Operations (tier 6), verbs
// and the Space (tier 4) call it.
package memory

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

// MaxFileBytes bounds one file, as the default bound of a request body does.
const MaxFileBytes = 32 << 20

// The two encodings of a file, as the wire names them.
const (
	// UTF8 is text: strictly valid and without NUL.
	UTF8 = "utf8"
	// Binary is everything else.
	Binary = "binary"
)

// The two types of an entry.
const (
	typeFile = "file"
	typeDir  = "dir"
)

// Blobs is what memory needs of a blob store.
type Blobs interface {
	// Put stores bytes durably and returns their hash and their size.
	Put(ctx context.Context, r io.Reader) (hash string, size int64, err error)
	// ReadAll returns the bytes of a hash, or an error when they are more than limit.
	ReadAll(ctx context.Context, hash string, limit int64) ([]byte, error)
}

// Prepared is content whose bytes are in the blob store and whose row is not written yet.
type Prepared struct {
	// Hash names the bytes.
	Hash string
	// Size is their number.
	Size int64
	// Encoding is UTF8 or Binary.
	Encoding string
}

// Bytes turns the content of a request, text or bytes, into bytes. Anything else is fault.Invalid.
func Bytes(content any) ([]byte, error) {
	switch c := content.(type) {
	case string:
		return []byte(c), nil
	case []byte:
		return c, nil
	}
	return nil, fault.Invalid("Memory file content must be text or bytes")
}

// Prepare stores the bytes of a file. It does I/O: call it before the transaction. Content beyond MaxFileBytes is
// fault.TooLarge.
func Prepare(ctx context.Context, blobs Blobs, content []byte) (Prepared, error) {
	if len(content) > MaxFileBytes {
		return Prepared{}, fault.New(fault.TooLarge, "Memory file is too large").With("limit", MaxFileBytes)
	}
	hash, size, err := blobs.Put(ctx, bytes.NewReader(content))
	if err != nil {
		return Prepared{}, fmt.Errorf("store memory file: %w", err)
	}
	return Prepared{Hash: hash, Size: size, Encoding: encodingOf(content)}, nil
}

func encodingOf(content []byte) string {
	if utf8.Valid(content) && bytes.IndexByte(content, 0) < 0 {
		return UTF8
	}
	return Binary
}

// Write makes the file or replaces it. A file does not replace a folder, nor does a folder replace a file: both are
// fault.Conflict. now is epoch milliseconds.
func Write(tx store.Tx, agentID, path string, p Prepared, now int64) (wire.MemoryEntry, error) {
	path, err := filePath(path)
	if err != nil {
		return wire.MemoryEntry{}, err
	}
	if err := tx.Lock(lockKey(agentID)); err != nil {
		return wire.MemoryEntry{}, fmt.Errorf("lock memory: %w", err)
	}
	if err := checkFree(tx, agentID, path); err != nil {
		return wire.MemoryEntry{}, err
	}
	mime := MimeType(path)
	_, err = tx.Exec(`INSERT INTO memory_files (agent_id, path, hash, size, mime_type, encoding, updated_at)
		VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (agent_id, path) DO UPDATE SET hash = excluded.hash, size = excluded.size,
			mime_type = excluded.mime_type, encoding = excluded.encoding, updated_at = excluded.updated_at`,
		agentID, path, p.Hash, p.Size, mime, p.Encoding, now)
	if err != nil {
		return wire.MemoryEntry{}, fmt.Errorf("write memory file: %w", err)
	}
	return wire.MemoryEntry{Path: path, Type: typeFile, Size: p.Size, UpdatedAt: now, MimeType: mime}, nil
}

// checkFree refuses a path that is a folder, and one that goes through a file.
func checkFree(tx store.Tx, agentID, path string) error {
	dir, err := isDir(tx, agentID, path)
	if err != nil {
		return err
	}
	if dir {
		return fault.New(fault.Conflict, "Memory path is a directory: %s", path)
	}
	for _, parent := range parents(path) {
		_, found, err := lookup(tx, agentID, parent)
		if err != nil {
			return err
		}
		if found {
			return fault.New(fault.Conflict, "Memory path is a file, not a directory: %s", parent)
		}
	}
	return nil
}

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
		out.Content = string(raw)
	} else {
		out.Data = raw
	}
	return out, nil
}

// Read is Stat and Load for callers without a transaction.
func Read(ctx context.Context, s store.Store, blobs Blobs, agentID, path string) (wire.MemoryFile, error) {
	var f File
	err := s.Read(ctx, func(tx store.Tx) (err error) {
		f, err = Stat(tx, agentID, path)
		return err
	})
	if err != nil {
		return wire.MemoryFile{}, err
	}
	return Load(ctx, blobs, f)
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

func lockKey(agentID string) string { return "memory/" + agentID }
