// Package blobstore keeps bytes under the hash of their content.
//
// A blob is written once and never changes; writing the same bytes again is cheap and gives the same name. Put returns
// only when the bytes and their name are on disk, so that a row that names a blob can be committed after it and never
// points at nothing. Who still needs a blob is not known here: the owner of the rows calls Delete.
//
// blobstore is part of tier 1 and imports the store for its errors only. Domain packages take the interface Store; the
// composition root chooses Dir or another implementation.
package blobstore

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
)

// Errors that every implementation returns, wrapped with the hash.
var (
	// ErrNotFound says that there is no blob of this hash.
	ErrNotFound = errors.New("blob not found")
	// ErrCorrupt says that the bytes on disk do not have the hash they are stored under.
	ErrCorrupt = errors.New("blob is corrupt")
	// ErrTooLarge says that a blob is larger than its reader allows.
	ErrTooLarge = errors.New("blob is too large")
	// ErrInvalidHash says that a name is not 64 lower-case hexadecimal digits.
	ErrInvalidHash = errors.New("not a blob hash")
)

// Info describes a stored blob.
type Info struct {
	// Hash is the SHA-256 of the content, 64 lower-case hexadecimal digits.
	Hash string
	// Size is the number of bytes.
	Size int64
}

// Store keeps blobs. It is safe for concurrent use, also by several processes on one folder.
type Store interface {
	// Put stores what r yields, to the end, and returns when it is durable. The caller bounds the size of r. A full disk
	// is store.ErrFull, and then nothing is kept.
	Put(ctx context.Context, r io.Reader) (Info, error)
	// Get opens a blob for reading; the caller closes it. It does not verify the content. ErrNotFound, ErrInvalidHash.
	Get(ctx context.Context, hash string) (io.ReadCloser, Info, error)
	// ReadAll returns a whole blob of at most limit bytes after verifying its hash. ErrNotFound, ErrInvalidHash,
	// ErrTooLarge, ErrCorrupt.
	ReadAll(ctx context.Context, hash string, limit int64) ([]byte, error)
	// Has tells whether a blob is stored. ErrInvalidHash.
	Has(ctx context.Context, hash string) (bool, error)
	// Delete removes a blob; one that is not there is no error. ErrInvalidHash.
	Delete(ctx context.Context, hash string) error
	// Walk yields every blob in the order of the hashes. Blobs that come or go meanwhile may be missed. The first error
	// ends it.
	Walk(ctx context.Context) iter.Seq2[Info, error]
}

// checkHash keeps everything that is not a hash away from file names.
func checkHash(hash string) error {
	if len(hash) == 64 {
		if _, err := hex.DecodeString(hash); err == nil && !hasUpper(hash) {
			return nil
		}
	}
	return fmt.Errorf("%w: %.80q", ErrInvalidHash, hash)
}

func hasUpper(s string) bool {
	for i := range len(s) {
		if s[i] >= 'A' && s[i] <= 'F' {
			return true
		}
	}
	return false
}
