// Package signin keeps one-time sign-in codes and the browsers that are signed in.
//
// A code is made for somebody who has proved to be the account (by a key, at the console of the server, or signed in already),
// works once and for CodeLife. It opens a sign-in, which a browser proves by its cookie. Of both only hashes are stored.
//
// signin belongs to account (tier 2): it imports store, fault and its neighbour bearer. Operations call it.
package signin

import (
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/loam-agents/loam/internal/account/bearer"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/store"
)

// CodeLife is how long a code can be used.
const CodeLife = 15 * time.Minute

// Issue makes a code for an account and returns it with its last moment. now is epoch milliseconds.
func Issue(tx store.Tx, account string, now int64) (code string, expiresAt int64, err error) {
	if _, err := tx.Exec(`DELETE FROM sign_in_codes WHERE expires_at <= ?`, now); err != nil {
		return "", 0, fmt.Errorf("forget old sign-in codes: %w", err)
	}
	code, expiresAt = bearer.New(""), now+CodeLife.Milliseconds()
	_, err = tx.Exec(`INSERT INTO sign_in_codes (hash, account_id, expires_at) VALUES (?, ?, ?)`, bearer.Hash(code), account, expiresAt)
	if err != nil {
		return "", 0, fmt.Errorf("make a sign-in code: %w", err)
	}
	return code, expiresAt, nil
}

// Redeem uses a code up and returns its account. One that is unknown, used or old is fault.Unauthenticated: the same answer.
func Redeem(tx store.Tx, code string, now int64) (account string, err error) {
	var expiresAt int64
	err = tx.QueryRow(`DELETE FROM sign_in_codes WHERE hash = ? RETURNING account_id, expires_at`, bearer.Hash(code)).Scan(&account, &expiresAt)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("use a sign-in code: %w", err)
	}
	if err != nil || expiresAt <= now {
		return "", fault.New(fault.Unauthenticated, "This sign-in link was used already or is too old: `loam link` prints a new one")
	}
	return account, nil
}
