package web

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/html"

	"github.com/loam-agents/loam/internal/clock"
)

// Limits of what is remembered about hosts.
const (
	wikiTTL  = time.Hour
	maxWikis = 512
)

// wikis remembers which hosts are MediaWikis, and where their API is.
type wikis struct {
	clock clock.Clock
	mu    sync.Mutex
	known map[string]wikiEntry
}

// wikiEntry is what a probe found: the address of api.php, empty where there is none.
type wikiEntry struct {
	api string
	at  time.Time
}

func (w *wikis) get(origin string) (string, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	e, ok := w.known[origin]
	if !ok || w.clock.Now().Sub(e.at) > wikiTTL {
		return "", false
	}
	return e.api, true
}

func (w *wikis) put(origin, api string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.known == nil || len(w.known) >= maxWikis {
		w.known = map[string]wikiEntry{}
	}
	w.known[origin] = wikiEntry{api: api, at: w.clock.Now()}
}

// wikiTitle is the page that an address names in the ways of MediaWiki: /wiki/Title, /w/index.php?title=Title. Pages that are about
// the wiki itself, and old revisions, are not articles.
func wikiTitle(u *url.URL) string {
	q := u.Query()
	if q.Has("oldid") || q.Has("diff") || q.Has("action") {
		return ""
	}
	title := ""
	if rest, ok := strings.CutPrefix(u.Path, "/wiki/"); ok {
		title = rest
	} else if strings.HasSuffix(u.Path, "/index.php") {
		title = q.Get("title")
	}
	if title = strings.TrimSpace(title); strings.HasPrefix(title, "Special:") {
		return ""
	}
	return title
}

// wiki reads a page through the API of its wiki. It answers false where there is none, or no such page: the next tier finds out more.
func (r *Reader) wiki(ctx context.Context, u *url.URL) (Page, bool) {
	title := wikiTitle(u)
	if title == "" {
		return Page{}, false
	}
	api := r.wikiAPI(ctx, u)
	if api == "" {
		return Page{}, false
	}
	var answer struct {
		Parse struct {
			Title string `json:"title"`
			Text  string `json:"text"`
		} `json:"parse"`
	}
	query := url.Values{
		"action": {"parse"}, "page": {title}, "prop": {"text"}, "parsoid": {"1"}, "redirects": {"1"}, "format": {"json"}, "formatversion": {"2"},
		"disableeditsection": {"1"}, "disabletoc": {"1"},
	}
	if !r.askWiki(ctx, api+"?"+query.Encode(), &answer) {
		return Page{}, false
	}
	markup, truncated, ok := lean(answer.Parse.Text)
	if !ok {
		return Page{}, false
	}
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-ctx.Done():
		return Page{}, false
	}
	doc, err := html.Parse(strings.NewReader(markup))
	if err != nil {
		return Page{}, false
	}
	drop(doc, wikiNoise)
	return Page{FinalURL: u.String(), Title: answer.Parse.Title, Source: SourceMediaWiki, Markdown: markdownOf(doc, u), Truncated: truncated}, true
}

// wikiAPI finds api.php of a host, once an hour.
func (r *Reader) wikiAPI(ctx context.Context, u *url.URL) string {
	origin := u.Scheme + "://" + u.Host
	if api, known := r.wikis.get(origin); known {
		return api
	}
	for _, path := range []string{"/w/api.php", "/api.php"} {
		var answer struct {
			Query struct {
				General struct {
					Generator string `json:"generator"`
				} `json:"general"`
			} `json:"query"`
		}
		ok := r.askWiki(ctx, origin+path+"?action=query&meta=siteinfo&format=json&formatversion=2", &answer)
		if ok && strings.HasPrefix(answer.Query.General.Generator, "MediaWiki") {
			r.wikis.put(origin, origin+path)
			return origin + path
		}
	}
	if ctx.Err() == nil {
		r.wikis.put(origin, "")
	}
	return ""
}

// askWiki gets JSON. Whatever goes wrong means that there is no wiki to ask.
func (r *Reader) askWiki(ctx context.Context, address string, into any) bool {
	ctx, cancel := context.WithTimeout(ctx, PageTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return false
	}
	req.Header.Set("User-Agent", userAgent)
	req.Header.Set("Accept", "application/json")
	res, err := r.client.Do(req)
	if err != nil {
		return false
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK || mediaTypeOf(res.Header.Get("Content-Type")) != "application/json" {
		return false
	}
	return json.NewDecoder(io.LimitReader(res.Body, MaxBody)).Decode(into) == nil
}

// wikiClasses are parts of a wiki's page that are about other pages, or for editors.
var wikiClasses = map[string]bool{
	"mw-editsection": true, "navbox": true, "navbox-styles": true, "metadata": true, "noprint": true, "reference": true, "mw-references-wrap": true,
	"reflist": true, "sistersitebox": true, "hatnote": true, "ambox": true, "mw-empty-elt": true, "toc": true, "catlinks": true, "shortdescription": true,
}

func wikiNoise(n *html.Node) bool {
	if n.Data == "style" || n.Data == "script" || n.Data == "link" || n.Data == "meta" {
		return true
	}
	for _, a := range n.Attr {
		if a.Key != "class" {
			continue
		}
		for _, class := range strings.Fields(a.Val) {
			if wikiClasses[class] {
				return true
			}
		}
	}
	return false
}
