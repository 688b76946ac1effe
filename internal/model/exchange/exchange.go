// Package exchange is one HTTP exchange between an adapter and its provider: send, refuse redirects, turn whatever fails
// into a *model.Error, and keep the key out of every text.
//
// It promises that an error text never holds the key, even when the provider echoes it; that a canceled context is told
// apart from a connection that broke; and that error bodies are read with a bound. It knows nothing of dialects.
//
// exchange is part of tier 3. The adapters under internal/model call it; it calls the client it was given and
// the words that egress has for a failed connection.
package exchange

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/loam-agents/loam/internal/egress"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/model"
)

// Limits of what is read.
const (
	maxErrorBody = 64 << 10
	// maxAnswer bounds the body of one answer, so that a stream without an end cannot fill the memory. A stream spends some
	// hundred bytes on a token: this is far beyond what any model says at once.
	maxAnswer   = 256 << 20
	maxListBody = 16 << 20
	// maxDetail bounds what a provider's own words add to an error text.
	maxDetail = 600
)

// Client sends requests to one provider. The zero value is not usable; see New.
type Client struct {
	http     *http.Client
	label    string
	key      string
	classify Classify
}

// Classify reads a provider's error body and improves on fallback, which holds what the status alone says. It returns the
// provider's own words in Message; Client adds the rest.
type Classify func(status int, header http.Header, body []byte, fallback model.Error) model.Error

// New returns a client for the provider that label names in error texts ("Anthropic"). key is removed from every text.
// Redirects are refused, as a redirect would carry the key's header to another host.
func New(base *http.Client, label, key string, classify Classify) *Client {
	h := *base
	h.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{http: &h, label: label, key: key, classify: classify}
}

// Post sends a JSON body and returns the response when its status is 2xx; the caller closes its body. Reading more than 256
// MiB of it fails. Errors are *model.Error.
func (c *Client) Post(ctx context.Context, address string, header http.Header, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return nil, c.badAddress(err)
	}
	req.Header = header.Clone()
	req.Header.Set("Content-Type", "application/json")
	res, err := c.do(req)
	if err != nil {
		return nil, err
	}
	res.Body = http.MaxBytesReader(nil, res.Body, maxAnswer)
	return res, nil
}

// GetJSON fetches address and decodes the answer into out. Errors are *model.Error.
func (c *Client) GetJSON(ctx context.Context, address string, header http.Header, out any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return c.badAddress(err)
	}
	req.Header = header.Clone()
	res, err := c.do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxListBody))
	if err != nil {
		return c.Broken(ctx, err)
	}
	if err := json.Unmarshal(body, out); err != nil {
		return c.Invalid(err)
	}
	return nil
}

func (c *Client) do(req *http.Request) (*http.Response, error) {
	res, err := c.http.Do(req)
	if err != nil {
		return nil, c.unreachable(req.Context(), err)
	}
	if res.StatusCode/100 == 2 {
		return res, nil
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
	fallback := model.Error{Kind: kindOf(res.StatusCode), Status: res.StatusCode, RetryAfter: retryAfter(res.Header)}
	out := fallback
	if c.classify != nil {
		out = c.classify(res.StatusCode, res.Header, body, fallback)
	}
	return nil, c.finish(out)
}

// Failed completes an error that arrived inside a stream: e.Message holds the provider's own words.
func (c *Client) Failed(e model.Error) *model.Error { return c.finish(e) }

// finish makes the text: who failed, the status, and the provider's words, shortened and without the key.
func (c *Client) finish(e model.Error) *model.Error {
	text := c.label + " request failed"
	if e.Status != 0 {
		text = fmt.Sprintf("%s: HTTP %d", text, e.Status)
	}
	if detail := c.Scrub(e.Message); detail != "" {
		text += ": " + detail
	}
	e.Message = text
	return &e
}

// Broken turns an error of reading a response into a *model.Error: canceled when ctx ended, an answer without an end, else a
// cut stream.
func (c *Client) Broken(ctx context.Context, err error) *model.Error {
	if ctx.Err() != nil {
		return c.canceled(ctx)
	}
	if limit, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return &model.Error{Kind: model.ErrBadRequest, Message: fmt.Sprintf("%s answer is longer than %d MiB", c.label, limit.Limit>>20), Err: err}
	}
	return &model.Error{Kind: model.ErrStreamCut, Message: c.label + " closed the connection in the middle of its answer", Err: err}
}

// Cut is the error of a stream that ended without the dialect's end mark.
func (c *Client) Cut(ctx context.Context) *model.Error { return c.Broken(ctx, io.ErrUnexpectedEOF) }

// Invalid is the error of an answer that is not what the dialect promises.
func (c *Client) Invalid(err error) *model.Error {
	return &model.Error{Kind: model.ErrInvalidResponse, Message: c.label + " response is invalid", Err: errors.New(c.Scrub(err.Error()))}
}

// Empty is the error of an answer without text and without a call.
func (c *Client) Empty() *model.Error {
	return &model.Error{Kind: model.ErrEmptyAnswer, Message: c.label + " ended its answer without text and without a tool call"}
}

// BadRequest is the error of a request that cannot be built.
func (c *Client) BadRequest(err error) *model.Error {
	return &model.Error{Kind: model.ErrBadRequest, Message: fmt.Sprintf("%s request cannot be built: %s", c.label, c.Scrub(err.Error())), Err: err}
}

func (c *Client) badAddress(err error) *model.Error {
	return &model.Error{Kind: model.ErrBadRequest, Message: c.label + " base URL is invalid", Err: err}
}

func (c *Client) canceled(ctx context.Context) *model.Error {
	return &model.Error{Kind: model.ErrCanceled, Message: c.label + " request was canceled", Err: context.Cause(ctx)}
}

// unreachable tells three failures apart: the caller has left, our own rules refuse the address (which trying again does not
// change), and the service does not answer. The texts are those of egress, which name a host and nothing internal.
func (c *Client) unreachable(ctx context.Context, err error) *model.Error {
	if ctx.Err() != nil {
		return c.canceled(ctx)
	}
	cleaned := egress.Clean(err)
	out := &model.Error{Kind: model.ErrUnreachable, Err: cleaned}
	switch fault.CodeOf(cleaned) {
	case fault.PermissionDenied, fault.ValidationFailed:
		out.Kind = model.ErrBadRequest
	}
	out.Message = fmt.Sprintf("%s cannot be reached: %s", c.label, c.Scrub(cleaned.Error()))
	return out
}

// Scrub makes a foreign text fit for a message: one line, bounded, without the key.
func (c *Client) Scrub(text string) string {
	if c.key != "" {
		text = strings.ReplaceAll(text, c.key, "[redacted]")
	}
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "\uFFFD")), " ")
	if len(text) <= maxDetail {
		return text
	}
	cut := maxDetail
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}
