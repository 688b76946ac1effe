package hm

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/fence"
	"github.com/loam-agents/loam/internal/hypermedia"
	"github.com/loam-agents/loam/internal/space"
)

// maxListed bounds the documents of a directory in a result, and profileEvents the activity that a profile shows.
const (
	maxListed     = 500
	profileEvents = "10"
)

// child is a document of a directory.
type child struct {
	ID            string `json:"id"`
	Path          string `json:"path"`
	Name          string `json:"name,omitempty"`
	Summary       string `json:"summary,omitempty"`
	UpdateTime    string `json:"updateTime,omitempty"`
	ChildrenCount int64  `json:"childrenCount,omitempty"`
}

// directory lists the documents right below an address.
func (s *Scheme) directory(ctx context.Context, req space.ReadRequest, a hypermedia.Address) (space.Result, error) {
	path := ""
	if len(a.Path) > 0 {
		path = "/" + strings.Join(a.Path, "/")
	}
	includes, err := json.Marshal([]any{map[string]any{"space": a.UID, "path": path, "mode": "Children"}})
	if err != nil {
		return nil, fmt.Errorf("encode a query: %w", err)
	}
	var got struct {
		Results []struct {
			ID         struct{ ID string }
			Path       []string
			Metadata   map[string]any
			UpdateTime moment

			ActivitySummary struct{ ChildrenCount int64 }
		}
	}
	if err := s.client.Get(ctx, "Query", url.Values{"includes": {string(includes)}}, &got); err != nil {
		return nil, hypermedia.Explain(err)
	}
	documents := []child{}
	var lines strings.Builder
	for _, r := range got.Results[:min(len(got.Results), maxListed)] {
		name, _ := r.Metadata["name"].(string)
		about, _ := r.Metadata["summary"].(string)
		c := child{
			ID: r.ID.ID, Path: "/" + strings.Join(r.Path, "/"), Name: clip(fence.Inline(name), 200), Summary: clip(fence.Inline(about), 300),
			UpdateTime: r.UpdateTime.Format("2006-01-02"), ChildrenCount: r.ActivitySummary.ChildrenCount,
		}
		documents = append(documents, c)
		fmt.Fprintf(&lines, "- [%s](%s) %s\n", naming(c.Name, c.ID), c.ID, c.Summary)
	}
	out := space.Result{
		"type": "hypermedia_directory", "view": "directory", "requestedId": req.Address, "id": a.ID(), "server": s.client.URL(),
		"documents": documents, "markdown": fence.Outside(a.ID(), lines.String()),
		"summary": fmt.Sprintf("%d documents below %s", len(got.Results), clip(a.ID(), 200)),
	}
	if len(got.Results) > maxListed {
		out["truncated"] = true
	}
	return out, nil
}

// profile is what is known of an account. Only the account itself has to be there: the rest is left out when the server fails.
func (s *Scheme) profile(ctx context.Context, req space.ReadRequest, a hypermedia.Address) (space.Result, error) {
	uid := a.UID
	if len(a.Rest) > 0 {
		uid = a.Rest[0]
	}
	var account struct {
		Type     string
		Metadata map[string]any
	}
	if err := s.client.Get(ctx, "Account", url.Values{"id": {uid}}, &account); err != nil {
		return nil, hypermedia.Explain(err)
	}
	if account.Type == "account-not-found" {
		return nil, fault.Missing("There is no account %.100s on the hypermedia server", uid)
	}
	name, _ := account.Metadata["name"].(string)
	about, _ := account.Metadata["summary"].(string)
	out := space.Result{
		"type": "hypermedia_profile", "requestedId": req.Address, "id": "hm://" + uid, "server": s.client.URL(), "accountUid": uid,
		"account": account.Metadata, "caution": caution, "summary": fmt.Sprintf("The account %s", naming(name, uid)),
		"markdown": fence.Outside("hm://"+uid, "# "+naming(name, uid)+"\n\n"+about),
	}
	var activity struct{ Events []map[string]any }
	filter, _ := json.Marshal([]string{uid}) // a list of texts always encodes
	if s.client.Get(ctx, "ListEvents", url.Values{"filterAuthors": {string(filter)}, "pageSize": {profileEvents}}, &activity) == nil {
		out["activity"] = activity.Events
	}
	var contacts []map[string]any
	if s.client.Get(ctx, "AccountContacts", url.Values{"__value": {uid}}, &contacts) == nil {
		out["contacts"] = contacts
	}
	var capabilities struct{ Capabilities []map[string]any }
	if s.client.Get(ctx, "ListCapabilities", url.Values{"targetId": {"hm://" + uid}}, &capabilities) == nil {
		out["capabilities"] = capabilities.Capabilities
	}
	return out, nil
}
