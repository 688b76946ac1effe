package hm

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/fence"
	"github.com/loam-agents/loam/internal/hypermedia"
	"github.com/loam-agents/loam/internal/space"
	"github.com/loam-agents/loam/wire"
)

// maxThread bounds the comments of a thread or a discussion in a result: the root and the newest are kept.
const maxThread = 50

// comment is one as the server's typed API gives it.
type comment struct {
	ID            string
	Version       string
	Author        string
	TargetAccount string
	TargetPath    string
	ReplyParent   string
	ThreadRoot    string
	Content       wire.PromptBlocks
	CreateTime    moment
}

// moment is a time in either of the forms of the API.
type moment struct{ time.Time }

// UnmarshalJSON reads a text as of RFC 3339, or an object of seconds, which may be a number or a text.
func (m *moment) UnmarshalJSON(b []byte) error {
	var text string
	if json.Unmarshal(b, &text) == nil {
		m.Time, _ = time.Parse(time.RFC3339Nano, text) // a time that cannot be read is none
		return nil
	}
	var parts struct{ Seconds json.Number }
	if json.Unmarshal(b, &parts) == nil {
		if n, err := parts.Seconds.Int64(); err == nil {
			m.Time = time.Unix(n, 0).UTC()
		}
	}
	return nil
}

// root is the first comment of the thread that a comment belongs to.
func (c *comment) root() string { return cmp.Or(c.ThreadRoot, c.ID) }

func (c *comment) target() hypermedia.Address {
	return hypermedia.Address{UID: c.TargetAccount, Path: strings.FieldsFunc(c.TargetPath, func(r rune) bool { return r == '/' }), Latest: true}
}

// comment reads one comment, named as <author>/<record>, with its thread.
func (s *Scheme) comment(ctx context.Context, req space.ReadRequest, record string) (space.Result, error) {
	var c comment
	err := s.client.Get(ctx, "Comment", url.Values{"__value": {record}}, &c)
	if hypermedia.Missing(err) || err != nil && strings.Contains(err.Error(), "has been deleted") {
		return nil, fault.Missing("There is no comment hm://%s; it may have been deleted", record)
	}
	if err != nil {
		return nil, hypermedia.Explain(err)
	}
	all, names, err := s.comments(ctx, c.target())
	if err != nil {
		return nil, err
	}
	thread := slices.DeleteFunc(all, func(o comment) bool { return o.root() != c.root() })
	entries, left := listed(thread, names)
	markdown, cut := render(c.Content)
	out := space.Result{
		"type": "hypermedia_comment", "requestedId": req.Address, "id": "hm://" + c.ID, "server": s.client.URL(), "version": c.Version,
		"author": c.Author, "authorUrl": "hm://" + c.Author + "/:profile", "authorName": names[c.Author], "target": c.target().ID(),
		"createTime": c.CreateTime.Format(time.RFC3339), "commentUrl": c.target().ID() + "/:comments/" + c.ID, "thread": entries,
		"discussion": c.target().ID() + "/:comments", "markdown": fence.Outside("hm://"+c.ID, markdown),
		"summary": fmt.Sprintf("Read a comment of %s on %s", naming(names[c.Author], c.Author), clip(c.target().ID(), 200)),
	}
	for key, value := range map[string]string{"replyParent": c.ReplyParent, "threadRoot": c.ThreadRoot} {
		if value != "" {
			out[key] = "hm://" + value
		}
	}
	if left > 0 {
		out["leftOut"] = left
	}
	if cut {
		out["truncated"] = true
	}
	return out, nil
}

// comments lists those on a document, oldest first, and how their authors are called.
func (s *Scheme) comments(ctx context.Context, on hypermedia.Address) ([]comment, map[string]string, error) {
	target, err := json.Marshal(on.Unpacked())
	if err != nil {
		return nil, nil, fmt.Errorf("encode an address: %w", err)
	}
	var got struct {
		Comments []comment
		Authors  map[string]struct{ Metadata map[string]any }
	}
	if err := s.client.Get(ctx, "ListComments", url.Values{"targetId": {string(target)}}, &got); err != nil {
		return nil, nil, hypermedia.Explain(err)
	}
	names := map[string]string{}
	for uid, author := range got.Authors {
		name, _ := author.Metadata["name"].(string)
		names[uid] = clip(fence.Inline(name), 200)
	}
	slices.SortStableFunc(got.Comments, func(a, b comment) int { return a.CreateTime.Compare(b.CreateTime.Time) })
	return got.Comments, names, nil
}

// entry is a comment of a list. Mention is what mentions its author in a text.
type entry struct {
	ID          string `json:"id"`
	Author      string `json:"author"`
	AuthorName  string `json:"authorName,omitempty"`
	Mention     string `json:"mention"`
	ReplyParent string `json:"replyParent,omitempty"`
	CreateTime  string `json:"createTime"`
	Markdown    string `json:"markdown"`
}

// listed are comments as entries: the first and the newest, as many as the limit allows.
func listed(all []comment, names map[string]string) (out []entry, left int) {
	if left = len(all) - maxThread; left > 0 {
		all = append(all[:1:1], all[1+left:]...)
	}
	out = []entry{}
	for i := range all {
		c := &all[i]
		markdown, _ := render(c.Content)
		e := entry{
			ID: "hm://" + c.ID, Author: c.Author, AuthorName: names[c.Author], Mention: "[@](hm://" + c.Author + "/:profile)",
			CreateTime: c.CreateTime.Format(time.RFC3339), Markdown: fence.Outside("hm://"+c.ID, clip(markdown, 8<<10)),
		}
		if c.ReplyParent != "" {
			e.ReplyParent = "hm://" + c.ReplyParent
		}
		out = append(out, e)
	}
	return out, max(left, 0)
}

// discussion is everything that was said about a document.
func (s *Scheme) discussion(ctx context.Context, req space.ReadRequest, a hypermedia.Address) (space.Result, error) {
	all, names, err := s.comments(ctx, a)
	if err != nil {
		return nil, err
	}
	entries, left := listed(all, names)
	out := space.Result{
		"type": "hypermedia_discussion", "requestedId": req.Address, "id": a.ID(), "server": s.client.URL(), "comments": entries,
		"summary": fmt.Sprintf("%d comments on %s", len(all), clip(a.ID(), 200)),
	}
	if left > 0 {
		out["leftOut"] = left
	}
	return out, nil
}
