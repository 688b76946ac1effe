package signin_test

import (
	"testing"

	"github.com/loam-agents/loam/internal/account/signin"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/store/storetest"
)

func write(t *testing.T, s store.Store, fn func(tx store.Tx) error) error {
	t.Helper()
	return s.Write(t.Context(), store.Interactive, fn)
}

func TestACodeWorksOnceAndForItsTime(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s store.Store) {
		life := signin.CodeLife.Milliseconds()
		for name, c := range map[string]struct {
			at   int64
			code fault.Code
		}{"in time": {100 + life - 1, ""}, "too late": {100 + life, fault.Unauthenticated}} {
			var code, account string
			if err := write(t, s, func(tx store.Tx) (err error) {
				code, _, err = signin.Issue(tx, "z", 100)
				return err
			}); err != nil {
				t.Fatal(err)
			}
			redeem := func() error {
				return write(t, s, func(tx store.Tx) (err error) {
					account, err = signin.Redeem(tx, code, c.at)
					return err
				})
			}
			if err := redeem(); fault.CodeOf(err) != c.code || err == nil && account != "z" {
				t.Errorf("%s: %q, %v", name, account, err)
			}
			if err := redeem(); fault.CodeOf(err) != fault.Unauthenticated {
				t.Errorf("%s, the second time: %v", name, err)
			}
		}
	})
}

func TestASignInIsFoundByItsCookieUntilItEnds(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s store.Store) {
		var first, second signin.SignIn
		var cookie string
		err := write(t, s, func(tx store.Tx) (err error) {
			p := signin.OpenParams{ID: "1", Account: "z", Method: signin.ByLink, UserAgent: "a\x00b", Now: 1}
			if first, cookie, err = signin.Open(tx, p); err != nil {
				return err
			}
			p.ID, p.Now = "2", 2
			second, _, err = signin.Open(tx, p)
			return err
		})
		if err != nil || first.UserAgent != "ab" {
			t.Fatalf("%+v, %v", first, err)
		}
		find := func(cookie string, now int64) (found signin.SignIn, err error) {
			err = s.Read(t.Context(), func(tx store.Tx) (err error) {
				found, err = signin.Find(tx, cookie, now)
				return err
			})
			return found, err
		}
		if got, err := find(cookie, first.ExpiresAt-1); err != nil || got != first {
			t.Errorf("found %+v, %v", got, err)
		}
		for name, err := range map[string]error{"expired": problem(find(cookie, first.ExpiresAt)), "unknown": problem(find("x", 1))} {
			if fault.CodeOf(err) != fault.Unauthenticated {
				t.Errorf("%s: %v", name, err)
			}
		}
		err = write(t, s, func(tx store.Tx) error {
			if err := signin.Touch(tx, "1", 50); err != nil {
				return err
			}
			list, _, err := signin.List(tx, "z", 50, store.Page{})
			if len(list) != 2 || list[0].ID != second.ID || list[1].LastUsedAt != 50 || list[1].Used(51) || !list[1].Info("1").Current {
				t.Errorf("listed %+v, %v", list, err)
			}
			if err := signin.Delete(tx, "y", "1"); fault.CodeOf(err) != fault.NotFound {
				t.Errorf("another account signs it out: %v", err)
			}
			return signin.Delete(tx, "z", "1")
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := find(cookie, 10); fault.CodeOf(err) != fault.Unauthenticated {
			t.Errorf("after its end: %v", err)
		}
	})
}

// problem is the error of a lookup.
func problem(_ signin.SignIn, err error) error { return err }
