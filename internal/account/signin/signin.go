package signin

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/loam-agents/loam/internal/account/bearer"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

// Life is how long a browser stays signed in.
const Life = 30 * 24 * time.Hour

// useGrain is how exactly the time of the last use is known, in milliseconds: not every request is worth a write.
const useGrain = 10 * 60 * 1000

// maxUserAgent bounds, in bytes, what is kept of how a browser names itself.
const maxUserAgent = 256

// The ways in.
const (
	ByLink    = "link"
	ByPasskey = "passkey"
)

// SignIn is one browser, without its cookie.
type SignIn struct {
	ID, Account string
	// Method is ByLink or ByPasskey; UserAgent what the browser calls itself.
	Method, UserAgent string
	// CreatedAt, ExpiresAt and LastUsedAt are epoch milliseconds; LastUsedAt may be zero.
	CreatedAt, ExpiresAt, LastUsedAt int64
}

// Info is the sign-in as its account sees it; current is the id of the one that asks.
func (s SignIn) Info(current string) wire.SignInInfo {
	return wire.SignInInfo{
		ID: s.ID, Method: s.Method, UserAgent: s.UserAgent, CreatedAt: s.CreatedAt, ExpiresAt: s.ExpiresAt, LastUsedAt: s.LastUsedAt,
		Current: s.ID == current,
	}
}

// Used tells whether the use at a time is worth recording with Touch.
func (s SignIn) Used(now int64) bool { return now-s.LastUsedAt >= useGrain }

// OpenParams is a browser to sign in.
type OpenParams struct {
	// ID is a fresh identifier. Account must exist.
	ID, Account, Method, UserAgent string
	// Now is epoch milliseconds.
	Now int64
}

// Open signs a browser in and returns what its cookie holds, which cannot be read again.
func Open(tx store.Tx, p OpenParams) (s SignIn, cookie string, err error) {
	if _, err := tx.Exec(`DELETE FROM sign_ins WHERE expires_at <= ?`, p.Now); err != nil {
		return SignIn{}, "", fmt.Errorf("forget old sign-ins: %w", err)
	}
	agent := strings.ToValidUTF8(strings.ReplaceAll(p.UserAgent, "\x00", ""), "")
	if len(agent) > maxUserAgent {
		agent = strings.ToValidUTF8(agent[:maxUserAgent], "")
	}
	cookie = bearer.New("")
	s = SignIn{ID: p.ID, Account: p.Account, Method: p.Method, UserAgent: agent, CreatedAt: p.Now, ExpiresAt: p.Now + Life.Milliseconds()}
	_, err = tx.Exec(`INSERT INTO sign_ins (id, account_id, hash, method, user_agent, created_at, expires_at, last_used_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, 0)`, s.ID, s.Account, bearer.Hash(cookie), s.Method, s.UserAgent, s.CreatedAt, s.ExpiresAt)
	if err != nil {
		return SignIn{}, "", fmt.Errorf("sign in: %w", err)
	}
	return s, cookie, nil
}

const columns = `id, account_id, method, user_agent, created_at, expires_at, last_used_at`

// Find is the sign-in that a cookie proves. One that is unknown, ended or expired is fault.Unauthenticated.
func Find(tx store.Tx, cookie string, now int64) (SignIn, error) {
	s, err := scan(tx.QueryRow(`SELECT `+columns+` FROM sign_ins WHERE hash = ?`, bearer.Hash(cookie)).Scan)
	if errors.Is(err, sql.ErrNoRows) || err == nil && s.ExpiresAt <= now {
		return SignIn{}, fault.New(fault.Unauthenticated, "You are not signed in any more")
	}
	return s, err
}

// List returns a page of the browsers of an account that are signed in, newest first, and whether there are more.
func List(tx store.Tx, account string, now int64, p store.Page) (page []SignIn, more bool, err error) {
	clause, args := p.Clause("created_at", "id")
	rows, err := tx.Query(`SELECT `+columns+` FROM sign_ins WHERE account_id = ? AND expires_at > ?`+clause,
		append([]any{account, now}, args...)...)
	if err != nil {
		return nil, false, fmt.Errorf("list sign-ins: %w", err)
	}
	defer rows.Close()
	out := []SignIn{}
	for rows.Next() {
		s, err := scan(rows.Scan)
		if err != nil {
			return nil, false, err
		}
		out = append(out, s)
	}
	page, more = store.CutPage(p, out)
	return page, more, rows.Err()
}

// Delete signs a browser of an account out. A missing one, and one of somebody else, is fault.NotFound.
func Delete(tx store.Tx, account, id string) error {
	n, err := tx.Exec(`DELETE FROM sign_ins WHERE id = ? AND account_id = ?`, id, account)
	if err != nil {
		return fmt.Errorf("sign out: %w", err)
	}
	if n == 0 {
		return fault.Missing("Sign-in not found")
	}
	return nil
}

// Touch records that a sign-in was used.
func Touch(tx store.Tx, id string, now int64) error {
	if _, err := tx.Exec(`UPDATE sign_ins SET last_used_at = ? WHERE id = ? AND last_used_at < ?`, now, id, now); err != nil {
		return fmt.Errorf("record the use of a sign-in: %w", err)
	}
	return nil
}

func scan(into func(...any) error) (s SignIn, err error) {
	err = into(&s.ID, &s.Account, &s.Method, &s.UserAgent, &s.CreatedAt, &s.ExpiresAt, &s.LastUsedAt)
	if err != nil {
		return SignIn{}, fmt.Errorf("read sign-in: %w", err)
	}
	return s, nil
}
