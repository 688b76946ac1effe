package mcp_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"github.com/loam-agents/loam/internal/egress"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/mcp"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/store/storetest"
	"github.com/loam-agents/loam/wire"
)

// issuer is an authorization server that gives tokens of an hour and a new refresh token each time.
type issuer struct {
	*httptest.Server
	mu        sync.Mutex
	codes     map[string]url.Values
	tokens    map[string]bool
	refresh   string
	n         int
	refreshed int
	broken    bool
	// closed takes no registrations; secret is what the client has to prove then, and basic how.
	closed bool
	secret string
	basic  bool
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	i := &issuer{codes: map[string]url.Values{}, tokens: map[string]bool{}}
	mux := http.NewServeMux()
	i.Server = httptest.NewServer(mux)
	t.Cleanup(i.Close)
	mux.HandleFunc("GET /.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		i.mu.Lock()
		defer i.mu.Unlock()
		out := object{
			"issuer": i.URL, "authorization_endpoint": i.URL + "/authorize", "token_endpoint": i.URL + "/token", "registration_endpoint": i.URL + "/register",
			"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"}, "authorization_response_iss_parameter_supported": true,
		}
		if i.closed {
			delete(out, "registration_endpoint")
			out["token_endpoint_auth_methods_supported"] = []string{map[bool]string{true: "client_secret_basic", false: "client_secret_post"}[i.basic]}
		}
		reply(w, out)
	})
	mux.HandleFunc("POST /register", func(w http.ResponseWriter, r *http.Request) {
		var in object
		_ = json.NewDecoder(r.Body).Decode(&in) // an empty registration is answered all the same
		in["client_id"] = "client-1"
		w.WriteHeader(http.StatusCreated)
		reply(w, in)
	})
	// A person who comes here agrees at once.
	mux.HandleFunc("GET /authorize", func(w http.ResponseWriter, r *http.Request) {
		i.mu.Lock()
		defer i.mu.Unlock()
		q := r.URL.Query()
		i.n++
		code := fmt.Sprintf("code-%d", i.n)
		i.codes[code] = q
		back := url.Values{"code": {code}, "state": {q.Get("state")}, "iss": {i.URL}}
		http.Redirect(w, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
	})
	mux.HandleFunc("POST /token", i.token)
	return i
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func (i *issuer) token(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	_ = r.ParseForm() // a form that is none has no fields
	id, secret := r.Form.Get("client_id"), r.Form.Get("client_secret")
	if user, password, ok := r.BasicAuth(); ok && i.basic {
		id, secret = user, password
	}
	good := false
	switch r.Form.Get("grant_type") {
	case "authorization_code":
		asked, ok := i.codes[r.Form.Get("code")]
		delete(i.codes, r.Form.Get("code"))
		sum := sha256.Sum256([]byte(r.Form.Get("code_verifier")))
		good = ok && asked.Get("code_challenge_method") == "S256" && asked.Get("code_challenge") == base64.RawURLEncoding.EncodeToString(sum[:]) &&
			asked.Get("resource") == r.Form.Get("resource") && asked.Get("resource") != "" && id == "client-1" && secret == i.secret
	case "refresh_token":
		good = r.Form.Get("refresh_token") == i.refresh && !i.broken
		i.refreshed++
	}
	if !good {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = fmt.Fprint(w, `{"error":"invalid_grant","error_description":"secret-detail"}`)
		return
	}
	i.n++
	access := fmt.Sprintf("access-%d", i.n)
	clear(i.tokens)
	i.tokens[access], i.refresh = true, fmt.Sprintf("refresh-%d", i.n)
	reply(w, object{"access_token": access, "token_type": "Bearer", "expires_in": 3600, "refresh_token": i.refresh})
}

// protected is an MCP server that wants a token of the issuer.
func (i *issuer) protected(t *testing.T) string {
	t.Helper()
	mux := http.NewServeMux()
	s := httptest.NewServer(mux)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	mux.HandleFunc("/.well-known/oauth-protected-resource/mcp", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, object{"resource": s.URL + "/mcp", "authorization_servers": []string{i.URL}, "scopes_supported": []string{"read"}})
	})
	verify := func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		i.mu.Lock()
		defer i.mu.Unlock()
		if !i.tokens[token] {
			return nil, auth.ErrInvalidToken
		}
		return &auth.TokenInfo{Expiration: time.Now().Add(time.Hour)}, nil
	}
	guard := auth.RequireBearerToken(verify, &auth.RequireBearerTokenOptions{ResourceMetadataURL: s.URL + "/.well-known/oauth-protected-resource/mcp"})
	mux.Handle("/mcp", guard(streamable(newServer(), nil)))
	return s.URL + "/mcp"
}

// signIn is what a person's browser does: it goes where it is told and comes back with state, code and issuer.
func signIn(t *testing.T, address string) url.Values {
	t.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	client.CloseIdleConnections()
	back, err := res.Location()
	if err != nil {
		t.Fatal(err)
	}
	return back.Query()
}

func setupOAuth(t *testing.T, s store.Store) (*bench, *issuer) {
	t.Helper()
	i := newIssuer(t)
	e, err := egress.New(egress.Options{Allow: []string{strings.TrimPrefix(i.URL, "http://")}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	b := setup(t, s, func(o *mcp.Options) { o.Egress = e })
	b.clock.Advance(time.Since(b.clock.Now()))
	return b, i
}

func TestAPersonSignsInAndTheTokenIsRenewed(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s store.Store) {
		b, i := setupOAuth(t, s)
		server := b.set(owner, "box", wire.McpServerConfig{URL: i.protected(t), Auth: "oauth"})
		if server.State != mcp.StateError || !strings.Contains(server.Error, "wants a person to sign in") {
			t.Fatalf("before: %+v", server)
		}
		login, err := b.StartLogin(t.Context(), owner, "box")
		if err != nil {
			t.Fatal(err)
		}
		asked, _ := url.Parse(login.URL)
		if q := asked.Query(); q.Get("code_challenge") == "" || q.Get("scope") != "read" || q.Get("resource") == "" || strings.Contains(login.URL, "erifier") {
			t.Errorf("address %s", login.URL)
		}
		back := signIn(t, login.URL)
		server, err = b.FinishLogin(t.Context(), back.Get("state"), back.Get("code"), back.Get("iss"))
		if err != nil || server.State != mcp.StateOK || len(server.Tools) != 1 {
			t.Fatalf("%+v, %v", server, err)
		}
		if _, err := b.FinishLogin(t.Context(), back.Get("state"), back.Get("code"), back.Get("iss")); fault.CodeOf(err) != fault.NotFound {
			t.Errorf("a second time: %v", err)
		}
		if answer, err := b.call("echo", `{"text":"hi"}`); err != nil || !strings.Contains(answer.Text, "echo hi") {
			t.Errorf("%+v, %v", answer, err)
		}
		b.clock.Advance(2 * time.Hour)
		if answer, err := b.call("echo", `{"text":"later"}`); err != nil || !strings.Contains(answer.Text, "echo later") {
			t.Errorf("two hours later: %+v, %v", answer, err)
		}
		i.mu.Lock()
		if i.refreshed != 1 {
			t.Errorf("renewed %d times", i.refreshed)
		}
		i.broken = true
		i.mu.Unlock()
		b.clock.Advance(2 * time.Hour)
		if _, err := b.call("echo", `{}`); fault.CodeOf(err) != fault.PreconditionFailed || !strings.Contains(err.Error(), "sign in") || strings.Contains(err.Error(), "secret-detail") {
			t.Errorf("after the grant was taken back: %v", err)
		}
	})
}

func TestASignInThatDidNotBeginHereIsRefused(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s store.Store) {
		b, i := setupOAuth(t, s)
		b.set(owner, "box", wire.McpServerConfig{URL: i.protected(t), Auth: "oauth"})
		begin := func() url.Values {
			login, err := b.StartLogin(t.Context(), owner, "box")
			if err != nil {
				t.Fatal(err)
			}
			return signIn(t, login.URL)
		}
		back := begin()
		id, _, _ := strings.Cut(back.Get("state"), ".")
		for name, c := range map[string]struct {
			state, code, iss string
			want             fault.Code
		}{
			"no state":       {"", back.Get("code"), i.URL, fault.NotFound},
			"guessed state":  {id + ".guess", back.Get("code"), i.URL, fault.NotFound},
			"another server": {"nobody.x", back.Get("code"), i.URL, fault.NotFound},
			"no code":        {back.Get("state"), "", i.URL, fault.ProviderError},
			"another issuer": {back.Get("state"), back.Get("code"), "https://evil.test", fault.PermissionDenied},
			"no issuer":      {back.Get("state"), back.Get("code"), "", fault.PermissionDenied},
		} {
			if _, err := b.FinishLogin(t.Context(), c.state, c.code, c.iss); fault.CodeOf(err) != c.want {
				t.Errorf("%s: %v", name, err)
			}
		}
		// A later sign-in makes an earlier one void, and time does.
		second := begin()
		if _, err := b.FinishLogin(t.Context(), back.Get("state"), back.Get("code"), i.URL); fault.CodeOf(err) != fault.NotFound {
			t.Errorf("an earlier one: %v", err)
		}
		b.clock.Advance(mcp.LoginTTL + time.Second)
		if _, err := b.FinishLogin(t.Context(), second.Get("state"), second.Get("code"), i.URL); fault.CodeOf(err) != fault.NotFound {
			t.Errorf("a late one: %v", err)
		}
		// A code that the issuer does not know gives no token, and no detail.
		third := begin()
		if _, err := b.FinishLogin(t.Context(), third.Get("state"), "forged", i.URL); fault.CodeOf(err) != fault.ProviderError || strings.Contains(err.Error(), "secret-detail") {
			t.Errorf("a forged code: %v", err)
		}
	})
}

func TestATokenIsForTheAddressThatItWasGivenFor(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s store.Store) {
		b, i := setupOAuth(t, s)
		b.set(owner, "box", wire.McpServerConfig{URL: i.protected(t), Auth: "oauth"})
		login, err := b.StartLogin(t.Context(), owner, "box")
		if err != nil {
			t.Fatal(err)
		}
		back := signIn(t, login.URL)
		if _, err := b.FinishLogin(t.Context(), back.Get("state"), back.Get("code"), back.Get("iss")); err != nil {
			t.Fatal(err)
		}
		var sent []string
		thief := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			sent = append(sent, r.Header.Get("Authorization"))
			w.WriteHeader(http.StatusTeapot)
		}), nil)
		if got := b.set(owner, "box", wire.McpServerConfig{URL: thief, Auth: "oauth", Transport: "http"}); got.State != mcp.StateError || slices.ContainsFunc(sent, func(s string) bool { return s != "" }) {
			t.Errorf("%+v, sent %q", got, sent)
		}
		if _, err := b.StartLogin(t.Context(), owner, "box"); fault.CodeOf(err) != fault.ProviderError {
			t.Errorf("a server that says nothing about a sign-in: %v", err)
		}
		b.set(owner, "box", wire.McpServerConfig{URL: thief, Transport: "http"})
		if _, err := b.StartLogin(t.Context(), owner, "box"); fault.CodeOf(err) != fault.PreconditionFailed {
			t.Errorf("a server without a sign-in: %v", err)
		}
	})
}

func TestAClientThatAPersonMadeSignsInWhereNoneAreRegistered(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		secret, value string
		basic         bool
	}{"public": {"", "client-1", false}, "in the header": {"s3", "client-1 s3", true}, "in the form": {"s3", " client-1\ts3\n", false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.Each(t, func(t *testing.T, s store.Store) {
				b, i := setupOAuth(t, s)
				i.closed, i.secret, i.basic = true, c.secret, c.basic
				b.set(owner, "box", wire.McpServerConfig{URL: i.protected(t), Auth: "oauth"})
				_, err := b.StartLogin(t.Context(), owner, "box")
				if fault.CodeOf(err) != fault.ProviderError || !strings.Contains(err.Error(), "http://127.0.0.1:1/mcp/callback") || !strings.Contains(err.Error(), "mcp-box-oauth-client") {
					t.Fatalf("without a client: %v", err)
				}
				b.secret(owner, "mcp-box-oauth-client", "a b c")
				if _, err := b.StartLogin(t.Context(), owner, "box"); fault.CodeOf(err) != fault.PreconditionFailed || strings.Contains(err.Error(), "a b c") {
					t.Errorf("a secret that is none: %v", err)
				}
				b.secret(owner, "mcp-box-oauth-client", c.value)
				login, err := b.StartLogin(t.Context(), owner, "box")
				if err != nil || c.secret != "" && strings.Contains(login.URL, c.secret) {
					t.Fatalf("%s, %v", login.URL, err)
				}
				back := signIn(t, login.URL)
				if server, err := b.FinishLogin(t.Context(), back.Get("state"), back.Get("code"), back.Get("iss")); err != nil || server.State != mcp.StateOK {
					t.Errorf("%+v, %v", server, err)
				}
			})
		})
	}
}

func TestASignInThatARestartInterruptedIsFinishedAfterIt(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s store.Store) {
		b, i := setupOAuth(t, s)
		b.set(owner, "box", wire.McpServerConfig{URL: i.protected(t), Auth: "oauth"})
		login, err := b.StartLogin(t.Context(), owner, "box")
		if err != nil {
			t.Fatal(err)
		}
		back := signIn(t, login.URL)
		b.restart()
		server, err := b.FinishLogin(t.Context(), back.Get("state"), back.Get("code"), back.Get("iss"))
		if err != nil || server.State != mcp.StateOK || len(server.Tools) != 1 {
			t.Fatalf("%+v, %v", server, err)
		}
		b.restart()
		if answer, err := b.call("echo", `{"text":"hi"}`); err != nil || !strings.Contains(answer.Text, "echo hi") {
			t.Errorf("after another restart: %+v, %v", answer, err)
		}
	})
}
