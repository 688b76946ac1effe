package memory_test

import (
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loam-agents/loam/internal/blobstore"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/memory"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/store/storetest"
	"github.com/loam-agents/loam/wire"
)

// bench is a memory to work on: a store, a blob store, one agent.
type bench struct {
	t     *testing.T
	store store.Store
	blobs memory.Blobs
}

func newBlobs(t *testing.T) *blobstore.Dir {
	t.Helper()
	d, err := blobstore.OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func each(t *testing.T, fn func(b *bench)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, s store.Store) { fn(&bench{t, s, newBlobs(t)}) })
}

func (b *bench) tryPut(path string, content []byte, now int64) (e wire.MemoryEntry, err error) {
	b.t.Helper()
	p, err := memory.Prepare(b.t.Context(), b.blobs, content)
	if err != nil {
		return e, err
	}
	err = b.store.Write(b.t.Context(), store.Interactive, func(tx store.Tx) (err error) {
		e, err = memory.Write(tx, "agent", path, p, now)
		return err
	})
	return e, err
}

func (b *bench) put(path, content string, now int64) wire.MemoryEntry {
	b.t.Helper()
	e, err := b.tryPut(path, []byte(content), now)
	if err != nil {
		b.t.Fatalf("write %s: %v", path, err)
	}
	return e
}

func (b *bench) read(path string) (wire.MemoryFile, error) {
	var f memory.File
	err := b.store.Read(b.t.Context(), func(tx store.Tx) (err error) {
		f, err = memory.Stat(tx, "agent", path)
		return err
	})
	if err != nil {
		return wire.MemoryFile{}, err
	}
	return memory.Load(b.t.Context(), b.blobs, f)
}

func (b *bench) remove(path string) (deleted bool, err error) {
	err = b.store.Write(b.t.Context(), store.Interactive, func(tx store.Tx) (err error) {
		deleted, err = memory.Delete(tx, "agent", path)
		return err
	})
	return deleted, err
}

// look runs a query in a read.
func look[T any](b *bench, fn func(tx store.Tx) (T, error)) (out T, err error) {
	b.t.Helper()
	err = b.store.Read(b.t.Context(), func(tx store.Tx) (err error) {
		out, err = fn(tx)
		return err
	})
	return out, err
}

func TestAFileComesBackAsItWasWritten(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		for path, c := range map[string]struct{ content, encoding string }{
			"notes.md":    {"# Notés 😀\n", memory.UTF8},
			"a/b/c.json":  {"{}", memory.UTF8},
			"picture.png": {"\x89PNG\x00\xff", memory.Binary},
			"nul.txt":     {"a\x00b", memory.Binary},
			"latin1.txt":  {"caf\xe9", memory.Binary},
			"empty":       {"", memory.UTF8},
		} {
			mime := memory.MimeType(path)
			want := wire.MemoryEntry{Path: path, Type: "file", Size: int64(len(c.content)), UpdatedAt: 7, MimeType: mime}
			if diff := cmp.Diff(want, b.put("./"+path, c.content, 7)); diff != "" {
				b.t.Errorf("entry (-want +got):\n%s", diff)
			}
			file := wire.MemoryFile{Path: path, Size: want.Size, UpdatedAt: 7, MimeType: mime, Encoding: c.encoding}
			if c.encoding == memory.UTF8 {
				file.Content = &c.content
			} else {
				file.Data = []byte(c.content)
			}
			got, err := b.read(path + "/")
			if diff := cmp.Diff(file, got); err != nil || diff != "" {
				b.t.Errorf("read: %v, file (-want +got):\n%s", err, diff)
			}
		}
	})
}

func TestWritingAgainReplaces(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		b.put("a.txt", "one", 1)
		b.put("a.txt", "\x00three", 2)
		got, err := b.read("a.txt")
		if err != nil || string(got.Data) != "\x00three" || got.UpdatedAt != 2 || got.Encoding != memory.Binary {
			b.t.Errorf("read = %+v, %v", got, err)
		}
		sum, err := look(b, func(tx store.Tx) (memory.Totals, error) { return memory.SumUp(tx, "agent") })
		if err != nil || sum != (memory.Totals{Files: 1, Bytes: 6}) {
			b.t.Errorf("totals = %+v, %v", sum, err)
		}
	})
}

func TestFilesAndFoldersDoNotReplaceEachOther(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		b.put("dir/sub/file", "x", 1)
		for path, want := range map[string]string{
			"dir":               "Memory path is a directory: dir",
			"dir/sub":           "Memory path is a directory: dir/sub",
			"dir/sub/file/more": "Memory path is a file, not a directory: dir/sub/file",
		} {
			_, err := b.tryPut(path, nil, 2)
			if fault.CodeOf(err) != fault.Conflict || err.Error() != want {
				b.t.Errorf("write %s: %v", path, err)
			}
		}
		b.put("dir2", "a name that starts like a folder is another name", 3)
		b.put("di", "so is a shorter one", 3)
	})
}

func TestConcurrentWritersCannotMakeAFileAFolder(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		errs := make([]error, 8)
		var group sync.WaitGroup
		for i := range errs {
			path := []string{"x", "x/y"}[i%2]
			group.Go(func() { _, errs[i] = b.tryPut(path, []byte("z"), 1) })
		}
		group.Wait()
		for i, err := range errs {
			if err != nil && fault.CodeOf(err) != fault.Conflict {
				b.t.Errorf("writer %d: %v", i, err)
			}
		}
		sum, err := look(b, func(tx store.Tx) (memory.Totals, error) { return memory.SumUp(tx, "agent") })
		if err != nil || sum.Files != 1 {
			b.t.Errorf("%d files, %v", sum.Files, err)
		}
	})
}

func TestReadSaysWhyThereIsNoFile(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		b.put("dir/file", "x", 1)
		for path, c := range map[string]struct {
			code fault.Code
			text string
		}{
			"none":       {fault.NotFound, "Memory file not found"},
			"dir/none":   {fault.NotFound, "Memory file not found"},
			"dir/file/x": {fault.NotFound, "Memory file not found"},
			"DIR/file":   {fault.NotFound, "Memory file not found"},
			"dir":        {fault.ValidationFailed, "Memory path is a directory: dir"},
			"":           {fault.ValidationFailed, "Memory path is required"},
			"../x":       {fault.ValidationFailed, "Memory path is invalid: it must not contain .."},
		} {
			_, err := b.read(path)
			if fault.CodeOf(err) != c.code || err.Error() != c.text {
				b.t.Errorf("read %q: %v", path, err)
			}
		}
	})
}

func TestDeleteIsRecursiveAndTellsWhatItDid(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		for _, path := range []string{"dir/a", "dir/sub/b", "dirt", "dir_x", "Dir/a", "%", "other"} {
			b.put(path, "x", 1)
		}
		for _, step := range []struct {
			path string
			want bool
		}{{"dir", true}, {"dir", false}, {"dir/a", false}, {"other", true}, {"_ir", false}, {"%", true}} {
			if got, err := b.remove(step.path); err != nil || got != step.want {
				b.t.Errorf("delete %s = %v, %v", step.path, got, err)
			}
		}
		for _, path := range []string{"dirt", "dir_x", "Dir/a"} {
			if _, err := b.read(path); err != nil {
				b.t.Errorf("%s went along: %v", path, err)
			}
		}
		if _, err := b.remove("."); fault.CodeOf(err) != fault.ValidationFailed {
			b.t.Errorf("delete the root: %v", err)
		}
	})
}

func TestMemoriesOfAgentsAreApart(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		b.put("a", "x", 1)
		p, err := memory.Prepare(b.t.Context(), b.blobs, []byte("other"))
		if err != nil {
			b.t.Fatal(err)
		}
		err = b.store.Write(b.t.Context(), store.Interactive, func(tx store.Tx) error {
			if _, err := memory.Write(tx, "second", "a", p, 1); err != nil {
				return err
			}
			return memory.DeleteAll(tx, "second")
		})
		if err != nil {
			b.t.Fatal(err)
		}
		if got, err := b.read("a"); err != nil || got.Content == nil || *got.Content != "x" {
			b.t.Errorf("read = %+v, %v", got, err)
		}
		sum, err := look(b, func(tx store.Tx) (memory.Totals, error) { return memory.SumUp(tx, "second") })
		if err != nil || sum != (memory.Totals{}) {
			b.t.Errorf("totals of the deleted = %+v, %v", sum, err)
		}
	})
}

func TestPrepareRefusesWhatIsTooLarge(t *testing.T) {
	t.Parallel()
	blobs := newBlobs(t)
	if _, err := memory.Prepare(t.Context(), blobs, make([]byte, memory.MaxFileBytes+1)); fault.CodeOf(err) != fault.TooLarge {
		t.Errorf("one byte too many: %v", err)
	}
	if p, err := memory.Prepare(t.Context(), blobs, make([]byte, memory.MaxFileBytes)); err != nil || p.Size != memory.MaxFileBytes {
		t.Errorf("as much as is allowed: %+v, %v", p, err)
	}
}

func TestContentIsTextOrBytes(t *testing.T) {
	t.Parallel()
	for _, content := range []any{"ab", []byte("ab")} {
		if got, err := memory.Bytes(content); err != nil || string(got) != "ab" {
			t.Errorf("Bytes(%v) = %q, %v", content, got, err)
		}
	}
	for _, content := range []any{nil, 7, []any{}, map[string]any{}} {
		if _, err := memory.Bytes(content); fault.CodeOf(err) != fault.ValidationFailed {
			t.Errorf("Bytes(%v) = %v", content, err)
		}
	}
}
