// Package openai speaks the two dialects of OpenAI and of the many services that imitate the first one: Chat Completions
// (NewChat) and Responses (NewResponses).
//
// It promises that the payload is valid whatever the conversation holds (package repair; arguments that are no JSON object
// go back as {}); that tool calls come together whatever a server leaves out of their fragments; that encrypted reasoning goes
// back byte for byte and in its place to the model that wrote it, or not at all; that an answer without its end mark is an
// error; and that the key appears in no text.
//
// What differs between imitators is data (Quirks), chosen by provider type. openai is part of tier 3. The chooser of
// adapters makes one per provider; it reaches the network through the client it was given.
package openai

import (
	"context"
	"net/http"
	"strings"

	"github.com/loam-agents/loam/internal/model"
	"github.com/loam-agents/loam/internal/model/exchange"
)

// Config says where the service is and how to use it.
type Config struct {
	// Name of the service in error texts ("OpenAI"); empty is "Model provider".
	Name string
	// BaseURL is the root of the API, such as https://api.openai.com/v1.
	BaseURL string
	// APIKey travels as a bearer token and appears in no error; empty sends none.
	APIKey string
	// HTTP is the egress client.
	HTTP *http.Client
	// Header is added to every request, for services that want one of their own. May be nil.
	Header http.Header
	// Quirks of the service; see QuirksOf.
	Quirks Quirks
	// Reasoning is the catalogue: the levels of a model, known false when it has never heard of it. Nil knows nothing.
	Reasoning func(modelID string) (support model.ReasoningSupport, known bool)
}

// service is what both dialects share.
type service struct {
	base      string
	header    http.Header
	client    *exchange.Client
	quirks    Quirks
	reasoning func(string) (model.ReasoningSupport, bool)
}

func newService(cfg Config) service {
	name := cfg.Name
	if name == "" {
		name = "Model provider"
	}
	s := service{
		base: strings.TrimRight(cfg.BaseURL, "/"), header: cfg.Header.Clone(), quirks: cfg.Quirks, reasoning: cfg.Reasoning,
		client: exchange.New(cfg.HTTP, name, cfg.APIKey, classify),
	}
	if s.header == nil {
		s.header = http.Header{}
	}
	if cfg.APIKey != "" {
		s.header.Set("Authorization", "Bearer "+cfg.APIKey)
	}
	return s
}

// level is what to say about reasoning. A model that the catalogue does not know is told what was asked, except off: the
// word for it differs and most services refuse it.
func (s service) level(req model.Request) (model.ReasoningLevel, bool) {
	if s.reasoning != nil {
		if support, known := s.reasoning(req.Model); known {
			return support.Fit(req.Reasoning)
		}
	}
	if req.Reasoning == model.ReasoningOff {
		return req.Reasoning, s.quirks.Thinking
	}
	return req.Reasoning, req.Reasoning != ""
}

// mayReason tells whether the model could send encrypted reasoning; a model that cannot refuses to be asked for it.
func (s service) mayReason(modelID string) bool {
	if s.reasoning != nil {
		if support, known := s.reasoning(modelID); known {
			return len(support.Levels) > 0
		}
	}
	return true
}

// Models implements model.Provider for both dialects.
func (s service) Models(ctx context.Context) ([]model.ModelRef, error) {
	var list struct {
		Data []struct {
			ID   string `json:"id"`
			Name string `json:"name"`
		} `json:"data"`
	}
	if err := s.client.GetJSON(ctx, s.base+"/models", s.header, &list); err != nil {
		return nil, err
	}
	out := make([]model.ModelRef, 0, len(list.Data))
	for _, m := range list.Data {
		if m.ID == "" {
			continue
		}
		if m.Name == "" {
			m.Name = m.ID
		}
		out = append(out, model.ModelRef{ID: m.ID, Name: m.Name})
	}
	return out, nil
}
