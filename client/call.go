package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/loam-agents/loam/dagcbor"
	"github.com/loam-agents/loam/wire"
)

// Error is an action that the server refused, or an answer that is none.
type Error struct {
	// Status is the HTTP status.
	Status int
	// Message is the server's text, meant for people.
	Message string
	// Code names an error that programs act on, such as wire.CodeProtocolTooOld; usually empty. With a token it is always set:
	// not_found, validation_failed, …
	Code string
}

// Error implements error with the server's text.
func (e *Error) Error() string { return e.Message }

// Do sends one action, a map with the name in "_", and returns the answer as generic values (see package dagcbor). The
// timestamp is added. A refusal gives an *Error; other errors say that the server was not reached or not understood.
func (c *Client) Do(ctx context.Context, action map[string]any) (map[string]any, error) {
	if c.token != "" {
		body, err := c.restAction(ctx, action)
		if err != nil {
			return nil, err
		}
		reply, err := generic(body)
		if err != nil {
			return nil, fmt.Errorf("client: answer of %v: %w", action["_"], err)
		}
		return reply, nil
	}
	body, err := c.send(ctx, action)
	if err != nil {
		return nil, err
	}
	var reply map[string]any
	if err := dagcbor.Unmarshal(body, &reply); err != nil {
		return nil, fmt.Errorf("client: answer of %v: %w", action["_"], err)
	}
	return reply, nil
}

// Call sends the action of a name and reads the answer into a T. The request is a struct or map that dagcbor.Marshal
// encodes as a map, or nil for an action without fields; it need not hold "_" and "ts". Errors are those of Do.
func Call[T any](ctx context.Context, c *Client, name string, request any) (T, error) {
	var reply T
	action, err := actionOf(name, request)
	if err != nil {
		return reply, err
	}
	carryOut, decode := c.send, dagcbor.Unmarshal
	if c.token != "" {
		carryOut, decode = c.restAction, json.Unmarshal
	}
	body, err := carryOut(ctx, action)
	if err != nil {
		return reply, err
	}
	if err := decode(body, &reply); err != nil {
		return reply, fmt.Errorf("client: answer of %s: %w", name, err)
	}
	return reply, nil
}

func actionOf(name string, request any) (map[string]any, error) {
	action := map[string]any{}
	if request != nil {
		encoded, err := dagcbor.Marshal(request)
		if err != nil {
			return nil, fmt.Errorf("client: request of %s: %w", name, err)
		}
		if err := dagcbor.Unmarshal(encoded, &action); err != nil {
			return nil, fmt.Errorf("client: request of %s: %w", name, err)
		}
		if action == nil {
			// A nil pointer encodes as null, which means no fields.
			action = map[string]any{}
		}
	}
	action["_"] = name
	return action, nil
}

// timestamp is the current time, later than that of any action before: two equal actions of one millisecond would be the
// same bytes, and a server answers the same bytes once.
func (c *Client) timestamp() int64 {
	for {
		last := c.signed.Load()
		now := max(c.clock.Now().UnixMilli(), last+1)
		if c.signed.CompareAndSwap(last, now) {
			return now
		}
	}
}

// sign seals an action at the current time.
func (c *Client) sign(action map[string]any) ([]byte, error) {
	body, err := wire.Sign(c.key, c.account, action, wire.SignOptions{
		TS: c.timestamp(), Protocol: wire.ProtocolNumber,
		Capability: c.capability, CapabilityBlob: c.proof,
	})
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	return body, nil
}

// send returns the bytes of an answer that is no error.
func (c *Client) send(ctx context.Context, action map[string]any) ([]byte, error) {
	body, err := c.sign(action)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+wire.MessagePath, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	req.Header.Set("Content-Type", wire.MediaType)
	req.Header.Set("Accept", wire.MediaType)
	status, reply, err := c.read(req)
	if err != nil {
		return nil, fmt.Errorf("client: %v: %w", action["_"], err)
	}
	if err := refusal(status, reply); err != nil {
		return nil, err
	}
	return reply, nil
}

// read performs a request and reads the bounded body.
func (c *Client) read(req *http.Request) (status int, body []byte, err error) {
	status, _, body, err = c.readAll(req)
	return status, body, err
}

// readAll is read with the header.
func (c *Client) readAll(req *http.Request) (status int, header http.Header, body []byte, err error) {
	resp, err := c.http.Do(req)
	if err != nil {
		return 0, nil, nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if body, err = c.bounded(resp.Body); err != nil {
		return 0, nil, nil, err
	}
	return resp.StatusCode, resp.Header, body, nil
}

// bounded reads an answer to its end.
func (c *Client) bounded(r io.Reader) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r, c.maxResponse+1))
	if err != nil {
		return nil, fmt.Errorf("read answer: %w", err)
	}
	if int64(len(body)) > c.maxResponse {
		return nil, fmt.Errorf("the answer is larger than %d bytes", c.maxResponse)
	}
	return body, nil
}

// refusal finds the error in an answer. Proxies answer in other formats than CBOR, so the status alone counts too.
func refusal(status int, body []byte) error {
	var reply struct {
		Type    string `json:"_"`
		Message any    `json:"message"`
		Code    any    `json:"code"`
	}
	err := dagcbor.Unmarshal(body, &reply)
	if status == http.StatusOK && (err != nil || reply.Type != wire.ErrorType) {
		// An answer that does not decode is reported by the caller, with its type.
		return nil
	}
	refused := &Error{Status: status}
	refused.Message, _ = reply.Message.(string)
	refused.Code, _ = reply.Code.(string)
	if refused.Message == "" {
		refused.Message = fmt.Sprintf("The server answered %d %s", status, http.StatusText(status))
	}
	return refused
}

// Health is what a server says about itself to anybody.
type Health struct {
	// Status is "ok"; Uptime counts seconds.
	Status string  `json:"status"`
	Uptime float64 `json:"uptime"`
	// Version is the server's build.
	Version string `json:"version"`
	// Protocol is the version it speaks and MinClientProtocol the oldest it admits; zero when it does not say, which means 1.
	Protocol          int `json:"protocol"`
	MinClientProtocol int `json:"minClientProtocol"`
	// HMServerURL and IPFSServerURL are where it publishes and reads hypermedia.
	HMServerURL   string `json:"hmServerUrl"`
	IPFSServerURL string `json:"ipfsServerUrl"`
	// WebTools says which web tools its agents have.
	WebTools struct {
		Search      bool `json:"search"`
		ReadBrowser bool `json:"readBrowser"`
	} `json:"webTools"`
	// SubscriptionAuth says whether model providers can be signed in to with a subscription.
	SubscriptionAuth bool `json:"subscriptionAuth"`
	// CodeExec says whether agents can run code; the reason, for people and for programs, is set when they cannot.
	CodeExec           bool     `json:"codeExec"`
	CodeExecReason     string   `json:"codeExecReason"`
	CodeExecReasonCode string   `json:"codeExecReasonCode"`
	CodeExecRuntimes   []string `json:"codeExecRuntimes"`
}

// Health asks the server about itself. The request is not signed.
func (c *Client) Health(ctx context.Context) (*Health, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+wire.HealthPath, nil)
	if err != nil {
		return nil, fmt.Errorf("client: health: %w", err)
	}
	status, body, err := c.read(req)
	if err != nil {
		return nil, fmt.Errorf("client: health: %w", err)
	}
	if status != http.StatusOK {
		return nil, refusal(status, body)
	}
	var h Health
	if err := json.Unmarshal(body, &h); err != nil {
		return nil, fmt.Errorf("client: health: %w", errors.Join(errors.New("the answer is not that of an agents server"), err))
	}
	return &h, nil
}
