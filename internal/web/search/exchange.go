package search

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/loam-agents/loam/internal/egress"
	"github.com/loam-agents/loam/internal/fault"
)

// getJSON and postJSON ask a service. header holds its key.
func getJSON(ctx context.Context, c *http.Client, address string, header map[string]string, into any) error {
	return exchange(ctx, c, http.MethodGet, address, header, nil, into)
}

func postJSON(ctx context.Context, c *http.Client, address string, header map[string]string, body, into any) error {
	payload, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encode the request: %w", err)
	}
	return exchange(ctx, c, http.MethodPost, address, header, payload, into)
}

func exchange(ctx context.Context, c *http.Client, method, address string, header map[string]string, payload []byte, into any) error {
	data, err := send(ctx, c, method, address, header, payload)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fault.Wrap(err, fault.ProviderError, "the answer is not JSON of the expected form")
	}
	return nil
}

// send returns the body of a good answer.
func send(ctx context.Context, c *http.Client, method, address string, header map[string]string, payload []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(payload))
	if err != nil {
		return nil, fmt.Errorf("make the request: %w", err)
	}
	req.Header.Set("Accept", "application/json")
	if payload != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for name, value := range header {
		req.Header.Set(name, value)
	}
	res, err := c.Do(req)
	if err != nil {
		return nil, egress.Clean(err)
	}
	defer res.Body.Close()
	switch res.StatusCode {
	case http.StatusOK:
	case http.StatusUnauthorized, http.StatusForbidden:
		return nil, fault.New(fault.ProviderError, "refused with HTTP %d; is its key right?", res.StatusCode)
	case http.StatusTooManyRequests:
		return nil, fault.New(fault.ProviderError, "takes no more requests for the moment (HTTP 429)")
	default:
		return nil, fault.New(fault.ProviderError, "answered with HTTP %d", res.StatusCode)
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err != nil {
		return nil, egress.Clean(err)
	}
	if len(data) > maxAnswer {
		return nil, fault.New(fault.ProviderError, "answered with more than %d MiB", maxAnswer>>20)
	}
	return data, nil
}
