package vault_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/id"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/store/postgres"
	"github.com/loam-agents/loam/internal/store/sqlite"
	"github.com/loam-agents/loam/internal/store/storetest"
	"github.com/loam-agents/loam/internal/vault"
)

const account = "z6MkAccount"

// bundle is a vault on a store, with the file its key is in.
type bundle struct {
	*vault.Vault
	store store.Store
	clock *clock.Fake
	key   vault.FileKey
}

func setup(t *testing.T, s store.Store) bundle {
	t.Helper()
	b := bundle{store: s, clock: clock.NewFake(time.UnixMilli(1_000)), key: vault.FileKey{Path: filepath.Join(t.TempDir(), "vault.key")}}
	b.Vault = open(t, b, b.key)
	return b
}

func open(t *testing.T, b bundle, source vault.KeySource) *vault.Vault {
	t.Helper()
	v, err := vault.Open(t.Context(), b.store, source, b.clock, id.Sequence())
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func (b bundle) set(t *testing.T, name, value string, metadata map[string]any) vault.Info {
	t.Helper()
	info, err := set(t.Context(), b.store, b.Vault, name, value, metadata)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func set(ctx context.Context, s store.Store, v *vault.Vault, name, value string, metadata map[string]any) (info vault.Info, err error) {
	err = s.Write(ctx, store.Interactive, func(tx store.Tx) error {
		info, err = v.Set(tx, account, name, []byte(value), metadata)
		return err
	})
	return info, err
}

func requireValue(t *testing.T, v *vault.Vault, name, want string) vault.Info {
	t.Helper()
	value, info, err := v.Get(t.Context(), account, name)
	if err != nil {
		t.Fatalf("Get(%q): %v", name, err)
	}
	if string(value) != want {
		t.Fatalf("Get(%q) = %q, want %q", name, value, want)
	}
	return info
}

func TestASecretComesBackAndKeepsItsIDWhenItIsReplaced(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s store.Store) {
		b := setup(t, s)
		first := b.set(t, "  openai ", "sk-1", map[string]any{"kind": "key", "n": 1.0})
		b.clock.Advance(time.Second)
		second := b.set(t, "openai", "sk-2", nil)
		want := vault.Info{ID: first.ID, Account: account, Name: "openai", CreatedAt: 1_000, UpdatedAt: 2_000}
		if diff := cmp.Diff(want, second); diff != "" {
			t.Fatalf("after replacing (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(want, requireValue(t, b.Vault, "openai", "sk-2")); diff != "" {
			t.Fatalf("Get (-want +got):\n%s", diff)
		}
	})
}

func TestListShowsInfosByNameOfOneAccountOnly(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s store.Store) {
		b := setup(t, s)
		b.set(t, "b", "2", map[string]any{"provider": "openai"})
		b.set(t, "a", "1", nil)
		err := s.Write(t.Context(), store.Interactive, func(tx store.Tx) error {
			_, err := b.Set(tx, "someone else", "c", []byte("3"), nil)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		var infos []vault.Info
		err = s.Read(t.Context(), func(tx store.Tx) (err error) {
			infos, err = b.List(tx, account)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(infos) != 2 || infos[0].Name != "a" || infos[1].Name != "b" || infos[1].Metadata["provider"] != "openai" {
			t.Fatalf("List = %+v", infos)
		}
	})
}

func TestADeletedOrUnknownSecretIsNotFound(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s store.Store) {
		b := setup(t, s)
		b.set(t, "x", "1", nil)
		remove := func() error {
			return s.Write(t.Context(), store.Interactive, func(tx store.Tx) error { return b.Delete(tx, account, "x") })
		}
		if err := remove(); err != nil {
			t.Fatal(err)
		}
		_, _, err := b.Get(t.Context(), account, "x")
		for _, err := range []error{err, remove()} {
			if fault.CodeOf(err) != fault.NotFound || err.Error() != "Secret not found" {
				t.Errorf("got %v, want the fault not_found", err)
			}
		}
	})
}

func TestLimitsOfASecret(t *testing.T) {
	t.Parallel()
	b := setup(t, storetest.SQLite(t))
	tests := []struct {
		what, name, value string
		metadata          map[string]any
		want              string
	}{
		{"no name", "  ", "v", nil, "Secret name is required"},
		{"largest name", strings.Repeat("n", vault.MaxName), "v", nil, ""},
		{"name too large", strings.Repeat("n", vault.MaxName+1), "v", nil, "Secret name is too large"},
		{"name with NUL", "a\x00b", "v", nil, "Secret name is invalid"},
		{"no value", "n", "", nil, "Secret value is required"},
		{"largest value", "n", strings.Repeat("v", vault.MaxValue), nil, ""},
		{"value too large", "n", strings.Repeat("v", vault.MaxValue+1), nil, "Secret value is too large"},
		{"metadata too large", "n", "v", map[string]any{"k": strings.Repeat("m", vault.MaxMetadata)}, "Secret metadata is too large"},
		{"metadata that JSON cannot say", "n", "v", map[string]any{"k": func() {}}, "Secret metadata is invalid"},
	}
	for _, tt := range tests {
		t.Run(tt.what, func(t *testing.T) {
			t.Parallel()
			_, err := set(t.Context(), b.store, b.Vault, tt.name, tt.value, tt.metadata)
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("got %v, want no error", err)
			case tt.want != "" && (fault.CodeOf(err) != fault.ValidationFailed || err.Error() != tt.want):
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestASealIsBoundToItsAccountAndName(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s store.Store) {
		b := setup(t, s)
		b.set(t, "mine", "value", nil)
		moves := map[string]string{
			"renamed":           `UPDATE secrets SET name = 'other'`,
			"in another tenant": `UPDATE secrets SET name = 'mine', account_id = 'z6MkThief'`,
			// The same letters, divided differently between the two fields.
			"shifted": `UPDATE secrets SET account_id = 'z6MkAccountm', name = 'ine'`,
		}
		for what, move := range moves {
			exec(t, s, move)
			var owner, name string
			query(t, s, `SELECT account_id, name FROM secrets`, &owner, &name)
			if _, _, err := b.Get(t.Context(), owner, name); !errors.Is(err, vault.ErrWrongKey) {
				t.Errorf("%s: got %v, want ErrWrongKey", what, err)
			}
		}
		// Get reads the key again and tries once more.
		if got, want := b.Failures(), int64(2*len(moves)); got != want {
			t.Errorf("%d failures are counted, want %d", got, want)
		}
		exec(t, s, `UPDATE secrets SET account_id = 'z6MkAccount', name = 'mine'`)
		requireValue(t, b.Vault, "mine", "value")
	})
}

func exec(t *testing.T, s store.Store, statement string) {
	t.Helper()
	err := s.Write(t.Context(), store.Interactive, func(tx store.Tx) error {
		_, err := tx.Exec(statement)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func query(t *testing.T, s store.Store, statement string, into ...any) {
	t.Helper()
	if err := s.Read(t.Context(), func(tx store.Tx) error { return tx.QueryRow(statement).Scan(into...) }); err != nil {
		t.Fatal(err)
	}
}

func TestOpenRefusesAKeyThatDidNotSealTheDatabase(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s store.Store) {
		b := setup(t, s)
		b.set(t, "x", "1", nil)
		other, err := vault.NewKey()
		if err != nil {
			t.Fatal(err)
		}
		_, err = vault.Open(t.Context(), s, env(string(other)), b.clock, id.Sequence())
		if !errors.Is(err, vault.ErrWrongKey) {
			t.Fatalf("got %v, want ErrWrongKey", err)
		}
		requireValue(t, open(t, b, b.key), "x", "1")
	})
}

func TestOpenRefusesToMakeANewKeyWhileSecretsExist(t *testing.T) {
	t.Parallel()
	b := setup(t, storetest.SQLite(t))
	b.set(t, "x", "1", nil)
	if err := os.Remove(b.key.Path); err != nil {
		t.Fatal(err)
	}
	_, err := vault.Open(t.Context(), b.store, b.key, b.clock, id.Sequence())
	if !errors.Is(err, vault.ErrNoKey) || !strings.Contains(err.Error(), "restore the key") {
		t.Fatalf("got %v, want ErrNoKey with advice", err)
	}
	if _, err := os.Stat(b.key.Path); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("a key file appeared: %v", err)
	}
}

func TestAKeyThatWasLostWithoutSecretsIsReplaced(t *testing.T) {
	t.Parallel()
	b := setup(t, storetest.SQLite(t))
	if err := os.Remove(b.key.Path); err != nil {
		t.Fatal(err)
	}
	b.Vault = open(t, b, b.key)
	b.set(t, "x", "1", nil)
	requireValue(t, open(t, b, b.key), "x", "1")
}

func TestServersOfOneDatabaseNeedOneKeyBeforeThereIsASecret(t *testing.T) {
	t.Parallel()
	url := storetest.PostgresURL(t)
	var stores []store.Store
	for range 2 {
		s, err := postgres.Open(t.Context(), postgres.Options{URL: url})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		stores = append(stores, s)
	}
	first := setup(t, stores[0])
	other := vault.FileKey{Path: filepath.Join(t.TempDir(), "vault.key")}
	_, err := vault.Open(t.Context(), stores[1], other, first.clock, id.Sequence())
	if !errors.Is(err, vault.ErrWrongKey) || !strings.Contains(err.Error(), "one key") {
		t.Fatalf("got %v, want ErrWrongKey with advice", err)
	}
	first.set(t, "x", "1", nil)
	second := first
	second.store = stores[1]
	requireValue(t, open(t, second, first.key), "x", "1")
}

func env(text string) vault.EnvKey {
	return vault.EnvKey{Lookup: func(name string) (string, bool) { return text, name == vault.DefaultVariable }}
}

// TestNoCopyOfASecretIsFoundOutsideOfTheVault is the canary of design §10.3.
func TestNoCopyOfASecretIsFoundOutsideOfTheVault(t *testing.T) {
	t.Parallel()
	const canary = "canary-5e0d1f7c-value"
	dir := t.TempDir()
	var logs bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	s, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(dir, "loam.db"), Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	b := setup(t, s)
	b.set(t, "canary", canary, map[string]any{"note": "public"})
	b.set(t, "canary", canary+"-2", nil)
	if _, err := b.Rotate(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, _, missing := b.Get(t.Context(), account, "nothing")
	_, tooLarge := set(t.Context(), s, b.Vault, "canary", strings.Repeat(canary, 5_000), nil)
	exec(t, s, `UPDATE secrets SET name = 'moved'`)
	_, _, moved := b.Get(t.Context(), account, "moved")
	for _, err := range []error{missing, tooLarge, moved} {
		if err == nil {
			t.Fatal("an error was expected")
		}
		logger.Error("failed", "err", err, "cause", errors.Unwrap(err))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	found := [][]byte{logs.Bytes()}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no database files: %v", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, data)
	}
	for _, form := range []string{canary, base64.StdEncoding.EncodeToString([]byte(canary))[:24]} {
		for i, data := range found {
			if bytes.Contains(data, []byte(form)) {
				t.Errorf("the secret stands in output %d", i)
			}
		}
	}
}

func TestMetadataIsReplacedWithoutTheValue(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s store.Store) {
		b := setup(t, s)
		first := b.set(t, "key", "secret", map[string]any{"label": "old"})
		b.clock.Advance(time.Second)
		change := func(name string, metadata map[string]any) (info vault.Info, err error) {
			err = s.Write(t.Context(), store.Interactive, func(tx store.Tx) error {
				info, err = b.SetMetadata(tx, account, name, metadata)
				return err
			})
			return info, err
		}
		want := vault.Info{ID: first.ID, Account: account, Name: "key", Metadata: map[string]any{"label": "new"}, CreatedAt: 1_000, UpdatedAt: 2_000}
		got, err := change(" key ", map[string]any{"label": "new"})
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
		if diff := cmp.Diff(want, requireValue(t, b.Vault, "key", "secret")); diff != "" {
			t.Errorf("Get (-want +got):\n%s", diff)
		}
		if _, err := change("none", nil); fault.CodeOf(err) != fault.NotFound {
			t.Errorf("of no secret: %v", err)
		}
		if _, err := change("key", map[string]any{"x": strings.Repeat("x", vault.MaxMetadata)}); fault.CodeOf(err) != fault.ValidationFailed {
			t.Errorf("too much: %v", err)
		}
	})
}
