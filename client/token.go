package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// NewWithToken makes a client that shows a bearer token (loam_…) instead of signing: actions go to the REST routes of the server,
// and subscriptions follow its event streams. Call, Do and Subscribe are used alike; what the token's scopes do not include is
// refused with 403. Account is the zero principal; the action GetCaller tells whose token it is.
//
// A request that the server could not take (503), or whose connection broke, is sent again, up to four times in all, with the
// same Idempotency-Key, so that it is carried out once.
func NewWithToken(baseURL, token string, options ...Option) (*Client, error) {
	if strings.TrimSpace(token) == "" || strings.ContainsAny(token, " \t\r\n") {
		return nil, errors.New("client: a token such as loam_… is needed")
	}
	return newClient(baseURL, &Client{token: token, routes: routes()}, options)
}

type idempotencyKey struct{}

// Idempotent returns a context whose next action is sent with a key of the caller's own choice, at most 256 bytes: repeated
// with it, also by another process, the action is carried out once and answered alike. It counts for clients with a token.
func Idempotent(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, idempotencyKey{}, key)
}

// Attempts of one request, and the waits between them.
const (
	maxAttempts  = 4
	longestRetry = 10 * time.Second
)

// restAction carries out an action with the token and returns the answer as JSON.
func (c *Client) restAction(ctx context.Context, action map[string]any) ([]byte, error) {
	name, _ := action["_"].(string)
	r, ok := c.routes[name]
	if !ok {
		return nil, fmt.Errorf("client: there is no action %q that a token can carry out", name)
	}
	fields := map[string]any{}
	for field, v := range action {
		if field != "_" && field != "ts" {
			fields[field] = v
		}
	}
	request, err := r.prepare(c.base, fields)
	if err != nil {
		return nil, err
	}
	key, _ := ctx.Value(idempotencyKey{}).(string)
	if key == "" && r.method != http.MethodGet {
		key = rand.Text()
	}
	header, body, err := c.attempts(ctx, request, key)
	if err != nil {
		if _, refused := errors.AsType[*Error](err); refused {
			return nil, err
		}
		return nil, fmt.Errorf("client: %s: %w", name, err)
	}
	if body, err = r.answer(header, body); err != nil {
		return nil, fmt.Errorf("client: answer of %s: %w", name, err)
	}
	return body, nil
}

// attempts sends a request until it is answered with something else than "later".
func (c *Client) attempts(ctx context.Context, request *call, key string) (http.Header, []byte, error) {
	reached := false
	for attempt := 1; ; attempt++ {
		header, body, err := c.attempt(ctx, request, key)
		if err == nil || attempt == maxAttempts || ctx.Err() != nil {
			return header, body, err
		}
		wait := firstRetry << (attempt - 1)
		if refused, ok := errors.AsType[*Error](err); ok {
			if refused.Status != http.StatusServiceUnavailable {
				return nil, nil, err
			}
			wait = max(wait, retryAfter(header))
		} else if unreached(err) && !reached {
			// Nobody is there; a server that restarts was there a moment ago.
			return nil, nil, err
		}
		reached = true
		select {
		case <-c.clock.After(min(wait, longestRetry)):
		case <-ctx.Done():
			return nil, nil, err
		}
	}
}

// unreached tells whether no connection was made.
func unreached(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}

func retryAfter(h http.Header) time.Duration {
	seconds, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

func (c *Client) attempt(ctx context.Context, request *call, key string) (http.Header, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, request.method, request.target, bytes.NewReader(request.body))
	if err != nil {
		return nil, nil, err
	}
	if request.contentType != "" {
		req.Header.Set("Content-Type", request.contentType)
	}
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	c.authorize(req)
	status, header, body, err := c.readAll(req)
	if err != nil {
		return nil, nil, err
	}
	if status < 200 || status > 299 {
		return header, nil, problem(status, body)
	}
	return header, body, nil
}

func (c *Client) authorize(req *http.Request) { req.Header.Set("Authorization", "Bearer "+c.token) }

// problem is an answer that is an error. Proxies answer in other forms.
func problem(status int, body []byte) *Error {
	var p struct{ Detail, Code string }
	if json.Unmarshal(body, &p) != nil || p.Detail == "" {
		p.Detail = fmt.Sprintf("The server answered %d %s", status, http.StatusText(status))
	}
	return &Error{Status: status, Message: p.Detail, Code: p.Code}
}
