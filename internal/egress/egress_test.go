package egress_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/loam-agents/loam/internal/egress"
	"github.com/loam-agents/loam/internal/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// names answers lookups: each name has a list of answers, the last of which repeats.
type names struct {
	mu      sync.Mutex
	answers map[string][]string
}

func (n *names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	list := n.answers[host]
	if len(list) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	if len(list) > 1 {
		n.answers[host] = list[1:]
	}
	var out []netip.Addr
	for _, a := range strings.Fields(list[0]) {
		out = append(out, netip.MustParseAddr(a))
	}
	return out, nil
}

func setup(t *testing.T, o egress.Options) *egress.Egress {
	t.Helper()
	if o.Resolver == nil {
		o.Resolver = &names{}
	}
	e, err := egress.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

func serve(t *testing.T, h http.HandlerFunc) (*httptest.Server, string) {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s, strings.TrimPrefix(s.URL, "http://")
}

func get(t *testing.T, c *http.Client, address string) (string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		return "", err
	}
	res, err := c.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	return string(data), egress.Clean(err)
}

// ruleOf is the rule that refused a request; empty when err is no refusal.
func ruleOf(err error) string {
	if err == nil {
		return ""
	}
	rule, _ := fault.From(err).Details["rule"].(string)
	return rule
}

func TestAnAgentReachesNothingButPublicAddresses(t *testing.T) {
	t.Parallel()
	var hits atomic.Int32
	_, host := serve(t, func(http.ResponseWriter, *http.Request) { hits.Add(1) })
	_, port, _ := net.SplitHostPort(host)
	e := setup(t, egress.Options{Resolver: &names{answers: map[string][]string{
		"localhost": {"127.0.0.1 ::1"}, "evil.test": {"127.0.0.1"}, "mixed.test": {"1.1.1.1 127.0.0.1"}, "meta.test": {"169.254.169.254"},
		"mapped.test": {"::ffff:127.0.0.1"}, "nat.test": {"64:ff9b::127.0.0.1"},
	}}})
	for address, rule := range map[string]string{
		"http://127.0.0.1:" + port:                egress.RuleAddress,
		"http://localhost:" + port:                egress.RuleAddress,
		"http://LOCALHOST.:" + port:               egress.RuleAddress,
		"http://evil.test:" + port:                egress.RuleAddress,
		"http://mixed.test:" + port:               egress.RuleAddress,
		"http://mapped.test:" + port:              egress.RuleAddress,
		"http://nat.test:" + port:                 egress.RuleAddress,
		"http://meta.test/latest/meta-data":       egress.RuleAddress,
		"http://169.254.169.254/latest/meta-data": egress.RuleAddress,
		"http://[::1]:" + port:                    egress.RuleAddress,
		"http://[::ffff:127.0.0.1]:" + port:       egress.RuleAddress,
		"http://[::ffff:7f00:1]:" + port:          egress.RuleAddress,
		"http://0.0.0.0:" + port:                  egress.RuleAddress,
		"http://0x7f.1:" + port:                   egress.RuleHost,
		"http://2130706433:" + port:               egress.RuleHost,
		"http://0177.0.0.1:" + port:               egress.RuleHost,
		"http://127.1:" + port:                    egress.RuleHost,
		"http://0x7f000001:" + port:               egress.RuleHost,
		"http://[fe80::1%25eth0]:" + port:         egress.RuleHost,
		"http://user:pass@127.0.0.1:" + port:      egress.RuleUserinfo,
		"http://one.one@evil.test:" + port:        egress.RuleUserinfo,
		"http://1.1.1.1:25":                       egress.RulePort,
		"https://1.1.1.1:22":                      egress.RulePort,
		"ftp://1.1.1.1":                           egress.RuleScheme,
		"file:///etc/passwd":                      egress.RuleScheme,
		"gopher://127.0.0.1:" + port:              egress.RuleScheme,
	} {
		_, err := get(t, e.Agent(), address)
		if got := ruleOf(egress.Clean(err)); got != rule {
			t.Errorf("%s: rule %q, err %v", address, got, err)
		}
	}
	if hits.Load() != 0 {
		t.Errorf("%d requests reached the local server", hits.Load())
	}
}

func TestARefusalNamesTheExceptionAndTheExceptionWorks(t *testing.T) {
	t.Parallel()
	_, host := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") })
	_, err := get(t, setup(t, egress.Options{}).Agent(), "http://"+host+"/path?token=secret")
	shown := egress.Clean(err)
	if fault.CodeOf(shown) != fault.PermissionDenied || !strings.Contains(shown.Error(), "--egress-allow "+host) {
		t.Errorf("err = %v", shown)
	}
	if text := fmt.Sprintf("%v %+v", shown, fault.From(shown).Details); strings.Contains(text, "secret") || strings.Contains(text, "path") {
		t.Errorf("the URL leaked: %s", text)
	}
	for _, off := range []bool{false, true} {
		got, err := get(t, setup(t, egress.Options{Allow: []string{host}, AgentsOff: off}).Agent(), "http://"+host)
		if err != nil || got != "hello" {
			t.Errorf("off %v: %q, %v", off, got, err)
		}
	}
}

func TestAnExceptionIsForTheHostAsWrittenAndItsPort(t *testing.T) {
	t.Parallel()
	_, host := serve(t, func(http.ResponseWriter, *http.Request) {})
	_, port, _ := net.SplitHostPort(host)
	resolver := &names{answers: map[string][]string{"app.test": {"127.0.0.1"}, "evil.test": {"127.0.0.1"}}}
	byName := setup(t, egress.Options{Allow: []string{"App.test.:" + port}, Resolver: resolver})
	if _, err := get(t, byName.Agent(), "http://app.test:"+port); err != nil {
		t.Error(err)
	}
	for _, address := range []string{"http://evil.test:" + port, "http://127.0.0.1:" + port, "http://app.test:1234"} {
		if _, err := get(t, byName.Agent(), address); ruleOf(egress.Clean(err)) != egress.RuleAddress {
			t.Errorf("%s: %v", address, err)
		}
	}
	byAddress := setup(t, egress.Options{Allow: []string{host}, Resolver: resolver})
	if _, err := get(t, byAddress.Agent(), "http://app.test:"+port); ruleOf(egress.Clean(err)) != egress.RuleAddress {
		t.Errorf("a name reached the allowed address: %v", err)
	}
	for _, bad := range []string{"nohost", ":80", "host:", "http://a:80"} {
		if _, err := egress.New(egress.Options{Allow: []string{bad}}); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func TestAgentsOffRefusesEvenPublicAddresses(t *testing.T) {
	t.Parallel()
	_, err := get(t, setup(t, egress.Options{AgentsOff: true}).Agent(), "https://1.1.1.1")
	if ruleOf(egress.Clean(err)) != egress.RuleAgentsOff {
		t.Errorf("err = %v", err)
	}
}

// to is a Dial that pretends that a local server has a public address.
func to(local string) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, network, local)
	}
}

func TestANameThatTurnsPrivateAfterItsFirstAnswerIsRefused(t *testing.T) {
	t.Parallel()
	_, host := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")
		if r.URL.Path == "/hop" {
			http.Redirect(w, r, "/again", http.StatusFound)
		}
	})
	for name, path := range map[string]string{"a second request": "/", "a redirect to itself": "/hop"} {
		e := setup(t, egress.Options{Dial: to(host), Resolver: &names{answers: map[string][]string{"rebind.test": {"93.184.216.34", "127.0.0.1"}}}})
		_, first := get(t, e.Agent(), "http://rebind.test"+path)
		if path == "/" && first != nil {
			t.Fatalf("%s: the public answer failed: %v", name, first)
		}
		_, second := get(t, e.Agent(), "http://rebind.test/")
		if path == "/hop" {
			second = first
		}
		if ruleOf(egress.Clean(second)) != egress.RuleAddress {
			t.Errorf("%s: %v", name, second)
		}
	}
}

func TestTheConnectionGoesToTheAddressThatWasChecked(t *testing.T) {
	t.Parallel()
	_, host := serve(t, func(http.ResponseWriter, *http.Request) {})
	var dialled atomic.Value
	resolver := &names{answers: map[string][]string{"rebind.test": {"93.184.216.34", "127.0.0.1"}}}
	e := setup(t, egress.Options{Resolver: resolver, Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		dialled.Store(address)
		return to(host)(ctx, network, address)
	}})
	if _, err := get(t, e.Agent(), "http://rebind.test"); err != nil || dialled.Load() != "93.184.216.34:80" {
		t.Errorf("dialled %v, err %v", dialled.Load(), err)
	}
}

func TestRedirectsAreCheckedAndBounded(t *testing.T) {
	t.Parallel()
	var target atomic.Value
	_, host := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, target.Load().(string), http.StatusFound)
	})
	e := setup(t, egress.Options{Allow: []string{host}})
	for to, rule := range map[string]string{
		"http://169.254.169.254/": egress.RuleAddress, "http://127.0.0.1:9999/": egress.RuleAddress, "ftp://x/": egress.RuleScheme,
		"http://a:b@1.1.1.1/": egress.RuleUserinfo, "/loop": egress.RuleRedirects,
	} {
		target.Store(to)
		if _, err := get(t, e.Agent(), "http://"+host); ruleOf(egress.Clean(err)) != rule {
			t.Errorf("%s: %v", to, err)
		}
	}
}

func TestCredentialsStayWithTheirOrigin(t *testing.T) {
	t.Parallel()
	seen := make(chan http.Header, 1)
	_, other := serve(t, func(_ http.ResponseWriter, r *http.Request) { seen <- r.Header.Clone() })
	_, first := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/same" {
			seen <- r.Header.Clone()
			return
		}
		http.Redirect(w, r, r.URL.Query().Get("to"), http.StatusTemporaryRedirect)
	})
	e := setup(t, egress.Options{Allow: []string{first, other}})
	for to, kept := range map[string]bool{"/same": true, "http://" + other: false} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+first+"/?to="+url.QueryEscape(to), nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header = http.Header{"Authorization": {"Bearer k"}, "X-Api-Key": {"k"}, "Cookie": {"k"}, "Accept": {"text/html"}}
		res, err := e.Agent().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		h := <-seen
		if h.Get("Accept") != "text/html" {
			t.Errorf("%s: Accept was dropped", to)
		}
		for _, name := range []string{"Authorization", "X-Api-Key", "Cookie", "Referer"} {
			if got := h.Get(name) != ""; got != kept {
				t.Errorf("%s: %s sent %v", to, name, got)
			}
		}
	}
}

func TestAnOperatorReachesItsOriginAndNothingElse(t *testing.T) {
	t.Parallel()
	var target atomic.Value
	target.Store("")
	_, host := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if to := target.Load().(string); to != "" {
			target.Store("")
			http.Redirect(w, r, to, http.StatusFound)
			return
		}
		_, _ = io.WriteString(w, "hello")
	})
	_, stranger := serve(t, func(http.ResponseWriter, *http.Request) {})
	e := setup(t, egress.Options{})
	c, err := e.Operator("http://" + host + "/v1")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"", "/v1/models"} {
		if got, err := get(t, c, "http://"+host+path); err != nil || got != "hello" {
			t.Errorf("%q, %v", got, err)
		}
	}
	target.Store("/elsewhere")
	if _, err := get(t, c, "http://"+host); err != nil {
		t.Errorf("a redirect within the origin: %v", err)
	}
	for _, to := range []string{"http://" + stranger, "https://" + host, "http://1.1.1.1/"} {
		target.Store(to)
		if _, err := get(t, c, "http://"+host); ruleOf(egress.Clean(err)) != egress.RuleOrigin {
			t.Errorf("redirect to %s: %v", to, err)
		}
		if _, err := get(t, c, to); ruleOf(egress.Clean(err)) != egress.RuleOrigin {
			t.Errorf("%s: %v", to, err)
		}
	}
	if _, err := get(t, e.Agent(), "http://"+host); ruleOf(egress.Clean(err)) != egress.RuleAddress {
		t.Errorf("an agent reused the operator's connection: %v", err)
	}
}

func TestAnOperatorAddressIsNotTheMetadataService(t *testing.T) {
	t.Parallel()
	e := setup(t, egress.Options{Resolver: &names{answers: map[string][]string{"meta.test": {"169.254.169.254"}}}})
	for _, base := range []string{"http://169.254.169.254", "http://[fe80::1]", "http://meta.test", "http://224.0.0.1"} {
		c, err := e.Operator(base)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := get(t, c, base); ruleOf(egress.Clean(err)) != egress.RuleAddress {
			t.Errorf("%s: %v", base, err)
		}
	}
	for _, base := range []string{"", "localhost:11434", "ftp://a", "http://", "http://u:p@a", "http://127.1", "/v1"} {
		if _, err := e.Operator(base); fault.CodeOf(err) != fault.ValidationFailed {
			t.Errorf("%q: %v", base, err)
		}
	}
}

func TestTheProxyOfTheEnvironmentIsNotUsed(t *testing.T) {
	_, proxy := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the proxy was asked") })
	_, host := serve(t, func(http.ResponseWriter, *http.Request) {})
	t.Setenv("HTTP_PROXY", "http://"+proxy)
	e := setup(t, egress.Options{Dial: to(host), Resolver: &names{answers: map[string][]string{"a.test": {"93.184.216.34"}}}})
	if _, err := get(t, e.Agent(), "http://a.test"); err != nil {
		t.Error(err)
	}
}

func TestASilentBodyEndsWithAnError(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	_, host := serve(t, func(w http.ResponseWriter, r *http.Request) {
		for range 3 {
			_, _ = io.WriteString(w, "x")
			_ = http.NewResponseController(w).Flush()
		}
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	e := setup(t, egress.Options{Allow: []string{host}, IdleTimeout: 50 * time.Millisecond})
	_, err := get(t, e.Agent(), "http://"+host)
	if fault.CodeOf(err) != fault.ProviderError || !strings.Contains(err.Error(), "silent") {
		t.Errorf("err = %v", err)
	}
	close(release)
	e = setup(t, egress.Options{Allow: []string{host}})
	if got, err := get(t, e.Agent(), "http://"+host); err != nil || got != "xxx" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestCleanErrorsSayWhatHappenedWithoutTheURL(t *testing.T) {
	t.Parallel()
	s, host := serve(t, func(http.ResponseWriter, *http.Request) {})
	s.Close()
	e := setup(t, egress.Options{Allow: []string{host}})
	for address, want := range map[string]string{
		"http://nowhere.test/a?token=secret": "nowhere.test does not resolve",
		"http://" + host + "/a?token=secret": host + " cannot be reached",
	} {
		_, err := get(t, e.Agent(), address)
		shown := egress.Clean(err)
		if fault.CodeOf(shown) != fault.ProviderError || shown.Error() != want {
			t.Errorf("%s: %v", address, shown)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+host, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = e.Agent().Do(req); !errors.Is(egress.Clean(err), context.Canceled) {
		t.Errorf("err = %v", err)
	}
	if egress.Clean(nil) != nil {
		t.Error("nil is an error")
	}
}

func TestAnUpgradedConnectionCanBeWritten(t *testing.T) {
	t.Parallel()
	_, host := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Upgrade", "echo")
		w.Header().Set("Connection", "Upgrade")
		w.WriteHeader(http.StatusSwitchingProtocols)
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		line, _ := rw.ReadString('\n')
		_, _ = rw.WriteString(line)
		_ = rw.Flush()
	})
	e := setup(t, egress.Options{Allow: []string{host}})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+host, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{"Connection": {"Upgrade"}, "Upgrade": {"echo"}}
	res, err := e.Agent().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	conn, ok := res.Body.(io.ReadWriteCloser)
	if !ok {
		t.Fatal("the body cannot be written")
	}
	_, _ = io.WriteString(conn, "ping\n")
	if got, _ := io.ReadAll(conn); string(got) != "ping\n" {
		t.Errorf("got %q", got)
	}
}
