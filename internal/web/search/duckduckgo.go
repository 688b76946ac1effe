package search

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/net/html"

	"github.com/loam-agents/loam/internal/fault"
)

type duckduckgo struct {
	client *http.Client
	base   string
}

// DuckDuckGoURL is the page without scripts that the adapter reads; there is no API.
const DuckDuckGoURL = "https://html.duckduckgo.com"

// DuckDuckGo needs no key. It has one category and answers machines that ask often with a puzzle, which is an error.
func DuckDuckGo(client *http.Client, baseURL string) Engine { return &duckduckgo{client, baseURL} }

// Name implements Engine.
func (*duckduckgo) Name() string { return "duckduckgo" }

// Search implements Engine.
func (d *duckduckgo) Search(ctx context.Context, q Query) (Answer, error) {
	query := url.Values{"q": {q.Text}, "kp": {"-1"}}
	if q.TimeRange != "" {
		query.Set("df", q.TimeRange[:1])
	}
	if q.Language != "" {
		query.Set("kl", region(q.Language))
	}
	data, err := send(ctx, d.client, http.MethodGet, d.base+"/html/?"+query.Encode(), map[string]string{
		"User-Agent": "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Safari/537.36", "Accept": "text/html",
	}, nil)
	if err != nil {
		return Answer{}, err
	}
	doc, err := html.Parse(bytes.NewReader(data))
	if err != nil {
		return Answer{}, fault.Wrap(err, fault.ProviderError, "the answer is no page")
	}
	var out Answer
	collect(doc, &out.Results)
	if len(out.Results) == 0 && !bytes.Contains(data, []byte("no-results")) {
		return Answer{}, fault.New(fault.ProviderError, "wants to see a person, or changed its page")
	}
	return out, nil
}

// region is DuckDuckGo's code of a language: de-CH is ch-de, de alone wt-wt (everywhere).
func region(language string) string {
	lang, country, ok := strings.Cut(strings.ToLower(language), "-")
	if !ok {
		return "wt-wt"
	}
	return country + "-" + lang
}

// collect finds the links of class result__a and the texts of class result__snippet that follow them.
func collect(n *html.Node, out *[]Result) {
	if n.Type == html.ElementNode {
		switch class := " " + attr(n, "class") + " "; {
		case strings.Contains(class, " result__a "):
			if target := target(attr(n, "href")); target != "" {
				*out = append(*out, Result{Title: content(n), URL: target, Engine: "duckduckgo"})
			}
			return
		case strings.Contains(class, " result__snippet ") && len(*out) > 0:
			(*out)[len(*out)-1].Snippet = content(n)
			return
		}
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		collect(c, out)
	}
}

// target unpacks a link: //duckduckgo.com/l/?uddg=<address>. Links to advertisers (y.js) have none.
func target(href string) string {
	u, err := url.Parse(href)
	switch {
	case err != nil:
		return ""
	case strings.HasSuffix(u.Path, "/l/"):
		return u.Query().Get("uddg")
	case strings.HasSuffix(u.Path, "/y.js"):
		return ""
	}
	return href
}

func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

func content(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return b.String()
}
