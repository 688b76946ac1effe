// Package gemini speaks Google's Generative Language dialect, v1beta, over streamGenerateContent with server-sent events.
//
// It promises that thought signatures go back byte for byte on the part that carried them, to the model that made them, or
// not at all; that tool schemas hold only the keywords the service accepts; that calls without an id get one; and that a
// stream without a finish reason is an error. The key travels in a header, never in an address.
//
// gemini is part of tier 3. The chooser of adapters (tier 3) makes one per provider; it reaches the network through the
// client it was given.
package gemini

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/loam-agents/loam/internal/model"
	"github.com/loam-agents/loam/internal/model/exchange"
)

// DefaultBaseURL is the service itself.
const DefaultBaseURL = "https://generativelanguage.googleapis.com/v1beta"

// Config says where the service is and how to use it.
type Config struct {
	// BaseURL includes the version, as in DefaultBaseURL, which an empty one stands for.
	BaseURL string
	// APIKey travels in the x-goog-api-key header and appears in no error.
	APIKey string
	// HTTP is the egress client.
	HTTP *http.Client
	// MaxOutput is the catalogue: the most tokens a model may answer, zero when unknown, which leaves it to the service.
	// May be nil.
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
	p := &provider{base: strings.TrimRight(cfg.BaseURL, "/"), maxOutput: cfg.MaxOutput, header: http.Header{}}
	if p.base == "" {
		p.base = DefaultBaseURL
	}
	if cfg.APIKey != "" {
		p.header.Set("x-goog-api-key", cfg.APIKey)
	}
	p.client = exchange.New(cfg.HTTP, "Google", cfg.APIKey, classify)
	return p
}

// Dialect implements model.Provider.
func (p *provider) Dialect() model.Dialect { return model.Gemini }

// Stream implements model.Provider.
func (p *provider) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		body, err := buildPayload(req, p.outputLimit(req))
		if err != nil {
			yield(model.Event{}, p.client.BadRequest(err))
			return
		}
		address := p.base + "/models/" + url.PathEscape(bareID(req.Model)) + ":streamGenerateContent?alt=sse"
		res, err := p.client.Post(ctx, address, p.header, body)
		if err != nil {
			yield(model.Event{}, err)
			return
		}
		defer res.Body.Close()
		r := newReader(p.client, req, yield)
		r.run(ctx, res.Body)
	}
}

func (p *provider) outputLimit(req model.Request) int {
	if req.MaxOutputTokens > 0 || p.maxOutput == nil {
		return req.MaxOutputTokens
	}
	return p.maxOutput(req.Model)
}

// bareID strips the collection, which the service's own list puts before every id.
func bareID(modelID string) string { return strings.TrimPrefix(modelID, "models/") }

// maxPages bounds the model list: a service that always says "more" does not hold us.
const maxPages = 20

// Models implements model.Provider. Models that cannot generate (embeddings) are left out.
func (p *provider) Models(ctx context.Context) ([]model.ModelRef, error) {
	var out []model.ModelRef
	token := ""
	for range maxPages {
		var page struct {
			Models []struct {
				Name        string   `json:"name"`
				DisplayName string   `json:"displayName"`
				Methods     []string `json:"supportedGenerationMethods"`
			} `json:"models"`
			Next string `json:"nextPageToken"`
		}
		address := p.base + "/models?pageSize=1000"
		if token != "" {
			address += "&pageToken=" + url.QueryEscape(token)
		}
		if err := p.client.GetJSON(ctx, address, p.header, &page); err != nil {
			return nil, err
		}
		for _, m := range page.Models {
			if !slices.Contains(m.Methods, "generateContent") {
				continue
			}
			ref := model.ModelRef{ID: bareID(m.Name), Name: m.DisplayName}
			if ref.Name == "" {
				ref.Name = ref.ID
			}
			out = append(out, ref)
		}
		if page.Next == "" {
			break
		}
		token = page.Next
	}
	return out, nil
}
