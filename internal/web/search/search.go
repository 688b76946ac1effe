// Package search asks search engines of the web.
//
// A Searcher has engines in an order that the operator chose: SearXNG, DuckDuckGo, Brave, Tavily, Exa. It takes the results of the first
// that has any; one that fails is named in the answer, which is then partial, and the next is asked. SearXNG itself federates engines and
// names those that did not answer; when it has nothing but such names it is asked once more, for FallbackEngines only
// (seeds/000 "web_search").
//
// Every engine is reached through the operator class of egress: its address stands in the configuration, its key too. Titles and
// snippets are strangers' text: callers fence them.
//
// search belongs to the room internal/web (tier 3). It imports fault and egress and is handed its HTTP clients.
package search

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/loam-agents/loam/internal/fault"
)

// Limits of a search.
const (
	// DefaultCount and MaxCount are how many results are returned.
	DefaultCount = 10
	MaxCount     = 25
	// MaxQuery bounds the words that are searched for, in bytes.
	MaxQuery = 1000
	// EngineTimeout bounds one engine.
	EngineTimeout = 15 * time.Second
	// maxAnswer bounds what is read of an engine's answer in bytes.
	maxAnswer = 4 << 20
	// Titles, addresses and snippets are cut at these many bytes.
	maxTitle   = 300
	maxAddress = 2048
	maxSnippet = 600
)

// Query is what is searched for.
type Query struct {
	Text string
	// Count of results, 1 to MaxCount; DefaultCount when zero.
	Count int
	// Category is general or news; empty is general.
	Category string
	// TimeRange is day, week, month, year or empty.
	TimeRange string
	// Language is a code such as en or de-CH; empty for any.
	Language string
}

// Result is one page that was found.
type Result struct {
	Title   string `json:"title"`
	URL     string `json:"url"`
	Snippet string `json:"snippet"`
	// Engine is who found it.
	Engine string `json:"engine"`
}

// Answer is what a search found.
type Answer struct {
	Results []Result
	// Unavailable names engines that did not answer, with the reason where it is known. An answer with such names is partial.
	Unavailable []string
}

// Engine is one service. Its errors are *fault.Error, or the context's.
type Engine interface {
	// Name is the engine's, as the configuration spells it.
	Name() string
	// Search asks it. Results need not be bounded.
	Search(ctx context.Context, q Query) (Answer, error)
}

// Searcher asks its engines in order.
type Searcher struct{ engines []Engine }

// New returns a Searcher.
func New(engines ...Engine) *Searcher { return &Searcher{engines: engines} }

// Configured tells whether there is an engine at all.
func (s *Searcher) Configured() bool { return len(s.engines) > 0 }

// Search asks the engines. Errors are *fault.Error, or the context's: validation_failed for a bad query, precondition_failed without an
// engine, provider_error when every engine failed.
func (s *Searcher) Search(ctx context.Context, q Query) (Answer, error) {
	q, err := check(q)
	if err != nil {
		return Answer{}, err
	}
	if len(s.engines) == 0 {
		return Answer{}, fault.New(fault.PreconditionFailed, "No search engine is configured on this server; its operator can set --searxng-url or --search-engines")
	}
	var out Answer
	answered := false
	var failed []error
	for _, e := range s.engines {
		got, err := ask(ctx, e, q)
		switch {
		case ctx.Err() != nil:
			return Answer{}, ctx.Err()
		case err != nil:
			failed = append(failed, err)
			out.Unavailable = append(out.Unavailable, fmt.Sprintf("%s (%s)", e.Name(), err))
			continue
		}
		answered = true
		out.Unavailable = append(out.Unavailable, got.Unavailable...)
		if out.Results = tidy(got.Results, q.Count); len(out.Results) > 0 {
			return out, nil
		}
	}
	if !answered {
		return Answer{}, fault.Wrap(errors.Join(failed...), fault.ProviderError, "No search engine answered: %s", strings.Join(out.Unavailable, "; "))
	}
	return out, nil
}

func ask(ctx context.Context, e Engine, q Query) (Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, EngineTimeout)
	defer cancel()
	got, err := e.Search(ctx, q)
	if err != nil && errors.Is(err, context.DeadlineExceeded) {
		err = fault.New(fault.ProviderError, "did not answer within %s", EngineTimeout)
	}
	return got, err
}

func check(q Query) (Query, error) {
	q.Text = strings.TrimSpace(q.Text)
	if q.Count == 0 {
		q.Count = DefaultCount
	}
	switch {
	case q.Text == "":
		return q, fault.Invalid("The query is empty")
	case len(q.Text) > MaxQuery:
		return q, fault.Invalid("The query is longer than %d bytes", MaxQuery).With("limit", MaxQuery)
	case q.Count < 1 || q.Count > MaxCount:
		return q, fault.Invalid("count must be between 1 and %d", MaxCount).With("limit", MaxCount)
	}
	return q, nil
}

// tidy drops what is no web page and what was found twice, and bounds the rest.
func tidy(results []Result, count int) []Result {
	out := []Result{}
	seen := map[string]bool{}
	for _, r := range results {
		u, err := url.Parse(r.URL)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || len(r.URL) > maxAddress || seen[r.URL] {
			continue
		}
		seen[r.URL] = true
		r.Title, r.Snippet, r.Engine = line(r.Title, maxTitle), line(r.Snippet, maxSnippet), line(r.Engine, 64)
		if out = append(out, r); len(out) == count {
			break
		}
	}
	return out
}

// line is a text on one line, cut at a limit.
func line(s string, limit int) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "")), " ")
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}
