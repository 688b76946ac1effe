package operation

import (
	"context"

	"github.com/loam-agents/loam/internal/account"
	"github.com/loam-agents/loam/internal/account/token"
	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/store"
)

// Credential is what somebody showed, found to be good.
type Credential struct {
	// ID names it; a frame on the topic notify.KeyCredential+ID says that it was revoked.
	ID, Account string
	// Via is token or cookie.
	Via    string
	Scopes []account.Scope
	// ExpiresAt is epoch milliseconds, zero for never.
	ExpiresAt int64
}

// Token finds the bearer token with a text. One that is unknown, revoked or expired is fault.Unauthenticated.
func (s *Service) Token(ctx context.Context, text string) (Credential, error) {
	now := clock.Millis(s.opts.Clock)
	var t token.Token
	err := s.opts.Store.Read(ctx, func(tx store.Tx) (err error) {
		t, err = token.Find(tx, text, now)
		return err
	})
	if err != nil {
		return Credential{}, err
	}
	if t.Used(now) {
		s.touch(ctx, func(tx store.Tx) error { return token.Touch(tx, t.ID, now) })
	}
	return Credential{ID: t.ID, Account: t.Account, Via: "token", Scopes: t.Scopes, ExpiresAt: t.ExpiresAt}, nil
}

// touch records a use. A request is not refused because its time could not be written down.
func (s *Service) touch(ctx context.Context, fn func(tx store.Tx) error) {
	if err := s.opts.Store.Write(ctx, store.Background, fn); err != nil {
		s.opts.Logger.Warn("record the use of a credential", "error", err)
	}
}
