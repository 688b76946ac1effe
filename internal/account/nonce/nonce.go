// Package nonce remembers signed actions, so that the same bytes sent twice act once (design §10.4).
//
// A mutation records the hash of its envelope in the transaction of its effect, together with the answer, or with
// what stands for an answer that is to follow. The same envelope again finds the entry and gets the same answer. Entries are kept until the clock
// window of the envelope has passed; after that its age alone refuses it.
//
// nonce belongs to account (tier 2). The signed transport and the operations call it.
package nonce

import (
	"database/sql"
	"errors"
	"fmt"

	"github.com/loam-agents/loam/internal/store"
)

// Errors of this package.
var (
	// ErrSeen says that the hash was recorded before: look it up instead of acting.
	ErrSeen = errors.New("action was already recorded")
)

// Entry is one signed mutation.
type Entry struct {
	// Hash is the hex SHA-256 of the envelope as it arrived.
	Hash string
	// Account is who acts; Action is the discriminator of the action.
	Account, Action string
	// Response is the encoded answer, or what stands for it.
	Response []byte
	// ExpiresAt is the last epoch millisecond in which the envelope could still be accepted.
	ExpiresAt int64
}

// Lookup finds what was recorded for a hash.
func Lookup(tx store.Tx, hash string) (response []byte, known bool, err error) {
	err = tx.QueryRow(`SELECT response FROM action_nonces WHERE hash = ?`, hash).Scan(&response)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("look up nonce: %w", err)
	}
	return response, true, nil
}

// Record keeps an entry. It returns ErrSeen, and the transaction must be given up, when the hash is there already.
func Record(tx store.Tx, e Entry) error {
	n, err := tx.Exec(`INSERT INTO action_nonces (hash, account_id, action, response, expires_at) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (hash) DO NOTHING`, e.Hash, e.Account, e.Action, e.Response, e.ExpiresAt)
	if err != nil {
		return fmt.Errorf("record nonce: %w", err)
	}
	if n == 0 {
		return ErrSeen
	}
	return nil
}

// Prune removes at most limit entries that expired before now, oldest first, and returns how many it removed. An entry is
// kept through the millisecond of its ExpiresAt.
func Prune(tx store.Tx, now int64, limit int) (int64, error) {
	n, err := tx.Exec(`DELETE FROM action_nonces WHERE hash IN
		(SELECT hash FROM action_nonces WHERE expires_at < ? ORDER BY expires_at, hash LIMIT ?)`, now, limit)
	if err != nil {
		return 0, fmt.Errorf("prune nonces: %w", err)
	}
	return n, nil
}
