package console_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	page "github.com/loam-agents/loam/console"
	"github.com/loam-agents/loam/internal/transport/console"
)

const script = "export const answer = 42;\n"

func files() fstest.MapFS {
	return fstest.MapFS{
		"index.html":         {Data: []byte("<!doctype html><title>the page</title>")},
		"theme.js":           {Data: []byte("theme()")},
		"assets/app-1a2b.js": {Data: []byte(strings.Repeat(script, 200))},
	}
}

func ask(t *testing.T, h http.Handler, method, target string, header ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequest(method, target, nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func body(t *testing.T, r *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestPage(t *testing.T) {
	t.Parallel()
	const html = "text/html,application/xhtml+xml"
	cases := []struct {
		name, method, target, accept string
		status                       int
		contains, cache, kind        string
	}{
		{"the root is the index", "GET", "/", html, 200, "the page", "no-cache", "text/html; charset=utf-8"},
		{"an address of the page is the index", "GET", "/sessions/0198-x", html, 200, "the page", "no-cache", "text/html; charset=utf-8"},
		{"an address with a dot is the index", "GET", "/agents/a/memory/tea.md", html, 200, "the page", "no-cache", "text/html; charset=utf-8"},
		{"a file with a hash is kept", "GET", "/assets/app-1a2b.js", "*/*", 200, "answer", "public, max-age=31536000, immutable", "text/javascript; charset=utf-8"},
		{"a file without a hash is asked for again", "GET", "/theme.js", "*/*", 200, "theme()", "no-cache", "text/javascript; charset=utf-8"},
		{"a file of an earlier build is missing, not the index", "GET", "/assets/app-0000.js", html, 404, "no such file", "no-cache", "text/plain; charset=utf-8"},
		{"a program gets no HTML for what is missing", "GET", "/nothing", "application/json", 404, "no such file", "no-cache", "text/plain; charset=utf-8"},
		{"a folder is no file", "GET", "/assets", "*/*", 404, "no such file", "no-cache", "text/plain; charset=utf-8"},
		{"a path cannot leave the files", "GET", "/../../etc/passwd", "*/*", 404, "no such file", "no-cache", "text/plain; charset=utf-8"},
		{"HEAD has no body", "HEAD", "/", html, 200, "", "no-cache", "text/html; charset=utf-8"},
		{"nothing is written", "POST", "/", html, 405, "use GET", "", "text/plain; charset=utf-8"},
	}
	h := console.New(files())
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := ask(t, h, c.method, c.target, "Accept", c.accept)
			if r.StatusCode != c.status || r.Header.Get("Cache-Control") != c.cache || r.Header.Get("Content-Type") != c.kind {
				t.Errorf("got %d, cache %q, type %q", r.StatusCode, r.Header.Get("Cache-Control"), r.Header.Get("Content-Type"))
			}
			if got := body(t, r); !strings.Contains(got, c.contains) || c.contains == "" && got != "" {
				t.Errorf("body %q", got)
			}
		})
	}
}

func TestEveryAnswerForbidsWhatThePageDoesNotNeed(t *testing.T) {
	t.Parallel()
	h := console.New(files())
	for _, target := range []string{"/", "/assets/app-1a2b.js", "/assets/missing.js"} {
		r := ask(t, h, "GET", target)
		policy := map[string]string{}
		for directive := range strings.SplitSeq(r.Header.Get("Content-Security-Policy"), ";") {
			name, sources, _ := strings.Cut(strings.TrimSpace(directive), " ")
			policy[name] = sources
		}
		want := map[string]string{
			"default-src": "'none'", "script-src": "'self'", "style-src": "'self'", "img-src": "'self' data: blob:", "connect-src": "'self'",
			"frame-ancestors": "'none'", "base-uri": "'none'",
		}
		for name, sources := range want {
			if policy[name] != sources {
				t.Errorf("%s: %s is %q, want %q", target, name, policy[name], sources)
			}
		}
		if r.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: browsers may guess its type", target)
		}
	}
}

func TestTextIsCompressedForThoseWhoTakeIt(t *testing.T) {
	t.Parallel()
	h := console.New(files())
	for accept, packed := range map[string]bool{"gzip, deflate, br": true, "br;q=1.0, gzip;q=0.8": true, "": false, "br": false, "gzip;q=0": false} {
		r := ask(t, h, "GET", "/assets/app-1a2b.js", "Accept-Encoding", accept)
		if got := r.Header.Get("Content-Encoding") == "gzip"; got != packed {
			t.Errorf("Accept-Encoding %q: compressed %v", accept, got)
			continue
		}
		content := io.Reader(r.Body)
		if packed {
			z, err := gzip.NewReader(r.Body)
			if err != nil {
				t.Fatal(err)
			}
			content = z
		}
		if got, err := io.ReadAll(content); err != nil || string(got) != strings.Repeat(script, 200) {
			t.Errorf("Accept-Encoding %q: %d bytes, %v", accept, len(got), err)
		}
	}
}

func TestAnIndexThatIsKnownIsNotSentAgain(t *testing.T) {
	t.Parallel()
	h := console.New(files())
	tag := ask(t, h, "GET", "/").Header.Get("ETag")
	r := ask(t, h, "GET", "/", "If-None-Match", tag)
	if tag == "" || r.StatusCode != http.StatusNotModified || body(t, r) != "" {
		t.Errorf("tag %q: got %d", tag, r.StatusCode)
	}
}

func TestTheEmbeddedFilesAreAPage(t *testing.T) {
	t.Parallel()
	r := ask(t, console.New(page.Files()), "GET", "/", "Accept", "text/html")
	if got := body(t, r); r.StatusCode != http.StatusOK || !strings.Contains(got, "<title>Loam</title>") {
		t.Errorf("got %d %q", r.StatusCode, got)
	}
}
