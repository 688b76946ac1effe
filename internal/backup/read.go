package backup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"filippo.io/age"

	"github.com/loam-agents/loam/internal/store"
)

// Read restores a backup. When it fails, the database has kept nothing; blobs and keys that had arrived are the caller's to
// remove. Errors: ErrLocked, ErrDamaged, store.ErrNewerSchema, store.ErrNotEmpty, store.ErrFull.
func Read(ctx context.Context, r io.Reader, identities []age.Identity, to Target) (Summary, error) {
	d, err := newDecoder(r, identities)
	if err != nil {
		return Summary{}, err
	}
	head, _, err := d.next()
	if err != nil {
		return Summary{}, err
	}
	if head.Kind != kindHeader || head.Schema < 1 {
		return Summary{}, fmt.Errorf("%w: it has no header", ErrDamaged)
	}
	in := &reading{decoder: d, ctx: ctx, to: to, out: Summary{
		CreatedAt: time.UnixMilli(head.CreatedAt).UTC(), Version: head.Version, Database: head.Database, Schema: head.Schema, Keys: []string{},
	}}
	err = to.Database(store.Filling{Schema: head.Schema, Epoch: head.Epoch, Fill: in.fill})
	if errors.Is(err, store.ErrNewerSchema) {
		err = fmt.Errorf("the backup was made by Loam %.40q; restore it with that version or a later one: %w", head.Version, err)
	}
	return in.out, err
}

// reading is one restore on its way.
type reading struct {
	*decoder
	ctx context.Context
	to  Target
	out Summary
	// table is the one that rows belong to.
	table   string
	columns []string
}

func (in *reading) fill(l store.Loader) error {
	for {
		if err := in.ctx.Err(); err != nil {
			return err
		}
		r, sum, err := in.next()
		if err != nil {
			return err
		}
		switch r.Kind {
		case kindTable:
			in.table, in.columns = r.Name, r.Columns
			in.out.Tables++
		case kindRows:
			err = in.rows(l, r.Rows)
		case kindBlob:
			err = in.blob(&r)
		case kindKey:
			err = in.key(&r)
		case kindEnd:
			return in.end(&r, sum)
		default:
			err = fmt.Errorf("%w: a record of the unknown kind %.40q", ErrDamaged, r.Kind)
		}
		if err != nil {
			return err
		}
	}
}

func (in *reading) rows(l store.Loader, rows [][]any) error {
	misfit := func(row []any) bool { return len(row) != len(in.columns) }
	if in.table == "" || len(in.columns) == 0 || slices.ContainsFunc(rows, misfit) {
		return fmt.Errorf("%w: rows that do not fit their table", ErrDamaged)
	}
	in.out.Rows += int64(len(rows))
	return l.Load(in.table, in.columns, rows)
}

// blob stores one blob from its pieces. The blob store hashes it: another hash is another blob.
func (in *reading) blob(r *record) error {
	pieces := &pieces{in: in, left: r.Size}
	info, err := in.to.Blobs.Put(in.ctx, pieces)
	if err != nil {
		return err
	}
	if info.Hash != r.Hash {
		return fmt.Errorf("%w: the bytes of blob %.80s have another hash", ErrDamaged, r.Hash)
	}
	in.out.Blobs++
	in.out.BlobBytes += info.Size
	return nil
}

// pieces reads the bytes of a blob from the records that follow it.
type pieces struct {
	in   *reading
	left int64
	rest []byte
}

// Read implements io.Reader.
func (p *pieces) Read(b []byte) (int, error) {
	for len(p.rest) == 0 {
		if p.left <= 0 {
			return 0, io.EOF
		}
		r, _, err := p.in.next()
		if err != nil {
			return 0, err
		}
		if r.Kind != kindPiece || len(r.Data) == 0 || int64(len(r.Data)) > p.left {
			return 0, fmt.Errorf("%w: a blob is not of the size that it should have", ErrDamaged)
		}
		p.rest = r.Data
		p.left -= int64(len(r.Data))
	}
	n := copy(b, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

func (in *reading) key(r *record) error {
	if r.Name != VaultKey && r.Name != OwnerKey {
		return fmt.Errorf("%w: a key of the unknown name %.40q", ErrDamaged, r.Name)
	}
	in.out.Keys = append(in.out.Keys, r.Name)
	if in.to.Key == nil {
		return nil
	}
	return in.to.Key(Key{Name: r.Name, Text: r.Data})
}

// end compares what was read with what was written.
func (in *reading) end(r *record, sum []byte) error {
	if r.AllRows != in.out.Rows || r.AllBlobs != in.out.Blobs || !bytes.Equal(r.Sum, sum) {
		return fmt.Errorf("%w: its end does not fit what stands before", ErrDamaged)
	}
	if err := in.atEnd(); err != nil {
		return err
	}
	if in.to.Complete != nil {
		return in.to.Complete()
	}
	return nil
}
