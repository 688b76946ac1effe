package token_test

import (
	"strings"
	"testing"

	"github.com/loam-agents/loam/internal/account"
	"github.com/loam-agents/loam/internal/account/token"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/store/storetest"
)

func create(t *testing.T, s store.Store, p token.CreateParams) (made token.Token, text string) {
	t.Helper()
	err := s.Write(t.Context(), store.Interactive, func(tx store.Tx) (err error) {
		made, text, err = token.Create(tx, p)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return made, text
}

func find(t *testing.T, s store.Store, text string, now int64) (found token.Token, err error) {
	t.Helper()
	err = s.Read(t.Context(), func(tx store.Tx) (err error) {
		found, err = token.Find(tx, text, now)
		return err
	})
	return found, err
}

func TestATokenIsFoundByItsTextUntilItExpiresOrIsDeleted(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s store.Store) {
		p := token.CreateParams{ID: "1", Account: "z", Name: "ci", Scopes: []account.Scope{account.Read, account.Admin}, ExpiresAt: 20, Now: 10}
		made, text := create(t, s, p)
		p.ID, p.ExpiresAt = "2", 0
		_, lasting := create(t, s, p)
		if !strings.HasPrefix(text, token.Prefix) || text == lasting || len(text) < 30 {
			t.Errorf("the texts are %q and %q", text, lasting)
		}
		found, err := find(t, s, text, 19)
		if err != nil || found.ID != made.ID || found.Account != "z" || len(found.Scopes) != 2 || found.Scopes[1] != account.Admin {
			t.Errorf("found %+v, %v; made %+v", found, err, made)
		}
		for name, c := range map[string]struct {
			text string
			now  int64
		}{"expired": {text, 20}, "unknown": {"loam_x", 10}, "empty": {"", 10}, "its hash": {strings.TrimPrefix(text, token.Prefix), 10}} {
			if _, err := find(t, s, c.text, c.now); fault.CodeOf(err) != fault.Unauthenticated {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, err := find(t, s, lasting, 1<<60); err != nil {
			t.Errorf("a token without expiry: %v", err)
		}
		remove := func(account, id string) error {
			return s.Write(t.Context(), store.Interactive, func(tx store.Tx) error { return token.Delete(tx, account, id) })
		}
		for _, err := range []error{remove("y", "1"), remove("z", "none")} {
			if fault.CodeOf(err) != fault.NotFound {
				t.Errorf("deleting what is not there, or another's: %v", err)
			}
		}
		if err := remove("z", "2"); err != nil {
			t.Fatal(err)
		}
		if _, err := find(t, s, lasting, 10); fault.CodeOf(err) != fault.Unauthenticated {
			t.Errorf("after its deletion: %v", err)
		}
	})
}

func TestTokensAreListedWithTheirLastUse(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s store.Store) {
		for i, id := range []string{"a", "b"} {
			create(t, s, token.CreateParams{ID: id, Account: "z", Name: id, Scopes: []account.Scope{account.Read}, Now: int64(i)})
		}
		create(t, s, token.CreateParams{ID: "other", Account: "y", Scopes: []account.Scope{account.Read}})
		const later = 1 << 40
		var list []token.Token
		err := s.Write(t.Context(), store.Interactive, func(tx store.Tx) (err error) {
			for _, now := range []int64{later, 5} {
				if err := token.Touch(tx, "a", now); err != nil {
					return err
				}
			}
			list, _, err = token.List(tx, "z", store.Page{})
			return err
		})
		if err != nil || len(list) != 2 || list[0].ID != "b" || list[1].LastUsedAt != later {
			t.Errorf("listed %+v, %v", list, err)
		}
		if list[1].Used(later+1) || !list[0].Used(later) {
			t.Error("a use is not worth recording every moment, and a first one is")
		}
	})
}

func TestTheNumberOfTokensIsBounded(t *testing.T) {
	t.Parallel()
	s := storetest.SQLite(t)
	err := s.Write(t.Context(), store.Interactive, func(tx store.Tx) error {
		for i := range token.MaxPerAccount + 1 {
			_, _, err := token.Create(tx, token.CreateParams{ID: strings.Repeat("x", i+1), Account: "z", Scopes: []account.Scope{account.Read}})
			if err != nil && i < token.MaxPerAccount {
				return err
			}
			if i == token.MaxPerAccount && fault.CodeOf(err) != fault.Conflict {
				t.Errorf("token %d: %v", i, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
