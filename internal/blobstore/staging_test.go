package blobstore_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/iotest"
	"time"

	"github.com/loam-agents/loam/internal/blobstore"
)

func TestPartsAreKeptAcrossARestartUntilTheyAreRemoved(t *testing.T) {
	t.Parallel()
	d, path := setup(t)
	first, err := d.Stage(t.Context(), bytes.NewReader([]byte("one")))
	if err != nil {
		t.Fatal(err)
	}
	second, err := d.Stage(t.Context(), bytes.NewReader([]byte("one")))
	if err != nil || second == first {
		t.Fatalf("equal bytes are staged as %s and %s, %v", first, second, err)
	}
	again, err := blobstore.OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	r, err := again.Staged(t.Context(), first)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(r)
	if err := errors.Join(err, r.Close()); err != nil || string(data) != "one" {
		t.Errorf("a part came back as %q, %v", data, err)
	}
	for range 2 {
		if err := again.Unstage(t.Context(), first); err != nil {
			t.Errorf("remove a part: %v", err)
		}
	}
	if _, err := again.Staged(t.Context(), first); !errors.Is(err, blobstore.ErrNotFound) {
		t.Errorf("a part that was removed: %v", err)
	}
	var names []string
	for part, err := range again.Parts(t.Context()) {
		if err != nil || time.Since(part.Kept) > time.Hour {
			t.Fatalf("part %+v, %v", part, err)
		}
		names = append(names, part.Name)
	}
	if len(names) != 1 || names[0] != second {
		t.Errorf("the parts are %v, want %s", names, second)
	}
	// A part is no blob, and a backup of the blobs does not hold it.
	for info := range again.Walk(t.Context()) {
		t.Errorf("a part is walked as the blob %v", info)
	}
	if stat, err := os.Stat(filepath.Join(path, "staged", second)); err != nil || stat.Mode().Perm() != 0o600 {
		t.Errorf("a part is for others too: %v, %v", stat, err)
	}
}

func TestOnlyPartsAreNamesOfParts(t *testing.T) {
	t.Parallel()
	d, path := setup(t)
	victim := filepath.Join(filepath.Dir(path), "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
	if err := os.WriteFile(victim, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", ".", "..", "../ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz", "../../../../../etc/passwd0"} {
		if _, err := d.Staged(t.Context(), name); !errors.Is(err, blobstore.ErrNotFound) {
			t.Errorf("open %q: %v", name, err)
		}
		if err := d.Unstage(t.Context(), name); err != nil {
			t.Errorf("remove %q: %v", name, err)
		}
	}
	if _, err := os.Stat(victim); err != nil {
		t.Error(err)
	}
}

func TestAFailedStageLeavesNothing(t *testing.T) {
	t.Parallel()
	d, _ := setup(t)
	broken := io.MultiReader(bytes.NewReader([]byte("half")), iotest.ErrReader(io.ErrUnexpectedEOF))
	if _, err := d.Stage(t.Context(), broken); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("stage: %v", err)
	}
	for part := range d.Parts(t.Context()) {
		t.Errorf("%v is left", part)
	}
}
