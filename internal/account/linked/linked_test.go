package linked_test

import (
	"testing"

	"github.com/loam-agents/loam/internal/account/linked"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/store/storetest"
)

func TestAKeyActsAsOneAccountUntilItIsTakenOut(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s store.Store) {
		link := func(key, account, name string) error {
			return s.Write(t.Context(), store.Interactive, func(tx store.Tx) error {
				return linked.Link(tx, linked.Key{Key: key, Account: account, Name: name, CreatedAt: 1})
			})
		}
		for _, name := range []string{"desk", "desktop"} {
			if err := link("k", "z", name); err != nil {
				t.Fatal(err)
			}
		}
		if err := link("k", "y", "mine"); fault.CodeOf(err) != fault.Conflict {
			t.Errorf("another account takes the key: %v", err)
		}
		err := s.Write(t.Context(), store.Interactive, func(tx store.Tx) error {
			account, ok, err := linked.AccountOf(tx, "k")
			if account != "z" || !ok || err != nil {
				t.Errorf("it acts as %q, %v, %v", account, ok, err)
			}
			if list, _, err := linked.List(tx, "z", store.Page{}); len(list) != 1 || list[0].Name != "desktop" {
				t.Errorf("listed %+v, %v", list, err)
			}
			if err := linked.Delete(tx, "y", "k"); fault.CodeOf(err) != fault.NotFound {
				t.Errorf("another account takes it out: %v", err)
			}
			if err := linked.Delete(tx, "z", "k"); err != nil {
				return err
			}
			if _, ok, err := linked.AccountOf(tx, "k"); ok || err != nil {
				t.Errorf("it still acts, %v", err)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}
