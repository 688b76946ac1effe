package openai

import (
	"context"
	"iter"

	"github.com/loam-agents/loam/internal/model"
)

type responses struct{ service }

// NewResponses returns the adapter of Responses. It never lets the service store a conversation: what a reasoning model
// needs again travels encrypted.
func NewResponses(cfg Config) model.Provider { return &responses{newService(cfg)} }

// Dialect implements model.Provider.
func (r *responses) Dialect() model.Dialect { return model.OpenAIResponses }

// Stream implements model.Provider.
func (r *responses) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		body, err := r.payload(req)
		if err != nil {
			yield(model.Event{}, r.client.BadRequest(err))
			return
		}
		res, err := r.client.Post(ctx, r.base+"/responses", r.header, body)
		if err != nil {
			yield(model.Event{}, err)
			return
		}
		defer res.Body.Close()
		reader := responsesReader{emitter: emitter{yield: yield}, service: r.service, model: req.Model, texts: map[int]string{}}
		reader.run(ctx, res.Body)
	}
}
