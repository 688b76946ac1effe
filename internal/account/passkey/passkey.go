// Package passkey lets people sign in with an authenticator (WebAuthn): a fingerprint reader, a phone, a security key.
//
// An authenticator makes a key pair for this server's name and proves later that it holds it, by signing a challenge. The server
// keeps the public key. Both ceremonies have two steps: a challenge is asked, kept for ChallengeLife, and answered once.
//
// Browsers bind passkeys to a host name: they work under the public URL's, or else under localhost, and never under an IP address.
//
// passkey belongs to account (tier 2): it imports store, fault and its neighbour bearer. Operations call it.
package passkey

import (
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/go-webauthn/webauthn/webauthn"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

// MaxPerAccount bounds the passkeys of an account.
const MaxPerAccount = 50

// Passkey is one row.
type Passkey struct {
	ID, Account, Name string
	// CreatedAt and LastUsedAt are epoch milliseconds; LastUsedAt may be zero.
	CreatedAt, LastUsedAt int64

	credential webauthn.Credential
}

// Info is the passkey as its account sees it.
func (p Passkey) Info() wire.PasskeyInfo {
	return wire.PasskeyInfo{ID: p.ID, Name: p.Name, CreatedAt: p.CreatedAt, LastUsedAt: p.LastUsedAt}
}

const columns = `id, account_id, name, credential, created_at, last_used_at`

// List returns a page of the passkeys of an account, newest first, and whether there are more.
func List(tx store.Tx, account string, p store.Page) (page []Passkey, more bool, err error) {
	clause, args := p.Clause("created_at", "id")
	rows, err := tx.Query(`SELECT `+columns+` FROM passkeys WHERE account_id = ?`+clause, append([]any{account}, args...)...)
	if err != nil {
		return nil, false, fmt.Errorf("list passkeys: %w", err)
	}
	defer rows.Close()
	out := []Passkey{}
	for rows.Next() {
		p, err := scan(rows.Scan)
		if err != nil {
			return nil, false, err
		}
		out = append(out, p)
	}
	page, more = store.CutPage(p, out)
	return page, more, rows.Err()
}

// Delete forgets a passkey of an account. A missing one, and one of somebody else, is fault.NotFound.
func Delete(tx store.Tx, account, id string) error {
	n, err := tx.Exec(`DELETE FROM passkeys WHERE id = ? AND account_id = ?`, id, account)
	if err != nil {
		return fmt.Errorf("delete passkey: %w", err)
	}
	if n == 0 {
		return fault.Missing("Passkey not found")
	}
	return nil
}

// byCredential finds the passkey of a credential; ok is false when there is none.
func byCredential(tx store.Tx, credentialID []byte) (p Passkey, ok bool, err error) {
	p, err = scan(tx.QueryRow(`SELECT `+columns+` FROM passkeys WHERE credential_id = ?`, encodeID(credentialID)).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return Passkey{}, false, nil
	}
	return p, err == nil, err
}

func insert(tx store.Tx, p Passkey) error {
	body, err := json.Marshal(p.credential)
	if err != nil {
		return fmt.Errorf("encode passkey: %w", err)
	}
	n, err := tx.Exec(`INSERT INTO passkeys (id, account_id, credential_id, credential, name, created_at, last_used_at)
		VALUES (?, ?, ?, ?, ?, ?, 0) ON CONFLICT (credential_id) DO NOTHING`,
		p.ID, p.Account, encodeID(p.credential.ID), string(body), p.Name, p.CreatedAt)
	if err != nil {
		return fmt.Errorf("create passkey: %w", err)
	}
	if n == 0 {
		return fault.New(fault.Conflict, "This passkey is registered already")
	}
	return nil
}

// use records that a passkey has signed: its counter has moved.
func use(tx store.Tx, id string, credential *webauthn.Credential, now int64) error {
	body, err := json.Marshal(credential)
	if err != nil {
		return fmt.Errorf("encode passkey: %w", err)
	}
	if _, err := tx.Exec(`UPDATE passkeys SET credential = ?, last_used_at = ? WHERE id = ?`, string(body), now, id); err != nil {
		return fmt.Errorf("record the use of a passkey: %w", err)
	}
	return nil
}

func encodeID(id []byte) string { return base64.RawURLEncoding.EncodeToString(id) }

func scan(into func(...any) error) (p Passkey, err error) {
	var credential string
	if err := into(&p.ID, &p.Account, &p.Name, &credential, &p.CreatedAt, &p.LastUsedAt); err != nil {
		return Passkey{}, fmt.Errorf("read passkey: %w", err)
	}
	if err := json.Unmarshal([]byte(credential), &p.credential); err != nil {
		return Passkey{}, fmt.Errorf("decode passkey %s: %w", p.ID, err)
	}
	return p, nil
}
