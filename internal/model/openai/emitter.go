package openai

import "github.com/loam-agents/loam/internal/model"

// emitter hands events to the consumer until it leaves.
type emitter struct {
	yield func(model.Event, error) bool
	gone  bool
}

func (e *emitter) emit(ev model.Event) {
	if !e.gone && !e.yield(ev, nil) {
		e.gone = true
	}
}

// fail yields the one error that ends a stream.
func (e *emitter) fail(err error) {
	if !e.gone {
		e.yield(model.Event{}, err)
	}
}

func (e *emitter) textDelta(text string) {
	if text != "" {
		e.emit(model.Event{Kind: model.EventTextDelta, Text: text})
	}
}

func (e *emitter) reasoningDelta(text string) {
	if text != "" {
		e.emit(model.Event{Kind: model.EventReasoningDelta, Text: text})
	}
}

// speaks tells whether the parts hold something for a person or a tool.
func speaks(parts []model.Part) (text, calls bool) {
	for _, p := range parts {
		text = text || p.Kind == model.PartText
		calls = calls || p.Kind == model.PartToolCall
	}
	return text, calls
}
