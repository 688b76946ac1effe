package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestEverythingLinkedIsCovered(t *testing.T) {
	t.Parallel()
	modules, err := linkedModules([]string{"github.com/loam-agents/loam/dagcbor"})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := write(&out, modules); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"\nGo standard library go1.", "\ngithub.com/fxamacker/cbor/v2 v2.", "Copyright"} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("the text does not contain %q", part)
		}
	}
	if strings.Contains(out.String(), "\ngithub.com/loam-agents/loam") {
		t.Error("our own module is listed as third-party software")
	}
}

// tree writes files and returns their root.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestTextsBesideALinkedPackageCount(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{
		"LICENSE.md": "root text", "license.go": "package m", "NOTICE": "notice text",
		"inner/COPYING": "inner text", "inner/deep/a.go": "package deep",
		"other/LICENSE": "text of a package that is not linked",
	})
	m := &module{path: "example.org/m", version: "v1.0.0", root: root, folders: []string{filepath.Join(root, "inner", "deep")}}
	var out bytes.Buffer
	if err := write(&out, []*module{m}); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"--- LICENSE.md\n\nroot text\n", "--- NOTICE\n\nnotice text\n", "--- inner/COPYING\n\ninner text\n"} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("the text does not contain %q:\n%s", part, out.String())
		}
	}
	for _, part := range []string{"not linked", "package m"} {
		if strings.Contains(out.String(), part) {
			t.Errorf("the text contains %q:\n%s", part, out.String())
		}
	}
}

func TestAModuleWithoutALicenceIsAnError(t *testing.T) {
	t.Parallel()
	m := &module{path: "example.org/m", version: "v1.0.0", root: tree(t, map[string]string{"a.go": "package m"})}
	err := write(&bytes.Buffer{}, []*module{m})
	if err == nil || !strings.Contains(err.Error(), "example.org/m@v1.0.0 has no licence text") {
		t.Fatalf("write = %v", err)
	}
}

func TestWhatStandsInThePageIsCovered(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{
		"all.json":  `[{"name":"a","version":"1.0.0","licence":"MIT","text":"text of a"}]`,
		"none.json": `[{"name":"b","version":"2.0.0","licence":"MIT","text":""}]`,
	})
	var out bytes.Buffer
	if err := writeList(&out, filepath.Join(root, "all.json")); err != nil || !strings.Contains(out.String(), "\na 1.0.0 (npm, MIT)\n") || !strings.Contains(out.String(), "text of a") {
		t.Errorf("%v: %s", err, out.String())
	}
	if err := writeList(&out, filepath.Join(root, "none.json")); err == nil || !strings.Contains(err.Error(), "b@2.0.0") {
		t.Errorf("a package without a text: %v", err)
	}
}
