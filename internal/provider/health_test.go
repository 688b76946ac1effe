package provider_test

import (
	"strings"
	"testing"

	"github.com/loam-agents/loam/internal/provider"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/store/storetest"
)

func TestAProviderRemembersHowItFaredUntilItIsConfiguredAnew(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s store.Store) {
		first := set(t, s, provider.SetParams{ID: "p1", Account: "z", Name: "main", Config: config(nil), Now: 1})
		health := func() (h provider.Health) {
			read(t, s, func(tx store.Tx) error {
				p, err := provider.Get(tx, "z", "main")
				h = p.Health
				return err
			})
			return h
		}
		write(t, s, func(tx store.Tx) error { return provider.Succeeded(tx, &first, 5) })
		write(t, s, func(tx store.Tx) error { return provider.Failed(tx, &first, "it is\x00away", 7) })
		want := provider.Health{LastSuccessAt: 5, LastErrorAt: 7, LastError: "it is\uFFFDaway"}
		if got := health(); got != want {
			t.Errorf("it fared %+v, want %+v", got, want)
		}
		// Older news comes late, and what is too long is cut between characters.
		write(t, s, func(tx store.Tx) error { return provider.Succeeded(tx, &first, 4) })
		write(t, s, func(tx store.Tx) error { return provider.Failed(tx, &first, "older", 6) })
		if got := health(); got != want {
			t.Errorf("after older news %+v", got)
		}
		write(t, s, func(tx store.Tx) error {
			return provider.Failed(tx, &first, "x"+strings.Repeat("é", provider.MaxLastError), 8)
		})
		if got := health().LastError; len(got) != provider.MaxLastError-1 || strings.Trim(got, "é") != "x" {
			t.Errorf("a long error is kept as %d bytes", len(got))
		}
		set(t, s, provider.SetParams{ID: "p2", Account: "z", Name: "main", Config: config(nil), Now: 9})
		// An answer to the earlier configuration says nothing about this one.
		write(t, s, func(tx store.Tx) error { return provider.Succeeded(tx, &first, 10) })
		if got := health(); got != (provider.Health{}) {
			t.Errorf("the new configuration fared %+v", got)
		}
	})
}
