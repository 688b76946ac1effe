package passkey

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/go-webauthn/webauthn/webauthn"

	"github.com/loam-agents/loam/internal/account/bearer"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/store"
)

// ChallengeLife is how long an authenticator, and the person before it, may take.
const ChallengeLife = 5 * time.Minute

// maxOpen bounds the challenges that nobody in particular has asked for: everybody can.
const maxOpen = 10000

// ask keeps a challenge and returns what it is answered with. The account is empty for a sign-in.
func ask(tx store.Tx, account string, session *webauthn.SessionData, now int64) (id string, err error) {
	if _, err := tx.Exec(`DELETE FROM passkey_challenges WHERE expires_at <= ?`, now); err != nil {
		return "", fmt.Errorf("forget old challenges: %w", err)
	}
	if account == "" {
		if err := bound(tx); err != nil {
			return "", err
		}
	}
	data, err := json.Marshal(session)
	if err != nil {
		return "", fmt.Errorf("encode challenge: %w", err)
	}
	id = bearer.New("")
	_, err = tx.Exec(`INSERT INTO passkey_challenges (hash, account_id, data, expires_at) VALUES (?, ?, ?, ?)`,
		bearer.Hash(id), account, string(data), now+ChallengeLife.Milliseconds())
	if err != nil {
		return "", fmt.Errorf("keep challenge: %w", err)
	}
	return id, nil
}

func bound(tx store.Tx) error {
	var open int64
	if err := tx.QueryRow(`SELECT count(*) FROM passkey_challenges WHERE account_id = ''`).Scan(&open); err != nil {
		return fmt.Errorf("count challenges: %w", err)
	}
	if open < maxOpen {
		return nil
	}
	f := fault.New(fault.RateLimited, "Too many people sign in with passkeys at this moment: try again in a minute")
	f.RetryAfter = time.Minute
	return f
}

// take uses a challenge up. One that is unknown, used, old or somebody else's is fault.Unauthenticated at a sign-in, and
// fault.ValidationFailed for those who are signed in already.
func take(tx store.Tx, account, id string, now int64) (session webauthn.SessionData, err error) {
	var asked, data string
	var expiresAt int64
	err = tx.QueryRow(`DELETE FROM passkey_challenges WHERE hash = ? RETURNING account_id, data, expires_at`, bearer.Hash(id)).
		Scan(&asked, &data, &expiresAt)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return session, fmt.Errorf("use challenge: %w", err)
	}
	if err != nil || expiresAt <= now || asked != account {
		code := fault.Unauthenticated
		if account != "" {
			code = fault.ValidationFailed
		}
		return session, fault.New(code, "The passkey was answered too late or twice: begin again")
	}
	if err := json.Unmarshal([]byte(data), &session); err != nil {
		return session, fmt.Errorf("decode challenge: %w", err)
	}
	return session, nil
}
