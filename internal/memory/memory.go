// Package memory is an agent's files: rows of (agent, path, hash) over the blob store.
//
// Folders are not stored: a folder is there as long as a file is under it. A write has two halves, since bytes must be on
// disk before the row that names them and a transaction must not wait for a disk: Prepare puts the bytes into the blob
// store, Write puts the row into the caller's transaction. Likewise Stat finds the row and Load fetches the bytes.
// Replaced and deleted bytes stay in the blob store until garbage collection.
//
// Limits: paths as Normalize says, files of at most MaxFileBytes in one piece and MaxStreamBytes in several, listings of at most
// MaxEntries. The number of files and their sum have no limit here.
//
// memory is tier 2: it imports store, blobstore, egress (for what its errors mean), fault and wire, and takes of the blob store what Blobs names. Operations
// (tier 6), verbs and the Space (tier 4) call it.
package memory

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/loam-agents/loam/internal/blobstore"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

// MaxFileBytes bounds what is written or read in one piece, as the default bound of a request body does.
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

// Blobs is what memory needs of a blobstore.Store.
type Blobs interface {
	// Put stores bytes durably.
	Put(ctx context.Context, r io.Reader) (blobstore.Info, error)
	// ReadAll returns the verified bytes of a hash, or an error when they are more than limit.
	ReadAll(ctx context.Context, hash string, limit int64) ([]byte, error)
	// Get opens a blob for reading; the caller closes it. It does not verify the content.
	Get(ctx context.Context, hash string) (io.ReadCloser, blobstore.Info, error)
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
	blob, err := blobs.Put(ctx, bytes.NewReader(content))
	if err != nil {
		return Prepared{}, fmt.Errorf("store memory file: %w", err)
	}
	return Prepared{Hash: blob.Hash, Size: blob.Size, Encoding: encodingOf(content)}, nil
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

func lockKey(agentID string) string { return "memory/" + agentID }
