package account_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/loam-agents/loam/internal/account"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/store/storetest"
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

func owner(t *testing.T, s store.Store) (id string, ok bool) {
	t.Helper()
	read(t, s, func(tx store.Tx) (err error) {
		id, ok, err = account.Owner(tx)
		return err
	})
	return id, ok
}

func exists(t *testing.T, s store.Store, id string) (ok bool) {
	t.Helper()
	read(t, s, func(tx store.Tx) (err error) {
		ok, err = account.Exists(tx, id)
		return err
	})
	return ok
}

func TestEnsureMakesAnAccountOnce(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s store.Store) {
		if exists(t, s, "z1") {
			t.Fatal("an account exists before it was made")
		}
		for now := range int64(2) {
			write(t, s, func(tx store.Tx) error { return account.Ensure(tx, "z1", now) })
		}
		if !exists(t, s, "z1") {
			t.Error("the account was not made")
		}
		if id, ok := owner(t, s); ok {
			t.Errorf("an ordinary account became owner: %s", id)
		}
	})
}

func TestAServerHasOneOwnerForGood(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s store.Store) {
		write(t, s, func(tx store.Tx) error { return account.Ensure(tx, "z1", 1) })
		for range 2 {
			write(t, s, func(tx store.Tx) error { return account.EnsureOwner(tx, "z1", 2) })
		}
		err := s.Write(t.Context(), store.Interactive, func(tx store.Tx) error { return account.EnsureOwner(tx, "z2", 3) })
		if fault.CodeOf(err) != fault.Conflict {
			t.Errorf("second owner: %v", err)
		}
		write(t, s, func(tx store.Tx) error { return account.Ensure(tx, "z1", 4) })
		if id, ok := owner(t, s); !ok || id != "z1" {
			t.Errorf("owner = %q, %v", id, ok)
		}
		if exists(t, s, "z2") {
			t.Error("the refused owner left a row")
		}
	})
}

func TestOneOfManyWinsTheElection(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s store.Store) {
		errs := make([]error, 8)
		var group sync.WaitGroup
		for i := range errs {
			group.Go(func() {
				id := "z" + string(rune('a'+i))
				errs[i] = s.Write(t.Context(), store.Interactive, func(tx store.Tx) error {
					return account.EnsureOwner(tx, id, 1)
				})
			})
		}
		group.Wait()
		won := 0
		for _, err := range errs {
			if err == nil {
				won++
			} else if fault.CodeOf(err) != fault.Conflict {
				t.Errorf("loser got %v", err)
			}
		}
		if won != 1 {
			t.Errorf("%d accounts won", won)
		}
	})
}

func TestPolicySaysWhoMayAct(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s store.Store) {
		write(t, s, func(tx store.Tx) error { return account.Ensure(tx, "known", 1) })
		for name, c := range map[string]struct {
			policy account.Policy
			id     string
			want   fault.Code
		}{
			"open takes anybody":       {account.Policy{Open: true}, "stranger", ""},
			"invite takes the known":   {account.Policy{}, "known", ""},
			"invite refuses strangers": {account.Policy{}, "stranger", fault.PermissionDenied},
		} {
			var err error
			read(t, s, func(tx store.Tx) error {
				err = c.policy.MayAct(tx, c.id)
				return nil
			})
			if fault.CodeOf(err) != c.want {
				t.Errorf("%s: %v", name, err)
			}
			if err != nil && !strings.Contains(err.Error(), c.id) {
				t.Errorf("%s: the text does not name the account: %v", name, err)
			}
		}
	})
}
