// Package anthropic speaks the Messages dialect of Anthropic and of the gateways that imitate it.
//
// It promises that thinking blocks go back byte for byte and in their place to the model that wrote them, or not at all;
// that the payload is valid whatever the conversation holds (merged roles, results first, no empty text, arguments always
// an object); and that a stream without message_stop is an error.
//
// anthropic is part of tier 3. The chooser of adapters (tier 3) makes one per provider; it reaches the network through the
// client it was given.
package anthropic

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strings"

	"github.com/loam-agents/loam/internal/model"
	"github.com/loam-agents/loam/internal/model/exchange"
)

// Defaults of a Config.
const (
	// DefaultBaseURL is the service itself.
	DefaultBaseURL = "https://api.anthropic.com"
	// DefaultVersion is the dialect version whose meaning the service has kept since the beginning.
	DefaultVersion = "2023-06-01"
	// DefaultMaxOutput bounds the answers of models that the catalogue does not know, in tokens.
	DefaultMaxOutput = 16_384
)

// Config says where the service is and how to use it.
type Config struct {
	// BaseURL without the path of the API; a trailing /v1 is tolerated. Empty is DefaultBaseURL.
	BaseURL string
	// APIKey travels in the x-api-key header and appears in no error.
	APIKey string
	// HTTP is the egress client.
	HTTP *http.Client
	// Version is the anthropic-version header; empty is DefaultVersion.
	Version string
	// MaxOutput is the catalogue: the most tokens a model may answer, zero when unknown. May be nil.
	MaxOutput func(modelID string) int
}

// provider implements model.Provider.
type provider struct {
	base      string
	header    http.Header
	client    *exchange.Client
	maxOutput func(string) int
}

// New returns the adapter.
func New(cfg Config) model.Provider {
	p := &provider{maxOutput: cfg.MaxOutput, header: http.Header{}}
	p.base = strings.TrimSuffix(strings.TrimRight(cfg.BaseURL, "/"), "/v1")
	if p.base == "" {
		p.base = DefaultBaseURL
	}
	version := cfg.Version
	if version == "" {
		version = DefaultVersion
	}
	p.header.Set("anthropic-version", version)
	if cfg.APIKey != "" {
		p.header.Set("x-api-key", cfg.APIKey)
	}
	p.client = exchange.New(cfg.HTTP, "Anthropic", cfg.APIKey, classify)
	return p
}

// Dialect implements model.Provider.
func (p *provider) Dialect() model.Dialect { return model.Anthropic }

// Stream implements model.Provider.
func (p *provider) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		body, err := buildPayload(req, p.outputLimit(req))
		if err != nil {
			yield(model.Event{}, p.client.BadRequest(err))
			return
		}
		res, err := p.client.Post(ctx, p.base+"/v1/messages", p.header, body)
		if err != nil {
			yield(model.Event{}, err)
			return
		}
		defer res.Body.Close()
		r := reader{client: p.client, model: req.Model, yield: yield}
		r.run(ctx, res.Body)
	}
}

func (p *provider) outputLimit(req model.Request) int {
	if req.MaxOutputTokens > 0 {
		return req.MaxOutputTokens
	}
	if p.maxOutput != nil {
		if n := p.maxOutput(req.Model); n > 0 {
			return n
		}
	}
	return DefaultMaxOutput
}

// maxPages bounds the model list: a service that always says "more" does not hold us.
const maxPages = 20

// Models implements model.Provider.
func (p *provider) Models(ctx context.Context) ([]model.ModelRef, error) {
	var out []model.ModelRef
	after := ""
	for range maxPages {
		var page struct {
			Data []struct {
				ID          string `json:"id"`
				DisplayName string `json:"display_name"`
			} `json:"data"`
			HasMore bool   `json:"has_more"`
			LastID  string `json:"last_id"`
		}
		address := p.base + "/v1/models?limit=1000"
		if after != "" {
			address += "&after_id=" + url.QueryEscape(after)
		}
		if err := p.client.GetJSON(ctx, address, p.header, &page); err != nil {
			return nil, err
		}
		for _, m := range page.Data {
			ref := model.ModelRef{ID: m.ID, Name: m.DisplayName}
			if ref.Name == "" {
				ref.Name = m.ID
			}
			out = append(out, ref)
		}
		if !page.HasMore || page.LastID == "" {
			break
		}
		after = page.LastID
	}
	return out, nil
}
