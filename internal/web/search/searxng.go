package search

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
)

// FallbackEngines are asked through SearXNG when none of its own choice answered (seeds/000 "web_search").
const FallbackEngines = "duckduckgo,bing,startpage,wikipedia"

type searxng struct {
	client *http.Client
	base   string
}

// SearXNG is an instance at baseURL (no slash at its end) whose JSON format is on.
func SearXNG(client *http.Client, baseURL string) Engine { return &searxng{client, baseURL} }

// Name implements Engine.
func (*searxng) Name() string { return "searxng" }

// Search implements Engine.
func (s *searxng) Search(ctx context.Context, q Query) (Answer, error) {
	got, err := s.once(ctx, q, "")
	if err != nil || len(got.Results) > 0 || len(got.Unavailable) == 0 {
		return got, err
	}
	again, err := s.once(ctx, q, FallbackEngines)
	if err != nil {
		return got, nil // The first answer holds: nothing found, and the engines that were not there.
	}
	again.Unavailable = append(got.Unavailable, again.Unavailable...)
	return again, nil
}

func (s *searxng) once(ctx context.Context, q Query, engines string) (Answer, error) {
	query := url.Values{"q": {q.Text}, "format": {"json"}, "safesearch": {"1"}, "categories": {"general"}}
	if q.Category != "" {
		query.Set("categories", q.Category)
	}
	for key, value := range map[string]string{"time_range": q.TimeRange, "language": q.Language, "engines": engines} {
		if value != "" {
			query.Set(key, value)
		}
	}
	var in struct {
		Results []struct {
			Title, URL, Content, Engine string
		} `json:"results"`
		Unresponsive []json.RawMessage `json:"unresponsive_engines"`
	}
	if err := getJSON(ctx, s.client, s.base+"/search?"+query.Encode(), nil, &in); err != nil {
		return Answer{}, err
	}
	var out Answer
	for _, r := range in.Results {
		out.Results = append(out.Results, Result{Title: r.Title, URL: r.URL, Snippet: r.Content, Engine: r.Engine})
	}
	for _, entry := range in.Unresponsive {
		if name := unresponsive(entry); name != "" {
			out.Unavailable = append(out.Unavailable, name)
		}
	}
	return out, nil
}

// unresponsive reads an entry: ["engine", "reason"], or the name alone.
func unresponsive(entry json.RawMessage) string {
	var pair []string
	if json.Unmarshal(entry, &pair) != nil {
		var name string
		_ = json.Unmarshal(entry, &name) // an entry of another shape names nobody
		pair = []string{name}
	}
	switch {
	case len(pair) == 0 || strings.TrimSpace(pair[0]) == "":
		return ""
	case len(pair) == 1 || pair[1] == "":
		return line(pair[0], 64)
	}
	return line(pair[0], 64) + " (" + line(pair[1], 100) + ")"
}
