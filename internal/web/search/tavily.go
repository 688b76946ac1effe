package search

import (
	"context"
	"net/http"
)

type tavily struct {
	client    *http.Client
	base, key string
}

// TavilyURL is the address of the Tavily API.
const TavilyURL = "https://api.tavily.com"

// maxTavily is how many results Tavily gives at once.
const maxTavily = 20

// Tavily needs a key of the Tavily API. It knows no languages.
func Tavily(client *http.Client, baseURL, key string) Engine { return &tavily{client, baseURL, key} }

// Name implements Engine.
func (*tavily) Name() string { return "tavily" }

// Search implements Engine.
func (t *tavily) Search(ctx context.Context, q Query) (Answer, error) {
	body := map[string]any{"query": q.Text, "max_results": min(q.Count, maxTavily), "search_depth": "basic", "topic": "general"}
	if q.Category == "news" {
		body["topic"] = "news"
	}
	if q.TimeRange != "" {
		body["time_range"] = q.TimeRange
	}
	var in struct {
		Results []struct{ Title, URL, Content string } `json:"results"`
	}
	if err := postJSON(ctx, t.client, t.base+"/search", map[string]string{"Authorization": "Bearer " + t.key}, body, &in); err != nil {
		return Answer{}, err
	}
	var out Answer
	for _, r := range in.Results {
		out.Results = append(out.Results, Result{Title: r.Title, URL: r.URL, Snippet: r.Content, Engine: "tavily"})
	}
	return out, nil
}
