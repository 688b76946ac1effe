package main

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestPackingTwiceGivesTheSameBytes(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	source := filepath.Join(folder, "loam")
	r := &release{when: time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)}
	var archives [2][]byte
	for i := range archives {
		// Rewriting the source changes its time and, the second time, its mode.
		if err := os.WriteFile(source, []byte("binary"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(source, os.FileMode(0o600+0o155*i)); err != nil {
			t.Fatal(err)
		}
		archive := filepath.Join(folder, fmt.Sprintf("%d.tar.gz", i))
		if err := r.pack(archive, []entry{{"loam_v1/loam", source, 0o755}}); err != nil {
			t.Fatal(err)
		}
		var err error
		if archives[i], err = os.ReadFile(archive); err != nil {
			t.Fatal(err)
		}
	}
	if string(archives[0]) != string(archives[1]) {
		t.Fatal("two archives of the same content differ")
	}
}

func TestEntriesCarryTheCommitsTimeAndNoOwner(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	source := filepath.Join(folder, "loam")
	if err := os.WriteFile(source, []byte("binary"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := &release{when: time.Date(2026, 11, 30, 4, 43, 0, 0, time.UTC)}
	archive := filepath.Join(folder, "a.tar.gz")
	if err := r.pack(archive, []entry{{"loam_v1/loam", source, 0o755}}); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	plain, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	tape := tar.NewReader(plain)
	header, err := tape.Next()
	if err != nil {
		t.Fatal(err)
	}
	if !header.ModTime.Equal(r.when) || header.Uid != 0 || header.Uname != "" || header.Mode != 0o755 || header.Name != "loam_v1/loam" {
		t.Errorf("header = %+v", header)
	}
	if content, err := io.ReadAll(tape); err != nil || string(content) != "binary" {
		t.Errorf("content = %q, %v", content, err)
	}
}

func TestChecksumsNameEveryArchive(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	var archives []string
	for _, name := range []string{"a.tar.gz", "b.tar.gz"} {
		archive := filepath.Join(folder, name)
		if err := os.WriteFile(archive, []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
		archives = append(archives, archive)
	}
	if err := writeChecksums(folder, archives); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(folder, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("%x  a.tar.gz\n%x  b.tar.gz\n", sha256.Sum256([]byte("a.tar.gz")), sha256.Sum256([]byte("b.tar.gz")))
	if string(got) != want {
		t.Errorf("SHA256SUMS = %q, want %q", got, want)
	}
}

func TestAReleaseNeedsAVersionAndADate(t *testing.T) {
	t.Parallel()
	for _, r := range []release{{date: "2026-11-30T00:00:00Z"}, {version: "v1.0.0"}, {version: "v1.0.0", date: "today"}} {
		if err := r.run(nil); err == nil || !strings.Contains(err.Error(), "-version and -date") {
			t.Errorf("run of %+v = %v", r, err)
		}
	}
}

func TestTheLinkerIsToldTheBuild(t *testing.T) {
	t.Parallel()
	r := release{version: "v1.2.3", commit: "abc", branch: "main", date: "2026-11-30T00:00:00Z"}
	for _, part := range []string{".Version=v1.2.3", ".Commit=abc", ".Branch=main", ".Date=2026-11-30T00:00:00Z"} {
		if !strings.Contains(r.linkerFlags(), part) {
			t.Errorf("flags %q lack %q", r.linkerFlags(), part)
		}
	}
}
