// Package idempotency remembers what a client-chosen id was answered, for good (spec/agents-protocol.md §2.6).
//
// The same account, action and id with the same request gets the stored response; with another request it is a conflict.
// The lookup, the effect and the record belong in one transaction.
//
// idempotency belongs to account (tier 2). Operations call it.
package idempotency

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/store"
)

// messageAction is the one action whose client id is called a message id.
const messageAction = "MessageSession"

// Key is the scope of a client-chosen id.
type Key struct {
	// Account is the acting account; for MessageSession the one whose user signs, not the session's owner.
	Account string
	// Action is the discriminator of the action.
	Action string
	// ClientID is what the client chose, at most 256 bytes.
	ClientID string
}

// Lookup finds the response recorded under the key. request is the encoded part of the request that has to be the same,
// without its time; when it differs from the recorded one Lookup returns fault.Conflict with the wire's text.
func Lookup(tx store.Tx, k Key, request []byte) (response []byte, found bool, err error) {
	var recorded []byte
	err = tx.QueryRow(`SELECT request, response FROM action_idempotency
		WHERE account_id = ? AND action = ? AND client_id = ?`, k.Account, k.Action, k.ClientID).Scan(&recorded, &response)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("look up client id: %w", err)
	}
	if !bytes.Equal(recorded, request) {
		return nil, false, mismatch(k.Action)
	}
	return response, true, nil
}

// Record keeps the response of a request. When the key is taken, by this request or another, it returns fault.Conflict:
// the caller looks first, in the same transaction.
func Record(tx store.Tx, k Key, request, response []byte, now int64) error {
	n, err := tx.Exec(`INSERT INTO action_idempotency (account_id, action, client_id, request, response, created_at)
		VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (account_id, action, client_id) DO NOTHING`,
		k.Account, k.Action, k.ClientID, notNil(request), notNil(response), now)
	if err != nil {
		return fmt.Errorf("record client id: %w", err)
	}
	if n == 0 {
		return mismatch(k.Action)
	}
	return nil
}

func mismatch(action string) error {
	if action == messageAction {
		return fault.New(fault.Conflict, "Client message ID payload mismatch")
	}
	return fault.New(fault.Conflict, "Client request ID payload mismatch")
}

// notNil keeps an empty value apart from NULL, which the columns refuse.
func notNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
