package memory

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/loam-agents/loam/internal/bounded"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/wire"
)

// Limits of files that do not come in one piece.
const (
	// MaxStreamBytes bounds a file that is uploaded in chunks or downloaded (spec §3.0).
	MaxStreamBytes = 2 << 30
	// MaxPart bounds the bytes of one LoadPart.
	MaxPart = 8 << 20
)

// PrepareFrom is Prepare for content that does not fit into memory: it stores what r yields, to the end. More than
// MaxStreamBytes is fault.TooLarge, and nothing of it is kept. The caller's reader says how fast it has to be.
func PrepareFrom(ctx context.Context, blobs Blobs, r io.Reader) (Prepared, error) {
	tooLarge := func() error {
		return fault.New(fault.TooLarge, "Memory file is too large: at most %d bytes", MaxStreamBytes).With("limit", MaxStreamBytes)
	}
	seen := &kind{from: bounded.Reader(r, MaxStreamBytes, tooLarge)}
	blob, err := blobs.Put(ctx, seen)
	if refused, ok := errors.AsType[*fault.Error](err); ok {
		return Prepared{}, refused
	}
	if err != nil {
		return Prepared{}, fmt.Errorf("store memory file: %w", err)
	}
	return Prepared{Hash: blob.Hash, Size: blob.Size, Encoding: seen.encoding()}, nil
}

// kind finds out, while bytes pass through, whether they are text.
type kind struct {
	from   io.Reader
	binary bool
	// cut is the beginning of a character whose end has not come yet.
	cut []byte
}

// Read implements io.Reader.
func (k *kind) Read(p []byte) (int, error) {
	n, err := k.from.Read(p)
	k.look(p[:n])
	return n, err
}

func (k *kind) look(p []byte) {
	if k.binary || len(p) == 0 {
		return
	}
	// A character of at most four bytes may be cut in up to four places.
	for len(k.cut) > 0 && len(p) > 0 && !utf8.FullRune(k.cut) {
		k.cut, p = append(k.cut, p[0]), p[1:]
	}
	if len(k.cut) > 0 && utf8.FullRune(k.cut) {
		k.binary = !utf8.Valid(k.cut)
		k.cut = nil
	}
	whole := len(p)
	for back := 1; back <= min(utf8.UTFMax-1, len(p)); back++ {
		if start := len(p) - back; utf8.RuneStart(p[start]) {
			if !utf8.FullRune(p[start:]) {
				whole = start
			}
			break
		}
	}
	k.cut = append(k.cut, p[whole:]...)
	k.binary = k.binary || encodingOf(p[:whole]) == Binary
}

func (k *kind) encoding() string {
	if k.binary || len(k.cut) > 0 {
		return Binary
	}
	return UTF8
}

// LoadPart fetches length bytes of a file from an offset on, fewer at its end; at most MaxPart. They are in Data whatever they
// are. It does I/O: call it outside of transactions. An offset beyond the end is fault.Invalid.
func LoadPart(ctx context.Context, blobs Blobs, f File, offset, length int64) (wire.MemoryFile, error) {
	if offset < 0 || offset > f.Size || length < 1 || length > MaxPart {
		return wire.MemoryFile{}, fault.Invalid("Memory file parts begin within the file's %d bytes and have 1 to %d bytes", f.Size, MaxPart)
	}
	r, _, err := blobs.Get(ctx, f.Hash)
	if err != nil {
		return wire.MemoryFile{}, fmt.Errorf("read memory file %s: %w", f.Path, err)
	}
	defer r.Close()
	if seeker, ok := r.(io.Seeker); ok {
		_, err = seeker.Seek(offset, io.SeekStart)
	} else {
		_, err = io.CopyN(io.Discard, r, offset)
	}
	var data bytes.Buffer
	if err == nil {
		_, err = io.Copy(&data, io.LimitReader(r, length))
	}
	if err != nil {
		return wire.MemoryFile{}, fmt.Errorf("read memory file %s: %w", f.Path, err)
	}
	return wire.MemoryFile{Path: f.Path, Size: f.Size, UpdatedAt: f.UpdatedAt, MimeType: f.MimeType, Encoding: Binary, Data: data.Bytes()}, nil
}
