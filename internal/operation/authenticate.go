package operation

import (
	"context"

	"github.com/loam-agents/loam/internal/account"
	"github.com/loam-agents/loam/internal/account/signin"
	"github.com/loam-agents/loam/internal/account/token"
	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

// Credential is what somebody showed, found to be good.
type Credential struct {
	// ID names it; a frame on the topic notify.KeyCredential+ID says that it was revoked.
	ID, Account string
	// Via is ViaToken or ViaCookie.
	Via string
	// Scopes are nil when it permits everything.
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
	return Credential{ID: t.ID, Account: t.Account, Via: ViaToken, Scopes: t.Scopes, ExpiresAt: t.ExpiresAt}, nil
}

// Browser finds the sign-in that a cookie proves. One that is unknown, ended or expired is fault.Unauthenticated.
func (s *Service) Browser(ctx context.Context, cookie string) (Credential, error) {
	now := clock.Millis(s.opts.Clock)
	var found signin.SignIn
	err := s.opts.Store.Read(ctx, func(tx store.Tx) (err error) {
		found, err = signin.Find(tx, cookie, now)
		return err
	})
	if err != nil {
		return Credential{}, err
	}
	if found.Used(now) {
		s.touch(ctx, func(tx store.Tx) error { return signin.Touch(tx, found.ID, now) })
	}
	return Credential{ID: found.ID, Account: found.Account, Via: ViaCookie, ExpiresAt: found.ExpiresAt}, nil
}

// SignInLink is CreateSignInLink for whoever runs the process: the address that signs one browser in as an account, once.
func (s *Service) SignInLink(ctx context.Context, accountID string) (url string, err error) {
	err = s.opts.Store.Write(ctx, store.Interactive, func(tx store.Tx) error {
		code, _, err := signin.Issue(tx, accountID, clock.Millis(s.opts.Clock))
		url = s.opts.SignInURL(code)
		return err
	})
	if err != nil {
		return "", err
	}
	return url, nil
}

// SignIn uses a one-time code up and signs a browser in: the cookie is what it proves itself with until expiresAt. A code that is
// unknown, used or old is fault.Unauthenticated.
func (s *Service) SignIn(ctx context.Context, code, userAgent string) (cookie string, expiresAt int64, err error) {
	return s.open(ctx, userAgent, signin.ByLink, func(tx store.Tx, now int64) (string, error) { return signin.Redeem(tx, code, now) })
}

// PasskeyChallenge asks for a passkey of anybody.
func (s *Service) PasskeyChallenge(ctx context.Context) (out wire.PasskeyChallenge, err error) {
	err = s.opts.Store.Write(ctx, store.Interactive, func(tx store.Tx) (err error) {
		out, err = s.opts.Passkeys.BeginSignIn(tx, clock.Millis(s.opts.Clock))
		return err
	})
	if away := unavailable(err); away != nil {
		err = away
	}
	return out, err
}

// SignInWithPasskey is SignIn with the answer of an authenticator to PasskeyChallenge. One that proves nothing is
// fault.Unauthenticated.
func (s *Service) SignInWithPasskey(ctx context.Context, answer wire.FinishPasskeyRequest, userAgent string) (cookie string, expiresAt int64, err error) {
	return s.open(ctx, userAgent, signin.ByPasskey, func(tx store.Tx, now int64) (string, error) {
		return s.opts.Passkeys.FinishSignIn(tx, answer.ChallengeID, answer.Credential, now)
	})
}

// open signs a browser in for the account that proof finds.
func (s *Service) open(ctx context.Context, userAgent, method string, proof func(tx store.Tx, now int64) (string, error)) (cookie string, expiresAt int64, err error) {
	now := clock.Millis(s.opts.Clock)
	err = s.opts.Store.Write(ctx, store.Interactive, func(tx store.Tx) error {
		accountID, err := proof(tx, now)
		if err != nil {
			return err
		}
		var opened signin.SignIn
		opened, cookie, err = signin.Open(tx, signin.OpenParams{
			ID: s.opts.IDs(), Account: accountID, Method: method, UserAgent: userAgent, Now: now,
		})
		expiresAt = opened.ExpiresAt
		return err
	})
	if away := unavailable(err); away != nil {
		err = away
	}
	return cookie, expiresAt, err
}

// SignOut ends the sign-in that a cookie proves; one that proves nothing is over already.
func (s *Service) SignOut(ctx context.Context, cookie string) error {
	err := s.opts.Store.Write(ctx, store.Interactive, func(tx store.Tx) error {
		found, err := signin.Find(tx, cookie, clock.Millis(s.opts.Clock))
		if err != nil {
			return err
		}
		return s.signOut(tx, found.Account, found.ID)
	})
	if fault.CodeOf(err) == fault.Unauthenticated {
		return nil
	}
	return err
}

// touch records a use. A request is not refused because its time could not be written down.
func (s *Service) touch(ctx context.Context, fn func(tx store.Tx) error) {
	if err := s.opts.Store.Write(ctx, store.Background, fn); err != nil {
		s.opts.Logger.Warn("record the use of a credential", "error", err)
	}
}
