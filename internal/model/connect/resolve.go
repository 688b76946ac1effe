package connect

import (
	"context"
	"net/http"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/model"
	"github.com/loam-agents/loam/internal/model/catalogue"
	"github.com/loam-agents/loam/internal/model/openai"
	"github.com/loam-agents/loam/internal/model/subscription"
	"github.com/loam-agents/loam/internal/provider"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

func (c *Connector) openai(kind string, e provider.Endpoint, key string, client *http.Client,
	reasoning func(string) (model.ReasoningSupport, bool)) openai.Config {
	label := kind
	if t, ok := provider.TypeNamed(kind); ok {
		label = t.Label
	}
	return openai.Config{
		Name: label, BaseURL: e.BaseURL, APIKey: key, HTTP: client, Quirks: openai.QuirksOf(kind), Reasoning: reasoning,
	}
}

// Choice is the model of a turn.
type Choice struct {
	Connection
	// ID is the provider's id of the model, and Model what the catalogue knows of it.
	ID    string
	Model catalogue.Model
	// Reasoning is the level to ask for; empty leaves it to the provider.
	Reasoning model.ReasoningLevel
}

// Resolve finds the model that a definition names, or that a session's override names instead. An override whose provider is
// gone falls back to the definition. An override without a level means that reasoning is off (spec §7.1).
func (c *Connector) Resolve(ctx context.Context, account string, def wire.AgentDefinition, o *wire.ModelOverride) (Choice, error) {
	if o != nil {
		choice, err := c.choose(ctx, account, o.Provider, o.Model, level(o.ReasoningLevel, model.ReasoningOff))
		if fault.CodeOf(err) != fault.NotFound {
			return choice, err
		}
	}
	return c.choose(ctx, account, def.ModelProvider, def.Model, level(def.ReasoningLevel, ""))
}

func level(text string, absent model.ReasoningLevel) model.ReasoningLevel {
	if text == "" {
		return absent
	}
	return model.ReasoningLevel(text)
}

func (c *Connector) choose(ctx context.Context, account, name, modelID string, l model.ReasoningLevel) (Choice, error) {
	connection, err := c.Connect(ctx, account, name, modelID)
	if err != nil {
		return Choice{}, err
	}
	return Choice{
		Connection: connection, ID: modelID, Model: c.opts.Catalogue.Lookup(connection.Config.Type, modelID), Reasoning: l,
	}, nil
}

// List asks a configured provider for its models. A failure of the provider is a provider_error with its text.
func (c *Connector) List(ctx context.Context, account, name string) ([]model.ModelRef, error) {
	subscribed, err := c.hasSubscription(ctx, account, name)
	if err != nil {
		return nil, err
	}
	if subscribed {
		return subscription.Models(), nil
	}
	connection, err := c.Connect(ctx, account, name, "")
	if err != nil {
		return nil, err
	}
	models, err := connection.Provider.Models(ctx)
	if e, ok := model.AsError(err); ok {
		return nil, fault.Wrap(err, fault.ProviderError, "%s", e.Error())
	}
	return models, err
}

// hasSubscription tells whether a provider is one that a person has signed in to: its models are known without asking.
func (c *Connector) hasSubscription(ctx context.Context, account, name string) (yes bool, err error) {
	err = c.opts.Store.Read(ctx, func(tx store.Tx) error {
		p, err := provider.Get(tx, account, name)
		yes = p.Config.AuthMode == provider.Subscription
		return err
	})
	if fault.CodeOf(err) == fault.NotFound {
		err = fault.Missing("Model provider not found")
	}
	return yes, err
}

// Levels are the reasoning levels that a model takes, in rising order.
func (c *Connector) Levels(providerType, modelID string) []string {
	support, _ := c.opts.Catalogue.Reasoning(providerType, modelID)
	out := make([]string, len(support.Levels))
	for i, l := range support.Levels {
		out[i] = string(l)
	}
	return out
}

// Window is a model's context window in tokens.
func (c *Connector) Window(providerType, modelID string) int64 {
	return int64(c.opts.Catalogue.Lookup(providerType, modelID).ContextWindow)
}

// Facts are what the catalogue knows about a model.
func (c *Connector) Facts(providerType, modelID string) catalogue.Model {
	return c.opts.Catalogue.Lookup(providerType, modelID)
}
