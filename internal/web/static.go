package web

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/loam-agents/loam/internal/fault"
)

// static reads the page itself.
func (r *Reader) static(ctx context.Context, u *url.URL) (Page, error) {
	b, err := r.fetch(ctx, u)
	if err != nil {
		return Page{}, clean(ctx, err, u.Host)
	}
	p := Page{FinalURL: b.final.String(), Source: SourceStatic, Truncated: b.truncated}
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-ctx.Done():
		return Page{}, ctx.Err()
	}
	switch {
	case isHTML(b.mediaType):
		var cut bool
		p.Title, p.Markdown, cut = article(b.text(), b.final)
		p.Truncated = p.Truncated || cut
	case b.mediaType == typePDF:
		if b.truncated {
			return Page{}, fault.New(fault.TooLarge, "%s is a PDF of more than %d MiB, or its end did not arrive", b.final.Host, MaxPDF>>20).With("limit", MaxPDF)
		}
		text, err := r.pdf.Text(ctx, b.data)
		if err != nil {
			return Page{}, err
		}
		p.Title, p.Markdown, p.Truncated = text.Title, text.Text, text.Truncated
	case isText(b.mediaType):
		p.Markdown = plainText(b)
	default:
		return Page{}, notText(b, "save it with write ~/memory/<path> and options.fromUrl")
	}
	return p, nil
}

// plainText is a body that needs no extraction. JSON is set in lines, which a model cuts and quotes more easily.
func plainText(b *body) string {
	text := b.text()
	if b.mediaType != "application/json" && !strings.HasSuffix(b.mediaType, "+json") {
		return text
	}
	var v any
	if b.truncated || json.Unmarshal([]byte(text), &v) != nil {
		return text
	}
	out, err := json.MarshalIndent(json.RawMessage(text), "", "  ")
	if err != nil {
		return text
	}
	return string(out)
}
