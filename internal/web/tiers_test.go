package web_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/web"
)

// wiki is a MediaWiki with one page.
func (s *site) wiki(probes *atomic.Int32, body string) {
	s.HandleFunc("/w/api.php", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		switch {
		case q.Get("meta") == "siteinfo":
			probes.Add(1)
			_, _ = fmt.Fprint(w, `{"query":{"general":{"generator":"MediaWiki 1.45.0"}}}`)
		case q.Get("action") == "parse" && q.Get("page") == "Grey_heron" && q.Get("parsoid") == "1":
			_ = json.NewEncoder(w).Encode(map[string]any{"parse": map[string]any{"title": "Grey heron", "text": body}})
		default:
			_, _ = fmt.Fprint(w, `{"error":{"code":"missingtitle"}}`)
		}
	})
}

func TestAPageOfAWikiComesThroughItsAPI(t *testing.T) {
	t.Parallel()
	fake := clock.NewFake(time.Unix(1000, 0))
	reader, site := setup(t, web.Options{Clock: fake})
	var probes atomic.Int32
	site.wiki(&probes, `<div class="mw-parser-output"><style>.x{}</style><p>The heron<sup class="reference">[1]</sup> is a <a href="/wiki/Bird">bird</a>. `+prose(400)+
		`</p><span class="mw-editsection">edit</span><table class="navbox"><tr><td>Herons of the world</td></tr></table></div>`)
	site.page("/wiki/Other", "text/html", html("<p>"+prose(400)+"</p>"))
	for _, address := range []string{"/wiki/Grey_heron", "/w/index.php?title=Grey_heron"} {
		got, err := reader.Read(t.Context(), web.Request{URL: site.URL + address})
		if err != nil || got.Source != "mediawiki" || got.Title != "Grey heron" || !strings.Contains(got.Markdown, "[bird]("+site.URL+"/wiki/Bird)") {
			t.Fatalf("%s: %+v, %v", address, got, err)
		}
		for _, unwanted := range []string{"[1]", "edit", "Herons of the world", ".x{}"} {
			if strings.Contains(got.Markdown, unwanted) {
				t.Errorf("%q is in the text", unwanted)
			}
		}
	}
	if got, err := reader.Read(t.Context(), web.Request{URL: site.URL + "/wiki/Other"}); err != nil || got.Source != "static" {
		t.Errorf("a page that the API does not have: %+v, %v", got, err)
	}
	if probes.Load() != 1 {
		t.Errorf("the wiki was probed %d times", probes.Load())
	}
	fake.Advance(2 * time.Hour)
	if _, err := reader.Read(t.Context(), web.Request{URL: site.URL + "/wiki/Grey_heron"}); err != nil || probes.Load() != 2 {
		t.Errorf("after two hours: %d probes, %v", probes.Load(), err)
	}
}

func TestAHostThatIsNoWikiIsProbedOnce(t *testing.T) {
	t.Parallel()
	reader, site := setup(t, web.Options{})
	var probes atomic.Int32
	for _, path := range []string{"/w/api.php", "/api.php"} {
		site.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			probes.Add(1)
			_, _ = fmt.Fprint(w, "<html>not JSON")
		})
	}
	site.page("/wiki/A", "text/html", html("<p>"+prose(400)+"</p>"))
	for range 3 {
		if got, err := reader.Read(t.Context(), web.Request{URL: site.URL + "/wiki/A"}); err != nil || got.Source != "static" {
			t.Errorf("%+v, %v", got, err)
		}
	}
	if probes.Load() != 2 {
		t.Errorf("%d probes", probes.Load())
	}
}

// crawler is a Crawl4AI service that answers with the given functions in turn.
func crawler(t *testing.T, answers ...http.HandlerFunc) (*site, *atomic.Int32) {
	t.Helper()
	s := serve(t)
	var n atomic.Int32
	s.HandleFunc("POST /md", func(w http.ResponseWriter, r *http.Request) {
		i := int(n.Add(1)) - 1
		answers[min(i, len(answers)-1)](w, r)
	})
	return s, &n
}

func crawled(t *testing.T, service *site) (*web.Reader, *site) {
	t.Helper()
	s := serve(t)
	e := outlet(t, s)
	client, err := e.Operator(service.URL)
	if err != nil {
		t.Fatal(err)
	}
	return web.NewReader(web.Options{Client: e.Agent(), Clock: clock.System{}, Crawler: web.NewCrawler(client, service.URL, "token-1")}), s
}

func TestTheCrawlerReadsWhatNeedsABrowser(t *testing.T) {
	t.Parallel()
	service, asked := crawler(t, func(w http.ResponseWriter, r *http.Request) {
		var in map[string]any
		if json.NewDecoder(r.Body).Decode(&in) != nil || r.Header.Get("Authorization") != "Bearer token-1" {
			t.Errorf("request %v, %q", in, r.Header.Get("Authorization"))
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"success": true, "markdown": "# Rendered\n\n" + prose(400)})
	})
	reader, site := crawled(t, service)
	site.page("/app", "text/html", "<body><div id=root></div><script>go()</script>")
	site.HandleFunc("/wall", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })
	site.page("/fine", "text/html", html("<p>"+prose(400)+"</p>"))
	for path, want := range map[string]string{"/app": "crawl4ai", "/wall": "crawl4ai", "/fine": "static"} {
		got, err := reader.Read(t.Context(), web.Request{URL: site.URL + path})
		if err != nil || got.Source != want || want == "crawl4ai" && got.Title != "Rendered" {
			t.Errorf("%s: %+v, %v", path, got, err)
		}
	}
	if asked.Load() != 2 {
		t.Errorf("the crawler was asked %d times", asked.Load())
	}
}

func TestTheCrawlerIsAskedTwiceAndItsFailureIsNamed(t *testing.T) {
	t.Parallel()
	broken := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }
	service, asked := crawler(t, broken)
	reader, site := crawled(t, service)
	site.HandleFunc("/wall", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })
	site.page("/short", "text/html", html("<p>Only a few words.</p>"))
	_, err := reader.Read(t.Context(), web.Request{URL: site.URL + "/wall"})
	if fault.CodeOf(err) != fault.ProviderError || !strings.Contains(err.Error(), "HTTP 403") || !strings.Contains(err.Error(), "crawler service answered with HTTP 502") || asked.Load() != 2 {
		t.Errorf("%d requests, %v", asked.Load(), err)
	}
	// What the page itself says is better than nothing.
	got, err := reader.Read(t.Context(), web.Request{URL: site.URL + "/short"})
	if err != nil || got.Source != "static" || !strings.Contains(got.Markdown, "Only a few words.") {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestALyingCrawlerIsAnError(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{"no JSON": "<html>", "says so": `{"success":false}`, "huge": `{"markdown":"` + strings.Repeat("x", web.MaxBody) + `"}`} {
		service, asked := crawler(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, body) })
		reader, site := crawled(t, service)
		site.HandleFunc("/wall", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })
		if _, err := reader.Read(t.Context(), web.Request{URL: site.URL + "/wall"}); fault.CodeOf(err) != fault.ProviderError || asked.Load() != 1 {
			t.Errorf("%s: %d requests, %v", name, asked.Load(), err)
		}
	}
}
