// Package delegation knows the keys that an account lets act for it, each proved by a capability that the account signed
// (spec/agents-protocol.md §2.5).
//
// A capability has no end of its own and anybody may show it again; so a revoked key is remembered, and only a capability that
// was issued after the revocation brings it back. The package keeps what was proved and proves nothing itself: principal
// verifies capabilities.
//
// delegation belongs to account (tier 2): it imports store, fault, principal and wire. Operations call it.
package delegation

import (
	"database/sql"
	"errors"
	"fmt"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/principal"
	"github.com/loam-agents/loam/wire"
)

// Role is what every delegate is, whatever of the permitted roles its capability names.
const Role = principal.RoleAgent

// Signer is a key that may act for an account, or might once.
type Signer struct {
	Account, Key string
	// Label is what the capability calls it.
	Label string
	// Capability is the signed blob, CapabilityID its CID.
	Capability   []byte
	CapabilityID string
	// IssuedAt is the capability's time, CreatedAt when it was shown first, RevokedAt when the key was revoked or zero; all in
	// epoch milliseconds.
	IssuedAt, CreatedAt, RevokedAt int64
}

// Info is the signer as its account sees it.
func (s Signer) Info() wire.SignerInfo {
	return wire.SignerInfo{
		SignerID: s.Key, Role: Role, Label: s.Label, Capability: s.CapabilityID, CreatedAt: s.CreatedAt, RevokedAt: s.RevokedAt,
	}
}

// Record keeps a proved capability. It fails with fault.Unauthenticated when the key was revoked after the capability was issued.
func Record(tx store.Tx, s Signer) error {
	n, err := tx.Exec(`INSERT INTO account_signers (account_id, signer, role, label, capability, capability_id, issued_at, created_at, revoked_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0) ON CONFLICT (account_id, signer) DO UPDATE SET label = excluded.label,
		capability = excluded.capability, capability_id = excluded.capability_id, issued_at = excluded.issued_at, revoked_at = 0
		WHERE account_signers.revoked_at < excluded.issued_at`,
		s.Account, s.Key, Role, s.Label, s.Capability, s.CapabilityID, s.IssuedAt, s.CreatedAt)
	if err != nil {
		return fmt.Errorf("record signer: %w", err)
	}
	if n == 0 {
		return fault.New(fault.Unauthenticated, wire.MsgNotAuthorized)
	}
	return nil
}

// May tells whether a key may act for an account by what was recorded.
func May(tx store.Tx, account, key string) (bool, error) {
	var revoked int64
	err := tx.QueryRow(`SELECT revoked_at FROM account_signers WHERE account_id = ? AND signer = ?`, account, key).Scan(&revoked)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look up signer: %w", err)
	}
	return revoked == 0, nil
}

// List returns a page of the signers of an account, also the revoked ones, newest first, and whether there are more.
func List(tx store.Tx, account string, p store.Page) (page []Signer, more bool, err error) {
	clause, args := p.Clause("created_at", "signer")
	rows, err := tx.Query(`SELECT account_id, signer, label, capability_id, issued_at, created_at, revoked_at FROM account_signers
		WHERE account_id = ?`+clause, append([]any{account}, args...)...)
	if err != nil {
		return nil, false, fmt.Errorf("list signers: %w", err)
	}
	defer rows.Close()
	out := []Signer{}
	for rows.Next() {
		var s Signer
		if err := rows.Scan(&s.Account, &s.Key, &s.Label, &s.CapabilityID, &s.IssuedAt, &s.CreatedAt, &s.RevokedAt); err != nil {
			return nil, false, fmt.Errorf("read signer: %w", err)
		}
		out = append(out, s)
	}
	page, more = store.CutPage(p, out)
	return page, more, rows.Err()
}

// Revoke ends what a key may do. now is epoch milliseconds. A key that is no signer is fault.NotFound; a second time changes
// nothing.
func Revoke(tx store.Tx, account, key string, now int64) error {
	n, err := tx.Exec(`UPDATE account_signers SET revoked_at = CASE WHEN revoked_at = 0 THEN CAST(? AS BIGINT) ELSE revoked_at END
		WHERE account_id = ? AND signer = ?`, now, account, key)
	if err != nil {
		return fmt.Errorf("revoke signer: %w", err)
	}
	if n == 0 {
		return fault.Missing("Signer not found")
	}
	return nil
}
