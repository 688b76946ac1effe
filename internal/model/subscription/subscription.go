// Package subscription signs accounts in with a model service where they have a subscription instead of a key ("Sign in with
// ChatGPT", spec/agents-protocol.md §7.9), and hands out the tokens of those that are.
//
// The sign-in is OAuth's authorization code with a proof key (PKCE, S256). Nobody listens for the service's redirect: it goes to an
// address of the person's own machine, and the person, or a desktop client, brings the code here. A sign-in under way and the tokens of
// one that is done are sealed secrets of the account, so every process of the server knows them; no secret is in an error.
//
// subscription is tier 3, in the room of package model: it imports vault, store, clock and fault. Operations call it for sign-ins,
// connect for tokens.
package subscription

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/vault"
)

// Type is the one type of provider with a subscription.
const Type = "openai"

// The service, where the operator names no other.
const (
	DefaultIssuer = "https://auth.openai.com"
	DefaultAPI    = "https://chatgpt.com/backend-api/codex"
)

const (
	// redirect is where the service sends a browser: desktop clients listen there.
	redirect = "http://localhost:1455/auth/callback"
	scope    = "openid profile email offline_access"
	// lifetime is how long a sign-in may take, and how long its end is remembered.
	lifetime = 10 * time.Minute
	// MaxCode bounds what a person brings, in bytes.
	MaxCode = 8192
	// SecretName is where the tokens are, loginName where the sign-in under way is: an account has one at a time.
	SecretName = Type + "-subscription-oauth"
	loginName  = Type + "-subscription-login"
)

// The kinds of secrets, in their metadata.
const (
	kindTokens = "provider-oauth"
	// KindLogin marks a sign-in, which is no secret that a person has stored.
	KindLogin = "provider-oauth-login"
)

// The statuses of a sign-in.
const (
	Pending   = "pending"
	Completed = "completed"
	Failed    = "failed"
)

// Options configure a Service.
type Options struct {
	// ClientID is what the service knows this server as. Issuer and API replace the defaults when they are not empty; they have no
	// slash at their end.
	ClientID, Issuer, API string
	// HTTP reaches the issuer.
	HTTP  *http.Client
	Store store.Store
	Vault *vault.Vault
	Clock clock.Clock
	// Random is crypto/rand when nil.
	Random io.Reader
	// Changed is called in the transaction that makes an account sign in, or have to.
	Changed func(tx store.Tx, account string)
}

// Service signs accounts in.
type Service struct {
	opts Options

	mu sync.Mutex
	// refreshing has a channel of one place for each account whose tokens somebody renews.
	refreshing map[string]chan struct{}
}

// New returns a service.
func New(opts Options) *Service {
	if opts.Issuer == "" {
		opts.Issuer = DefaultIssuer
	}
	if opts.API == "" {
		opts.API = DefaultAPI
	}
	if opts.Random == nil {
		opts.Random = rand.Reader
	}
	return &Service{opts: opts, refreshing: map[string]chan struct{}{}}
}

// API is the base address of the service's Responses dialect.
func (s *Service) API() string { return s.opts.API }

// Login is a sign-in as it may be shown.
type Login struct {
	ID, Status string
	// AuthURL is where the person signs in, of a new one only.
	AuthURL string
	// ExpiresAt is epoch milliseconds.
	ExpiresAt int64
	// Error says why it failed.
	Error string
}

// proof is what only the server knows of a sign-in.
type proof struct {
	Verifier string `json:"verifier"`
	State    string `json:"state"`
}

// Start begins a sign-in and forgets the account's earlier one.
func (s *Service) Start(tx store.Tx, account, id string) (Login, error) {
	random := make([]byte, 48)
	if _, err := io.ReadFull(s.opts.Random, random); err != nil {
		return Login{}, fmt.Errorf("begin a sign-in: %w", err)
	}
	p := proof{Verifier: base64.RawURLEncoding.EncodeToString(random[:32]), State: hex.EncodeToString(random[32:])}
	login := Login{ID: id, Status: Pending, ExpiresAt: clock.Millis(s.opts.Clock) + lifetime.Milliseconds()}
	challenge := sha256.Sum256([]byte(p.Verifier))
	login.AuthURL = s.opts.Issuer + "/oauth/authorize?" + url.Values{
		"response_type": {"code"}, "client_id": {s.opts.ClientID}, "redirect_uri": {redirect}, "scope": {scope}, "state": {p.State},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(challenge[:])}, "code_challenge_method": {"S256"},
		// Without these the service names no account in its tokens.
		"id_token_add_organizations": {"true"}, "codex_cli_simplified_flow": {"true"},
	}.Encode()
	text, err := json.Marshal(p)
	if err != nil {
		return Login{}, fmt.Errorf("begin a sign-in: %w", err)
	}
	return login, s.keep(tx, account, login, text)
}

func (s *Service) keep(tx store.Tx, account string, l Login, text []byte) error {
	metadata := map[string]any{"kind": KindLogin, "loginId": l.ID, "status": l.Status, "expiresAt": l.ExpiresAt, "error": l.Error}
	_, err := s.opts.Vault.Set(tx, account, loginName, text, metadata)
	return err
}

// Status is how a sign-in of the account stands. One that is unknown, another account's, canceled or long over is fault.NotFound.
func (s *Service) Status(tx store.Tx, account, id string) (Login, error) {
	_, l, err := s.login(tx, account, id)
	return l, err
}

func (s *Service) login(tx store.Tx, account, id string) (p proof, l Login, err error) {
	missing := fault.Missing("Sign-in not found")
	text, info, err := s.opts.Vault.GetTx(tx, account, loginName)
	if fault.CodeOf(err) == fault.NotFound || err == nil && info.Metadata["loginId"] != id {
		return p, l, missing
	}
	if err != nil {
		return p, l, err
	}
	l.ID = id
	l.Status, _ = info.Metadata["status"].(string)
	l.Error, _ = info.Metadata["error"].(string)
	expires, _ := info.Metadata["expiresAt"].(float64)
	l.ExpiresAt = int64(expires)
	switch now := clock.Millis(s.opts.Clock); {
	case now >= l.ExpiresAt+lifetime.Milliseconds():
		return p, l, missing
	case now >= l.ExpiresAt && l.Status == Pending:
		l.Status, l.Error = Failed, "The sign-in was not finished within 10 minutes"
	}
	return p, l, json.Unmarshal(text, &p)
}

// Cancel forgets a sign-in.
func (s *Service) Cancel(tx store.Tx, account, id string) error {
	if _, _, err := s.login(tx, account, id); err != nil {
		return err
	}
	return s.opts.Vault.Delete(tx, account, loginName)
}

// Submit exchanges the code of a sign-in for tokens and keeps them. What a person can do about a refusal stands in the error, and in
// the status of the sign-in when it has failed for good.
func (s *Service) Submit(ctx context.Context, account, id, text string) error {
	var p proof
	err := s.opts.Store.Read(ctx, func(tx store.Tx) (err error) {
		var l Login
		if p, l, err = s.login(tx, account, id); err == nil && l.Status != Pending {
			err = fault.Invalid("This sign-in is over: begin a new one")
		}
		return err
	})
	if err != nil {
		return err
	}
	code, state, err := parseCode(text)
	if err != nil {
		return err
	}
	if state != "" && state != p.State {
		return fault.Invalid("The code belongs to another sign-in: use the address that this one has led to")
	}
	got, err := s.ask(ctx, url.Values{
		"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {redirect}, "client_id": {s.opts.ClientID}, "code_verifier": {p.Verifier},
	})
	if r, ok := errors.AsType[*refused](err); ok {
		failed := fault.Invalid("Sign-in failed: %s", r.reason)
		if err := s.end(ctx, account, id, Failed, failed.Message, nil); err != nil {
			return err
		}
		return failed
	}
	if err != nil {
		return fault.Wrap(err, fault.ProviderError, "The sign-in service cannot be asked: %s", err)
	}
	return s.end(ctx, account, id, Completed, "", &got)
}

// end remembers how a sign-in ended, if it is still the one, and keeps its tokens.
func (s *Service) end(ctx context.Context, account, id, status, text string, got *tokens) error {
	return s.opts.Store.Write(ctx, store.Interactive, func(tx store.Tx) error {
		_, l, err := s.login(tx, account, id)
		if err != nil {
			return err
		}
		l.Status, l.Error = status, text
		l.ExpiresAt = clock.Millis(s.opts.Clock)
		if err := s.keep(tx, account, l, []byte("{}")); err != nil || got == nil {
			return err
		}
		if err := s.store(tx, account, SecretName, *got); err != nil {
			return err
		}
		s.opts.Changed(tx, account)
		return nil
	})
}

// parseCode takes a code from what a person brings: the code, code#state, a query, or the whole address of the redirect.
func parseCode(text string) (code, state string, err error) {
	text = strings.TrimSpace(text)
	query := text
	if _, after, ok := strings.Cut(text, "?"); ok {
		query = after
	}
	if strings.Contains(query, "code=") || strings.Contains(query, "error=") {
		query, _, _ = strings.Cut(query, "#")
		values, err := url.ParseQuery(query)
		switch {
		case err != nil:
			return "", "", fault.Invalid("The address of the sign-in cannot be read")
		case values.Get("error") != "":
			return "", "", fault.Invalid("The service refused the sign-in: begin a new one")
		}
		code, state = values.Get("code"), values.Get("state")
	} else {
		code, state, _ = strings.Cut(text, "#")
	}
	if code == "" || strings.ContainsAny(code, " \t\r\n/") {
		return "", "", fault.Invalid("There is no code in it: paste the whole address that the sign-in has led to")
	}
	return code, state, nil
}
