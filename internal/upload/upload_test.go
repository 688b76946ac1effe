package upload_test

import (
	"bytes"
	"io"
	"testing"
	"testing/iotest"
	"time"

	"go.uber.org/goleak"

	"github.com/loam-agents/loam/internal/blobstore"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/store/storetest"
	"github.com/loam-agents/loam/internal/upload"
	"github.com/loam-agents/loam/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, storetest.Leaks()) }

// bench is a store and a folder of parts.
type bench struct {
	t     *testing.T
	store store.Store
	blobs *blobstore.Dir
}

func each(t *testing.T, fn func(b *bench)) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s store.Store) {
		blobs, err := blobstore.OpenDir(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = blobs.Close() })
		fn(&bench{t, s, blobs})
	})
}

func (b *bench) write(fn func(tx store.Tx) error) error {
	return b.store.Write(b.t.Context(), store.Interactive, fn)
}

func (b *bench) begin(id, account string, now int64) error {
	return b.write(func(tx store.Tx) error {
		return upload.Begin(tx, upload.Upload{
			ID: id, Account: account, Target: upload.Target{Kind: wire.UploadMemory, Agent: "a", Path: "x"}, Size: 6, CreatedAt: now,
		})
	})
}

// add stages a chunk and counts it.
func (b *bench) add(id, chunk string, now int64) string {
	b.t.Helper()
	part, err := b.blobs.Stage(b.t.Context(), bytes.NewReader([]byte(chunk)))
	if err != nil {
		b.t.Fatal(err)
	}
	err = b.write(func(tx store.Tx) error {
		u, err := upload.Get(tx, id, now)
		if err != nil {
			return err
		}
		_, err = upload.Append(tx, u, part, int64(len(chunk)), now)
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return part
}

func (b *bench) parts() int {
	n := 0
	for _, err := range b.blobs.Parts(b.t.Context()) {
		if err != nil {
			b.t.Fatal(err)
		}
		n++
	}
	return n
}

func TestChunksAreReadInTheirOrder(t *testing.T) {
	each(t, func(b *bench) {
		if err := b.begin("u", "z", 1); err != nil {
			b.t.Fatal(err)
		}
		for _, chunk := range []string{"ab", "c", "def"} {
			b.add("u", chunk, 1)
		}
		var parts []string
		err := b.store.Read(b.t.Context(), func(tx store.Tx) (err error) {
			u, err := upload.Get(tx, "u", 1)
			if err != nil || u.Whole() != nil {
				b.t.Errorf("the upload is %+v, %v", u, err)
			}
			parts, err = upload.Parts(tx, "u")
			return err
		})
		if err != nil {
			b.t.Fatal(err)
		}
		for name, r := range map[string]io.Reader{
			"whole": upload.Content(b.t.Context(), b.blobs, parts), "bytewise": iotest.OneByteReader(upload.Content(b.t.Context(), b.blobs, parts)),
		} {
			if got, err := io.ReadAll(r); err != nil || string(got) != "abcdef" {
				b.t.Errorf("%s: %q, %v", name, got, err)
			}
		}
		missing := upload.Content(b.t.Context(), b.blobs, append(parts, "gone"))
		if _, err := io.ReadAll(missing); err == nil {
			b.t.Error("a part that is gone was skipped")
		}
	})
}

func TestAnAbandonedUploadEndsAndItsPartsAreSwept(t *testing.T) {
	each(t, func(b *bench) {
		now := time.Now().UnixMilli()
		life := upload.IdleLife.Milliseconds()
		for i := range upload.MaxOpen {
			if err := b.begin(string(rune('a'+i)), "z", now); err != nil {
				b.t.Fatal(err)
			}
		}
		b.add("a", "one", now)
		b.add("b", "two", now+life-1)
		if err := b.begin("late", "z", now+life-1); fault.CodeOf(err) != fault.RateLimited {
			b.t.Errorf("a ninth upload: %v", err)
		}
		if err := b.begin("other", "y", now+life-1); err != nil {
			b.t.Errorf("an upload of another account: %v", err)
		}
		// A part that no row names is what an interrupted request leaves behind.
		if _, err := b.blobs.Stage(b.t.Context(), bytes.NewReader([]byte("orphan"))); err != nil {
			b.t.Fatal(err)
		}
		sweep := func(at int64, parts int) {
			b.t.Helper()
			if err := upload.Sweep(b.t.Context(), b.store, b.blobs, at); err != nil {
				b.t.Fatal(err)
			}
			if got := b.parts(); got != parts {
				b.t.Errorf("%d parts are left, want %d", got, parts)
			}
		}
		sweep(now, 3)
		// The part of b is old, and its upload is alive.
		later := time.Now().UnixMilli() + life
		sweep(later, 1)
		for id, want := range map[string]fault.Code{"a": fault.NotFound, "b": ""} {
			err := b.store.Read(b.t.Context(), func(tx store.Tx) error {
				_, err := upload.Get(tx, id, now+life)
				return err
			})
			if fault.CodeOf(err) != want {
				b.t.Errorf("upload %s: %v", id, err)
			}
		}
		if err := b.begin("late", "z", now+life); err != nil {
			b.t.Errorf("an upload after others ended: %v", err)
		}
	})
}
