package backup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"slices"

	"github.com/loam-agents/loam/internal/blobstore"
	"github.com/loam-agents/loam/internal/buildinfo"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/store/archive"
)

// Write makes a backup. The stream is whole only when Write returned nil and w, see Seal, was closed.
func Write(ctx context.Context, w io.Writer, src Source) (Summary, error) {
	e, err := newEncoder(w)
	if err != nil {
		return Summary{}, err
	}
	b := &writing{
		encoder: e, ctx: ctx, wanted: map[string]bool{},
		out: Summary{CreatedAt: src.Now.UTC(), Version: buildinfo.Version, Database: string(src.Store.Dialect()), Keys: []string{}},
	}
	if err := src.Store.Read(ctx, b.rows); err != nil {
		return Summary{}, err
	}
	if src.Blobs != nil {
		if err := b.blobs(src.Blobs); err != nil {
			return Summary{}, err
		}
	}
	for _, key := range src.Keys {
		if err := e.write(&record{Kind: kindKey, Name: key.Name, Data: key.Text}); err != nil {
			return Summary{}, err
		}
		b.out.Keys = append(b.out.Keys, key.Name)
	}
	end := record{Kind: kindEnd, AllRows: b.out.Rows, AllBlobs: b.out.Blobs, Sum: e.sum.Sum(nil)}
	return b.out, errors.Join(e.write(&end), e.close())
}

// writing is one backup on its way.
type writing struct {
	*encoder
	ctx context.Context
	out Summary
	// wanted are the blobs that rows name.
	wanted map[string]bool
}

// named lists the columns that hold the hash of a blob.
func named(table, column string) bool {
	return table == "memory_files" && column == "hash" || table == "session_attachments" && column == "id"
}

// rows writes the header and every table, inside one snapshot.
func (b *writing) rows(tx store.Tx) error {
	state, err := archive.State(tx)
	if err != nil {
		return err
	}
	b.out.Schema = state.Version
	err = b.write(&record{
		Kind: kindHeader, CreatedAt: b.out.CreatedAt.UnixMilli(), Version: b.out.Version, Database: b.out.Database,
		Schema: state.Version, Epoch: state.Epoch,
	})
	if err != nil {
		return err
	}
	tables, err := archive.Tables(tx, state.Version)
	if err != nil {
		return err
	}
	for _, t := range tables {
		if err := b.table(tx, t); err != nil {
			return err
		}
	}
	return nil
}

func (b *writing) table(tx store.Tx, t archive.Table) error {
	if err := b.write(&record{Kind: kindTable, Name: t.Name, Columns: t.Columns}); err != nil {
		return err
	}
	b.out.Tables++
	hash := slices.IndexFunc(t.Columns, func(c string) bool { return named(t.Name, c) })
	var batch [][]any
	size := 0
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		r := record{Kind: kindRows, Rows: batch}
		b.out.Rows += int64(len(batch))
		batch, size = nil, 0
		return b.write(&r)
	}
	err := archive.Rows(tx, t, func(row []any) error {
		if err := b.ctx.Err(); err != nil {
			return err
		}
		if hash >= 0 {
			if h, ok := row[hash].(string); ok {
				b.wanted[h] = true
			}
		}
		batch = append(batch, row)
		for _, v := range row {
			size += weight(v)
		}
		if len(batch) >= batchRows || size >= batchBytes {
			return flush()
		}
		return nil
	})
	return errors.Join(err, flush())
}

func weight(v any) int {
	switch v := v.(type) {
	case string:
		return len(v)
	case []byte:
		return len(v)
	}
	return 8
}

// blobs writes every blob that is whole, and notes those that rows name and that are not.
func (b *writing) blobs(blobs blobstore.Store) error {
	for info, err := range blobs.Walk(b.ctx) {
		if err != nil {
			return err
		}
		whole, err := b.whole(blobs, info.Hash)
		if err != nil {
			return err
		}
		if !whole {
			continue
		}
		if err := b.blob(blobs, info.Hash); err != nil {
			return err
		}
		delete(b.wanted, info.Hash)
	}
	for hash := range b.wanted {
		b.out.Missing = append(b.out.Missing, hash)
	}
	slices.Sort(b.out.Missing)
	return nil
}

// whole reads a blob once to see whether it has its hash: in the stream it could not be taken back.
func (b *writing) whole(blobs blobstore.Store, hash string) (bool, error) {
	r, _, err := blobs.Get(b.ctx, hash)
	if errors.Is(err, blobstore.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer r.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, r); err != nil {
		return false, err
	}
	return hex.EncodeToString(sum.Sum(nil)) == hash, nil
}

func (b *writing) blob(blobs blobstore.Store, hash string) error {
	r, info, err := blobs.Get(b.ctx, hash)
	if err != nil {
		return err
	}
	defer r.Close()
	if err := b.write(&record{Kind: kindBlob, Hash: hash, Size: info.Size}); err != nil {
		return err
	}
	b.out.Blobs++
	b.out.BlobBytes += info.Size
	piece := make([]byte, pieceBytes)
	for {
		if err := b.ctx.Err(); err != nil {
			return err
		}
		n, err := io.ReadFull(r, piece)
		if n > 0 {
			if err := b.write(&record{Kind: kindPiece, Data: piece[:n]}); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
