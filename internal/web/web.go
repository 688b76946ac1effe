// Package web reads pages of the web for agents: an address goes in, Markdown comes out.
//
// Reader.Read tries its tiers in order and takes the first that yields at least MinText characters (seeds/000 "Web reading tiers"):
//
//  1. the API of a MediaWiki, where the address looks like a page of one;
//  2. the page itself: the article is found (Readability) and written as Markdown; PDF, plain text and JSON become text;
//  3. the crawler service, when the operator configured one, for pages that need a browser.
//
// Request.Raw skips them and returns the body as it is. Every page is fetched through the agent class of egress, so an address that a
// model chose reaches the public internet only. The crawler is a service of the operator and would reach more: it is asked only for
// addresses whose host has just answered through the agent class.
//
// Everything is bounded: MaxBody of a page, MaxMarkdown of the result, PageTimeout for the way there and back, MaxElements for what the
// extraction looks at. What is cut says so (Page.Truncated). Markup that was made to blow up a parser is read as plain text.
//
// The text of a page is a stranger's: callers fence it (package fence) before a model sees it.
//
// web is tier 3. It imports fault and egress, and is handed its HTTP clients. The scheme of `https://` in the Space (tier 4) calls it.
package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/egress"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/web/pdftext"
)

// Limits of reading.
const (
	// MinText is how many characters a tier must yield to win.
	MinText = 200
	// MaxMarkdown bounds the text of a Page in bytes.
	MaxMarkdown = 200 << 10
	// MaxBody bounds what is fetched of a page in bytes, MaxPDF of a PDF, of which no part can be read alone.
	MaxBody = 5 << 20
	MaxPDF  = 24 << 20
	// PageTimeout bounds one fetch: redirects, header and body together.
	PageTimeout = 15 * time.Second
	// maxURL bounds an address in bytes.
	maxURL = 4096
)

// The tiers, as Page.Source names them on the wire.
const (
	SourceMediaWiki = "mediawiki"
	SourceStatic    = "static"
	SourceCrawler   = "crawl4ai"
	SourceRaw       = "raw"
)

// Request is a page to read.
type Request struct {
	// URL is absolute, http or https.
	URL string
	// Raw asks for the body as it is; text types only.
	Raw bool
	// Query narrows a long page to the passages about something; empty for all of it.
	Query string
}

// Page is what was read.
type Page struct {
	// URL was asked for; FinalURL answered after redirects.
	URL, FinalURL string
	Title         string
	// Source is the tier that won.
	Source string
	// Markdown is the text, at most MaxMarkdown bytes. Of a raw read it is the body.
	Markdown string
	// ContentType of the body, of a raw read.
	ContentType string
	// Truncated says that the page goes on behind what is shown; Narrowed that only passages about Request.Query are.
	Truncated, Narrowed bool
}

// Options configures NewReader.
type Options struct {
	// Client is the agent class of egress.
	Client *http.Client
	// Crawler is asked last; nil without one.
	Crawler *Crawler
	// PDF reads PDF files; none are read without it.
	PDF pdftext.Program
	// Clock ages what is known of wikis.
	Clock clock.Clock
}

// Reader reads pages. It is safe for concurrent use.
type Reader struct {
	client  *http.Client
	crawler *Crawler
	pdf     pdftext.Program
	wikis   wikis
	// slots bounds how many pages are taken apart at once: a page of MaxBody needs about a hundred megabytes meanwhile.
	slots chan struct{}
}

// extractions is how many pages are taken apart at once.
const extractions = 4

// NewReader returns a Reader.
func NewReader(o Options) *Reader {
	return &Reader{client: o.Client, crawler: o.Crawler, pdf: o.PDF, wikis: wikis{clock: o.Clock}, slots: make(chan struct{}, extractions)}
}

// Read reads a page. Errors are *fault.Error, or the context's: an address that cannot be read at all is validation_failed, a refused
// one permission_denied, a type that is no text precondition_failed, a PDF above its limit too_large, everything else provider_error.
func (r *Reader) Read(ctx context.Context, req Request) (Page, error) {
	u, err := parse(req.URL)
	if err != nil {
		return Page{}, err
	}
	if req.Raw {
		return r.raw(ctx, u)
	}
	page, err := r.tiers(ctx, u, req.Query)
	if err != nil {
		return Page{}, err
	}
	page.URL = u.String()
	if req.Query != "" {
		page.Markdown, page.Narrowed = passages(page.Markdown, req.Query)
	}
	page.Markdown, page.Truncated = cut(page.Markdown, page.Truncated)
	return page, nil
}

// parse checks an address before anything is sent; egress checks it again on every hop.
func parse(address string) (*url.URL, error) {
	if len(address) > maxURL {
		return nil, fault.Invalid("The address is longer than %d bytes", maxURL).With("limit", maxURL)
	}
	u, err := url.Parse(strings.TrimSpace(address))
	switch {
	case err != nil:
		return nil, fault.Invalid("The address is not a URL")
	case !strings.EqualFold(u.Scheme, "http") && !strings.EqualFold(u.Scheme, "https"):
		return nil, fault.Invalid("Only http and https addresses can be fetched")
	case u.Host == "":
		return nil, fault.Invalid("The address has no host")
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}

// tiers asks one tier after the other. A page that is short in all of them is still a page: the longest text is kept.
func (r *Reader) tiers(ctx context.Context, u *url.URL, query string) (Page, error) {
	best, ok := r.wiki(ctx, u)
	if ok && enough(best) {
		return best, nil
	}
	static, err := r.static(ctx, u)
	if err == nil && enough(static) {
		return static, nil
	}
	if longer(static, best) {
		best = static
	}
	if r.crawler != nil && reached(static, err) {
		crawled, crawlErr := r.crawler.crawl(ctx, u, query)
		switch {
		case crawlErr == nil && longer(crawled, best):
			best = crawled
		case crawlErr != nil && err != nil:
			err = fault.Wrap(errors.Join(err, crawlErr), fault.ProviderError, "%s; nor could the crawler service read it: %s", err, crawlErr)
		}
	}
	switch {
	case strings.TrimSpace(best.Markdown) != "":
		return best, nil
	case err != nil:
		return Page{}, plainFault(err)
	}
	return Page{}, fault.New(fault.ProviderError, "%s answered, but no text was found on the page%s", u.Host, r.hint())
}

// plainFault takes the marker of a status away, which is nobody's business outside.
func plainFault(err error) error {
	if answered, ok := err.(*statusError); ok { //nolint:errorlint // only the marker itself, not an error around it
		return answered.fault
	}
	return err
}

// hint says what would help with a page that needs a browser.
func (r *Reader) hint() string {
	if r.crawler != nil {
		return ""
	}
	return "; it may need a browser, and this server has no crawler service"
}

func enough(p Page) bool { return utf8.RuneCountInString(p.Markdown) >= MinText }

func longer(a, b Page) bool {
	return len(strings.TrimSpace(a.Markdown)) > len(strings.TrimSpace(b.Markdown))
}

// reached tells whether the static tier had an answer from a public host. Only then may the crawler, which egress does not watch,
// be sent there.
func reached(static Page, err error) bool {
	if err == nil {
		return static.FinalURL != ""
	}
	_, answered := errors.AsType[*statusError](err)
	return answered
}

// cut bounds a text on a character boundary.
func cut(text string, already bool) (string, bool) {
	if len(text) <= MaxMarkdown {
		return text, already
	}
	return strings.ToValidUTF8(text[:MaxMarkdown], ""), true
}

// clean makes an error of the agent client one that may be shown. A statusError stays one, for reached to see.
func clean(ctx context.Context, err error, host string) error {
	if answered, ok := errors.AsType[*statusError](err); ok {
		return answered
	}
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return fault.New(fault.ProviderError, "%s did not answer within %s", host, PageTimeout)
	}
	return egress.Clean(err)
}
