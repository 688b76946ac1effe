package operation

import (
	"context"

	"github.com/loam-agents/loam/internal/agent/prompt"
	"github.com/loam-agents/loam/internal/model/catalogue"
	"github.com/loam-agents/loam/internal/provider"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

// Answers that hold more than those of the wire, because people read them.

// AgentShown is an agent whose instructions stand beside its definition as people edit them.
type AgentShown struct {
	wire.GetAgentResponse
	// SystemPromptMarkdown is the definition's prompt as Markdown; it may be sent back as systemPrompt.
	SystemPromptMarkdown string `json:"systemPromptMarkdown"`
}

func presentAgent(_ context.Context, _ *Call, r Result) (Result, error) {
	a := r.Value.(wire.GetAgentResponse)
	r.Value = AgentShown{GetAgentResponse: a, SystemPromptMarkdown: prompt.Markdown(a.Agent.Definition.SystemPrompt)}
	return r, nil
}

// ModelShown is a model with what the catalogue knows about it.
type ModelShown struct {
	wire.ModelRef
	// ContextWindow is in tokens, absent when the model is not in the catalogue.
	ContextWindow int64 `json:"contextWindow,omitempty"`
	// Price is in US dollars for a million tokens, absent when it is not known.
	Price *catalogue.Price `json:"price,omitempty"`
}

// ModelsShown lists models.
type ModelsShown struct {
	Models []ModelShown `json:"models"`
}

func presentModels(ctx context.Context, c *Call, r Result) (Result, error) {
	var req wire.ListProviderModelsRequest
	if err := c.bind(&req); err != nil {
		return Result{}, err
	}
	var kind string
	err := c.opts.Store.Read(ctx, func(tx store.Tx) error {
		owner, err := c.ownerOf(tx, req.AgentID)
		if err != nil {
			return err
		}
		kind, _, err = provider.Has(tx, owner, req.Provider)
		return err
	})
	if err != nil {
		return Result{}, err
	}
	list := r.Value.(wire.ListProviderModelsResponse).Models
	out := ModelsShown{Models: make([]ModelShown, len(list))}
	for i, m := range list {
		out.Models[i].ModelRef = m
		if facts := c.opts.Models.Facts(kind, m.ID); facts.Known {
			out.Models[i].ContextWindow, out.Models[i].Price = int64(facts.ContextWindow), facts.Price
		}
	}
	return Result{Value: out}, nil
}
