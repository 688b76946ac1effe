package search

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/html"
)

type brave struct {
	client    *http.Client
	base, key string
}

// BraveURL is the address of the Brave Search API.
const BraveURL = "https://api.search.brave.com"

// maxBrave is how many results Brave gives at once.
const maxBrave = 20

// Brave needs a key of the Brave Search API.
func Brave(client *http.Client, baseURL, key string) Engine { return &brave{client, baseURL, key} }

// Name implements Engine.
func (*brave) Name() string { return "brave" }

// braveResult is an entry of either endpoint. Description holds <strong> around words that matched.
type braveResult struct{ Title, URL, Description string }

// Search implements Engine.
func (b *brave) Search(ctx context.Context, q Query) (Answer, error) {
	query := url.Values{"q": {q.Text}, "count": {strconv.Itoa(min(q.Count, maxBrave))}, "safesearch": {"moderate"}, "text_decorations": {"false"}}
	if q.TimeRange != "" {
		query.Set("freshness", "p"+q.TimeRange[:1])
	}
	if q.Language != "" {
		lang, _, _ := strings.Cut(strings.ToLower(q.Language), "-")
		query.Set("search_lang", lang)
	}
	path := "/res/v1/web/search"
	if q.Category == "news" {
		path = "/res/v1/news/search"
	}
	var in struct {
		Web struct {
			Results []braveResult `json:"results"`
		} `json:"web"`
		Results []braveResult `json:"results"`
	}
	if err := getJSON(ctx, b.client, b.base+path+"?"+query.Encode(), map[string]string{"X-Subscription-Token": b.key}, &in); err != nil {
		return Answer{}, err
	}
	var out Answer
	for _, r := range append(in.Web.Results, in.Results...) {
		out.Results = append(out.Results, Result{Title: untag(r.Title), URL: r.URL, Snippet: untag(r.Description), Engine: "brave"})
	}
	return out, nil
}

// untag is the text of a piece of HTML.
func untag(s string) string {
	if !strings.ContainsAny(s, "<&") {
		return s
	}
	doc, err := html.Parse(bytes.NewReader([]byte(s)))
	if err != nil {
		return s
	}
	return content(doc)
}
