// Package ollama speaks Ollama's native dialect: POST /api/chat with newline-delimited JSON.
//
// The native dialect says what the OpenAI one hides: the size of the context (num_ctx), thinking, and why a model stopped.
// A stored base URL that ends in /v1 means Ollama's OpenAI dialect; whoever chooses the adapter takes openai then, and this
// package never sees it. It promises that a line with an error, a stream without its last line and a model that was not
// pulled are told apart, each with a text that says what to do.
//
// ollama is part of tier 3. The chooser of adapters (tier 3) makes one per provider; it reaches the network through the
// client it was given.
package ollama

import (
	"context"
	"iter"
	"net/http"
	"strings"

	"github.com/loam-agents/loam/internal/model"
	"github.com/loam-agents/loam/internal/model/exchange"
)

// Defaults of a Config.
const (
	// DefaultBaseURL is where Ollama listens.
	DefaultBaseURL = "http://localhost:11434"
	// DefaultContext is the num_ctx of a request, in tokens. Left alone, many versions cut every prompt down to 4,096
	// without a word, which a system prompt with tools fills; the whole window of a model can need more memory than the
	// machine has. This is between the two.
	DefaultContext = 16_384
)

// Config says where the service is and how to use it.
type Config struct {
	// BaseURL without /api; empty is DefaultBaseURL.
	BaseURL string
	// APIKey is a bearer token for services that want one; usually empty. It appears in no error.
	APIKey string
	// HTTP is the egress client.
	HTTP *http.Client
	// Context is the num_ctx to ask for, in tokens; zero is DefaultContext. A smaller window in the catalogue wins, and
	// options.num_ctx in a request's Extra replaces both.
	Context int
	// ContextWindow is the catalogue: the window of a model in tokens, zero when unknown. May be nil.
	ContextWindow func(modelID string) int
}

// provider implements model.Provider.
type provider struct {
	base   string
	header http.Header
	client *exchange.Client
	cfg    Config
}

// New returns the adapter.
func New(cfg Config) model.Provider { return newProvider(cfg) }

func newProvider(cfg Config) *provider {
	p := &provider{base: strings.TrimRight(cfg.BaseURL, "/"), cfg: cfg, header: http.Header{}}
	if p.base == "" {
		p.base = DefaultBaseURL
	}
	if cfg.APIKey != "" {
		p.header.Set("Authorization", "Bearer "+cfg.APIKey)
	}
	p.client = exchange.New(cfg.HTTP, "Ollama", cfg.APIKey, classify)
	return p
}

// Dialect implements model.Provider.
func (p *provider) Dialect() model.Dialect { return model.Ollama }

// Models implements model.Provider: what was pulled.
func (p *provider) Models(ctx context.Context) ([]model.ModelRef, error) {
	var list struct {
		Models []struct {
			Name  string `json:"name"`
			Model string `json:"model"`
		} `json:"models"`
	}
	if err := p.client.GetJSON(ctx, p.base+"/api/tags", p.header, &list); err != nil {
		return nil, err
	}
	var out []model.ModelRef
	for _, m := range list.Models {
		ref := model.ModelRef{ID: m.Model, Name: m.Name}
		if ref.ID == "" {
			ref.ID = m.Name
		}
		out = append(out, ref)
	}
	return out, nil
}

// Stream implements model.Provider. A model that cannot think is asked again without the reasoning level.
func (p *provider) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		res, err := p.post(ctx, req)
		if e, ok := model.AsError(err); ok && strings.Contains(e.Message, "does not support thinking") && req.Reasoning != "" {
			req.Reasoning = ""
			res, err = p.post(ctx, req)
		}
		if err != nil {
			yield(model.Event{}, explain(err, req.Model))
			return
		}
		defer res.Body.Close()
		r := newReader(p.client, req, yield)
		r.run(ctx, res.Body)
	}
}

func (p *provider) post(ctx context.Context, req model.Request) (*http.Response, error) {
	body, err := buildPayload(req, p.context(req.Model))
	if err != nil {
		return nil, p.client.BadRequest(err)
	}
	return p.client.Post(ctx, p.base+"/api/chat", p.header, body)
}

func (p *provider) context(modelID string) int {
	size := p.cfg.Context
	if size <= 0 {
		size = DefaultContext
	}
	if p.cfg.ContextWindow != nil {
		if window := p.cfg.ContextWindow(modelID); window > 0 {
			size = min(size, window)
		}
	}
	return size
}
