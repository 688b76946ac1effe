package anthropic

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/loam-agents/loam/internal/model"
	"github.com/loam-agents/loam/internal/model/exchange"
	"github.com/loam-agents/loam/internal/model/sse"
)

// frame is any event of the stream; the fields in use depend on Type.
type frame struct {
	Type    string `json:"type"`
	Index   int    `json:"index"`
	Message struct {
		Usage usage `json:"usage"`
	} `json:"message"`
	ContentBlock json.RawMessage `json:"content_block"`
	Delta        struct {
		Type        string `json:"type"`
		Text        string `json:"text"`
		PartialJSON string `json:"partial_json"`
		Thinking    string `json:"thinking"`
		Signature   string `json:"signature"`
		StopReason  string `json:"stop_reason"`
	} `json:"delta"`
	Usage usage `json:"usage"`
	errorBody
}

// usage holds pointers because message_delta repeats only some of the counts.
type usage struct {
	Input      *int64 `json:"input_tokens"`
	Output     *int64 `json:"output_tokens"`
	CacheRead  *int64 `json:"cache_read_input_tokens"`
	CacheWrite *int64 `json:"cache_creation_input_tokens"`
}

// reader turns one stream into events.
type reader struct {
	client *exchange.Client
	model  string
	yield  func(model.Event, error) bool

	blocks  map[int]*building
	usage   model.Usage
	stop    string
	stopped bool
	gone    bool // the consumer has left
}

// building is a block that is still arriving.
type building struct {
	kind      string
	id, name  string
	raw       json.RawMessage
	input     json.RawMessage
	text      strings.Builder
	signature strings.Builder
}

func (r *reader) run(ctx context.Context, body io.Reader) {
	r.blocks = map[int]*building{}
	for ev, err := range sse.Events(body, 0) {
		if err == nil {
			err = r.take(ev.Data)
		} else if errors.Is(err, sse.ErrTooLong) {
			err = r.client.Invalid(err)
		} else {
			err = r.client.Broken(ctx, err)
		}
		if r.gone {
			return
		}
		if err != nil {
			r.yield(model.Event{}, err)
			return
		}
		if r.stopped {
			r.finish()
			return
		}
	}
	r.yield(model.Event{}, r.client.Cut(ctx))
}

func (r *reader) emit(ev model.Event) {
	if !r.gone && !r.yield(ev, nil) {
		r.gone = true
	}
}

// take handles one event. Unknown types are skipped: the service adds some without a new version.
func (r *reader) take(data []byte) error {
	var f frame
	if err := json.Unmarshal(data, &f); err != nil {
		return r.client.Invalid(err)
	}
	switch f.Type {
	case "message_start":
		r.count(f.Message.Usage)
	case "content_block_start":
		return r.start(f)
	case "content_block_delta":
		return r.delta(f)
	case "message_delta":
		r.count(f.Usage)
		if f.Delta.StopReason != "" {
			r.stop = f.Delta.StopReason
		}
	case "message_stop":
		r.stopped = true
	case "error":
		return r.client.Failed(f.apply(model.Error{Kind: model.ErrServer}))
	}
	return nil
}

func (r *reader) count(u usage) {
	set := func(to *int64, from *int64) {
		if from != nil {
			*to = *from
		}
	}
	set(&r.usage.Input, u.Input)
	set(&r.usage.Output, u.Output)
	set(&r.usage.CacheRead, u.CacheRead)
	set(&r.usage.CacheWrite, u.CacheWrite)
}

func (r *reader) start(f frame) error {
	var head struct {
		Type      string          `json:"type"`
		Text      string          `json:"text"`
		ID        string          `json:"id"`
		Name      string          `json:"name"`
		Input     json.RawMessage `json:"input"`
		Thinking  string          `json:"thinking"`
		Signature string          `json:"signature"`
	}
	if err := json.Unmarshal(f.ContentBlock, &head); err != nil {
		return r.client.Invalid(err)
	}
	b := &building{kind: head.Type, id: head.ID, name: head.Name, raw: f.ContentBlock, input: head.Input}
	r.blocks[f.Index] = b
	switch head.Type {
	case "text":
		r.text(b, head.Text, model.EventTextDelta)
	case "thinking":
		r.text(b, head.Thinking, model.EventReasoningDelta)
		b.signature.WriteString(head.Signature)
	case "tool_use":
		r.emit(model.Event{Kind: model.EventToolCallStart, CallID: head.ID, Name: head.Name})
	}
	return nil
}

func (r *reader) text(b *building, text string, kind model.EventKind) {
	if text == "" {
		return
	}
	b.text.WriteString(text)
	r.emit(model.Event{Kind: kind, Text: text})
}

func (r *reader) delta(f frame) error {
	b := r.blocks[f.Index]
	if b == nil {
		return r.client.Invalid(fmt.Errorf("a delta for block %d, which has not begun", f.Index))
	}
	switch f.Delta.Type {
	case "text_delta":
		r.text(b, f.Delta.Text, model.EventTextDelta)
	case "thinking_delta":
		r.text(b, f.Delta.Thinking, model.EventReasoningDelta)
	case "signature_delta":
		b.signature.WriteString(f.Delta.Signature)
	case "input_json_delta":
		b.text.WriteString(f.Delta.PartialJSON)
	}
	return nil
}

func (r *reader) finish() {
	parts, err := r.parts()
	if err != nil {
		r.yield(model.Event{}, r.client.Invalid(err))
		return
	}
	var said, called bool
	for _, p := range parts {
		said = said || p.Kind == model.PartText
		called = called || p.Kind == model.PartToolCall
	}
	stop := stopReason(r.stop, called)
	if !said && !called && stop == model.StopEnd {
		r.yield(model.Event{}, r.client.Empty())
		return
	}
	r.usage.Total = r.usage.Input + r.usage.Output + r.usage.CacheRead + r.usage.CacheWrite
	r.emit(model.Event{Kind: model.EventDone, Message: model.Message{Role: model.Assistant, Parts: parts}, Usage: r.usage, Stop: stop})
}

func stopReason(reason string, called bool) model.StopReason {
	switch reason {
	case "max_tokens", "model_context_window_exceeded":
		return model.StopLength
	case "refusal":
		return model.StopRefusal
	}
	if called {
		return model.StopToolCalls
	}
	return model.StopEnd
}

// parts are the finished blocks in the service's order.
func (r *reader) parts() ([]model.Part, error) {
	indexes := make([]int, 0, len(r.blocks))
	for i := range r.blocks {
		indexes = append(indexes, i)
	}
	slices.Sort(indexes)
	var out []model.Part
	for _, i := range indexes {
		part, ok, err := r.blocks[i].part(r.model)
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, part)
		}
	}
	return out, nil
}

// part finishes a block; ok is false for blocks that are not kept: empty text, and kinds whose deltas we cannot put
// together exactly.
func (b *building) part(modelID string) (part model.Part, ok bool, err error) {
	switch b.kind {
	case "text":
		return model.Part{Kind: model.PartText, Text: b.text.String()}, b.text.Len() > 0, nil
	case "tool_use":
		return model.Part{Kind: model.PartToolCall, CallID: b.id, Name: b.name, Arguments: b.arguments()}, true, nil
	case "redacted_thinking":
		return opaque(modelID, b.raw), true, nil
	case "thinking":
		// An unsigned block would be refused on the way back.
		if b.signature.Len() == 0 {
			return part, false, nil
		}
		raw, err := exchange.Encode(thinkingBlock{Type: "thinking", Thinking: b.text.String(), Signature: b.signature.String()}, nil)
		return opaque(modelID, raw), err == nil, err
	}
	return part, false, nil
}

type thinkingBlock struct {
	Type      string `json:"type"`
	Thinking  string `json:"thinking"`
	Signature string `json:"signature"`
}

func opaque(modelID string, block json.RawMessage) model.Part {
	return model.Part{Kind: model.PartOpaque, Opaque: &model.Opaque{Dialect: model.Anthropic, Model: modelID, Block: block}}
}

// arguments prefers the streamed text; a block that came whole has its input in the start event.
func (b *building) arguments() string {
	if b.text.Len() > 0 {
		return b.text.String()
	}
	return string(b.input)
}
