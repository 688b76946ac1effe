// Package account knows which accounts exist, which one owns the server, and who may act on it.
//
// An account is named by a principal (`z6Mk…`): the key that owns things. A row is made before anything refers to it and is
// never removed by this package. One account is the server owner; the first start makes it.
//
// Every function works inside the caller's transaction. The packages below remember what was already answered: nonce for
// signed actions that arrive twice, idempotency for ids that clients choose.
//
// account is tier 2: it imports store and fault. Operations (tier 6) and the composition root call it.
package account

import (
	"database/sql"
	"errors"
	"fmt"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/store"
)

// ownerRole marks the row of the server owner.
const ownerRole = "owner"

// ownerLock serialises the election of the server owner, which looks before it writes.
const ownerLock = "account/server-owner"

// Ensure makes the account's row if there is none. now is epoch milliseconds.
func Ensure(tx store.Tx, id string, now int64) error {
	_, err := tx.Exec(`INSERT INTO accounts (id, role, created_at, updated_at) VALUES (?, '', ?, ?)
		ON CONFLICT (id) DO NOTHING`, id, now, now)
	if err != nil {
		return fmt.Errorf("ensure account: %w", err)
	}
	return nil
}

// Exists tells whether the account has a row.
func Exists(tx store.Tx, id string) (bool, error) {
	var n int64
	if err := tx.QueryRow(`SELECT COUNT(*) FROM accounts WHERE id = ?`, id).Scan(&n); err != nil {
		return false, fmt.Errorf("look up account: %w", err)
	}
	return n > 0, nil
}

// Owner is the account of the server owner; ok is false before the first start has made one.
func Owner(tx store.Tx) (id string, ok bool, err error) {
	err = tx.QueryRow(`SELECT id FROM accounts WHERE role = ?`, ownerRole).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("look up server owner: %w", err)
	}
	return id, true, nil
}

// EnsureOwner makes the account the server owner. It may be repeated. A server has one owner for good: naming another
// account is a fault.Conflict.
func EnsureOwner(tx store.Tx, id string, now int64) error {
	if err := tx.Lock(ownerLock); err != nil {
		return fmt.Errorf("lock server owner: %w", err)
	}
	current, ok, err := Owner(tx)
	if err != nil {
		return err
	}
	if ok && current != id {
		return fault.New(fault.Conflict, "The server already has another owner").With("owner", current)
	}
	if ok {
		return nil
	}
	_, err = tx.Exec(`INSERT INTO accounts (id, role, created_at, updated_at) VALUES (?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET role = excluded.role, updated_at = excluded.updated_at`, id, ownerRole, now, now)
	if err != nil {
		return fmt.Errorf("make server owner: %w", err)
	}
	return nil
}
