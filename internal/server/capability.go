package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/loam-agents/loam/internal/hypermedia"
	"github.com/loam-agents/loam/internal/model/subscription"
	"github.com/loam-agents/loam/internal/operation"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/principal"
)

// capabilityTimeout bounds the wait for a capability that an envelope only names.
const capabilityTimeout = 10 * time.Second

// fetcher returns how capabilities are fetched from the configured IPFS server, or nil when there is none.
func (s *Server) fetcher() (func(context.Context, string) ([]byte, error), error) {
	if s.cfg.IPFSServerURL == "" {
		return nil, nil
	}
	client, err := s.egress.Operator(s.cfg.IPFSServerURL)
	if err != nil {
		return nil, fmt.Errorf("ipfs-server-url: %w", err)
	}
	return func(ctx context.Context, cid string) ([]byte, error) {
		ctx, cancel := context.WithTimeout(ctx, capabilityTimeout)
		defer cancel()
		return fetchCapability(ctx, client, s.cfg.IPFSServerURL, cid)
	}, nil
}

// publisher is the client of the configured hypermedia server, nil when there is none.
func (s *Server) publisher() (*hypermedia.Client, error) {
	if s.cfg.HMServerURL == "" {
		return nil, nil
	}
	client, err := s.egress.Operator(s.cfg.HMServerURL)
	if err != nil {
		return nil, fmt.Errorf("hm-server-url: %w", err)
	}
	return hypermedia.New(client, s.cfg.HMServerURL), nil
}

// fileReader is the client of the server where files of the network are read, nil when there is none.
func (s *Server) fileReader() (*hypermedia.Client, error) {
	address := cmp.Or(s.cfg.IPFSServerURL, s.cfg.HMServerURL)
	if address == "" {
		return nil, nil
	}
	client, err := s.egress.Operator(address)
	if err != nil {
		return nil, fmt.Errorf("ipfs-server-url: %w", err)
	}
	return hypermedia.New(client, address), nil
}

// signIns is the sign-in with subscriptions, nil when the operator did not set it up.
func (s *Server) signIns() (*subscription.Service, error) {
	if s.cfg.SubscriptionClientID == "" {
		return nil, nil
	}
	client, err := s.egress.Operator(cmp.Or(s.cfg.SubscriptionIssuer, subscription.DefaultIssuer))
	if err != nil {
		return nil, fmt.Errorf("subscription-issuer: %w", err)
	}
	return subscription.New(subscription.Options{
		ClientID: s.cfg.SubscriptionClientID, Issuer: s.cfg.SubscriptionIssuer, API: s.cfg.SubscriptionAPI, HTTP: client,
		Store: s.store, Vault: s.vault, Clock: s.cfg.Clock,
		Changed: func(tx store.Tx, account string) { s.notify.ProviderChanged(tx, account) },
	}), nil
}

// fetchCapability asks a gateway for a block (spec/agents-protocol.md §2.5). A block that is too large is returned cut, which its
// CID does not match.
func fetchCapability(ctx context.Context, client *http.Client, gateway, cid string) ([]byte, error) {
	address, err := url.JoinPath(gateway, "ipfs", cid)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	res, err := client.Do(req)
	if err != nil {
		// The address of the gateway is nobody's business but the operator's.
		if cause, ok := errors.AsType[*url.Error](err); ok {
			err = cause.Err
		}
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	switch {
	case res.StatusCode == http.StatusNotFound:
		return nil, operation.ErrNoCapability
	case res.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("status %d", res.StatusCode)
	}
	return io.ReadAll(io.LimitReader(res.Body, principal.MaxCapabilitySize+1))
}
