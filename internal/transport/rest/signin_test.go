package rest_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
	"github.com/loam-agents/loam/wire"
)

func TestALinkSignsOneBrowserInOnce(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		h := servertest.Start(t, cfg)
		link := servertest.Call[wire.CreateSignInLinkResponse](h, "CreateSignInLink", nil)
		if want := "http://localhost:" + h.URL[strings.LastIndex(h.URL, ":")+1:] + "/sign-in#" + link.Code; link.URL != want {
			t.Errorf("the link is %s, want %s", link.URL, want)
		}
		// Of many that race with one code, one wins.
		answers := make([]servertest.Answer, 6)
		nobody := h.REST("").With("User-Agent", "Browser \xff"+strings.Repeat("x", 400))
		var wg sync.WaitGroup
		for i := range answers {
			wg.Go(func() { answers[i] = nobody.Do("POST", "/api/v1/sign-in", object{"code": link.Code}) })
		}
		wg.Wait()
		var cookie string
		for _, a := range answers {
			if a.Status == http.StatusNoContent {
				if cookie != "" {
					t.Error("a code worked twice")
				}
				cookie = a.Header.Get("Set-Cookie")
				continue
			}
			refused(t, a, http.StatusUnauthorized, "unauthenticated")
		}
		for _, want := range []string{"loam_session=", "HttpOnly", "SameSite=Lax", "Path=/", "Expires="} {
			if !strings.Contains(cookie, want) {
				t.Errorf("the cookie %q has no %s", cookie, want)
			}
		}
		if strings.Contains(cookie, "Secure") {
			t.Error("a cookie of a server without TLS would not come back")
		}
		pair, _, _ := strings.Cut(cookie, ";")
		browser := h.REST("").With("Cookie", pair)
		me := servertest.Get[wire.CallerInfo](browser, "/me")
		if me.Via != "cookie" || !me.Owner || len(me.Scopes) != 3 {
			t.Errorf("/me says %+v", me)
		}
		list := servertest.Get[wire.ListSignInsResponse](browser, "/sign-ins").SignIns
		if len(list) != 1 || !list[0].Current || list[0].Method != "link" || !strings.HasPrefix(list[0].UserAgent, "Browser ") || len(list[0].UserAgent) > 256 {
			t.Errorf("signed in are %+v", list)
		}
		// Who is nobody yet may not send much.
		refused(t, nobody.Do("POST", "/api/v1/sign-in", object{"code": strings.Repeat("x", 70<<10)}), http.StatusRequestEntityTooLarge, "too_large")
		for _, code := range []string{"", "wrong"} {
			status, name := http.StatusUnauthorized, "unauthenticated"
			if code == "" {
				status, name = http.StatusBadRequest, "validation_failed"
			}
			refused(t, nobody.Do("POST", "/api/v1/sign-in", object{"code": code}), status, name)
		}
	})
}

func TestACodeAndASignInEndWithTheirTime(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		fake := clock.NewFake(time.Now())
		cfg.Clock = fake
		h := servertest.Start(t, cfg)
		browser := h.Browser()
		token := h.REST(h.Token())
		code := servertest.Post[wire.CreateSignInLinkResponse](token, "/sign-ins", object{}).Code
		fake.Advance(15 * time.Minute)
		refused(t, h.REST("").Do("POST", "/api/v1/sign-in", object{"code": code}), http.StatusUnauthorized, "unauthenticated")
		servertest.Get[wire.CallerInfo](browser, "/me")
		fake.Advance(30 * 24 * time.Hour)
		refused(t, browser.Do("GET", "/api/v1/me", nil), http.StatusUnauthorized, "unauthenticated")
		if list := servertest.Get[wire.ListSignInsResponse](token, "/sign-ins").SignIns; len(list) != 0 {
			t.Errorf("signed in are %+v", list)
		}
	})
}

func TestSigningOutEndsTheBrowserAndItsStreams(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		h := servertest.Start(t, cfg)
		token := h.REST(h.Token())
		for name, out := range map[string]func(browser *servertest.REST) servertest.Answer{
			"by itself": func(b *servertest.REST) servertest.Answer { return b.Do("POST", "/api/v1/sign-out", nil) },
			"by another": func(*servertest.REST) servertest.Answer {
				id := servertest.Get[wire.ListSignInsResponse](token, "/sign-ins").SignIns[0].ID
				return token.Do("DELETE", "/api/v1/sign-ins/"+id, nil)
			},
		} {
			browser := h.Browser()
			events, _ := browser.Stream("/stream")
			servertest.UntilEvent(t, events, "caught_up")
			if a := out(browser); a.Status >= 300 {
				t.Errorf("%s: %d %s", name, a.Status, a.Body)
			} else if name == "by itself" && !strings.Contains(a.Header.Get("Set-Cookie"), "Max-Age=0") {
				t.Errorf("the cookie stays: %v", a.Header)
			}
			if last := servertest.UntilEvent(t, events, "end"); last[len(last)-1].Data != `{"reason":"revoked"}` {
				t.Errorf("%s: the stream ends with %v", name, last)
			}
			refused(t, browser.Do("GET", "/api/v1/me", nil), http.StatusUnauthorized, "unauthenticated")
			if a := browser.Do("POST", "/api/v1/sign-out", nil); a.Status != http.StatusNoContent {
				t.Errorf("signing out twice: %d %s", a.Status, a.Body)
			}
		}
	})
}

func TestAPageOfAnotherOriginCannotMakeABrowserAct(t *testing.T) {
	t.Parallel()
	h := servertest.Start(t, server.Config{PublicURL: "https://loam.example.org"})
	browser, token := h.Browser(), h.REST(h.Token())
	agents := func() int { return len(servertest.Get[wire.ListTokensResponse](token, "/tokens").Tokens) }
	before := agents()
	body := object{"name": "x", "scopes": []string{"read"}}
	for name, header := range map[string][2]string{
		"another site":   {"Sec-Fetch-Site", "cross-site"},
		"another port":   {"Sec-Fetch-Site", "same-site"},
		"another origin": {"Origin", "http://evil.example"},
		"no origin":      {"Origin", "null"},
	} {
		from := browser.With(header[0], header[1])
		for _, path := range []string{"/tokens", "/sign-out", "/sign-in"} {
			t.Run(name+path, func(t *testing.T) {
				refused(t, from.Do("POST", "/api/v1"+path, body), http.StatusForbidden, "permission_denied")
			})
		}
		// A token is not sent by a browser on its own.
		if a := token.With(header[0], header[1]).Do("GET", "/api/v1/tokens", nil); a.Status != http.StatusOK {
			t.Errorf("a token from %s: %d", name, a.Status)
		}
	}
	if agents() != before {
		t.Error("a refused request has made a token")
	}
	for _, header := range [][2]string{{"Sec-Fetch-Site", "same-origin"}, {"Origin", h.URL}, {"Origin", "https://loam.example.org"}} {
		if a := browser.With(header[0], header[1]).Do("POST", "/api/v1/tokens", body); a.Status != http.StatusCreated {
			t.Errorf("the own page with %v: %d %s", header, a.Status, a.Body)
		}
	}
	a := h.REST("").Do("GET", "/api/v1/me", nil)
	if a.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Error("pages of other origins may read answers")
	}
}

func TestOnlyTheServersOwnNamesAreAnswered(t *testing.T) {
	t.Parallel()
	page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	h := servertest.Start(t, server.Config{PublicURL: "https://Loam.example.org:8443", Page: page})
	browser := h.Browser()
	for host, own := range map[string]bool{
		"localhost": true, "LOCALHOST:80": true, "127.0.0.1:1": true, "127.8.8.8": true, "[::1]:3050": true, "loam.example.org": true,
		"loam.example.org:9": true, "evil.example": false, "localhost.evil.example": false, "loam.example.org.evil.example": false,
		"10.0.0.1": false, "": false, "127.0.0.1.evil.example:3050": false,
	} {
		if host == "" {
			continue
		}
		for _, path := range []string{"/api/v1/me", "/openapi.json", "/api/v1/none", "/", "/agents/x"} {
			a := browser.With("Host", host).Do("GET", path, nil)
			if (a.Status != http.StatusMisdirectedRequest) != own {
				t.Errorf("%s under the name %s: %d", path, host, a.Status)
			}
		}
	}
	a := browser.With("Host", "evil.example").Do("GET", "/api/v1/me", nil)
	if detail := refused(t, a, http.StatusMisdirectedRequest, "permission_denied"); !strings.Contains(detail, "https://Loam.example.org:8443") {
		t.Errorf("says %q", detail)
	}
	// The signed protocol uses nothing that a browser adds by itself.
	if a := browser.With("Host", "evil.example").Do("GET", "/agents/api/health", nil); a.Status != http.StatusOK {
		t.Errorf("health under another name: %d", a.Status)
	}
	if cookie := browser.Header.Get("Cookie"); cookie == "" {
		t.Error("no cookie")
	}
	link := servertest.Call[wire.CreateSignInLinkResponse](h, "CreateSignInLink", nil)
	signed := h.REST("").Do("POST", "/api/v1/sign-in", object{"code": link.Code})
	if !strings.HasPrefix(link.URL, "https://Loam.example.org:8443/sign-in#") || !strings.Contains(signed.Header.Get("Set-Cookie"), "Secure") {
		t.Errorf("behind TLS the link is %s and the cookie %s", link.URL, signed.Header.Get("Set-Cookie"))
	}
}
