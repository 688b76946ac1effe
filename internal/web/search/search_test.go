package search_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/egress"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/web/search"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// asked is a request that an engine's service saw.
type asked struct {
	path   string
	query  url.Values
	header http.Header
	body   map[string]any
}

// service answers with the texts in turn and keeps the requests. An answer of digits alone is a status.
func service(t *testing.T, answers ...string) (base string, seen *[]asked) {
	t.Helper()
	seen = &[]asked{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := asked{path: r.URL.Path, query: r.URL.Query(), header: r.Header}
		_ = json.NewDecoder(r.Body).Decode(&a.body) // a GET has no body
		answer := answers[min(len(*seen), len(answers)-1)]
		*seen = append(*seen, a)
		var status int
		if n, _ := fmt.Sscanf(answer, "%d", &status); n == 1 && len(answer) == 3 {
			w.WriteHeader(status)
			return
		}
		_, _ = fmt.Fprint(w, answer)
	}))
	t.Cleanup(s.Close)
	return s.URL, seen
}

func configure(t *testing.T, c search.Config) *search.Searcher {
	t.Helper()
	e, err := egress.New(egress.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	c.Client, c.Clock = e.Operator, clock.NewFake(time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC))
	s, err := search.Configure(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const found = `{"results":[{"title":"Herons","url":"https://example.org/h","content":"A bird\n of  rivers","engine":"bing"},{"title":"Again","url":"https://example.org/h","engine":"x"},
	{"title":"Bad","url":"javascript:alert(1)"},{"title":"Two","url":"http://example.org/2","content":"","engine":"qwant"}],"unresponsive_engines":[["google","CAPTCHA"],["yahoo"],"mojeek",7]}`

func TestSearXNGIsAskedAsItsProtocolSays(t *testing.T) {
	t.Parallel()
	base, seen := service(t, found)
	got, err := configure(t, search.Config{SearXNGURL: base}).Search(t.Context(), search.Query{Text: " herons ", Category: "news", TimeRange: "week", Language: "de"})
	if err != nil {
		t.Fatal(err)
	}
	want := search.Answer{
		Results:     []search.Result{{"Herons", "https://example.org/h", "A bird of rivers", "bing"}, {"Two", "http://example.org/2", "", "qwant"}},
		Unavailable: []string{"google (CAPTCHA)", "yahoo", "mojeek"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	query := url.Values{"q": {"herons"}, "format": {"json"}, "categories": {"news"}, "safesearch": {"1"}, "time_range": {"week"}, "language": {"de"}}
	if diff := cmp.Diff(query, (*seen)[0].query); diff != "" || len(*seen) != 1 || (*seen)[0].path != "/search" {
		t.Error(diff, len(*seen))
	}
}

func TestSearXNGIsAskedOnceMoreWhenItsEnginesWereAway(t *testing.T) {
	t.Parallel()
	away := `{"results":[],"unresponsive_engines":[["google","timeout"]]}`
	base, seen := service(t, away, found)
	got, err := configure(t, search.Config{SearXNGURL: base}).Search(t.Context(), search.Query{Text: "x"})
	if err != nil || len(got.Results) != 2 || got.Unavailable[0] != "google (timeout)" || len(*seen) != 2 || (*seen)[1].query.Get("engines") != search.FallbackEngines {
		t.Errorf("%+v, %v after %d requests", got, err, len(*seen))
	}
	base, seen = service(t, away, "500")
	got, err = configure(t, search.Config{SearXNGURL: base}).Search(t.Context(), search.Query{Text: "x"})
	if err != nil || len(got.Results) != 0 || len(got.Unavailable) != 1 || len(*seen) != 2 {
		t.Errorf("a failing fallback: %+v, %v", got, err)
	}
	base, seen = service(t, `{"results":[]}`)
	if got, err := configure(t, search.Config{SearXNGURL: base}).Search(t.Context(), search.Query{Text: "x"}); err != nil || len(got.Results) != 0 || len(*seen) != 1 {
		t.Errorf("nothing found is no reason to ask again: %d requests, %v", len(*seen), err)
	}
}

func TestEveryEngineIsAskedInItsOwnWay(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer, path string
		check        func(a asked) bool
		want         search.Result
	}{
		"brave": {`{"web":{"results":[{"title":"A &amp; B","url":"https://b.org","description":"<strong>x</strong> y"}]}}`, "/res/v1/web/search", func(a asked) bool {
			return a.header.Get("X-Subscription-Token") == "k" && a.query.Get("count") == "5" && a.query.Get("freshness") == "pm" && a.query.Get("search_lang") == "pt"
		}, search.Result{Title: "A & B", URL: "https://b.org", Snippet: "x y", Engine: "brave"}},
		"tavily": {`{"results":[{"title":"A","url":"https://b.org","content":"c"}]}`, "/search", func(a asked) bool {
			return a.header.Get("Authorization") == "Bearer k" && a.body["query"] == "q" && a.body["max_results"] == 5.0 && a.body["time_range"] == "month"
		}, search.Result{Title: "A", URL: "https://b.org", Snippet: "c", Engine: "tavily"}},
		"exa": {`{"results":[{"title":"A","url":"https://b.org","highlights":["h"]}]}`, "/search", func(a asked) bool {
			return a.header.Get("x-api-key") == "k" && a.body["numResults"] == 5.0 && a.body["startPublishedDate"] == "2026-10-30T12:00:00Z"
		}, search.Result{Title: "A", URL: "https://b.org", Snippet: "h", Engine: "exa"}},
		"duckduckgo": {`<div class="result results_links"><h2><a class="result__a" href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fb.org%2F%3Fx%3D1&rut=2">A <b>b</b></a></h2><a class="result__snippet" href="x">c <b>d</b></a></div>
			<a class="result__a" href="https://duckduckgo.com/y.js?ad_domain=z">Ad</a>`, "/html/", func(a asked) bool {
			return a.query.Get("q") == "q" && a.query.Get("df") == "m" && a.query.Get("kl") == "br-pt"
		}, search.Result{Title: "A b", URL: "https://b.org/?x=1", Snippet: "c d", Engine: "duckduckgo"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base, seen := service(t, c.answer)
			cfg := search.Config{Engines: []string{name}, URLs: map[string]string{name: base + "/"}}
			if name != "duckduckgo" {
				cfg.Keys = map[string]string{name: "k"}
			}
			got, err := configure(t, cfg).Search(t.Context(), search.Query{Text: "q", Count: 5, TimeRange: "month", Language: "pt-BR"})
			if err != nil || len(got.Results) != 1 || got.Results[0] != c.want {
				t.Errorf("%+v, %v", got, err)
			}
			if a := (*seen)[0]; a.path != c.path || !c.check(a) {
				t.Errorf("request %+v", a)
			}
		})
	}
}

func TestTheNextEngineIsAskedAndTheFailedOneIsNamed(t *testing.T) {
	t.Parallel()
	first, _ := service(t, "429")
	second, _ := service(t, found)
	c := search.Config{Engines: []string{"brave", "searxng"}, SearXNGURL: second, Keys: map[string]string{"brave": "key-1"}, URLs: map[string]string{"brave": first}}
	got, err := configure(t, c).Search(t.Context(), search.Query{Text: "x"})
	if err != nil || len(got.Results) != 2 || !strings.HasPrefix(got.Unavailable[0], "brave (") || strings.Contains(fmt.Sprint(got), "key-1") {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestWithoutAnAnswerEveryEngineIsNamed(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{"status": "503", "no JSON": "<html>", "wrong form": `{"results":{}}`, "refused": "401", "huge": `{"x":"` + strings.Repeat("x", 5<<20) + `"}`} {
		base, _ := service(t, answer)
		_, err := configure(t, search.Config{SearXNGURL: base}).Search(t.Context(), search.Query{Text: "x"})
		if fault.CodeOf(err) != fault.ProviderError || !strings.Contains(err.Error(), "searxng (") {
			t.Errorf("%s: %v", name, err)
		}
	}
	base, _ := service(t, "<html>Are you a robot?</html>")
	_, err := configure(t, search.Config{Engines: []string{"duckduckgo"}, URLs: map[string]string{"duckduckgo": base}}).Search(t.Context(), search.Query{Text: "x"})
	if fault.CodeOf(err) != fault.ProviderError || !strings.Contains(err.Error(), "wants to see a person") {
		t.Errorf("a puzzle: %v", err)
	}
}

func TestABadQueryReachesNobody(t *testing.T) {
	t.Parallel()
	base, seen := service(t, found)
	s := configure(t, search.Config{SearXNGURL: base})
	for _, q := range []search.Query{{}, {Text: " "}, {Text: strings.Repeat("x", search.MaxQuery+1)}, {Text: "x", Count: -1}, {Text: "x", Count: search.MaxCount + 1}} {
		if _, err := s.Search(t.Context(), q); fault.CodeOf(err) != fault.ValidationFailed {
			t.Errorf("%.20v: %v", q, err)
		}
	}
	if _, err := search.New().Search(t.Context(), search.Query{Text: "x"}); fault.CodeOf(err) != fault.PreconditionFailed || len(*seen) != 0 {
		t.Errorf("without an engine: %v; %d requests", err, len(*seen))
	}
}

func TestAWrongConfigurationNamesItsSetting(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]search.Config{
		`"bing"`:         {Engines: []string{"bing"}},
		"needs a key":    {Engines: []string{"brave"}},
		"--searxng-url":  {Engines: []string{"searxng"}},
		"twice":          {Engines: []string{"duckduckgo", "duckduckgo"}},
		"is not among":   {Engines: []string{"duckduckgo"}, Keys: map[string]string{"exa": "k"}},
		"http and https": {SearXNGURL: "ftp://x"},
	} {
		c.Client = func(base string) (*http.Client, error) {
			e, err := egress.New(egress.Options{})
			if err != nil {
				return nil, err
			}
			return e.Operator(base)
		}
		if _, err := search.Configure(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
