package hypermedia

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
	"unicode"

	"github.com/loam-agents/loam/dagcbor"
	"github.com/loam-agents/loam/internal/fault"
)

const (
	// timeout bounds one request, and maxAnswer the bytes of its answer.
	timeout   = 30 * time.Second
	maxAnswer = 8 << 20
	// maxReason bounds what is repeated of a server's words.
	maxReason = 300
)

// Client speaks the typed API of one server.
type Client struct {
	http *http.Client
	base string
}

// New returns a client of the server at base, an http or https address without a slash at its end.
func New(client *http.Client, base string) *Client { return &Client{http: client, base: base} }

// URL is the server's address.
func (c *Client) URL() string { return c.base }

// Publish stores blobs on the server, all of them or none. An error's text says what is wrong and may be shown: it holds no address
// and what the server said on one line.
func (c *Client) Publish(ctx context.Context, blobs ...Blob) error {
	list := make([]any, len(blobs))
	for i, b := range blobs {
		list[i] = map[string]any{"cid": b.CID.String(), "data": b.Data}
	}
	var out struct {
		CIDs []string `json:"cids"`
	}
	if err := c.act(ctx, "PublishBlobs", map[string]any{"blobs": list}, &out); err != nil {
		return err
	}
	if len(out.CIDs) != len(blobs) {
		return fmt.Errorf("the server named %d of %d blobs", len(out.CIDs), len(blobs))
	}
	return nil
}

// Error is an answer of a server that is none. Its text may be shown.
type Error struct {
	// Status of the answer, and the key that was asked.
	Status int
	Key    string
	// Reason is what the server said, on one line.
	Reason string
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("HTTP %d from %s: %s", e.Status, e.Key, e.Reason) }

// Missing tells whether err says that there is no such thing on the server.
func Missing(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && (e.Status == http.StatusNotFound || strings.HasPrefix(e.Reason, "[not_found]") || strings.HasSuffix(e.Reason, "Not Found"))
}

// Absent says that no hypermedia server is configured, and what to do.
func Absent() error {
	return fault.New(fault.Unavailable, "This server has no hypermedia server: its operator sets one with --hm-server-url (LOAM_HM_SERVER_URL)")
}

// Explain is an error of a server as a call reports it: one of the server's own is told, a server that is away is named as such.
func Explain(err error) error {
	if _, known := errors.AsType[*fault.Error](err); known || err == nil {
		return err
	}
	if e, said := errors.AsType[*Error](err); said {
		return fault.Wrap(err, fault.ProviderError, "The hypermedia server refused %s: %s", e.Key, e.Reason)
	}
	return fault.Wrap(err, fault.ProviderError, "The hypermedia server did not answer: %s. Try again later, or tell the user", err)
}

// Get asks a query of the typed API. Errors are those of Publish.
func (c *Client) Get(ctx context.Context, key string, input url.Values, out any) error {
	return c.exchange(ctx, http.MethodGet, key, "/api/"+key+"?"+input.Encode(), nil, wrapped(out))
}

// Find asks one of the actions that answer in plain JSON, such as QueryDocuments. Errors are those of Publish.
func (c *Client) Find(ctx context.Context, key string, input map[string]any, out any) error {
	return c.exchange(ctx, http.MethodPost, key, "/api/"+key, input, func(answer []byte) error { return json.Unmarshal(answer, out) })
}

// act carries out an action: CBOR goes there, and JSON in the superjson form comes back (spec/hypermedia.md §4.1).
func (c *Client) act(ctx context.Context, key string, input map[string]any, out any) error {
	return c.exchange(ctx, http.MethodPost, key, "/api/"+key, input, wrapped(out))
}

// wrapped reads an answer in the superjson form. What its meta says of types makes no difference here.
func wrapped(out any) func(answer []byte) error {
	return func(answer []byte) error {
		var in struct {
			JSON json.RawMessage `json:"json"`
		}
		if err := json.Unmarshal(answer, &in); err != nil {
			return err
		}
		return json.Unmarshal(in.JSON, out)
	}
}

func (c *Client) exchange(ctx context.Context, method, key, path string, input map[string]any, read func(answer []byte) error) error {
	var body io.Reader
	if input != nil {
		encoded, err := dagcbor.Marshal(input)
		if err != nil {
			return fmt.Errorf("encode the request: %w", err)
		}
		body = bytes.NewReader(encoded)
	}
	status, _, text, err := c.send(ctx, method, path, body, maxAnswer)
	switch {
	case err != nil:
		return err
	case status != http.StatusOK:
		var answer struct {
			Error string `json:"error"`
		}
		_ = json.Unmarshal(text, &answer) // an answer that is no JSON says nothing
		return &Error{Status: status, Key: key, Reason: reason(answer.Error, status)}
	case len(text) > maxAnswer:
		return fmt.Errorf("the answer to %s is larger than %d bytes", key, maxAnswer)
	case read(text) != nil:
		return fmt.Errorf("the answer to %s is invalid", key)
	}
	return nil
}

// send makes one request and reads at most one byte more of its answer than limit.
func (c *Client) send(ctx context.Context, method, path string, body io.Reader, limit int64) (status int, mime string, answer []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return 0, "", nil, errors.New("its address cannot be used")
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/cbor")
	}
	req.Header.Set("Accept", "application/json")
	res, err := c.http.Do(req)
	if err != nil {
		if cause, ok := errors.AsType[*url.Error](err); ok {
			err = cause.Err
		}
		return 0, "", nil, err
	}
	defer func() { _ = res.Body.Close() }()
	answer, err = io.ReadAll(io.LimitReader(res.Body, limit+1))
	if err != nil {
		err = fmt.Errorf("read its answer: %w", err)
	}
	return res.StatusCode, res.Header.Get("Content-Type"), answer, err
}

// File fetches what a CID names from the server's gateway: a file, or the bytes of an object. One that is larger than limit is an
// error. Errors are those of Publish; mimeType may be empty.
func (c *Client) File(ctx context.Context, cid string, limit int64) (data []byte, mimeType string, err error) {
	status, mimeType, data, err := c.send(ctx, http.MethodGet, "/ipfs/"+url.PathEscape(cid), nil, limit)
	switch {
	case err != nil:
		return nil, "", err
	case status != http.StatusOK:
		return nil, "", &Error{Status: status, Key: "/ipfs/", Reason: http.StatusText(status)}
	case int64(len(data)) > limit:
		return nil, "", fmt.Errorf("it is larger than %d bytes", limit)
	}
	return data, mimeType, nil
}

// reason is what a server said, in one short line.
func reason(text string, status int) string {
	if text = strings.TrimSpace(text); text == "" {
		return http.StatusText(status)
	}
	line := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
	if len(line) > maxReason {
		line = strings.ToValidUTF8(line[:maxReason], "") + "…"
	}
	return line
}
