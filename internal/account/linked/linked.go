// Package linked knows the keys that act as another account than their own: a person's desktop key as the account of the server
// owner (`loam link --account`).
//
// A link changes what every signed action of a key means. Whoever could link the keys of others would receive what they write; so
// an operation lets the server owner alone make links.
//
// linked belongs to account (tier 2): it imports store, fault and principal. Operations call it.
package linked

import (
	"database/sql"
	"errors"
	"fmt"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

// Key is one link.
type Key struct {
	// Key is the principal that acts as Account.
	Key, Account, Name string
	// CreatedAt is epoch milliseconds.
	CreatedAt int64
}

// Info is the link as its account sees it.
func (k Key) Info() wire.KeyInfo {
	return wire.KeyInfo{Key: k.Key, Name: k.Name, CreatedAt: k.CreatedAt}
}

// Link makes a key act as an account. The same link again gives it another name; a key that acts as another account is
// fault.Conflict.
func Link(tx store.Tx, k Key) error {
	n, err := tx.Exec(`INSERT INTO account_keys (key, account_id, name, created_at) VALUES (?, ?, ?, ?)
		ON CONFLICT (key) DO UPDATE SET name = excluded.name WHERE account_keys.account_id = excluded.account_id`,
		k.Key, k.Account, k.Name, k.CreatedAt)
	if err != nil {
		return fmt.Errorf("link key: %w", err)
	}
	if n == 0 {
		return fault.New(fault.Conflict, "This key acts as another account already")
	}
	return nil
}

// AccountOf is the account that a key acts as; ok is false when it acts as its own.
func AccountOf(tx store.Tx, key string) (account string, ok bool, err error) {
	err = tx.QueryRow(`SELECT account_id FROM account_keys WHERE key = ?`, key).Scan(&account)
	if errors.Is(err, sql.ErrNoRows) {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("look up key: %w", err)
	}
	return account, true, nil
}

// List returns a page of the keys that act as an account, newest first, and whether there are more.
func List(tx store.Tx, account string, p store.Page) (page []Key, more bool, err error) {
	clause, args := p.Clause("created_at", "key")
	rows, err := tx.Query(`SELECT key, account_id, name, created_at FROM account_keys WHERE account_id = ?`+clause,
		append([]any{account}, args...)...)
	if err != nil {
		return nil, false, fmt.Errorf("list keys: %w", err)
	}
	defer rows.Close()
	out := []Key{}
	for rows.Next() {
		var k Key
		if err := rows.Scan(&k.Key, &k.Account, &k.Name, &k.CreatedAt); err != nil {
			return nil, false, fmt.Errorf("read key: %w", err)
		}
		out = append(out, k)
	}
	page, more = store.CutPage(p, out)
	return page, more, rows.Err()
}

// Delete ends a link of an account. A missing one, and one of another account, is fault.NotFound.
func Delete(tx store.Tx, account, key string) error {
	n, err := tx.Exec(`DELETE FROM account_keys WHERE key = ? AND account_id = ?`, key, account)
	if err != nil {
		return fmt.Errorf("unlink key: %w", err)
	}
	if n == 0 {
		return fault.Missing("Key not found")
	}
	return nil
}
