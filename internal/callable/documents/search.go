package documents

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/loam-agents/loam/internal/fence"
	"github.com/loam-agents/loam/internal/hypermedia"
	"github.com/loam-agents/loam/internal/space"
	"github.com/loam-agents/loam/internal/tooldoc"
)

// search is the builtin `search` (seeds/000 "search").
type search struct{ client *hypermedia.Client }

// Limits of a search (spec §8.3): results of a page, more of them for a query too short to be precise, and characters around a match.
const (
	searchPage    = 20
	shortPage     = 30
	shortQuery    = 3
	searchContext = 48
)

// Document implements callable.Callable.
func (*search) Document() tooldoc.Document {
	return tooldoc.Document{
		Name: "search", Summary: "Search published documents and contacts by words.",
		Description: "Search the hypermedia network by words: titles of documents and names of contacts, and with includeBody also what " +
			"documents and comments say. Read a result with `read` on its url. To find documents by their attributes use `query`.",
		Input: json.RawMessage(`{"type":"object","properties":{` +
			`"query":{"type":"string","minLength":1,"maxLength":1000,"description":"Words to search for; the last may be a beginning."},` +
			`"accountUid":{"type":"string","minLength":1,"maxLength":100,"description":"Only what this account has published."},` +
			`"includeBody":{"type":"boolean","description":"Search texts of documents and comments too."},` +
			`"contextSize":{"type":"integer","minimum":0,"maximum":512,"description":"Characters around a match; 48 unless given."},` +
			`"searchType":{"type":"string","enum":["keyword","semantic","hybrid"],"description":"hybrid unless given."},` +
			`"pageSize":{"type":"integer","minimum":1,"maximum":50,"description":"How many results; 20 unless given."}},` +
			`"required":["query"],"additionalProperties":false}`),
	}
}

// Effect implements callable.Callable.
func (*search) Effect() tooldoc.Effect { return tooldoc.Pure }

var searchTypes = map[string]string{"keyword": "0", "semantic": "1", "hybrid": "2"}

// found is one result.
type found struct {
	Title       string   `json:"title"`
	URL         string   `json:"url"`
	Type        string   `json:"type"`
	ParentNames []string `json:"parentNames"`
	VersionTime string   `json:"versionTime,omitempty"`
}

// Call implements callable.Callable.
func (t *search) Call(ctx context.Context, _ space.Scope, input json.RawMessage) (space.Result, error) {
	var in struct {
		Query, AccountUID, SearchType string
		IncludeBody                   bool
		ContextSize                   *int
		PageSize                      int
	}
	if err := decode(input, &in); err != nil {
		return nil, err
	}
	in.Query = strings.TrimSpace(in.Query)
	size := cmp.Or(in.PageSize, searchPage)
	if in.PageSize == 0 && len([]rune(in.Query)) < shortQuery {
		size = shortPage
	}
	around := searchContext
	if in.ContextSize != nil {
		around = *in.ContextSize
	}
	kind := cmp.Or(in.SearchType, "hybrid")
	request := url.Values{
		"query": {in.Query}, "searchType": {searchTypes[kind]}, "includeBody": {strconv.FormatBool(in.IncludeBody)},
		"contextSize": {strconv.Itoa(around)}, "pageSize": {strconv.Itoa(size)},
	}
	if in.AccountUID != "" {
		request.Set("accountUid", in.AccountUID)
	}
	var got struct {
		Entities []struct {
			ID                       struct{ ID, BlockRef string }
			CommentID                string
			Title, Type, VersionTime string
			ParentNames              []string
		}
	}
	if err := t.client.Get(ctx, "Search", request, &got); err != nil {
		return nil, hypermedia.Explain(err)
	}
	results := []found{}
	var lines strings.Builder
	for _, e := range got.Entities[:min(len(got.Entities), size)] {
		r := found{Title: name(e.Title), URL: e.ID.ID, Type: e.Type, VersionTime: e.VersionTime, ParentNames: []string{}}
		switch {
		case e.CommentID != "":
			r.URL = "hm://" + e.CommentID
		case e.ID.BlockRef != "":
			r.URL += "#" + e.ID.BlockRef
		}
		for _, p := range e.ParentNames {
			r.ParentNames = append(r.ParentNames, name(p))
		}
		results = append(results, r)
		fmt.Fprintf(&lines, "%d. %s (%s)\n   %s\n", len(results), r.Title, r.Type, r.URL)
	}
	return space.Result{
		"summary": fmt.Sprintf("%d results for %.100q", len(results), in.Query), "query": in.Query, "searchType": kind,
		"includeBody": in.IncludeBody, "caution": caution, "results": results,
		"markdown": cmp.Or(fence.Outside("search", strings.TrimSpace(lines.String())), "Nothing was found."),
	}, nil
}
