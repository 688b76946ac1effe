package openai

import (
	"context"
	"iter"

	"github.com/loam-agents/loam/internal/model"
)

type chat struct{ service }

// NewChat returns the adapter of Chat Completions.
func NewChat(cfg Config) model.Provider { return &chat{newService(cfg)} }

// Dialect implements model.Provider.
func (c *chat) Dialect() model.Dialect { return model.OpenAIChat }

// Stream implements model.Provider.
func (c *chat) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		body, err := c.payload(req)
		if err != nil {
			yield(model.Event{}, c.client.BadRequest(err))
			return
		}
		res, err := c.client.Post(ctx, c.base+"/chat/completions", c.header, body)
		if err != nil {
			yield(model.Event{}, err)
			return
		}
		defer res.Body.Close()
		r := chatReader{emitter: emitter{yield: yield}, service: c.service, model: req.Model}
		r.run(ctx, res)
	}
}
