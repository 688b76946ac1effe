package delegation_test

import (
	"testing"

	"github.com/loam-agents/loam/internal/account/delegation"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/store/storetest"
)

func TestARevokedSignerComesBackWithANewerCapabilityOnly(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s store.Store) {
		write := func(fn func(tx store.Tx) error) error { return s.Write(t.Context(), store.Interactive, fn) }
		record := func(key string, issued int64) error {
			return write(func(tx store.Tx) error {
				return delegation.Record(tx, delegation.Signer{
					Account: "z", Key: key, Label: "web", Capability: []byte{1}, CapabilityID: "c", IssuedAt: issued, CreatedAt: issued,
				})
			})
		}
		may := func(account, key string) (ok bool) {
			err := s.Read(t.Context(), func(tx store.Tx) (err error) {
				ok, err = delegation.May(tx, account, key)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			return ok
		}
		if may("z", "k") {
			t.Error("a key may act before anything was recorded")
		}
		for range 2 {
			if err := record("k", 10); err != nil {
				t.Fatal(err)
			}
		}
		if !may("z", "k") || may("y", "k") || may("z", "other") {
			t.Error("what was recorded does not count for its account and key alone")
		}
		for _, now := range []int64{20, 30} {
			if err := write(func(tx store.Tx) error { return delegation.Revoke(tx, "z", "k", now) }); err != nil {
				t.Fatal(err)
			}
		}
		for _, issued := range []int64{10, 20} {
			if err := record("k", issued); fault.CodeOf(err) != fault.Unauthenticated || may("z", "k") {
				t.Errorf("a capability of %d counts after a revocation at 20: %v", issued, err)
			}
		}
		if err := record("k", 21); err != nil || !may("z", "k") {
			t.Errorf("a newer capability does not count: %v", err)
		}
		if err := write(func(tx store.Tx) error { return delegation.Revoke(tx, "y", "k", 1) }); fault.CodeOf(err) != fault.NotFound {
			t.Errorf("another account revokes it: %v", err)
		}
		err := s.Read(t.Context(), func(tx store.Tx) error {
			list, _, err := delegation.List(tx, "z", store.Page{})
			if len(list) != 1 || list[0].Info().SignerID != "k" || list[0].IssuedAt != 21 || list[0].CreatedAt != 10 || list[0].RevokedAt != 0 {
				t.Errorf("listed %+v", list)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}
