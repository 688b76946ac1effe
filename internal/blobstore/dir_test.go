package blobstore_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/loam-agents/loam/internal/blobstore"
	"github.com/loam-agents/loam/internal/store"
)

func setup(t testing.TB) (*blobstore.Dir, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "blobs")
	d, err := blobstore.OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d, path
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func put(t testing.TB, d *blobstore.Dir, data []byte) string {
	t.Helper()
	info, err := d.Put(t.Context(), bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if info.Hash != hashOf(data) || info.Size != int64(len(data)) {
		t.Fatalf("got %+v", info)
	}
	return info.Hash
}

func TestWhatWasPutComesBackUnderItsHash(t *testing.T) {
	t.Parallel()
	d, _ := setup(t)
	for _, data := range [][]byte{{}, []byte("hello"), bytes.Repeat([]byte{0, 1, 2, 255}, 1<<18)} {
		hash := put(t, d, data)
		got, err := d.ReadAll(t.Context(), hash, int64(len(data)))
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("%d bytes came back of %d, %v", len(got), len(data), err)
		}
		r, info, err := d.Get(t.Context(), hash)
		if err != nil {
			t.Fatal(err)
		}
		streamed, err := io.ReadAll(r)
		if err = errors.Join(err, r.Close()); err != nil || !bytes.Equal(streamed, data) || info.Size != int64(len(data)) {
			t.Errorf("streamed %d bytes of %d, %v", len(streamed), len(data), err)
		}
	}
}

func TestTheSameBytesAreStoredOnceAlsoByManyAtOnce(t *testing.T) {
	t.Parallel()
	d, path := setup(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, err := d.Put(t.Context(), strings.NewReader("same")); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	var files []string
	err := filepath.WalkDir(path, func(p string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			files = append(files, p)
		}
		return err
	})
	hash := hashOf([]byte("same"))
	if err != nil || !slices.Equal(files, []string{filepath.Join(path, hash[:2], hash)}) {
		t.Errorf("files %v, %v", files, err)
	}
}

func TestDeletedBlobsAreGone(t *testing.T) {
	t.Parallel()
	d, _ := setup(t)
	hash := put(t, d, []byte("a"))
	for _, want := range []bool{true, false} {
		if has, err := d.Has(t.Context(), hash); err != nil || has != want {
			t.Errorf("has = %v, %v; want %v", has, err, want)
		}
		if err := d.Delete(t.Context(), hash); err != nil {
			t.Error(err)
		}
	}
	if _, err := d.ReadAll(t.Context(), hash, 10); !errors.Is(err, blobstore.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

func TestOnlyHashesAreNames(t *testing.T) {
	t.Parallel()
	d, _ := setup(t)
	valid := put(t, d, []byte("a"))
	for _, bad := range []string{"", "..", "../../etc/passwd", valid[:63], valid + "0", strings.ToUpper(valid), "zz" + valid[2:], valid[:2] + "/" + valid[3:], valid[:63] + "\x00"} {
		_, err := d.ReadAll(t.Context(), bad, 10)
		_, hasErr := d.Has(t.Context(), bad)
		for _, err := range []error{err, hasErr, d.Delete(t.Context(), bad)} {
			if !errors.Is(err, blobstore.ErrInvalidHash) {
				t.Errorf("%q: %v", bad, err)
			}
		}
	}
}

func TestReadAllFindsDamageAndKeepsItsLimit(t *testing.T) {
	t.Parallel()
	d, path := setup(t)
	hash := put(t, d, []byte("hello"))
	if _, err := d.ReadAll(t.Context(), hash, 4); !errors.Is(err, blobstore.ErrTooLarge) {
		t.Errorf("got %v", err)
	}
	if err := os.WriteFile(filepath.Join(path, hash[:2], hash), []byte("hellO"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := d.ReadAll(t.Context(), hash, 10); !errors.Is(err, blobstore.ErrCorrupt) {
		t.Errorf("got %v", err)
	}
}

func TestLinksOutOfTheFolderAreNotFollowed(t *testing.T) {
	t.Parallel()
	d, path := setup(t)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	hash := hashOf([]byte("secret"))
	if err := errors.Join(os.MkdirAll(filepath.Join(path, hash[:2]), 0o700), os.Symlink(secret, filepath.Join(path, hash[:2], hash))); err != nil {
		t.Fatal(err)
	}
	if got, err := d.ReadAll(t.Context(), hash, 10); err == nil {
		t.Errorf("read %q through a link", got)
	}
}

func TestAFailedPutLeavesNothing(t *testing.T) {
	t.Parallel()
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	broken := errors.New("the upload broke")
	cases := []struct {
		name string
		ctx  context.Context
		r    io.Reader
		want error
	}{
		{"canceled", canceled, strings.NewReader("a"), context.Canceled},
		{"broken reader", t.Context(), io.MultiReader(strings.NewReader("half"), failing{broken}), broken},
		{"full disk", t.Context(), failing{&fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}}, store.ErrFull},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d, path := setup(t)
			if _, err := d.Put(c.ctx, c.r); !errors.Is(err, c.want) {
				t.Errorf("got %v", err)
			}
			left, err := filepath.Glob(filepath.Join(path, "*", "*"))
			if err != nil || len(left) > 0 {
				t.Errorf("left %v, %v", left, err)
			}
		})
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func TestOpeningRemovesWhatACrashLeft(t *testing.T) {
	t.Parallel()
	d, path := setup(t)
	hash := put(t, d, []byte("kept"))
	if err := os.WriteFile(filepath.Join(path, "partial", "left"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	again, err := blobstore.OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if _, err := os.Stat(filepath.Join(path, "partial", "left")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the partial file stayed: %v", err)
	}
	if _, err := again.ReadAll(t.Context(), hash, 10); err != nil {
		t.Error(err)
	}
}

func TestWalkYieldsEveryBlobInOrderAndStops(t *testing.T) {
	t.Parallel()
	d, path := setup(t)
	var want []string
	for i := range 20 {
		want = append(want, put(t, d, []byte(fmt.Sprint(i))))
	}
	slices.Sort(want)
	if err := os.WriteFile(filepath.Join(path, want[0][:2], "stray"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var got []string
	for info, err := range d.Walk(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, info.Hash)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for range d.Walk(t.Context()) {
		break
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range d.Walk(canceled) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	}
}

func TestFilesAreForTheirOwnerOnly(t *testing.T) {
	t.Parallel()
	d, path := setup(t)
	put(t, d, []byte("a"))
	err := filepath.WalkDir(path, func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", p, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// BenchmarkPut compares one small blob with the one fsync that nothing durable can do without.
func BenchmarkPut(b *testing.B) {
	d, _ := setup(b)
	data := bytes.Repeat([]byte("x"), 4096)
	b.Run("probe fsync", func(b *testing.B) {
		f, err := os.Create(filepath.Join(b.TempDir(), "probe"))
		if err != nil {
			b.Fatal(err)
		}
		defer f.Close()
		for b.Loop() {
			if _, err := f.Write(data); err != nil {
				b.Fatal(err)
			}
			if err := f.Sync(); err != nil {
				b.Fatal(err)
			}
		}
	})
	n := 0
	b.Run("new 4 KiB", func(b *testing.B) {
		for b.Loop() {
			n++
			put(b, d, append(data, fmt.Sprint(n)...))
		}
	})
	b.Run("known 4 KiB", func(b *testing.B) {
		for b.Loop() {
			put(b, d, data)
		}
	})
	hash := put(b, d, data)
	b.Run("read 4 KiB", func(b *testing.B) {
		for b.Loop() {
			if _, err := d.ReadAll(b.Context(), hash, 1<<20); err != nil {
				b.Fatal(err)
			}
		}
	})
}
