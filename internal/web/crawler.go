package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/loam-agents/loam/internal/egress"
	"github.com/loam-agents/loam/internal/fault"
)

// CrawlerTimeout bounds one request to the crawler service, which is asked crawlerTries times.
const (
	CrawlerTimeout = 45 * time.Second
	crawlerTries   = 2
)

// Crawler is a Crawl4AI service: `POST /md` renders a page in a browser and answers with Markdown.
//
// The service resolves names itself, beyond the reach of egress: an operator keeps it away from private networks.
type Crawler struct {
	client       *http.Client
	base, bearer string
}

// NewCrawler returns a client of the service at baseURL (no slash at its end). client is the operator class of egress for that address;
// bearer is sent as a token when it is not empty.
func NewCrawler(client *http.Client, baseURL, bearer string) *Crawler {
	return &Crawler{client: client, base: baseURL, bearer: bearer}
}

// crawl asks for a page. Errors are *fault.Error, or the context's.
func (c *Crawler) crawl(ctx context.Context, u *url.URL, query string) (Page, error) {
	body := map[string]any{"url": u.String(), "f": "fit", "c": "0"}
	if query != "" {
		body["f"], body["q"] = "bm25", query
	}
	payload, err := json.Marshal(body)
	if err != nil {
		return Page{}, fmt.Errorf("encode the request: %w", err)
	}
	var failed error
	for range crawlerTries {
		var retry bool
		var markdown string
		markdown, retry, failed = c.once(ctx, payload)
		if failed == nil {
			text, truncated := cut(markdown, false)
			return Page{FinalURL: u.String(), Source: SourceCrawler, Title: heading(text), Markdown: text, Truncated: truncated}, nil
		}
		if !retry || ctx.Err() != nil {
			break
		}
	}
	return Page{}, failed
}

func (c *Crawler) once(ctx context.Context, payload []byte) (markdown string, retry bool, err error) {
	inner, cancel := context.WithTimeout(ctx, CrawlerTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(inner, http.MethodPost, c.base+"/md", bytes.NewReader(payload))
	if err != nil {
		return "", false, fmt.Errorf("make the request: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	if c.bearer != "" {
		req.Header.Set("Authorization", "Bearer "+c.bearer)
	}
	res, err := c.client.Do(req)
	if err != nil {
		return "", ctx.Err() == nil, c.failed(ctx, err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return "", res.StatusCode >= 500, fault.New(fault.ProviderError, "the crawler service answered with HTTP %d", res.StatusCode)
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, MaxBody+1))
	if err != nil {
		return "", ctx.Err() == nil, c.failed(ctx, err)
	}
	var answer struct {
		Markdown string `json:"markdown"`
		Success  *bool  `json:"success"`
	}
	switch {
	case len(data) > MaxBody:
		return "", false, fault.New(fault.ProviderError, "the crawler service answered with more than %d MiB", MaxBody>>20)
	case json.Unmarshal(data, &answer) != nil, answer.Success != nil && !*answer.Success:
		return "", false, fault.New(fault.ProviderError, "the crawler service could not read the page")
	}
	return strings.ToValidUTF8(answer.Markdown, "\uFFFD"), false, nil
}

func (c *Crawler) failed(ctx context.Context, err error) error {
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return fault.New(fault.ProviderError, "the crawler service did not answer within %s", CrawlerTimeout)
	}
	return egress.Clean(err)
}

// heading is the text of the first heading.
func heading(markdown string) string {
	for line := range strings.Lines(markdown) {
		if rest, ok := strings.CutPrefix(line, "# "); ok {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}
