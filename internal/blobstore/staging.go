package blobstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"time"
)

// Part is a piece of a file that is not whole yet.
type Part struct {
	// Name is the part's own: equal bytes are two parts.
	Name string
	// Kept is when its bytes were kept.
	Kept time.Time
}

// Staging keeps parts of files until they are put together. A part is written once and never changes, and belongs to whoever
// staged it: unlike a blob it may be removed without a look at anything else. Dir is one.
type Staging interface {
	// Stage keeps what r yields, to the end, and returns its name when it is durable. A full disk is store.ErrFull.
	Stage(ctx context.Context, r io.Reader) (name string, err error)
	// Staged opens a part; the caller closes it. ErrNotFound.
	Staged(ctx context.Context, name string) (io.ReadCloser, error)
	// Unstage removes a part; one that is not there is no error.
	Unstage(ctx context.Context, name string) error
	// Parts yields every part. The first error ends it.
	Parts(ctx context.Context) iter.Seq2[Part, error]
}

var _ Staging = (*Dir)(nil)

// staged is the folder of parts. Unlike that of partials it outlives a restart.
const staged = "staged"

// partName keeps everything that is not the name of a part away from file names.
func partName(name string) (string, error) {
	const length = 26
	if len(name) == length {
		for i := range length {
			if c := name[i]; (c < 'A' || c > 'Z') && (c < '2' || c > '7') {
				return "", fmt.Errorf("%w: part %.80q", ErrNotFound, name)
			}
		}
		return staged + "/" + name, nil
	}
	return "", fmt.Errorf("%w: part %.80q", ErrNotFound, name)
}

// Stage implements Staging.
func (d *Dir) Stage(ctx context.Context, r io.Reader) (string, error) {
	name := rand.Text()
	path, err := partName(name)
	if err != nil {
		return "", err
	}
	f, err := d.root.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", fmt.Errorf("stage a part: %w", full(err))
	}
	n, err := io.Copy(f, interruptible{ctx, r})
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = d.syncDir(staged)
	}
	if err != nil {
		_ = d.root.Remove(path)
		return "", fmt.Errorf("stage a part: %w", full(err))
	}
	d.written.Add(n)
	return name, nil
}

// Staged implements Staging.
func (d *Dir) Staged(ctx context.Context, name string) (io.ReadCloser, error) {
	path, err := partName(name)
	if err := errors.Join(ctx.Err(), err); err != nil {
		return nil, err
	}
	f, err := d.root.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: part %s", ErrNotFound, name)
	}
	return f, err
}

// Unstage implements Staging.
func (d *Dir) Unstage(ctx context.Context, name string) error {
	path, err := partName(name)
	if err != nil {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := d.root.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Parts implements Staging.
func (d *Dir) Parts(ctx context.Context) iter.Seq2[Part, error] {
	return func(yield func(Part, error) bool) {
		entries, err := fs.ReadDir(d.root.FS(), staged)
		if err != nil {
			yield(Part{}, err)
			return
		}
		for _, e := range entries {
			stat, err := e.Info()
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err := errors.Join(ctx.Err(), err); err != nil {
				yield(Part{}, err)
				return
			}
			if !yield(Part{Name: e.Name(), Kept: stat.ModTime()}, nil) {
				return
			}
		}
	}
}
