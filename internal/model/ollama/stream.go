package ollama

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/loam-agents/loam/internal/model"
	"github.com/loam-agents/loam/internal/model/exchange"
	"github.com/loam-agents/loam/internal/model/sse"
)

// line is one line of the stream. The last one has Done set and the counts.
type line struct {
	Message struct {
		Content   string     `json:"content"`
		Thinking  string     `json:"thinking"`
		ToolCalls []toolCall `json:"tool_calls"`
	} `json:"message"`
	Done            bool   `json:"done"`
	DoneReason      string `json:"done_reason"`
	PromptEvalCount int64  `json:"prompt_eval_count"`
	EvalCount       int64  `json:"eval_count"`
	Error           string `json:"error"`
}

// reader turns one stream into events.
type reader struct {
	client *exchange.Client
	model  string
	yield  func(model.Event, error) bool

	thinking strings.Builder
	parts    []model.Part
	said     bool
	calls    int
	last     *line
	gone     bool // the consumer has left
	// ids holds the call ids of the conversation, so that the ones made here are new in it.
	ids map[string]bool
}

func newReader(client *exchange.Client, req model.Request, yield func(model.Event, error) bool) *reader {
	r := &reader{client: client, model: req.Model, yield: yield, ids: map[string]bool{}}
	for _, m := range req.Messages {
		for _, p := range m.Parts {
			r.ids[p.CallID] = true
		}
	}
	return r
}

func (r *reader) run(ctx context.Context, body io.Reader) {
	for data, err := range sse.Lines(body, 0) {
		if err == nil {
			err = r.take(data)
		} else if errors.Is(err, sse.ErrTooLong) {
			err = r.client.Invalid(err)
		} else {
			err = r.client.Broken(ctx, err)
		}
		if r.gone {
			return
		}
		if err != nil {
			r.yield(model.Event{}, explain(err, r.model))
			return
		}
		if r.last != nil {
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

func (r *reader) take(data []byte) error {
	var l line
	if err := json.Unmarshal(data, &l); err != nil {
		return r.client.Invalid(err)
	}
	if l.Error != "" {
		failed := model.Error{Kind: model.ErrServer, Message: l.Error}
		if tooLong(l.Error) {
			failed.Kind = model.ErrContextTooLong
		}
		return r.client.Failed(failed)
	}
	if t := l.Message.Thinking; t != "" {
		r.thinking.WriteString(t)
		r.emit(model.Event{Kind: model.EventReasoningDelta, Text: t})
	}
	if t := l.Message.Content; t != "" {
		r.text(t)
	}
	for _, c := range l.Message.ToolCalls {
		r.call(c)
	}
	if l.Done {
		r.last = &l
	}
	return nil
}

func (r *reader) text(text string) {
	r.said = true
	r.emit(model.Event{Kind: model.EventTextDelta, Text: text})
	if n := len(r.parts); n > 0 && r.parts[n-1].Kind == model.PartText {
		r.parts[n-1].Text += text
		return
	}
	r.parts = append(r.parts, model.Part{Kind: model.PartText, Text: text})
}

func (r *reader) call(c toolCall) {
	r.calls++
	id := c.ID
	for n := len(r.ids) + 1; id == "" || r.ids[id]; n++ {
		id = fmt.Sprintf("ollama-call-%d", n)
	}
	r.ids[id] = true
	r.emit(model.Event{Kind: model.EventToolCallStart, CallID: id, Name: c.Function.Name})
	r.parts = append(r.parts, model.Part{Kind: model.PartToolCall, CallID: id, Name: c.Function.Name, Arguments: string(c.Function.Arguments)})
}

func (r *reader) finish() {
	stop := model.StopEnd
	switch {
	case r.last.DoneReason == "length":
		stop = model.StopLength
	case r.calls > 0:
		stop = model.StopToolCalls
	}
	if !r.said && r.calls == 0 && stop == model.StopEnd {
		r.yield(model.Event{}, r.client.Empty())
		return
	}
	parts, err := r.withThoughts()
	if err != nil {
		r.yield(model.Event{}, r.client.Invalid(err))
		return
	}
	usage := model.Usage{Input: r.last.PromptEvalCount, Output: r.last.EvalCount}
	usage.Total = usage.Input + usage.Output
	r.emit(model.Event{Kind: model.EventDone, Message: model.Message{Role: model.Assistant, Parts: parts}, Usage: usage, Stop: stop})
}

// withThoughts keeps the thinking that led to calls. Thinking before a final answer is not wanted back.
func (r *reader) withThoughts() ([]model.Part, error) {
	if r.calls == 0 || r.thinking.Len() == 0 {
		return r.parts, nil
	}
	block, err := exchange.Encode(thoughts{Thinking: r.thinking.String()}, nil)
	if err != nil {
		return nil, err
	}
	opaque := model.Part{Kind: model.PartOpaque, Opaque: &model.Opaque{Dialect: model.Ollama, Model: r.model, Block: block}}
	return append([]model.Part{opaque}, r.parts...), nil
}
