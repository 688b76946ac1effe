package search

import (
	"context"
	"net/http"
	"time"

	"github.com/loam-agents/loam/internal/clock"
)

type exa struct {
	client    *http.Client
	base, key string
	clock     clock.Clock
}

// ExaURL is the address of the Exa API.
const ExaURL = "https://api.exa.ai"

// Exa needs a key of the Exa API. It knows no languages; ranges of time are counted back from the clock.
func Exa(client *http.Client, baseURL, key string, c clock.Clock) Engine {
	return &exa{client, baseURL, key, c}
}

// Name implements Engine.
func (*exa) Name() string { return "exa" }

// Search implements Engine.
func (e *exa) Search(ctx context.Context, q Query) (Answer, error) {
	body := map[string]any{
		"query": q.Text, "numResults": q.Count, "type": "auto",
		"contents": map[string]any{"highlights": map[string]any{"numSentences": 2, "highlightsPerUrl": 1}},
	}
	if q.Category == "news" {
		body["category"] = "news"
	}
	if days := map[string]int{"day": 1, "week": 7, "month": 31, "year": 366}[q.TimeRange]; days > 0 {
		body["startPublishedDate"] = e.clock.Now().UTC().AddDate(0, 0, -days).Format(time.RFC3339)
	}
	var in struct {
		Results []struct {
			Title, URL, Text string
			Highlights       []string
		} `json:"results"`
	}
	if err := postJSON(ctx, e.client, e.base+"/search", map[string]string{"x-api-key": e.key}, body, &in); err != nil {
		return Answer{}, err
	}
	var out Answer
	for _, r := range in.Results {
		snippet := r.Text
		if len(r.Highlights) > 0 {
			snippet = r.Highlights[0]
		}
		out.Results = append(out.Results, Result{Title: r.Title, URL: r.URL, Snippet: snippet, Engine: "exa"})
	}
	return out, nil
}
