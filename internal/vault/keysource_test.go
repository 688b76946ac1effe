package vault_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/id"
	"github.com/loam-agents/loam/internal/store/storetest"
	"github.com/loam-agents/loam/internal/vault"
)

func TestTheFirstKeyFileIsPrivateAndLeavesNothingElseBehind(t *testing.T) {
	t.Parallel()
	b := setup(t, storetest.SQLite(t))
	info, err := os.Stat(b.key.Path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode is %v, want 0600", info.Mode().Perm())
	}
	entries, err := os.ReadDir(filepath.Dir(b.key.Path))
	if err != nil || len(entries) != 1 {
		t.Errorf("the folder holds %v (%v), want the key only", entries, err)
	}
}

func TestAKeyThatAnotherProcessCreatedFirstIsKept(t *testing.T) {
	t.Parallel()
	f := vault.FileKey{Path: filepath.Join(t.TempDir(), "vault.key")}
	for _, text := range []string{"first", "second"} {
		if err := f.Create(t.Context(), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := f.Load(t.Context()); err != nil || string(got) != "first\n" {
		t.Fatalf("Load = %q, %v, want the first key", got, err)
	}
	if err := f.Replace(t.Context(), []byte("third")); err != nil {
		t.Fatal(err)
	}
	if got, err := f.Load(t.Context()); err != nil || string(got) != "third\n" {
		t.Fatalf("Load = %q, %v, want the replacement", got, err)
	}
}

func TestAKeyFileThatCannotBeReadIsNotTakenForAMissingOne(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, err := vault.FileKey{Path: dir}.Load(t.Context())
	if err == nil || errors.Is(err, vault.ErrNoKey) {
		t.Fatalf("got %v, want a read error", err)
	}
	_, err = vault.FileKey{Path: filepath.Join(dir, "none")}.Load(t.Context())
	if !errors.Is(err, vault.ErrNoKey) || errors.Is(err, fs.ErrPermission) {
		t.Fatalf("got %v, want ErrNoKey", err)
	}
}

func TestTheEnvironmentHoldsTheKeyAsJSONOrBase64(t *testing.T) {
	t.Parallel()
	key, err := vault.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{string(key), base64.StdEncoding.EncodeToString(key), " " + string(key) + "\n"} {
		b := bundle{store: storetest.SQLite(t), clock: clock.NewFake(time.UnixMilli(0))}
		b.Vault = open(t, b, env(text))
		b.set(t, "x", "1", nil)
		requireValue(t, open(t, b, env(text)), "x", "1")
	}
}

func TestAnUnusableKeyIsRefusedWithoutQuotingIt(t *testing.T) {
	t.Parallel()
	const marker = "s3cr3tmarker"
	s := storetest.SQLite(t)
	for _, text := range []string{marker + "!", `{"primaryKeyId": 1, "key": "` + marker + `"}`, base64.StdEncoding.EncodeToString([]byte(marker)), "{"} {
		_, err := vault.Open(t.Context(), s, env(text), nil, id.Sequence())
		if err == nil || strings.Contains(err.Error(), marker) || !strings.Contains(err.Error(), vault.DefaultVariable) {
			t.Errorf("key %q: got %v, want an error that names the variable only", text, err)
		}
	}
}

func TestASourceThatCannotBeWrittenSaysWhatToDo(t *testing.T) {
	t.Parallel()
	s := storetest.SQLite(t)
	sources := []vault.KeySource{env(""), vault.CommandKey{Argv: []string{"true"}}}
	for _, source := range sources {
		_, err := vault.Open(t.Context(), s, source, nil, id.Sequence())
		if !errors.Is(err, vault.ErrReadOnlyKey) {
			t.Errorf("%s: got %v, want ErrReadOnlyKey", source, err)
		}
		if err := source.Replace(t.Context(), nil); !errors.Is(err, vault.ErrReadOnlyKey) {
			t.Errorf("%s: Replace: got %v, want ErrReadOnlyKey", source, err)
		}
	}
}

func TestACommandPrintsTheKeyWithoutAShell(t *testing.T) {
	t.Parallel()
	key, err := vault.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	// printf is a program of its own here: the argument reaches it as one word, with its spaces and dollar signs.
	source := vault.CommandKey{Argv: []string{"printf", "%s", string(key)}}
	b := bundle{store: storetest.SQLite(t), clock: clock.NewFake(time.UnixMilli(0))}
	b.Vault = open(t, b, source)
	b.set(t, "x", "1", nil)
	requireValue(t, b.Vault, "x", "1")
	text, err := vault.CommandKey{Argv: []string{"printf", "%s", "$HOME;id"}}.Load(t.Context())
	if err != nil || string(text) != "$HOME;id" {
		t.Fatalf("Load = %q, %v", text, err)
	}
}

func TestAFailingCommandKeepsItsOutputToItself(t *testing.T) {
	t.Parallel()
	_, err := vault.CommandKey{Argv: []string{"ls", "--secret-marker"}}.Load(t.Context())
	if err == nil || strings.Contains(err.Error(), "marker") || !strings.Contains(err.Error(), "exit status") {
		t.Fatalf("got %v, want the exit status only", err)
	}
	for _, argv := range [][]string{nil, {"/nonexistent/program"}} {
		if _, err := (vault.CommandKey{Argv: argv}).Load(t.Context()); err == nil {
			t.Errorf("%v: no error", argv)
		}
	}
}

func TestSourcesNameThemselves(t *testing.T) {
	t.Parallel()
	for want, source := range map[string]vault.KeySource{
		"the key file /k":                         vault.FileKey{Path: "/k"},
		"the environment variable X":              vault.EnvKey{Variable: "X"},
		"the environment variable LOAM_VAULT_KEY": vault.EnvKey{},
		"the key command pass":                    vault.CommandKey{Argv: []string{"pass", "show", "loam"}},
		"the key command":                         vault.CommandKey{},
	} {
		if got := fmt.Sprint(source); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
