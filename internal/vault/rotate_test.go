package vault_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/id"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/store/storetest"
	"github.com/loam-agents/loam/internal/vault"
)

// many is more secrets than two batches of a rotation hold.
const many = 150

func fill(t *testing.T, b bundle) {
	t.Helper()
	err := b.store.Write(t.Context(), store.Interactive, func(tx store.Tx) error {
		for i := range many {
			if _, err := b.Set(tx, account, secretName(i), []byte(secretName(i)), nil); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func secretName(i int) string { return fmt.Sprintf("secret-%d", i) }

func requireAll(t *testing.T, v *vault.Vault) {
	t.Helper()
	for i := range many {
		requireValue(t, v, secretName(i), secretName(i))
	}
}

func TestRotateSealsEverySecretAnewAndForgetsTheOldKey(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s store.Store) {
		b := setup(t, s)
		fill(t, b)
		old, err := b.key.Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		n, err := b.Rotate(t.Context())
		if err != nil || n != many {
			t.Fatalf("Rotate = %d, %v, want %d", n, err, many)
		}
		requireAll(t, b.Vault)
		b.set(t, "later", "1", nil)
		requireAll(t, open(t, b, b.key))
		_, err = vault.Open(t.Context(), s, env(string(old)), b.clock, id.Sequence())
		if !errors.Is(err, vault.ErrWrongKey) {
			t.Fatalf("the old key still opens the database: %v", err)
		}
	})
}

// breaking is a key source, or a store, that fails at one step as a killed process does.
type breaking struct {
	vault.KeySource
	replaces int
	failAt   int
}

var errKilled = errors.New("killed")

func (k *breaking) Replace(ctx context.Context, key []byte) error {
	k.replaces++
	if k.replaces == k.failAt {
		return errKilled
	}
	return k.KeySource.Replace(ctx, key)
}

type breakingStore struct {
	store.Store
	writes, failAt int
}

func (s *breakingStore) Write(ctx context.Context, p store.Priority, fn func(store.Tx) error) error {
	s.writes++
	if s.writes == s.failAt {
		return errKilled
	}
	return s.Store.Write(ctx, p, fn)
}

func TestARotationThatStopsAnywhereLosesNothingAndCanBeRunAgain(t *testing.T) {
	t.Parallel()
	tests := []struct {
		what               string
		replaceAt, writeAt int
	}{
		{what: "before the new key is saved", replaceAt: 1},
		// The first write is that of Open.
		{what: "before the new key is announced", writeAt: 2},
		{what: "before the first batch", writeAt: 3},
		{what: "between batches", writeAt: 4},
		{what: "before the last batch", writeAt: 5},
		{what: "before the old key is dropped", replaceAt: 2},
	}
	for _, tt := range tests {
		t.Run(tt.what, func(t *testing.T) {
			t.Parallel()
			b := setup(t, storetest.SQLite(t))
			fill(t, b)
			source := &breaking{KeySource: b.key, failAt: tt.replaceAt}
			faulty := &breakingStore{Store: b.store, failAt: tt.writeAt}
			doomed, err := vault.Open(t.Context(), faulty, source, b.clock, id.Sequence())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := doomed.Rotate(t.Context()); !errors.Is(err, errKilled) {
				t.Fatalf("Rotate = %v, want the failure", err)
			}
			b.Vault = open(t, b, b.key)
			requireAll(t, b.Vault)
			b.set(t, "after the crash", "1", nil)
			if n, err := b.Rotate(t.Context()); err != nil || n != many+1 {
				t.Fatalf("the second Rotate = %d, %v, want %d", n, err, many+1)
			}
			requireAll(t, open(t, b, b.key))
		})
	}
}

func TestAnotherProcessReadsOnAfterARotationAndWritesAfterRefresh(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s store.Store) {
		b := setup(t, s)
		b.set(t, "x", "1", nil)
		writer, reader := open(t, b, b.key), open(t, b, b.key)
		if _, err := b.Rotate(t.Context()); err != nil {
			t.Fatal(err)
		}
		requireValue(t, reader, "x", "1")
		_, err := set(t.Context(), s, writer, "x", "2", nil)
		if fault.CodeOf(err) != fault.Unavailable {
			t.Fatalf("a write with the old key: got %v, want unavailable", err)
		}
		if err := writer.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := set(t.Context(), s, writer, "x", "2", nil); err != nil {
			t.Fatal(err)
		}
		requireValue(t, b.Vault, "x", "2")
	})
}

func TestRefreshRefusesAKeyOfAnotherDatabase(t *testing.T) {
	t.Parallel()
	b := setup(t, storetest.SQLite(t))
	b.set(t, "x", "1", nil)
	other, err := vault.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	if err := b.key.Replace(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	if err := b.Refresh(t.Context()); !errors.Is(err, vault.ErrWrongKey) {
		t.Fatalf("got %v, want ErrWrongKey", err)
	}
	requireValue(t, b.Vault, "x", "1")
}
