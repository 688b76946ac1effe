package mcp

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/egress"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/store"
)

// LoginTTL is how long a person has to sign in.
const LoginTTL = 15 * time.Minute

// maxOAuth bounds an answer of an authorization server, in bytes.
const maxOAuth = 1 << 20

// The secrets of a server: its token, and a sign-in that was begun. Both outlive a restart.
func tokenSecret(name string) string { return "mcp-" + name + "-oauth" }
func loginSecret(name string) string { return "mcp-" + name + "-login" }

// clientSecret is the secret of an account with the client that a person has made at the authorization server of an MCP server: its id,
// and behind a blank its secret, if it has one.
func clientSecret(name string) string { return "mcp-" + name + "-oauth-client" }

// ownSecret tells whether a secret belongs to a server by its name.
func ownSecret(server, secret string) bool { return strings.HasPrefix(secret, "mcp-"+server+"-") }

// grant is what stands in the two secrets.
type grant struct {
	// The client at the authorization server.
	ClientID     string           `json:"clientId"`
	ClientSecret string           `json:"clientSecret,omitempty"`
	AuthStyle    oauth2.AuthStyle `json:"authStyle"`
	TokenURL     string           `json:"tokenUrl"`
	Issuer       string           `json:"issuer"`
	// Resource is the identifier of the MCP server, which every token is for (RFC 8707).
	Resource string   `json:"resource"`
	Scopes   []string `json:"scopes,omitempty"`
	// URL is the endpoint that the grant is for: a token is not sent anywhere else.
	URL string `json:"url"`
	// Of a sign-in that was begun.
	State, Verifier string `json:",omitempty"`
	Redirect        string `json:"redirect,omitempty"`
	NeedsIssuer     bool   `json:"needsIssuer,omitempty"`
	ExpiresAt       int64  `json:"expiresAt,omitempty"`
	// Token of a sign-in that was finished.
	Token *oauth2.Token `json:"token,omitempty"`
}

func (g *grant) config() *oauth2.Config {
	return &oauth2.Config{
		ClientID: g.ClientID, ClientSecret: g.ClientSecret, RedirectURL: g.Redirect, Scopes: g.Scopes,
		Endpoint: oauth2.Endpoint{TokenURL: g.TokenURL, AuthStyle: g.AuthStyle},
	}
}

// Login is where a person signs in.
type Login struct {
	URL string
	// ExpiresAt is epoch milliseconds.
	ExpiresAt int64
}

// StartLogin finds the authorization server of an MCP server, registers there, and returns where a person signs in. A sign-in that was begun
// before is void. Errors are *fault.Error.
func (m *Manager) StartLogin(ctx context.Context, account, name string) (Login, error) {
	ctx, cancel := context.WithTimeout(ctx, ConnectTimeout)
	defer cancel()
	var s Server
	err := m.opts.Store.Read(ctx, func(tx store.Tx) (err error) {
		s, err = Get(tx, account, name)
		return err
	})
	switch {
	case err != nil:
		return Login{}, err
	case s.Config.Auth != AuthOAuth:
		return Login{}, fault.New(fault.PreconditionFailed, "The MCP server %s takes no sign-in: set auth to oauth", name)
	}
	meta, g, err := m.register(ctx, &s)
	if err != nil {
		return Login{}, explain(err, name)
	}
	g.State, g.Verifier = s.ID+"."+m.opts.Random(), m.opts.Random()
	g.ExpiresAt = m.opts.Clock.Now().Add(LoginTTL).UnixMilli()
	cfg := g.config()
	cfg.Endpoint.AuthURL = meta.AuthorizationEndpoint
	address := cfg.AuthCodeURL(g.State, oauth2.AccessTypeOffline, oauth2.S256ChallengeOption(g.Verifier), oauth2.SetAuthURLParam("resource", g.Resource))
	if err := m.keep(ctx, account, loginSecret(name), g); err != nil {
		return Login{}, err
	}
	return Login{URL: address, ExpiresAt: g.ExpiresAt}, nil
}

// register discovers the authorization server (RFC 9728, RFC 8414) and makes this server a client of it: the one that the account has
// made there, or a new one (RFC 7591).
func (m *Manager) register(ctx context.Context, s *Server) (*oauthex.AuthServerMeta, *grant, error) {
	client := m.oauthClient()
	resource, err := m.resource(ctx, s, client)
	if err != nil {
		return nil, nil, err
	}
	meta, err := auth.GetAuthServerMetadata(ctx, resource.AuthorizationServers[0], client)
	switch {
	case err != nil:
		return nil, nil, err
	case meta == nil:
		return nil, nil, fault.New(fault.ProviderError, "The authorization server of %s does not describe itself", s.Name)
	}
	g := &grant{TokenURL: meta.TokenEndpoint, Issuer: meta.Issuer, Resource: resource.Resource, Scopes: resource.ScopesSupported, URL: s.Config.URL,
		Redirect: m.opts.Redirect(), NeedsIssuer: meta.AuthorizationResponseIssParameterSupported}
	made, err := m.madeClient(ctx, s, meta, g)
	switch {
	case made || err != nil:
		return meta, g, err
	case meta.RegistrationEndpoint == "":
		return nil, nil, fault.New(fault.ProviderError, "The authorization server of %s registers no clients by itself: make one there for %s and keep its id in the "+
			"secret %s, or put a token into a header", s.Name, g.Redirect, clientSecret(s.Name))
	}
	registered, err := oauthex.RegisterClient(ctx, meta.RegistrationEndpoint, &oauthex.ClientRegistrationMetadata{
		ClientName: "Loam", RedirectURIs: []string{g.Redirect}, GrantTypes: []string{"authorization_code", "refresh_token"},
		ResponseTypes: []string{"code"}, TokenEndpointAuthMethod: "none", Scope: strings.Join(g.Scopes, " "),
	}, client)
	if err != nil {
		return nil, nil, err
	}
	g.ClientID, g.ClientSecret, g.AuthStyle = registered.ClientID, registered.ClientSecret, oauth2.AuthStyleInParams
	if registered.ClientSecret != "" && registered.TokenEndpointAuthMethod == "client_secret_basic" {
		g.AuthStyle = oauth2.AuthStyleInHeader
	}
	return meta, g, nil
}

// madeClient takes the client that the account has made, and tells whether there is one.
func (m *Manager) madeClient(ctx context.Context, s *Server, meta *oauthex.AuthServerMeta, g *grant) (bool, error) {
	value, _, err := m.opts.Vault.Get(ctx, s.Account, clientSecret(s.Name))
	if fault.CodeOf(err) == fault.NotFound {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	parts := strings.Fields(string(value))
	if len(parts) < 1 || len(parts) > 2 {
		return false, fault.New(fault.PreconditionFailed, "The secret %s must hold the id of a client, and behind a blank its secret, if it has one", clientSecret(s.Name))
	}
	g.ClientID, g.AuthStyle = parts[0], oauth2.AuthStyleInParams
	if len(parts) == 2 {
		g.ClientSecret = parts[1]
		// A server that does not say how it wants to be told takes the header (RFC 8414).
		if methods := meta.TokenEndpointAuthMethodsSupported; len(methods) == 0 || slices.Contains(methods, "client_secret_basic") {
			g.AuthStyle = oauth2.AuthStyleInHeader
		}
	}
	return true, nil
}

// resource finds what protects a server: in the challenge of its 401, or at the well-known addresses.
func (m *Manager) resource(ctx context.Context, s *Server, client *http.Client) (*oauthex.ProtectedResourceMetadata, error) {
	u, err := url.Parse(s.Config.URL)
	if err != nil {
		return nil, fmt.Errorf("read the address of an MCP server: %w", err)
	}
	values, err := m.values(ctx, s)
	if err != nil {
		return nil, err
	}
	plain := *s
	plain.Config.Auth = ""
	direct, err := m.client(ctx, &plain, values)
	if err != nil {
		return nil, err
	}
	root := u.Scheme + "://" + u.Host
	places := []string{challenged(ctx, direct, s.Config.URL), root + "/.well-known/oauth-protected-resource" + strings.TrimSuffix(u.Path, "/"), root + "/.well-known/oauth-protected-resource"}
	var failed error
	for _, place := range places {
		if place == "" {
			continue
		}
		// What the server itself says is fetched as the server is; an address elsewhere only where agents may go.
		through := client
		if p, err := url.Parse(place); err == nil && origin(p) == origin(u) {
			through = direct
		}
		for _, identifier := range []string{s.Config.URL, root} {
			meta, err := oauthex.GetProtectedResourceMetadata(ctx, place, identifier, through)
			if err == nil && len(meta.AuthorizationServers) > 0 {
				return meta, nil
			}
			failed = errors.Join(failed, err)
		}
	}
	return nil, fault.Wrap(failed, fault.ProviderError, "The MCP server %s does not say where to sign in", s.Name)
}

// challenged is the address of the metadata in a server's 401; empty when it names none.
func challenged(ctx context.Context, client *http.Client, endpoint string) string {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, endpoint, nil)
	if err != nil {
		return ""
	}
	req.Header.Set("Accept", "text/event-stream")
	// The door of the client makes an error of a 401; its transport underneath does not.
	d, ok := client.Transport.(*door)
	if !ok {
		return ""
	}
	res, err := d.base.RoundTrip(req)
	if err != nil {
		return ""
	}
	_ = res.Body.Close()
	challenges, err := oauthex.ParseWWWAuthenticate(res.Header.Values("WWW-Authenticate"))
	if err != nil {
		return ""
	}
	for _, c := range challenges {
		if place := c.Params["resource_metadata"]; place != "" {
			return place
		}
	}
	return ""
}

// oauthClient goes where an MCP server pointed: the agent class, with small answers.
func (m *Manager) oauthClient() *http.Client {
	client := *m.opts.Egress.Agent()
	client.Transport = shortAnswers{client.Transport}
	return &client
}

type shortAnswers struct{ base http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (s shortAnswers) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := s.base.RoundTrip(req)
	if err == nil {
		res.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(res.Body, maxOAuth), res.Body}
	}
	return res, err
}

var errLogin = fault.New(fault.NotFound, "This sign-in is unknown or too old: start it anew")

// FinishLogin takes what the authorization server sent a person back with, gets the token, and asks the server for its tools. state proves
// that the person began the sign-in here. Errors are *fault.Error: not_found for a state that nobody waits for, provider_error when the
// authorization server gives no token.
func (m *Manager) FinishLogin(ctx context.Context, state, code, issuer string) (Server, error) {
	id, _, _ := strings.Cut(state, ".")
	var s Server
	err := m.opts.Store.Read(ctx, func(tx store.Tx) (err error) {
		s, err = byID(tx, id)
		return err
	})
	if err != nil {
		return Server{}, loginError(err)
	}
	g, err := m.grant(ctx, s.Account, loginSecret(s.Name))
	switch {
	case err != nil:
		return Server{}, loginError(err)
	case subtle.ConstantTimeCompare([]byte(g.State), []byte(state)) != 1 || m.opts.Clock.Now().UnixMilli() > g.ExpiresAt || g.URL != s.Config.URL:
		return Server{}, errLogin
	case code == "":
		return Server{}, fault.New(fault.ProviderError, "The sign-in was refused")
	case (g.NeedsIssuer || issuer != "") && issuer != g.Issuer:
		return Server{}, fault.New(fault.PermissionDenied, "The sign-in came back from another authorization server than the one it was begun at")
	}
	// A code is used once, whatever comes of it.
	if err := m.opts.Store.Write(ctx, store.Interactive, func(tx store.Tx) error { return m.opts.Vault.Delete(tx, s.Account, loginSecret(s.Name)) }); err != nil {
		return Server{}, loginError(err)
	}
	g.Token, err = g.config().Exchange(context.WithValue(ctx, oauth2.HTTPClient, m.oauthClient()), code,
		oauth2.VerifierOption(g.Verifier), oauth2.SetAuthURLParam("resource", g.Resource))
	if err != nil {
		return Server{}, refusedToken(err, s.Name)
	}
	g.State, g.Verifier, g.ExpiresAt = "", "", 0
	if err := m.keep(ctx, s.Account, tokenSecret(s.Name), g); err != nil {
		return Server{}, err
	}
	m.Forget(s.Account, s.Name)
	return m.Refresh(ctx, s.Account, s.Name)
}

func loginError(err error) error {
	if fault.CodeOf(err) == fault.NotFound {
		return errLogin
	}
	return err
}

// refusedToken keeps what an authorization server answered out of texts: it may repeat a secret.
func refusedToken(err error, name string) error {
	if r, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		return fault.Wrap(err, fault.ProviderError, "The authorization server of %s gave no token (HTTP %d, %.100s)", name, r.Response.StatusCode, r.ErrorCode)
	}
	if _, ok := errors.AsType[*url.Error](err); ok {
		return egress.Clean(err)
	}
	return fault.Wrap(err, fault.ProviderError, "The authorization server of %s gave no token", name)
}

// token is a token for a server that wants a sign-in, renewed when it is about to end.
func (m *Manager) token(ctx context.Context, s *Server) (string, error) {
	place, err := m.slot(s)
	if err != nil {
		return "", err
	}
	place.token.Lock()
	defer place.token.Unlock()
	g, err := m.grant(ctx, s.Account, tokenSecret(s.Name))
	switch {
	case fault.CodeOf(err) == fault.NotFound:
		return "", errSignIn
	case err != nil:
		return "", err
	case g.URL != s.Config.URL:
		return "", errSignIn
	case g.Token.Expiry.IsZero() || m.opts.Clock.Now().Add(time.Minute).Before(g.Token.Expiry):
		return g.Token.AccessToken, nil
	case g.Token.RefreshToken == "":
		return "", errSignIn
	}
	old := &oauth2.Token{RefreshToken: g.Token.RefreshToken}
	fresh, err := g.config().TokenSource(context.WithValue(ctx, oauth2.HTTPClient, m.oauthClient()), old).Token()
	if err != nil {
		if r, ok := errors.AsType[*oauth2.RetrieveError](err); ok && r.ErrorCode == "invalid_grant" {
			return "", errSignIn
		}
		return "", refusedToken(err, s.Name)
	}
	g.Token = fresh
	// The old refresh token may be void by now: the new one is kept whoever waits for it.
	return fresh.AccessToken, m.keep(context.WithoutCancel(ctx), s.Account, tokenSecret(s.Name), g)
}

// SignedIn tells whether a token is kept for a server.
func (m *Manager) SignedIn(tx store.Tx, s *Server) (bool, error) {
	if s.Config.Auth != AuthOAuth {
		return false, nil
	}
	_, _, err := m.opts.Vault.GetTx(tx, s.Account, tokenSecret(s.Name))
	if fault.CodeOf(err) == fault.NotFound {
		return false, nil
	}
	return err == nil, err
}

func (m *Manager) grant(ctx context.Context, account, secret string) (*grant, error) {
	value, _, err := m.opts.Vault.Get(ctx, account, secret)
	if err != nil {
		return nil, err
	}
	var g grant
	if err := json.Unmarshal(value, &g); err != nil {
		return nil, fmt.Errorf("read a sign-in: %w", err)
	}
	return &g, nil
}

func (m *Manager) keep(ctx context.Context, account, secret string, g *grant) error {
	value, err := json.Marshal(g)
	if err != nil {
		return fmt.Errorf("encode a sign-in: %w", err)
	}
	return m.opts.Store.Write(ctx, store.Interactive, func(tx store.Tx) error {
		_, err := m.opts.Vault.Set(tx, account, secret, value, map[string]any{"kind": "mcp-oauth", "at": clock.Millis(m.opts.Clock)})
		return err
	})
}

func randomText() string { return rand.Text() + rand.Text() }
