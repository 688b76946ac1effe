// Package connect turns what an account configured into a model that can be asked: provider row, secret, address, egress class,
// dialect and adapter.
//
// It is tier 3, the room of package model, and imports tiers 1 and 2 for what is configured. The engine asks it for the model of
// a turn; operations ask it for lists and levels.
package connect

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/loam-agents/loam/internal/account"
	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/egress"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/model"
	"github.com/loam-agents/loam/internal/model/anthropic"
	"github.com/loam-agents/loam/internal/model/catalogue"
	"github.com/loam-agents/loam/internal/model/gemini"
	"github.com/loam-agents/loam/internal/model/limit"
	"github.com/loam-agents/loam/internal/model/ollama"
	"github.com/loam-agents/loam/internal/model/openai"
	"github.com/loam-agents/loam/internal/model/subscription"
	"github.com/loam-agents/loam/internal/model/tutor"
	"github.com/loam-agents/loam/internal/provider"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/vault"
	"github.com/loam-agents/loam/wire"
)

// Options configure a Connector.
type Options struct {
	Store     store.Store
	Vault     *vault.Vault
	Egress    *egress.Egress
	Catalogue *catalogue.Catalogue
	Limits    *limit.Limiter
	Clock     clock.Clock
	// Addresses are the operator's `providers.<type>.baseUrl` settings.
	Addresses map[string]string
	// TrustAccounts says that an address which any account stored counts as the operator's: the server listens on loopback and
	// takes any account (design §10.2).
	TrustAccounts bool
	// Subscription hands out the tokens of accounts that are signed in; nil when the server has no subscriptions.
	Subscription *subscription.Service
	// AnthropicVersion replaces the version header when it is set.
	AnthropicVersion string
	// TutorPace is the tutor's pause before each word.
	TutorPace time.Duration
}

// Connector finds models.
type Connector struct {
	opts Options
	// owner is the server owner once there is one, which stays for good.
	owner  atomic.Pointer[string]
	health health
}

// New returns a connector.
func New(opts Options) *Connector { return &Connector{opts: opts} }

// Connection is a provider of an account that is ready to be asked.
type Connection struct {
	Provider model.Provider
	// Name is the account's name of it.
	Name string
	// Config is the provider as the account stored it.
	Config wire.ProviderConfig
}

// Connect builds the adapter of a configured provider for one of its models. Errors are *fault.Error: a provider that is not
// configured, or a key that is missing.
func (c *Connector) Connect(ctx context.Context, accountID, name, modelID string) (Connection, error) {
	var p provider.Provider
	var owned bool
	err := c.opts.Store.Read(ctx, func(tx store.Tx) (err error) {
		if p, err = provider.Get(tx, accountID, name); err != nil {
			return err
		}
		owned, err = c.owns(tx, accountID)
		return err
	})
	if err != nil {
		if fault.CodeOf(err) == fault.NotFound {
			return Connection{}, fault.Missing("Model provider not found: %q is not configured", name)
		}
		return Connection{}, err
	}
	connection, err := c.connection(ctx, &p, owned, modelID)
	if err != nil {
		c.note(ctx, &p, err)
	}
	return connection, err
}

// connection builds the adapter of a provider as it is stored.
func (c *Connector) connection(ctx context.Context, p *provider.Provider, owned bool, modelID string) (Connection, error) {
	if p.Config.AuthMode == provider.Subscription {
		return c.subscribed(ctx, p)
	}
	endpoint, err := provider.Resolve(p.Config, provider.Addresses{
		Overrides: c.opts.Addresses, TrustAccount: c.opts.TrustAccounts || owned,
	})
	if err != nil {
		return Connection{}, err
	}
	key, err := c.key(ctx, p)
	if err != nil {
		return Connection{}, err
	}
	client, err := c.client(endpoint)
	if err != nil {
		return Connection{}, err
	}
	return c.connected(p, c.adapter(p.Config.Type, endpoint, key, modelID, client), endpoint.BaseURL, key), nil
}

// connected has an adapter's news noted and its requests limited, by the address and the key.
func (c *Connector) connected(p *provider.Provider, adapter model.Provider, address, key string) Connection {
	adapter = &noted{Provider: adapter, note: func(ctx context.Context, err error) { c.note(ctx, p, err) }}
	if c.opts.Limits != nil && p.Config.Type != provider.Tutor {
		adapter = limit.Wrap(adapter, c.opts.Limits.For(limit.Key(address, key), p.Account))
	}
	return Connection{Provider: adapter, Name: p.Name, Config: p.Config}
}

// subscribed builds the adapter of a provider that a person has signed in to.
func (c *Connector) subscribed(ctx context.Context, p *provider.Provider) (Connection, error) {
	s := c.opts.Subscription
	if s == nil {
		return Connection{}, fault.Invalid(provider.MsgNoSubscription)
	}
	token, err := s.Token(ctx, p.Account, p.Config.SecretRefs["oauth"])
	if err != nil {
		return Connection{}, err
	}
	client, err := c.opts.Egress.Operator(s.API())
	if err != nil {
		return Connection{}, err
	}
	reasoning := func(id string) (model.ReasoningSupport, bool) { return c.opts.Catalogue.Reasoning(p.Config.Type, id) }
	cfg := c.openai(p.Config.Type, provider.Endpoint{}, "", client, reasoning)
	return c.connected(p, s.Provider(cfg, token), s.API(), token.Account), nil
}

// owns tells whether an account is the server owner's.
func (c *Connector) owns(tx store.Tx, accountID string) (bool, error) {
	if known := c.owner.Load(); known != nil {
		return *known == accountID, nil
	}
	owner, ok, err := account.Owner(tx)
	if err == nil && ok {
		c.owner.Store(&owner)
	}
	return owner == accountID, err
}

func (c *Connector) key(ctx context.Context, p *provider.Provider) (string, error) {
	kind, _ := provider.TypeNamed(p.Config.Type)
	name := p.Config.SecretRefs["apiKey"]
	if name == "" {
		if kind.NeedsKey {
			return "", fault.Invalid("%s API key is not configured", p.Config.Type)
		}
		return "", nil
	}
	value, _, err := c.opts.Vault.Get(ctx, p.Account, name)
	if err != nil {
		if fault.CodeOf(err) == fault.NotFound {
			return "", fault.Invalid("%s API key is not configured: there is no secret named %q", p.Config.Type, name)
		}
		return "", err
	}
	key := strings.TrimSpace(string(value))
	// Such a key cannot stand in a header; the request would fail as if the service were not there.
	if strings.ContainsFunc(key, unicode.IsControl) {
		return "", fault.Invalid("%s API key cannot be used: the secret %q holds line breaks or control characters", p.Config.Type, name)
	}
	return key, nil
}

func (c *Connector) client(e provider.Endpoint) (*http.Client, error) {
	switch {
	case e.BaseURL == "":
		return nil, nil
	case e.Operator:
		return c.opts.Egress.Operator(e.BaseURL)
	}
	return c.opts.Egress.Agent(), nil
}

func (c *Connector) adapter(kind string, e provider.Endpoint, key, modelID string, client *http.Client) model.Provider {
	reasoning := func(id string) (model.ReasoningSupport, bool) { return c.opts.Catalogue.Reasoning(kind, id) }
	maxOutput := func(id string) int { return c.opts.Catalogue.Lookup(kind, id).MaxOutput }
	support, _ := reasoning(modelID)
	if kind == provider.Tutor {
		return tutor.New(tutor.Config{Clock: c.opts.Clock, Pace: c.opts.TutorPace})
	}
	switch model.DialectOf(kind, e.BaseURL, len(support.Levels) > 0) {
	case model.Anthropic:
		return anthropic.New(anthropic.Config{
			BaseURL: e.BaseURL, APIKey: key, HTTP: client, Version: c.opts.AnthropicVersion, MaxOutput: maxOutput,
		})
	case model.Gemini:
		return gemini.New(gemini.Config{BaseURL: e.BaseURL, APIKey: key, HTTP: client, MaxOutput: maxOutput})
	case model.Ollama:
		window := func(id string) int {
			if m := c.opts.Catalogue.Lookup(kind, id); m.Known {
				return m.ContextWindow
			}
			return 0
		}
		return ollama.New(ollama.Config{BaseURL: e.BaseURL, APIKey: key, HTTP: client, ContextWindow: window})
	case model.OpenAIResponses:
		return openai.NewResponses(c.openai(kind, e, key, client, reasoning))
	}
	return openai.NewChat(c.openai(kind, e, key, client, reasoning))
}
