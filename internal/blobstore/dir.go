package blobstore

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"iter"
	"os"
	"sync/atomic"
	"syscall"

	"github.com/loam-agents/loam/internal/store"
)

// Dir keeps blobs as files <first two digits>/<hash> beneath one folder, with modes 0700 and 0600. Symbolic links that
// lead out of the folder are not followed.
type Dir struct {
	root          *os.Root
	read, written atomic.Int64
}

// Stats counts bytes since the folder was opened.
type Stats struct {
	// Read is the size of the blobs that were opened, Written of those that were put.
	Read, Written int64
}

// Stats returns the counters.
func (d *Dir) Stats() Stats { return Stats{Read: d.read.Load(), Written: d.written.Load()} }

var _ Store = (*Dir)(nil)

// partials is the folder in which blobs are written before they get their name.
const partials = "partial"

// OpenDir opens the folder at path, makes it when it is missing, and removes what interrupted writes left behind: the
// caller makes sure that no other process is writing yet. Close it after use.
func OpenDir(path string) (*Dir, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("make the blob folder: %w", full(err))
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, fmt.Errorf("open the blob folder: %w", err)
	}
	d := &Dir{root: root}
	if err := errors.Join(root.RemoveAll(partials), root.Mkdir(partials, 0o700), root.MkdirAll(staged, 0o700), d.syncDir(".")); err != nil {
		return nil, errors.Join(fmt.Errorf("prepare the blob folder: %w", full(err)), root.Close())
	}
	return d, nil
}

// OpenReader opens the folder at path for reading, beside a process that writes to it. Close it after use. A folder that does
// not exist is fs.ErrNotExist.
func OpenReader(path string) (*Dir, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, fmt.Errorf("open the blob folder: %w", err)
	}
	return &Dir{root: root}, nil
}

// Close releases the folder.
func (d *Dir) Close() error { return d.root.Close() }

// full gives a full disk or an exhausted quota the store's meaning.
func full(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("%w: free some space and try again: %w", store.ErrFull, err)
	}
	return err
}

func shard(hash string) string { return hash[:2] }

func name(hash string) string { return shard(hash) + "/" + hash }

// Put implements Store.
func (d *Dir) Put(ctx context.Context, r io.Reader) (Info, error) {
	partial := partials + "/" + rand.Text()
	f, err := d.root.OpenFile(partial, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return Info{}, fmt.Errorf("write a blob: %w", full(err))
	}
	info, err := d.fill(ctx, f, r)
	if err == nil {
		err = d.publish(partial, f, info)
	} else {
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		// The partial file is gone when it was published or was not needed.
		_ = d.root.Remove(partial)
		return Info{}, fmt.Errorf("write a blob: %w", full(err))
	}
	d.written.Add(info.Size)
	return info, nil
}

// fill copies r to the file and hashes it on the way.
func (d *Dir) fill(ctx context.Context, f *os.File, r io.Reader) (Info, error) {
	sum := sha256.New()
	n, err := io.Copy(hashing{f, sum}, interruptible{ctx, r})
	return Info{Hash: hex.EncodeToString(sum.Sum(nil)), Size: n}, err
}

// hashing writes to a file and a hash. It is not an io.MultiWriter because that would hide how much was written.
type hashing struct {
	f   *os.File
	sum hash.Hash
}

// Write implements io.Writer.
func (h hashing) Write(p []byte) (int, error) {
	n, err := h.f.Write(p)
	h.sum.Write(p[:n])
	return n, err
}

// interruptible ends a copy when its context ends.
type interruptible struct {
	ctx context.Context
	r   io.Reader
}

// Read implements io.Reader.
func (i interruptible) Read(p []byte) (int, error) {
	if err := i.ctx.Err(); err != nil {
		return 0, err
	}
	return i.r.Read(p)
}

// publish makes the content durable, then the name. A blob that has its name is durable already, up to the name itself:
// another Put may have renamed it a moment ago, so the folder is flushed in any case.
func (d *Dir) publish(partial string, f *os.File, info Info) error {
	target := name(info.Hash)
	if have, err := d.root.Lstat(target); err == nil && have.Mode().IsRegular() && have.Size() == info.Size {
		return errors.Join(f.Close(), d.root.Remove(partial), d.syncDir(shard(info.Hash)))
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	switch err := d.root.Mkdir(shard(info.Hash), 0o700); {
	case err == nil:
		if err := d.syncDir("."); err != nil {
			return err
		}
	case !errors.Is(err, fs.ErrExist):
		return err
	}
	if err := d.root.Rename(partial, target); err != nil {
		return err
	}
	return d.syncDir(shard(info.Hash))
}

func (d *Dir) syncDir(dir string) error {
	f, err := d.root.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Get implements Store.
func (d *Dir) Get(ctx context.Context, hash string) (io.ReadCloser, Info, error) {
	if err := errors.Join(ctx.Err(), checkHash(hash)); err != nil {
		return nil, Info{}, err
	}
	f, err := d.root.Open(name(hash))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, Info{}, fmt.Errorf("%w: %s", ErrNotFound, hash)
	}
	if err != nil {
		return nil, Info{}, err
	}
	stat, err := f.Stat()
	if err != nil {
		return nil, Info{}, errors.Join(err, f.Close())
	}
	d.read.Add(stat.Size())
	return f, Info{Hash: hash, Size: stat.Size()}, nil
}

// ReadAll implements Store.
func (d *Dir) ReadAll(ctx context.Context, hash string, limit int64) ([]byte, error) {
	r, info, err := d.Get(ctx, hash)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if info.Size > limit {
		return nil, fmt.Errorf("%w: %s has %d bytes, the limit is %d", ErrTooLarge, hash, info.Size, limit)
	}
	data := make([]byte, info.Size)
	if _, err := io.ReadFull(interruptible{ctx, r}, data); err != nil {
		return nil, fmt.Errorf("read blob %s: %w", hash, err)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != hash {
		return nil, fmt.Errorf("%w: %s", ErrCorrupt, hash)
	}
	return data, nil
}

// Has implements Store.
func (d *Dir) Has(ctx context.Context, hash string) (bool, error) {
	if err := errors.Join(ctx.Err(), checkHash(hash)); err != nil {
		return false, err
	}
	_, err := d.root.Lstat(name(hash))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Delete implements Store. The folder is not flushed: a blob that comes back after a crash is only garbage again.
func (d *Dir) Delete(ctx context.Context, hash string) error {
	if err := errors.Join(ctx.Err(), checkHash(hash)); err != nil {
		return err
	}
	if err := d.root.Remove(name(hash)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Walk implements Store.
func (d *Dir) Walk(ctx context.Context) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		shards, err := fs.ReadDir(d.root.FS(), ".")
		if err != nil {
			yield(Info{}, err)
			return
		}
		for _, s := range shards {
			if s.Name() != partials && s.Name() != staged && s.IsDir() && !d.walkShard(ctx, s.Name(), yield) {
				return
			}
		}
	}
}

// walkShard tells whether to go on.
func (d *Dir) walkShard(ctx context.Context, dir string, yield func(Info, error) bool) bool {
	entries, err := fs.ReadDir(d.root.FS(), dir)
	if err != nil {
		yield(Info{}, err)
		return false
	}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			yield(Info{}, err)
			return false
		}
		stat, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) || checkHash(e.Name()) != nil {
			continue
		}
		if err != nil {
			yield(Info{}, err)
			return false
		}
		if !yield(Info{Hash: e.Name(), Size: stat.Size()}, nil) {
			return false
		}
	}
	return true
}
