// Package backup writes everything that a server knows into one stream, and reads it back.
//
// A backup holds rows and blobs, not files of a database, so it can be restored into SQLite or PostgreSQL, whichever it came
// from, and by any later version. The rows are one consistent snapshot, read beside the running server. It promises that the
// stream is encrypted (age) unless Plain is asked for, that the keys are in it only when they are given, and that whatever was
// cut off, changed or mixed up is found before anything is kept. What it does not hold: files that the process makes anew, such
// as locks.
//
// The form, inside of age and gzip: the line Magic, then records, each a length and a CBOR map with its kind. A header; for each
// table its columns and its rows in batches; for each blob its hash and size and its bytes in pieces; keys; and at the end
// counts and the hash of all records before.
//
// backup is tier 2. It imports store and blobstore; the composition root gives it a reader and a target.
package backup

import (
	"errors"
	"time"

	"github.com/loam-agents/loam/internal/blobstore"
	"github.com/loam-agents/loam/internal/store"
)

// Magic is the first line inside of the encryption and compression; the number is that of the form.
const Magic = "loam backup 1\n"

// Errors of Read. They arrive wrapped, with a text that says what to do.
var (
	// ErrLocked says that none of the given passphrases and identities opens the backup.
	ErrLocked = errors.New("the backup does not open")
	// ErrDamaged says that the stream is no backup, was cut off or was changed.
	ErrDamaged = errors.New("the backup is damaged")
)

// Bounds of the form.
const (
	// maxRecord bounds one record in bytes when it is read. A row of a server's holds less than a request may.
	maxRecord = 512 << 20
	// batchRows and batchBytes end a batch of rows, whichever comes first; a single row may be larger.
	batchRows  = 500
	batchBytes = 1 << 20
	// pieceBytes is how much of a blob one record holds.
	pieceBytes = 1 << 20
)

// Key is a secret file of the server, such as the key of the vault.
type Key struct {
	Name string
	Text []byte
}

// The names of keys.
const (
	VaultKey = "vault.key"
	OwnerKey = "owner.key"
)

// Source is what a backup is made of.
type Source struct {
	// Store is read in one snapshot.
	Store store.Store
	// Blobs may be nil: the backup then has rows only.
	Blobs blobstore.Store
	// Keys are included as they are; none unless the operator asked for it.
	Keys []Key
	// Now is the time of the backup.
	Now time.Time
}

// Target is what a backup is restored into.
type Target struct {
	// Database makes the schema and calls Filling.Fill; see store.Filling.
	Database func(store.Filling) error
	// Blobs receives every blob.
	Blobs blobstore.Store
	// Key receives every key. May be nil.
	Key func(Key) error
	// Complete is called when everything was read and found whole, before the database keeps it. May be nil.
	Complete func() error
}

// Summary says what was written or read.
type Summary struct {
	// CreatedAt is the time of the backup, Version the Loam that made it, Database the dialect that it came from.
	CreatedAt time.Time `json:"createdAt"`
	Version   string    `json:"version"`
	Database  string    `json:"database"`
	Schema    int64     `json:"schema"`
	Tables    int       `json:"tables"`
	Rows      int64     `json:"rows"`
	Blobs     int64     `json:"blobs"`
	// BlobBytes is the size of all blobs.
	BlobBytes int64 `json:"blobBytes"`
	// Keys are the names of the keys inside.
	Keys []string `json:"keys"`
	// Missing are the hashes of blobs that rows name and that could not be read whole: the backup is without them.
	Missing []string `json:"missing,omitempty"`
}

// The records.
type record struct {
	Kind string `cbor:"kind"`

	// header
	CreatedAt int64  `cbor:"createdAt,omitempty"`
	Version   string `cbor:"version,omitempty"`
	Database  string `cbor:"database,omitempty"`
	Schema    int64  `cbor:"schema,omitempty"`
	Epoch     int64  `cbor:"epoch,omitempty"`

	// table, key
	Name    string   `cbor:"name,omitempty"`
	Columns []string `cbor:"columns,omitempty"`
	// rows, of the table before
	Rows [][]any `cbor:"rows,omitempty"`

	// blob
	Hash string `cbor:"hash,omitempty"`
	Size int64  `cbor:"size,omitempty"`
	// piece of the blob before, key
	Data []byte `cbor:"data,omitempty"`

	// end
	AllRows  int64  `cbor:"allRows,omitempty"`
	AllBlobs int64  `cbor:"allBlobs,omitempty"`
	Sum      []byte `cbor:"sum,omitempty"`
}

const (
	kindHeader = "header"
	kindTable  = "table"
	kindRows   = "rows"
	kindBlob   = "blob"
	kindPiece  = "piece"
	kindKey    = "key"
	kindEnd    = "end"
)
