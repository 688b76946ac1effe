package memory_test

import (
	"bytes"
	"io"
	"testing"
	"testing/iotest"

	"github.com/loam-agents/loam/internal/memory"
)

func TestWhatComesInPiecesIsTheSameAsInOne(t *testing.T) {
	t.Parallel()
	blobs := newBlobs(t)
	for _, content := range []string{
		"", "plain", "grüße, 世界 🌍", "a\x00b", "\xff", "cut \xe4\xb8", "🌍\xf0", "\xf0\x9f\x8c", "a\xe4", "世\x00", "\xed\xa0\x80", "\uFFFD",
	} {
		want, err := memory.Prepare(t.Context(), blobs, []byte(content))
		if err != nil {
			t.Fatal(err)
		}
		for size := 1; size <= len(content)+1; size++ {
			got, err := memory.PrepareFrom(t.Context(), blobs, &pieces{[]byte(content), size})
			if err != nil || got != want {
				t.Errorf("%q in pieces of %d: %+v, %v, want %+v", content, size, got, err, want)
			}
		}
	}
	if _, err := memory.PrepareFrom(t.Context(), blobs, iotest.ErrReader(io.ErrUnexpectedEOF)); err == nil {
		t.Error("half a file was kept")
	}
}

// pieces yields at most size bytes at once.
type pieces struct {
	rest []byte
	size int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.rest[:min(p.size, len(p.rest))])
	p.rest = p.rest[n:]
	return n, nil
}

func FuzzPiecesOfText(f *testing.F) {
	f.Add([]byte("世界"), 1)
	f.Add([]byte("a\xe4\xb8"), 2)
	f.Fuzz(func(t *testing.T, content []byte, size int) {
		blobs := newBlobs(t)
		want, err := memory.Prepare(t.Context(), blobs, content)
		if err != nil {
			return
		}
		got, err := memory.PrepareFrom(t.Context(), blobs, &pieces{bytes.Clone(content), max(1, size%8)})
		if err != nil || got != want {
			t.Errorf("%+v, %v, want %+v", got, err, want)
		}
	})
}
