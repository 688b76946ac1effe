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
)

const (
	// publishTimeout bounds one request, and maxAnswer the bytes of its answer.
	publishTimeout = 30 * time.Second
	maxAnswer      = 1 << 20
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

// act carries out an action: CBOR goes there, and JSON in the superjson form comes back (spec/hypermedia.md §4.1).
func (c *Client) act(ctx context.Context, key string, input map[string]any, out any) error {
	body, err := dagcbor.Marshal(input)
	if err != nil {
		return fmt.Errorf("encode the request: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, publishTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/api/"+key, bytes.NewReader(body))
	if err != nil {
		return errors.New("its address cannot be used")
	}
	req.Header.Set("Content-Type", "application/cbor")
	req.Header.Set("Accept", "application/json")
	res, err := c.http.Do(req)
	if err != nil {
		if cause, ok := errors.AsType[*url.Error](err); ok {
			err = cause.Err
		}
		return err
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("read its answer: %w", err)
	}
	var answer struct {
		JSON  json.RawMessage `json:"json"`
		Error string          `json:"error"`
	}
	err = json.Unmarshal(text, &answer)
	switch {
	case res.StatusCode != http.StatusOK:
		return fmt.Errorf("HTTP %d from %s: %s", res.StatusCode, key, reason(answer.Error, res.StatusCode))
	case err != nil || json.Unmarshal(answer.JSON, out) != nil:
		return fmt.Errorf("the answer to %s is invalid", key)
	}
	return nil
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
