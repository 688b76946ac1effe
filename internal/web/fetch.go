package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/net/html/charset"

	"github.com/loam-agents/loam/internal/fault"
)

// body is a fetched page.
type body struct {
	final     *url.URL
	mediaType string
	// declared is the Content-Type as it came.
	declared  string
	data      []byte
	truncated bool
}

// statusError is an answer that is no page. It proves that the host can be reached.
type statusError struct{ fault *fault.Error }

func (e *statusError) Error() string { return e.fault.Message }
func (e *statusError) Unwrap() error { return e.fault }

const (
	userAgent = "Mozilla/5.0 (compatible; Loam; +https://github.com/loam-agents/loam)"
	accept    = "text/html,application/xhtml+xml,text/markdown;q=0.9,text/plain;q=0.9,application/pdf;q=0.8,*/*;q=0.5"
)

// fetch gets an address with the limits of its type. Compressed bodies are counted unpacked.
func (r *Reader) fetch(ctx context.Context, u *url.URL) (*body, error) {
	ctx, cancel := context.WithTimeout(ctx, PageTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, fault.Invalid("The address is not a URL")
	}
	req.Header.Set("User-Agent", userAgent)
	req.Header.Set("Accept", accept)
	req.Header.Set("Accept-Language", "en;q=0.8, *;q=0.5")
	res, err := r.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	b := &body{final: res.Request.URL, declared: res.Header.Get("Content-Type")}
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return nil, refused(b.final.Host, res)
	}
	limit := int64(MaxBody)
	if b.mediaType = mediaTypeOf(b.declared); b.mediaType == typePDF {
		limit = MaxPDF
	}
	b.data, err = io.ReadAll(io.LimitReader(res.Body, limit+1))
	if err != nil && len(b.data) == 0 {
		return nil, err
	}
	// What arrived of a page whose connection broke, or whose time ran out, is worth reading.
	b.truncated = err != nil
	if int64(len(b.data)) > limit {
		b.data, b.truncated = b.data[:limit], true
	}
	b.sniff()
	return b, parentEnded(ctx, err)
}

// parentEnded is the error of a read that ended because the caller gave up, which is not the page's fault.
func parentEnded(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), context.Canceled) {
		return context.Canceled
	}
	return nil
}

func refused(host string, res *http.Response) error {
	f := fault.New(fault.ProviderError, "%s answered with HTTP %d", host, res.StatusCode).With("status", res.StatusCode)
	switch res.StatusCode {
	case http.StatusNotFound, http.StatusGone:
		f.Message = fmt.Sprintf("There is no such page: %s answered with HTTP %d", host, res.StatusCode)
	case http.StatusTooManyRequests:
		f.Message = fmt.Sprintf("%s takes no more requests for the moment (HTTP 429); try another source", host)
	}
	return &statusError{f}
}

const typePDF = "application/pdf"

func mediaTypeOf(declared string) string {
	t, _, err := mime.ParseMediaType(declared)
	if err != nil {
		t, _, _ = strings.Cut(declared, ";")
	}
	return strings.ToLower(strings.TrimSpace(t))
}

// sniff finds the type of a body that has none, or the one that servers give to everything.
func (b *body) sniff() {
	if bytes.HasPrefix(b.data, []byte("%PDF-")) {
		b.mediaType = typePDF
	}
	switch b.mediaType {
	case "", "application/octet-stream", "application/x-unknown":
		b.mediaType = mediaTypeOf(http.DetectContentType(b.data))
	}
}

// isHTML and isText tell what can be done with a type.
func isHTML(mediaType string) bool {
	return mediaType == "text/html" || mediaType == "application/xhtml+xml"
}

func isText(mediaType string) bool {
	if strings.HasPrefix(mediaType, "text/") || strings.HasSuffix(mediaType, "+json") || strings.HasSuffix(mediaType, "+xml") {
		return true
	}
	switch mediaType {
	case "application/json", "application/xml", "application/javascript", "application/yaml", "application/x-yaml", "application/toml",
		"application/x-ndjson", "application/sql", "application/rtf":
		return true
	}
	return false
}

// text decodes the body: a byte order mark, the header, a meta element, and else a guess. Bytes that no encoding explains become U+FFFD.
func (b *body) text() string {
	encoding, _, _ := charset.DetermineEncoding(b.data[:min(len(b.data), 4096)], b.declared)
	decoded, err := encoding.NewDecoder().Bytes(b.data)
	if err != nil {
		decoded = b.data
	}
	return strings.TrimPrefix(strings.ToValidUTF8(string(decoded), "\uFFFD"), "\uFEFF")
}

// raw returns a body as it is.
func (r *Reader) raw(ctx context.Context, u *url.URL) (Page, error) {
	b, err := r.fetch(ctx, u)
	if err != nil {
		return Page{}, clean(ctx, err, u.Host)
	}
	if !isText(b.mediaType) {
		return Page{}, notText(b, "options.raw is for text")
	}
	p := Page{URL: u.String(), FinalURL: b.final.String(), Source: SourceRaw, ContentType: b.declared, Markdown: b.text(), Truncated: b.truncated}
	p.Markdown, p.Truncated = cut(p.Markdown, p.Truncated)
	return p, nil
}

func notText(b *body, rule string) error {
	return fault.New(fault.PreconditionFailed, "%s is %s, which is no text: %s", b.final.Host, name(b.mediaType), rule).With("contentType", b.mediaType)
}

func name(mediaType string) string {
	const limit = 100
	if len(mediaType) > limit {
		return strings.ToValidUTF8(mediaType[:limit], "") + "…"
	}
	return mediaType
}
