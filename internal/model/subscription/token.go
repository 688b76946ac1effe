package subscription

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/store"
)

const (
	// early is how long before their end tokens are renewed.
	early = time.Minute
	// askTimeout bounds a request to the issuer, maxAnswer the bytes of its answer, unknownLife the life of tokens that have none.
	askTimeout  = 30 * time.Second
	maxAnswer   = 1 << 20
	unknownLife = time.Hour
	// accountClaim is where the service names the account in its tokens.
	accountClaim = "https://api.openai.com/auth"
)

// tokens are what is kept of an account that is signed in.
type tokens struct {
	Access  string `json:"access"`
	Refresh string `json:"refresh"`
	// Expires is epoch milliseconds.
	Expires int64 `json:"expires"`
	// Account is the service's name of the account.
	Account string `json:"accountId"`
}

// Token is what a request to the service carries.
type Token struct {
	// Access is the bearer token, Account the service's name of the account.
	Access, Account string
}

// NeedsLogin tells whether the metadata of a secret with tokens say that a person has to sign in again.
func NeedsLogin(metadata map[string]any) bool { return metadata["needsReauth"] == true }

func needsLogin() error {
	return fault.New(fault.Unauthenticated, "The subscription's sign-in is over: sign in again in the settings of the model provider")
}

// Token returns a token of an account that is good for a minute at least, renewed when it has to be: by one caller at a time, since
// each renewal uses the last one up. An account that has to sign in again is fault.Unauthenticated.
func (s *Service) Token(ctx context.Context, account, secret string) (Token, error) {
	leave, err := s.enter(ctx, account)
	if err != nil {
		return Token{}, err
	}
	defer leave()
	have, err := s.load(ctx, account, secret)
	if err != nil {
		return Token{}, err
	}
	if have.Expires-clock.Millis(s.opts.Clock) > early.Milliseconds() {
		return Token{have.Access, have.Account}, nil
	}
	got, err := s.ask(ctx, url.Values{
		"grant_type": {"refresh_token"}, "refresh_token": {have.Refresh}, "client_id": {s.opts.ClientID}, "scope": {scope},
	})
	if _, ok := errors.AsType[*refused](err); ok {
		return s.lost(ctx, account, secret, have)
	}
	if err != nil {
		return Token{}, fault.Wrap(err, fault.ProviderError, "The subscription's sign-in cannot be renewed now: %s", err)
	}
	if got.Refresh == "" {
		got.Refresh = have.Refresh
	}
	if got.Account == "" {
		got.Account = have.Account
	}
	// A token that cannot be kept is good for this request all the same.
	_ = s.opts.Store.Write(ctx, store.Interactive, func(tx store.Tx) error { return s.store(tx, account, secret, got) })
	return Token{got.Access, got.Account}, nil
}

// enter waits for whoever renews the account's tokens.
func (s *Service) enter(ctx context.Context, account string) (leave func(), err error) {
	s.mu.Lock()
	place := s.refreshing[account]
	if place == nil {
		place = make(chan struct{}, 1)
		s.refreshing[account] = place
	}
	s.mu.Unlock()
	select {
	case place <- struct{}{}:
		return func() { <-place }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (s *Service) load(ctx context.Context, account, secret string) (have tokens, err error) {
	text, info, err := s.opts.Vault.Get(ctx, account, secret)
	switch {
	case fault.CodeOf(err) == fault.NotFound:
		return have, needsLogin()
	case err != nil:
		return have, err
	case NeedsLogin(info.Metadata) || json.Unmarshal(text, &have) != nil || have.Access == "":
		return have, needsLogin()
	}
	return have, nil
}

// lost decides what it means that the service refused to renew tokens: another process may have renewed them, else the person has
// to sign in again.
func (s *Service) lost(ctx context.Context, account, secret string, had tokens) (Token, error) {
	have, err := s.load(ctx, account, secret)
	if err != nil || have != had {
		return Token{have.Access, have.Account}, err
	}
	err = s.opts.Store.Write(ctx, store.Interactive, func(tx store.Tx) error {
		s.opts.Changed(tx, account)
		_, err := s.opts.Vault.SetMetadata(tx, account, secret, map[string]any{"provider": Type, "kind": kindTokens, "needsReauth": true})
		return err
	})
	if err != nil {
		return Token{}, err
	}
	return Token{}, needsLogin()
}

func (s *Service) store(tx store.Tx, account, secret string, t tokens) error {
	text, err := json.Marshal(t)
	if err != nil {
		return fmt.Errorf("keep tokens: %w", err)
	}
	_, err = s.opts.Vault.Set(tx, account, secret, text, map[string]any{"provider": Type, "kind": kindTokens})
	return err
}

// refused is the issuer's no.
type refused struct{ reason string }

func (r *refused) Error() string { return r.reason }

// ask asks the issuer for tokens. What it refuses is *refused; other errors may pass by themselves. No error holds a token or a code.
func (s *Service) ask(ctx context.Context, form url.Values) (tokens, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.opts.Issuer+"/oauth/token", strings.NewReader(form.Encode()))
	if err != nil {
		return tokens{}, errors.New("its address cannot be used")
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	res, err := s.opts.HTTP.Do(req)
	if err != nil {
		if cause, ok := errors.AsType[*url.Error](err); ok {
			err = cause.Err
		}
		return tokens{}, err
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return tokens{}, errors.New("its answer broke off")
	}
	var answer struct {
		Access  string `json:"access_token"`
		Refresh string `json:"refresh_token"`
		Expires int64  `json:"expires_in"`
	}
	err = json.Unmarshal(body, &answer)
	switch {
	case res.StatusCode >= http.StatusInternalServerError || res.StatusCode == http.StatusTooManyRequests:
		return tokens{}, fmt.Errorf("HTTP %d", res.StatusCode)
	case res.StatusCode != http.StatusOK:
		return tokens{}, &refused{fmt.Sprintf("the service answered HTTP %d", res.StatusCode)}
	case err != nil || answer.Access == "":
		return tokens{}, &refused{"the service's answer is invalid"}
	}
	life := time.Duration(answer.Expires) * time.Second
	if life <= 0 {
		life = unknownLife
	}
	return tokens{
		Access: answer.Access, Refresh: answer.Refresh, Account: accountOf(answer.Access),
		Expires: clock.Millis(s.opts.Clock) + life.Milliseconds(),
	}, nil
}

// accountOf reads the account's name from a token, which came from the issuer itself; empty when there is none.
func accountOf(token string) string {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return ""
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return ""
	}
	var claims map[string]json.RawMessage
	var auth struct {
		Account string `json:"chatgpt_account_id"`
	}
	if json.Unmarshal(payload, &claims) != nil || json.Unmarshal(claims[accountClaim], &auth) != nil {
		return ""
	}
	return auth.Account
}
