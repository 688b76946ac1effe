package operation_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/loam-agents/loam/internal/model"
	"github.com/loam-agents/loam/internal/model/scripted"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
	"github.com/loam-agents/loam/wire"
)

// issuer signs people in: it checks the proof key of a code and gives out tokens, each of which is renewed once.
type issuer struct {
	url string

	mu        sync.Mutex
	challenge string
	life      int
	issued    int
	refusing  int
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	i := &issuer{life: 3600}
	s := httptest.NewServer(http.HandlerFunc(i.token))
	t.Cleanup(s.Close)
	i.url = s.URL
	return i
}

func (i *issuer) token(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	_ = r.ParseForm() // a form that cannot be read has no fields
	sum := sha256.Sum256([]byte(r.Form.Get("code_verifier")))
	good := r.URL.Path == "/oauth/token" && r.Form.Get("client_id") == "loam-test"
	switch r.Form.Get("grant_type") {
	case "authorization_code":
		good = good && r.Form.Get("code") == "the-code" && base64.RawURLEncoding.EncodeToString(sum[:]) == i.challenge &&
			r.Form.Get("redirect_uri") == "http://localhost:1455/auth/callback"
	case "refresh_token":
		good = good && r.Form.Get("refresh_token") == fmt.Sprint("refresh-", i.issued)
	default:
		good = false
	}
	if i.refusing != 0 || !good {
		w.WriteHeader(max(i.refusing, 400))
		return
	}
	i.issued++
	claims, _ := json.Marshal(object{"https://api.openai.com/auth": object{"chatgpt_account_id": "acct-1"}, "n": i.issued})
	_ = json.NewEncoder(w).Encode(object{
		"access_token":  "canary." + base64.RawURLEncoding.EncodeToString(claims) + ".sig",
		"refresh_token": fmt.Sprint("refresh-", i.issued), "expires_in": i.life,
	})
}

func (i *issuer) set(fn func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	fn()
}

// begin starts a sign-in and returns its id and state.
func (i *issuer) begin(t *testing.T, h *servertest.Harness) (id, state string) {
	t.Helper()
	started := servertest.Call[wire.StartProviderOAuthResponse](h, "StartProviderOAuth", object{"providerType": "openai"})
	u, err := url.Parse(started.AuthURL)
	if err != nil || !strings.HasPrefix(started.AuthURL, i.url+"/oauth/authorize?") {
		t.Fatalf("the address is %s: %v", started.AuthURL, err)
	}
	q := u.Query()
	if q.Get("client_id") != "loam-test" || q.Get("code_challenge_method") != "S256" || q.Get("response_type") != "code" ||
		q.Get("scope") != "openid profile email offline_access" || len(q.Get("state")) != 32 {
		t.Errorf("asked with %v", q)
	}
	i.set(func() { i.challenge = q.Get("code_challenge") })
	return started.LoginID, q.Get("state")
}

// subscriptions is a server whose people can sign in, and the model service of those who did.
func subscriptions(t *testing.T, cfg server.Config) (*servertest.Harness, *issuer, *scripted.Server) {
	t.Helper()
	i := newIssuer(t)
	m := servertest.Scripted(t, scripted.Turn{Repeat: true, Steps: []scripted.Step{{Text: "Yes."}}})
	cfg.SubscriptionClientID, cfg.SubscriptionIssuer, cfg.SubscriptionAPI = "loam-test", i.url, m.BaseURL(model.OpenAIResponses)
	return servertest.Start(t, cfg), i, m
}

// signedIn is an agent on a provider that the owner has signed in to.
func signedIn(t *testing.T, h *servertest.Harness, i *issuer) string {
	t.Helper()
	id, state := i.begin(t, h)
	must(t, h.Client, "SubmitProviderOAuthCode", object{"loginId": id, "code": "http://localhost:1455/auth/callback?code=the-code&state=" + state})
	status := servertest.Call[wire.ProviderOAuthStatusResponse](h, "GetProviderOAuthStatus", object{"loginId": id})
	if status.Status != "completed" || status.SecretName != "openai-subscription-oauth" || status.Error != "" {
		t.Fatalf("the sign-in is %+v", status)
	}
	set := must(t, h.Client, "SetModelProvider", object{"name": "mine", "provider": object{
		"type": "openai", "authMode": "subscription", "secretRefs": object{"oauth": status.SecretName},
	}})["provider"].(object)
	if set["authMode"] != "subscription" || set["authStatus"] != "ok" {
		t.Errorf("the provider is %v", set)
	}
	return must(t, h.Client, "CreateAgent", object{"definition": definition(object{"modelProvider": "mine", "model": "gpt-5.2"})})["agentId"].(string)
}

func TestASubscriptionIsSignedInToAndUsed(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		h, i, m := subscriptions(t, cfg)
		agent := signedIn(t, h, i)
		if _, err := h.Send(h.Session(agent), "hello"); err != nil {
			t.Fatal(err)
		}
		asked := m.Requests()[0]
		if asked.Dialect != model.OpenAIResponses || !strings.HasPrefix(asked.Header.Get("Authorization"), "Bearer canary.") || asked.Header.Get("Chatgpt-Account-Id") != "acct-1" {
			t.Errorf("the model was asked with %v", asked.Header)
		}
		models := servertest.Call[wire.ListProviderModelsResponse](h, "ListProviderModels", object{"provider": "mine"}).Models
		if len(models) == 0 || len(m.Requests()) != 1 {
			t.Errorf("its models: %v, after %d requests", models, len(m.Requests()))
		}
		// Neither the sign-in nor its tokens are anywhere to be seen.
		for _, name := range []string{"ListSecrets", "ListModelProviders"} {
			if text := fmt.Sprint(must(t, h.Client, name, nil)); strings.Contains(text, "canary") || strings.Contains(text, "refresh-") || strings.Contains(text, "login") {
				t.Errorf("%s shows %s", name, text)
			}
		}
		// Forgetting the provider forgets the tokens.
		must(t, h.Client, "DeleteModelProvider", object{"name": "mine"})
		if list := must(t, h.Client, "ListSecrets", nil)["secrets"].([]any); len(list) != 0 {
			t.Errorf("secrets afterwards: %v", list)
		}
	})
}

func TestTokensAreRenewedByOneAtATime(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		h, i, m := subscriptions(t, cfg)
		i.set(func() { i.life = 30 })
		agent := signedIn(t, h, i)
		var wg sync.WaitGroup
		for range 4 {
			session := h.Session(agent)
			wg.Go(func() {
				// Each renewal uses the token of the one before up.
				if _, err := h.Send(session, "hello"); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if n := len(m.Requests()); n != 4 {
			t.Errorf("%d requests", n)
		}
		i.set(func() { i.refusing = 503 })
		if _, err := h.Send(h.Session(agent), "hello"); err == nil || !strings.Contains(err.Error(), "cannot be renewed now: HTTP 503") {
			t.Errorf("while the issuer is away: %v", err)
		}
		hints := h.Watch("account/"+h.Key.ID().String(), 0)
		i.set(func() { i.refusing = 400 })
		if _, err := h.Send(h.Session(agent), "hello"); err == nil || !strings.Contains(err.Error(), "sign in again") {
			t.Errorf("when it refuses: %v", err)
		}
		hinted(t, hints, "model-provider-changed")
		listed := must(t, h.Client, "ListModelProviders", nil)["providers"].([]any)[0].(object)
		if listed["authStatus"] != "needs-login" {
			t.Errorf("the provider is %v", listed)
		}
		// Signing in again mends it.
		i.set(func() { i.refusing = 0 })
		id, _ := i.begin(t, h)
		must(t, h.Client, "SubmitProviderOAuthCode", object{"loginId": id, "code": "the-code"})
		if _, err := h.Send(h.Session(agent), "hello"); err != nil {
			t.Error(err)
		}
	})
}

func TestASignInTakesItsCodeInEveryForm(t *testing.T) {
	t.Parallel()
	h, i, _ := subscriptions(t, server.Config{})
	for _, form := range []string{"the-code", " the-code\n", "the-code#STATE", "code=the-code&state=STATE", "?code=the-code&state=STATE", "http://localhost:1455/auth/callback?state=STATE&code=the-code#top"} {
		id, state := i.begin(t, h)
		must(t, h.Client, "SubmitProviderOAuthCode", object{"loginId": id, "code": strings.ReplaceAll(form, "STATE", state)})
	}
	id, _ := i.begin(t, h)
	for form, want := range map[string]string{
		"":                           "Code is required",
		strings.Repeat("x", 8193):    "Code is too large",
		"http://localhost:1455/auth": "There is no code in it: paste the whole address that the sign-in has led to",
		"code=&state=x":              "There is no code in it: paste the whole address that the sign-in has led to",
		"code=x&state=other":         "The code belongs to another sign-in: use the address that this one has led to",
		"the-code#other":             "The code belongs to another sign-in: use the address that this one has led to",
		"?error=access_denied":       "The service refused the sign-in: begin a new one",
	} {
		if _, status, text := act(t, h.Client, "SubmitProviderOAuthCode", object{"loginId": id, "code": form}); status != 400 || text != want {
			t.Errorf("%.40q: %d %s, want %s", form, status, text, want)
		}
	}
	if got := must(t, h.Client, "GetProviderOAuthStatus", object{"loginId": id})["status"]; got != "pending" {
		t.Errorf("after codes that are none it is %v", got)
	}
}

func TestASignInFailsIsReplacedAndCanceled(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		h, i, _ := subscriptions(t, cfg)
		stranger := h.As(newKey(t, 7))
		first, _ := i.begin(t, h)
		second, _ := i.begin(t, h)
		gone := func(why, id string) {
			t.Helper()
			for _, name := range []string{"GetProviderOAuthStatus", "CancelProviderOAuth", "SubmitProviderOAuthCode"} {
				if _, status, text := act(t, h.Client, name, object{"loginId": id, "code": "the-code"}); status != 404 || text != "Sign-in not found" {
					t.Errorf("%s %s: %d %s", name, why, status, text)
				}
			}
		}
		gone("of a replaced one", first)
		if _, status, text := act(t, stranger, "GetProviderOAuthStatus", object{"loginId": second}); status != 404 || text != "Sign-in not found" {
			t.Errorf("another account's: %d %s", status, text)
		}
		i.set(func() { i.refusing = 502 })
		if _, status, text := act(t, h.Client, "SubmitProviderOAuthCode", object{"loginId": second, "code": "the-code"}); status != 502 || text != "The sign-in service cannot be asked: HTTP 502" {
			t.Errorf("while the issuer is away: %d %s", status, text)
		}
		i.set(func() { i.refusing = 0 })
		if _, status, text := act(t, h.Client, "SubmitProviderOAuthCode", object{"loginId": second, "code": "wrong"}); status != 400 || text != "Sign-in failed: the service answered HTTP 400" {
			t.Errorf("a wrong code: %d %s", status, text)
		}
		if got := must(t, h.Client, "GetProviderOAuthStatus", object{"loginId": second}); got["status"] != "failed" || got["error"] != "Sign-in failed: the service answered HTTP 400" || got["secretName"] != nil {
			t.Errorf("its status: %v", got)
		}
		if _, status, text := act(t, h.Client, "SubmitProviderOAuthCode", object{"loginId": second, "code": "the-code"}); status != 400 || text != "This sign-in is over: begin a new one" {
			t.Errorf("after it failed: %d %s", status, text)
		}
		third, _ := i.begin(t, h)
		must(t, h.Client, "CancelProviderOAuth", object{"loginId": third})
		gone("of a canceled one", third)
	})
}

func TestSubscriptionsAreTheOperatorsToAllow(t *testing.T) {
	t.Parallel()
	plain := servertest.Start(t, server.Config{})
	h, _, _ := subscriptions(t, server.Config{})
	provider := func(changes object) object {
		out := object{"type": "openai", "authMode": "subscription", "secretRefs": object{"oauth": "x"}}
		for k, v := range changes {
			out[k] = v
		}
		return object{"name": "p", "provider": out}
	}
	for _, c := range []struct {
		h       *servertest.Harness
		name    string
		request object
		status  int
		text    string
	}{
		{plain, "StartProviderOAuth", object{"providerType": "openai"}, 403, "Subscription sign-in is not enabled on this server"},
		{plain, "GetProviderOAuthStatus", object{"loginId": "x"}, 404, "Sign-in not found"},
		{plain, "SetModelProvider", provider(nil), 400, "Subscription sign-in is not enabled on this server"},
		{h, "StartProviderOAuth", object{"providerType": "anthropic"}, 400, "Subscription sign-in is not supported for anthropic"},
		{h, "StartProviderOAuth", nil, 400, "Provider type is required"},
		{h, "SetModelProvider", provider(object{"type": "anthropic"}), 400, "Subscription sign-in is not supported for anthropic"},
		{h, "SetModelProvider", provider(object{"secretRefs": object{"apiKey": "x"}}), 400, "Provider secretRefs.oauth is required"},
		{h, "SetModelProvider", provider(object{"authMode": "magic"}), 400, "Provider auth mode is invalid"},
	} {
		if _, status, text := act(t, c.h.Client, c.name, c.request); status != c.status || text != c.text {
			t.Errorf("%s %v: %d %q, want %d %q", c.name, c.request, status, text, c.status, c.text)
		}
	}
	// A provider whose secret is not there says that somebody has to sign in.
	set := must(t, h.Client, "SetModelProvider", provider(nil))["provider"].(object)
	if set["authStatus"] != "needs-login" {
		t.Errorf("without tokens: %v", set)
	}
	for h, want := range map[*servertest.Harness]bool{plain: false, h: true} {
		_, body := get(t, h.URL+"/agents/api/health")
		var health struct{ SubscriptionAuth bool }
		if err := json.Unmarshal(body, &health); err != nil || health.SubscriptionAuth != want {
			t.Errorf("health says %s", body)
		}
	}
}
