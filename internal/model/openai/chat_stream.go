package openai

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/loam-agents/loam/internal/model"
	"github.com/loam-agents/loam/internal/model/sse"
)

// maxWhole bounds an answer that comes as one JSON document instead of a stream.
const maxWhole = 16 << 20

// chunk is one event of a stream, or a whole answer.
type chunk struct {
	Choices []struct {
		Delta        chatDelta `json:"delta"`
		Message      chatDelta `json:"message"`
		FinishReason string    `json:"finish_reason"`
	} `json:"choices"`
	Usage *usage   `json:"usage"`
	Error *failure `json:"error"`
}

type chatDelta struct {
	// Content is a string, or a list of parts.
	Content          json.RawMessage   `json:"content"`
	Refusal          string            `json:"refusal"`
	Reasoning        string            `json:"reasoning"`
	ReasoningContent string            `json:"reasoning_content"`
	ReasoningDetails []json.RawMessage `json:"reasoning_details"`
	ToolCalls        []callDelta       `json:"tool_calls"`
}

// chatReader turns one response into events.
type chatReader struct {
	emitter
	service
	model string

	text      strings.Builder
	reasoning strings.Builder
	details   detailList
	calls     callList
	usage     model.Usage
	finish    string
	refused   bool
	done      bool
}

func (r *chatReader) run(ctx context.Context, res *http.Response) {
	if kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); kind == "application/json" {
		r.whole(ctx, res.Body)
		return
	}
	for ev, err := range sse.Events(res.Body, 0) {
		if err != nil {
			r.broken(ctx, err)
			return
		}
		if err := r.take(ev.Data); err != nil {
			r.fail(err)
			return
		}
		if r.gone {
			return
		}
		if r.done {
			break
		}
	}
	r.end(ctx)
}

// broken decides about a stream that failed: once the finish reason is there, only the usage can be missing.
func (r *chatReader) broken(ctx context.Context, err error) {
	switch {
	case errors.Is(err, sse.ErrTooLong):
		r.fail(r.client.Invalid(err))
	case r.finish != "" && ctx.Err() == nil:
		r.end(ctx)
	default:
		r.fail(r.client.Broken(ctx, err))
	}
}

// whole reads a server that answers a stream request with one JSON document: an error, or the complete answer.
func (r *chatReader) whole(ctx context.Context, body io.Reader) {
	data, err := io.ReadAll(io.LimitReader(body, maxWhole))
	if err != nil {
		r.fail(r.client.Broken(ctx, err))
		return
	}
	if err := r.take(data); err != nil {
		r.fail(err)
		return
	}
	r.end(ctx)
}

func (r *chatReader) take(data []byte) error {
	switch string(data) {
	case "[DONE]":
		r.done = true
		return nil
	case "":
		// A sign of life.
		return nil
	}
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return r.client.Invalid(err)
	}
	if c.Error != nil {
		return r.client.Failed(c.Error.apply(model.Error{Kind: model.ErrServer}))
	}
	if c.Usage != nil {
		r.usage = c.Usage.normal()
	}
	for _, choice := range c.Choices {
		r.delta(choice.Delta)
		r.delta(choice.Message)
		if choice.FinishReason != "" {
			r.finish = choice.FinishReason
		}
	}
	return nil
}

func (r *chatReader) delta(d chatDelta) {
	thought := d.ReasoningContent
	if thought == "" {
		thought = d.Reasoning
	}
	r.reasoning.WriteString(thought)
	r.reasoningDelta(thought)
	for _, detail := range d.ReasoningDetails {
		r.details.add(detail)
	}
	said := contentText(d.Content) + d.Refusal
	r.refused = r.refused || d.Refusal != ""
	r.text.WriteString(said)
	r.textDelta(said)
	for _, call := range d.ToolCalls {
		if started := r.calls.add(call); started != nil {
			r.emit(model.Event{Kind: model.EventToolCallStart, CallID: started.id, Name: started.name})
		}
	}
}

// contentText reads content in both forms; parts other than text are not for people.
func contentText(raw json.RawMessage) string {
	var text string
	if len(raw) == 0 || json.Unmarshal(raw, &text) == nil {
		return text
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	_ = json.Unmarshal(raw, &parts)
	for _, p := range parts {
		if p.Type == "text" {
			text += p.Text
		}
	}
	return text
}

func (r *chatReader) end(ctx context.Context) {
	if r.gone {
		return
	}
	if !r.done && r.finish == "" {
		r.fail(r.client.Cut(ctx))
		return
	}
	if r.finish == "error" {
		r.fail(r.client.Failed(model.Error{Kind: model.ErrServer, Message: "the model failed in the middle of its answer"}))
		return
	}
	parts := r.parts()
	said, called := speaks(parts)
	stop := r.stop(called)
	if !said && !called && stop == model.StopEnd {
		r.fail(r.client.Empty())
		return
	}
	r.emit(model.Event{Kind: model.EventDone, Message: model.Message{Role: model.Assistant, Parts: parts}, Usage: r.usage, Stop: stop})
}

func (r *chatReader) stop(called bool) model.StopReason {
	switch {
	case r.finish == "length":
		return model.StopLength
	case r.finish == "content_filter" || r.refused:
		return model.StopRefusal
	case called:
		return model.StopToolCalls
	}
	return model.StopEnd
}

// parts are hidden reasoning that will be wanted back, the text, and the calls.
func (r *chatReader) parts() []model.Part {
	var parts []model.Part
	calls := r.calls.parts()
	if block := r.hidden(len(calls) > 0); block != nil {
		o := &model.Opaque{Dialect: model.OpenAIChat, Model: r.model, Block: block}
		parts = append(parts, model.Part{Kind: model.PartOpaque, Opaque: o})
	}
	if r.text.Len() > 0 {
		parts = append(parts, model.Part{Kind: model.PartText, Text: r.text.String()})
	}
	return append(parts, calls...)
}

func (r *chatReader) hidden(called bool) json.RawMessage {
	var h hidden
	switch {
	case r.quirks.Replay == ReplayContent && called && r.reasoning.Len() > 0:
		text := r.reasoning.String()
		h.Content = &text
	case r.quirks.Replay == ReplayDetails && len(r.details.entries) > 0:
		h.Details = r.details.encode()
	default:
		return nil
	}
	return encode(h)
}
