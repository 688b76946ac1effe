package provider_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/provider"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/store/storetest"
	"github.com/loam-agents/loam/wire"
)

func write(t *testing.T, s store.Store, fn func(tx store.Tx) error) {
	t.Helper()
	if err := s.Write(t.Context(), store.Interactive, fn); err != nil {
		t.Fatalf("write: %v", err)
	}
}

func read(t *testing.T, s store.Store, fn func(tx store.Tx) error) {
	t.Helper()
	if err := s.Read(t.Context(), fn); err != nil {
		t.Fatalf("read: %v", err)
	}
}

func set(t *testing.T, s store.Store, p provider.SetParams) (out provider.Provider) {
	t.Helper()
	write(t, s, func(tx store.Tx) (err error) {
		out, err = provider.Set(tx, p)
		return err
	})
	return out
}

func config(secrets map[string]string) wire.ProviderConfig {
	return wire.ProviderConfig{
		Type: "openai", SecretRefs: secrets, ModelDefaults: map[string]any{"n": int64(1), "t": 0.5, "b": []byte{1}},
	}
}

func TestSetMakesAndReplacesByName(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s store.Store) {
		want := provider.Provider{ID: "p1", Account: "z", Name: "main", Config: config(nil), CreatedAt: 1, UpdatedAt: 1}
		got := set(t, s, provider.SetParams{ID: "p1", Account: "z", Name: "main", Config: config(nil), Now: 1})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("new (-want +got):\n%s", diff)
		}
		want.Config, want.UpdatedAt = wire.ProviderConfig{Type: "ollama", SecretRefs: map[string]string{"apiKey": "k"}}, 2
		got = set(t, s, provider.SetParams{ID: "p2", Account: "z", Name: "main", Config: want.Config, Now: 2})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("replaced (-want +got):\n%s", diff)
		}
		read(t, s, func(tx store.Tx) error {
			got, err := provider.Get(tx, "z", "main")
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("Get (-want +got):\n%s", diff)
			}
			return err
		})
		info := wire.ProviderInfo{ID: "p1", Name: "main", Type: "ollama", HasSecrets: true, CreatedAt: 1, UpdatedAt: 2}
		if diff := cmp.Diff(info, got.Info()); diff != "" {
			t.Errorf("Info (-want +got):\n%s", diff)
		}
	})
}

func TestAConfigComesBackAsItWasSaved(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s store.Store) {
		want := set(t, s, provider.SetParams{ID: "p", Account: "z", Name: "main", Config: config(nil), Now: 1})
		read(t, s, func(tx store.Tx) error {
			got, err := provider.Get(tx, "z", "main")
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("provider (-want +got):\n%s", diff)
			}
			return err
		})
	})
}

func TestProvidersBelongToTheirAccount(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s store.Store) {
		for i, name := range []string{"a", "b", "c"} {
			set(t, s, provider.SetParams{ID: name, Account: "z", Name: name, Config: config(nil), Now: int64(i)})
		}
		set(t, s, provider.SetParams{ID: "other", Account: "y", Name: "a", Config: config(nil), Now: 9})
		set(t, s, provider.SetParams{ID: "new", Account: "z", Name: "a", Config: config(nil), Now: 7})
		read(t, s, func(tx store.Tx) error {
			list, err := provider.List(tx, "z")
			var names []string
			for _, p := range list {
				names = append(names, p.Name)
			}
			if diff := cmp.Diff([]string{"a", "c", "b"}, names); diff != "" {
				t.Errorf("newest update first (-want +got):\n%s", diff)
			}
			if kind, ok, err := provider.Has(tx, "z", "b"); kind != "openai" || !ok || err != nil {
				t.Errorf("Has = %q, %v, %v", kind, ok, err)
			}
			if _, ok, err := provider.Has(tx, "y", "b"); ok || err != nil {
				t.Errorf("Has of another account = %v, %v", ok, err)
			}
			if _, err := provider.Get(tx, "y", "b"); fault.CodeOf(err) != fault.NotFound {
				t.Errorf("Get of another account = %v", err)
			}
			return err
		})
	})
}

func TestDeleteNamesTheSecretsNobodyElseUses(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s store.Store) {
		for name, secrets := range map[string]map[string]string{
			"both":   {"apiKey": "shared", "oauth": "own"},
			"shares": {"oauth": "shared"},
			"twice":  {"apiKey": "same", "oauth": "same"},
			"none":   nil,
		} {
			set(t, s, provider.SetParams{ID: name, Account: "z", Name: name, Config: config(secrets)})
		}
		set(t, s, provider.SetParams{ID: "y", Account: "y", Name: "y", Config: config(map[string]string{"apiKey": "own"})})
		for _, c := range []struct {
			name string
			want []string
		}{{"both", []string{"own"}}, {"shares", []string{"shared"}}, {"twice", []string{"same"}}, {"none", nil}} {
			var got []string
			write(t, s, func(tx store.Tx) (err error) {
				got, err = provider.Delete(tx, "z", c.name)
				return err
			})
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.name, diff)
			}
		}
		err := s.Write(t.Context(), store.Interactive, func(tx store.Tx) error {
			_, err := provider.Delete(tx, "z", "both")
			return err
		})
		if fault.CodeOf(err) != fault.NotFound || err.Error() != "Model provider not found" {
			t.Errorf("second deletion: %v", err)
		}
	})
}
