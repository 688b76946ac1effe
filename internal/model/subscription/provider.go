package subscription

import (
	"context"
	"net/http"

	"github.com/loam-agents/loam/internal/model"
	"github.com/loam-agents/loam/internal/model/openai"
)

// Models are those that a subscription offers. The service has no list to ask for.
func Models() []model.ModelRef {
	return []model.ModelRef{
		{ID: "gpt-5.2-codex", Name: "GPT-5.2 Codex"}, {ID: "gpt-5.2", Name: "GPT-5.2"}, {ID: "gpt-5.1-codex-max", Name: "GPT-5.1 Codex Max"},
		{ID: "gpt-5.1-codex", Name: "GPT-5.1 Codex"}, {ID: "gpt-5.1-codex-mini", Name: "GPT-5.1 Codex Mini"}, {ID: "gpt-5.1", Name: "GPT-5.1"},
	}
}

// provider is the service's Responses dialect under a subscription.
type provider struct{ model.Provider }

// Models implements model.Provider without asking anybody.
func (provider) Models(context.Context) ([]model.ModelRef, error) { return Models(), nil }

// Provider is the adapter for a token. cfg has everything but the address, the key and the headers.
func (s *Service) Provider(cfg openai.Config, t Token) model.Provider {
	cfg.BaseURL, cfg.APIKey = s.opts.API, t.Access
	cfg.Header = http.Header{"Openai-Beta": {"responses=experimental"}}
	if t.Account != "" {
		cfg.Header.Set("Chatgpt-Account-Id", t.Account)
	}
	return provider{openai.NewResponses(cfg)}
}
