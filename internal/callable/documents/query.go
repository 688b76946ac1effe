package documents

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/fence"
	"github.com/loam-agents/loam/internal/hypermedia"
	"github.com/loam-agents/loam/internal/space"
	"github.com/loam-agents/loam/internal/tooldoc"
)

// query is the builtin `query` (seeds/000 "query").
type query struct{ client *hypermedia.Client }

// queryPage is how many documents are listed.
const queryPage = 25

// Document implements callable.Callable.
func (*query) Document() tooldoc.Document {
	return tooldoc.Document{
		Name: "query", Summary: "Find published documents by their attributes.",
		Description: "Find current documents by their attributes; free text is `search`. Give `q`, `filter` or both, which are ANDed.\n" +
			"q: key=value, != < <= > >=, key:part, key^beginning, has:key, missing:key, in:<account or hm:// address>, path:/a/*, joined by AND, OR, " +
			"NOT and parentheses; quote values with blanks. Words that are no condition are named in `ignored`.\n" +
			"filter: a DocumentFilter in JSON, such as {\"comparison\":{\"key\":\"status\",\"operator\":\"EQUAL\",\"value\":{\"stringValue\":\"open\"}}}.\n" +
			"sort: attributes, or NAME, PATH, CREATE_TIME, UPDATE_TIME, ACTIVITY_TIME, COMMENT_COUNT. `attributes` tells which attributes there are.",
		Input: json.RawMessage(`{"type":"object","properties":{` +
			`"q":{"type":"string","minLength":1,"maxLength":4000},` +
			`"filter":{"type":"object","minProperties":1},` +
			`"sort":{"type":"array","maxItems":16,"items":{"type":"object","properties":{"key":{"type":"string","minLength":1},"descending":{"type":"boolean"}},"required":["key"],"additionalProperties":false}},` +
			`"pageSize":{"type":"integer","minimum":1,"maximum":100,"description":"25 unless given."},` +
			`"pageToken":{"type":"string","description":"nextPageToken of the page before."}},` +
			`"anyOf":[{"required":["q"]},{"required":["filter"]}],"additionalProperties":false}`),
	}
}

// Effect implements callable.Callable.
func (*query) Effect() tooldoc.Effect { return tooldoc.Pure }

// matched is one document.
type matched struct {
	URL        string         `json:"url"`
	Name       string         `json:"name"`
	Account    string         `json:"account"`
	Path       string         `json:"path"`
	Attributes map[string]any `json:"attributes"`
	Authors    []string       `json:"authors"`
	UpdateTime string         `json:"updateTime"`
	Version    string         `json:"version"`
}

// Call implements callable.Callable.
func (t *query) Call(ctx context.Context, _ space.Scope, input json.RawMessage) (space.Result, error) {
	var in struct {
		Q, PageToken string
		Filter       map[string]any
		Sort         []any
		PageSize     int
	}
	if err := decode(input, &in); err != nil {
		return nil, err
	}
	asked := hypermedia.ParseFilter(in.Q)
	filter := both(asked.Match, in.Filter)
	if filter == nil {
		return nil, fault.Invalid("%.200q holds no condition: %s. Use `search` for words", in.Q, strings.Join(asked.Ignored, "; "))
	}
	request := map[string]any{"filter": filter, "pageSize": cmp.Or(in.PageSize, queryPage)}
	if len(in.Sort) > 0 {
		request["sort"] = in.Sort
	}
	if in.PageToken != "" {
		request["pageToken"] = in.PageToken
	}
	var got struct {
		Documents []struct {
			Account, Path, UpdateTime, Version string
			Metadata                           map[string]any
			Authors                            []string
		}
		NextPageToken string
	}
	if err := t.client.Find(ctx, "QueryDocuments", request, &got); err != nil {
		return nil, hypermedia.Explain(err)
	}
	results := []matched{}
	var lines strings.Builder
	for _, d := range got.Documents {
		title, _ := d.Metadata["name"].(string)
		m := matched{
			URL: "hm://" + d.Account + d.Path, Name: name(title), Account: d.Account, Path: d.Path, Attributes: d.Metadata,
			Authors: append([]string{}, d.Authors...), UpdateTime: d.UpdateTime, Version: d.Version,
		}
		results = append(results, m)
		fmt.Fprintf(&lines, "%d. %s\n   %s\n", len(results), cmp.Or(m.Name, "(no name)"), m.URL)
	}
	out := space.Result{
		"summary": fmt.Sprintf("%d documents", len(results)), "caution": caution, "results": results,
		"markdown": cmp.Or(fence.Outside("query", strings.TrimSpace(lines.String())), "No document matches."),
	}
	if len(asked.Ignored) > 0 {
		out["ignored"] = asked.Ignored
	}
	if got.NextPageToken != "" {
		out["nextPageToken"] = got.NextPageToken
	}
	return out, nil
}

// both joins two conditions, either of which may be missing.
func both(a, b map[string]any) map[string]any {
	switch {
	case a == nil && len(b) == 0:
		return nil
	case a == nil:
		return b
	case len(b) == 0:
		return a
	}
	return map[string]any{"and": map[string]any{"filters": []any{a, b}}}
}
