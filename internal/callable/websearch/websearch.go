// Package websearch is the builtin `web_search`: it finds pages of the web through the search engines that the operator configured.
//
// It is a callable (tier 4) over internal/web/search. Titles and snippets are strangers' text: `markdown` is fenced.
package websearch

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/fence"
	"github.com/loam-agents/loam/internal/space"
	"github.com/loam-agents/loam/internal/tooldoc"
	"github.com/loam-agents/loam/internal/web/search"
)

// Name of the tool.
const Name = "web_search"

// Tool is the callable.
type Tool struct{ searcher *search.Searcher }

// New returns it over the configured engines.
func New(searcher *search.Searcher) *Tool { return &Tool{searcher: searcher} }

// Document implements callable.Callable. The inputs are those of seeds/000 "web_search".
func (*Tool) Document() tooldoc.Document {
	return tooldoc.Document{
		Name: Name, Summary: "Search the web.",
		Description: "Search the web and get titles, addresses and snippets. Read a result's page with `read` on its address. " +
			"`partial` says that some engines did not answer.",
		Input: json.RawMessage(`{"type":"object","properties":{` +
			`"query":{"type":"string","minLength":1,"maxLength":1000,"description":"What to search for."},` +
			`"count":{"type":"integer","minimum":1,"maximum":25,"description":"How many results; 10 unless given."},` +
			`"category":{"type":"string","enum":["general","news"]},` +
			`"timeRange":{"type":"string","enum":["day","week","month","year"],"description":"Only pages of the last day, week, month or year."},` +
			`"language":{"type":"string","pattern":"^[a-zA-Z]{2,3}(-[a-zA-Z]{2,4})?$","description":"Such as en or de-CH."}},` +
			`"required":["query"],"additionalProperties":false}`),
		Output: json.RawMessage(`{"type":"object","properties":{"summary":{"type":"string"},"query":{"type":"string"},"results":{"type":"array",` +
			`"items":{"type":"object","properties":{"title":{"type":"string"},"url":{"type":"string"},"snippet":{"type":"string"},"engine":{"type":"string"}}}},` +
			`"partial":{"type":"boolean"},"markdown":{"type":"string"}}}`),
	}
}

// Effect implements callable.Callable.
func (*Tool) Effect() tooldoc.Effect { return tooldoc.Pure }

// Call implements callable.Callable.
func (t *Tool) Call(ctx context.Context, _ space.Scope, input json.RawMessage) (space.Result, error) {
	var in struct {
		Query, Category, TimeRange, Language string
		Count                                int
	}
	if err := json.Unmarshal(input, &in); err != nil {
		return nil, fault.Invalid("The input could not be read")
	}
	q := search.Query{Text: in.Query, Count: in.Count, Category: in.Category, TimeRange: in.TimeRange, Language: in.Language}
	got, err := t.searcher.Search(ctx, q)
	if err != nil {
		return nil, err
	}
	partial := len(got.Unavailable) > 0
	summary := fmt.Sprintf("%d results for %.100q", len(got.Results), strings.TrimSpace(in.Query))
	if partial {
		summary += "; some engines did not answer"
	}
	return space.Result{
		"summary": summary, "query": strings.TrimSpace(in.Query), "results": append([]search.Result{}, got.Results...), "partial": partial,
		"markdown": markdown(got),
	}, nil
}

// markdown lists the results inside a fence, and the engines that did not answer after it.
func markdown(a search.Answer) string {
	var b strings.Builder
	for i, r := range a.Results {
		fmt.Fprintf(&b, "%d. %s\n   %s\n", i+1, r.Title, r.URL)
		if r.Snippet != "" {
			fmt.Fprintf(&b, "   %s\n", r.Snippet)
		}
	}
	text := fence.Outside("web search", strings.TrimSpace(b.String()))
	if text == "" {
		text = "Nothing was found."
	}
	if len(a.Unavailable) > 0 {
		text += "\n\nThe result is partial. These engines did not answer: " + fence.Inline(strings.Join(a.Unavailable, ", ")) + "."
	}
	return text
}
