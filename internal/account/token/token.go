// Package token keeps the bearer tokens with which programs act for an account.
//
// A token's text is shown once, when it is made; the database holds its hash. It has a name, scopes, and a time of expiry or
// none.
//
// token belongs to account (tier 2): it imports store, fault and its neighbours. Operations make, list and delete tokens; the
// REST transport finds the one that a request shows.
package token

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/loam-agents/loam/internal/account"
	"github.com/loam-agents/loam/internal/account/bearer"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

// Prefix begins every token, so that people and secret scanners know one when they see it.
const Prefix = "loam_"

// MaxPerAccount bounds the tokens of an account.
const MaxPerAccount = 200

// useGrain is how exactly the time of the last use is known, in milliseconds: not every request is worth a write.
const useGrain = 10 * 60 * 1000

// Token is one row, without the text.
type Token struct {
	ID, Account, Name string
	Scopes            []account.Scope
	// CreatedAt, ExpiresAt and LastUsedAt are epoch milliseconds; zero is never.
	CreatedAt, ExpiresAt, LastUsedAt int64
}

// Info is the token as its account sees it.
func (t Token) Info() wire.TokenInfo {
	names := make([]string, len(t.Scopes))
	for i, s := range t.Scopes {
		names[i] = string(s)
	}
	return wire.TokenInfo{
		ID: t.ID, Name: t.Name, Scopes: names, CreatedAt: t.CreatedAt, ExpiresAt: t.ExpiresAt, LastUsedAt: t.LastUsedAt,
	}
}

// Used tells whether the use at a time is worth recording with Touch.
func (t Token) Used(now int64) bool { return now-t.LastUsedAt >= useGrain }

// CreateParams is a token to make.
type CreateParams struct {
	// ID is a fresh identifier. Account must exist.
	ID, Account, Name string
	Scopes            []account.Scope
	// ExpiresAt and Now are epoch milliseconds; ExpiresAt may be zero, for never.
	ExpiresAt, Now int64
}

// Create makes a token and returns its text, which cannot be read again. More than MaxPerAccount are fault.Conflict, an expiry
// that has passed fault.Invalid.
func Create(tx store.Tx, p CreateParams) (t Token, text string, err error) {
	if p.ExpiresAt != 0 && p.ExpiresAt <= p.Now {
		return Token{}, "", fault.Invalid("expiresAt has passed already: give a later time in milliseconds since 1970").With("field", "expiresAt")
	}
	var count int64
	if err := tx.QueryRow(`SELECT count(*) FROM api_tokens WHERE account_id = ?`, p.Account).Scan(&count); err != nil {
		return Token{}, "", fmt.Errorf("count tokens: %w", err)
	}
	if count >= MaxPerAccount {
		return Token{}, "", fault.New(fault.Conflict, "There are %d tokens already: delete those that nobody uses", count).With("limit", MaxPerAccount)
	}
	text = bearer.New(Prefix)
	t = Token{ID: p.ID, Account: p.Account, Name: p.Name, Scopes: p.Scopes, CreatedAt: p.Now, ExpiresAt: p.ExpiresAt}
	_, err = tx.Exec(`INSERT INTO api_tokens (id, account_id, name, hash, scopes, created_at, expires_at, last_used_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, 0)`, t.ID, t.Account, t.Name, bearer.Hash(text), join(t.Scopes), t.CreatedAt, t.ExpiresAt)
	if err != nil {
		return Token{}, "", fmt.Errorf("create token: %w", err)
	}
	return t, text, nil
}

const columns = `id, account_id, name, scopes, created_at, expires_at, last_used_at`

// Find is the token with a text. One that does not exist, was deleted or has expired is fault.Unauthenticated.
func Find(tx store.Tx, text string, now int64) (Token, error) {
	t, err := scan(tx.QueryRow(`SELECT `+columns+` FROM api_tokens WHERE hash = ?`, bearer.Hash(text)).Scan)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return Token{}, fault.New(fault.Unauthenticated, "The token is unknown or was revoked: make another one")
	case err != nil:
		return Token{}, err
	case t.ExpiresAt != 0 && t.ExpiresAt <= now:
		return Token{}, fault.New(fault.Unauthenticated, "The token has expired: make another one")
	}
	return t, nil
}

// List returns a page of the tokens of an account, newest first, those that have expired among them, and whether there are more.
func List(tx store.Tx, accountID string, p store.Page) (page []Token, more bool, err error) {
	clause, args := p.Clause("created_at", "id")
	rows, err := tx.Query(`SELECT `+columns+` FROM api_tokens WHERE account_id = ?`+clause, append([]any{accountID}, args...)...)
	if err != nil {
		return nil, false, fmt.Errorf("list tokens: %w", err)
	}
	defer rows.Close()
	out := []Token{}
	for rows.Next() {
		t, err := scan(rows.Scan)
		if err != nil {
			return nil, false, err
		}
		out = append(out, t)
	}
	page, more = store.CutPage(p, out)
	return page, more, rows.Err()
}

// Delete ends a token of an account. A missing one, and one of somebody else, is fault.NotFound.
func Delete(tx store.Tx, accountID, id string) error {
	n, err := tx.Exec(`DELETE FROM api_tokens WHERE id = ? AND account_id = ?`, id, accountID)
	if err != nil {
		return fmt.Errorf("delete token: %w", err)
	}
	if n == 0 {
		return fault.Missing("Token not found")
	}
	return nil
}

// Touch records that a token was used.
func Touch(tx store.Tx, id string, now int64) error {
	if _, err := tx.Exec(`UPDATE api_tokens SET last_used_at = ? WHERE id = ? AND last_used_at < ?`, now, id, now); err != nil {
		return fmt.Errorf("record the use of a token: %w", err)
	}
	return nil
}

func scan(into func(...any) error) (t Token, err error) {
	var scopes string
	if err := into(&t.ID, &t.Account, &t.Name, &scopes, &t.CreatedAt, &t.ExpiresAt, &t.LastUsedAt); err != nil {
		return Token{}, fmt.Errorf("read token: %w", err)
	}
	t.Scopes = []account.Scope{}
	for name := range strings.FieldsSeq(scopes) {
		t.Scopes = append(t.Scopes, account.Scope(name))
	}
	return t, nil
}

func join(scopes []account.Scope) string {
	names := make([]string, len(scopes))
	for i, s := range scopes {
		names[i] = string(s)
	}
	return strings.Join(names, " ")
}
