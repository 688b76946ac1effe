package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"

	"github.com/loam-agents/loam/internal/model"
	"github.com/loam-agents/loam/internal/model/sse"
)

// responsesEvent is any event of the stream; the fields in use depend on Type.
type responsesEvent struct {
	Type         string          `json:"type"`
	OutputIndex  int             `json:"output_index"`
	SummaryIndex int             `json:"summary_index"`
	Delta        string          `json:"delta"`
	Item         json.RawMessage `json:"item"`
	Response     struct {
		Output            []json.RawMessage `json:"output"`
		Usage             *usage            `json:"usage"`
		Error             *failure          `json:"error"`
		IncompleteDetails struct {
			Reason string `json:"reason"`
		} `json:"incomplete_details"`
	} `json:"response"`
	Error   *failure        `json:"error"`
	Message string          `json:"message"`
	Code    json.RawMessage `json:"code"`
}

// outputHead is what the adapter reads of an output item.
type outputHead struct {
	Type      string `json:"type"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
	Encrypted string `json:"encrypted_content"`
	Phase     string `json:"phase"`
	Content   []struct {
		Text    string `json:"text"`
		Refusal string `json:"refusal"`
	} `json:"content"`
}

// callID makes up for imitators that send none.
func (h outputHead) callID(index int) string {
	if h.CallID != "" {
		return h.CallID
	}
	return "call_" + strconv.Itoa(index)
}

// responsesReader turns one stream into events.
type responsesReader struct {
	emitter
	service
	model string

	items []indexedItem
	// texts are the streamed texts by output index, for servers whose finished items are empty.
	texts   map[int]string
	usage   model.Usage
	reason  string
	refused bool
	done    bool
}

type indexedItem struct {
	index int
	raw   json.RawMessage
}

func (r *responsesReader) run(ctx context.Context, body io.Reader) {
	for ev, err := range sse.Events(body, 0) {
		switch {
		case errors.Is(err, sse.ErrTooLong):
			err = r.client.Invalid(err)
		case err != nil:
			err = r.client.Broken(ctx, err)
		case len(ev.Data) > 0 && string(ev.Data) != "[DONE]":
			err = r.take(ev.Data)
		}
		if err != nil {
			r.fail(err)
			return
		}
		if r.gone {
			return
		}
		if r.done {
			r.end()
			return
		}
	}
	r.fail(r.client.Cut(ctx))
}

// take handles one event. Unknown types are skipped.
func (r *responsesReader) take(data []byte) error {
	var e responsesEvent
	if err := json.Unmarshal(data, &e); err != nil {
		return r.client.Invalid(err)
	}
	switch e.Type {
	case "response.output_item.added":
		return r.begin(e)
	case "response.output_item.done":
		r.items = append(r.items, indexedItem{e.OutputIndex, bytes.Clone(e.Item)})
	case "response.output_text.delta":
		r.texts[e.OutputIndex] += e.Delta
		r.textDelta(e.Delta)
	case "response.refusal.delta":
		r.refused = true
		r.texts[e.OutputIndex] += e.Delta
		r.textDelta(e.Delta)
	case "response.reasoning_summary_part.added":
		if e.SummaryIndex > 0 {
			r.reasoningDelta("\n\n")
		}
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		r.reasoningDelta(e.Delta)
	case "response.completed", "response.incomplete":
		r.complete(e)
	case "response.failed", "error":
		return r.failed(e)
	default:
		if e.Type == "" && e.Error != nil {
			return r.failed(e)
		}
	}
	return nil
}

func (r *responsesReader) begin(e responsesEvent) error {
	var head outputHead
	if err := json.Unmarshal(e.Item, &head); err != nil {
		return r.client.Invalid(err)
	}
	if head.Type == "function_call" {
		r.emit(model.Event{Kind: model.EventToolCallStart, CallID: head.callID(e.OutputIndex), Name: head.Name})
	}
	return nil
}

func (r *responsesReader) complete(e responsesEvent) {
	r.done = true
	r.reason = e.Response.IncompleteDetails.Reason
	if e.Type == "response.incomplete" && r.reason == "" {
		r.reason = "max_output_tokens"
	}
	if e.Response.Usage != nil {
		r.usage = e.Response.Usage.normal()
	}
	if len(r.items) > 0 {
		return
	}
	for i, raw := range e.Response.Output {
		r.items = append(r.items, indexedItem{i, bytes.Clone(raw)})
	}
}

func (r *responsesReader) failed(e responsesEvent) error {
	f := failure{Message: e.Message, Code: string(bytes.Trim(e.Code, `"`))}
	for _, given := range []*failure{e.Error, e.Response.Error} {
		if given != nil {
			f = *given
		}
	}
	return r.client.Failed(f.apply(model.Error{Kind: model.ErrServer}))
}

func (r *responsesReader) end() {
	parts, err := r.parts()
	if err != nil {
		r.fail(r.client.Invalid(err))
		return
	}
	said, called := speaks(parts)
	stop := r.stop(called)
	if !said && !called && stop == model.StopEnd {
		r.fail(r.client.Empty())
		return
	}
	r.emit(model.Event{Kind: model.EventDone, Message: model.Message{Role: model.Assistant, Parts: parts}, Usage: r.usage, Stop: stop})
}

func (r *responsesReader) stop(called bool) model.StopReason {
	switch {
	case r.reason == "content_filter" || r.refused:
		return model.StopRefusal
	case r.reason != "":
		return model.StopLength
	case called:
		return model.StopToolCalls
	}
	return model.StopEnd
}

func (r *responsesReader) parts() ([]model.Part, error) {
	slices.SortStableFunc(r.items, func(a, b indexedItem) int { return a.index - b.index })
	var out []model.Part
	finished := map[int]bool{}
	for _, item := range r.items {
		finished[item.index] = true
		parts, err := r.partsOf(item)
		if err != nil {
			return nil, err
		}
		out = append(out, parts...)
	}
	// A text whose item never finished, as when the length ran out.
	rest := make([]int, 0, len(r.texts))
	for index, text := range r.texts {
		if !finished[index] && text != "" {
			rest = append(rest, index)
		}
	}
	slices.Sort(rest)
	for _, index := range rest {
		out = append(out, model.Part{Kind: model.PartText, Text: r.texts[index]})
	}
	return out, nil
}

func (r *responsesReader) partsOf(item indexedItem) ([]model.Part, error) {
	var head outputHead
	if err := json.Unmarshal(item.raw, &head); err != nil {
		return nil, err
	}
	switch head.Type {
	case "reasoning":
		// Without its content the service could not read it back, as it stores nothing.
		if head.Encrypted != "" {
			return []model.Part{r.opaque(item.raw)}, nil
		}
	case "function_call":
		return []model.Part{{Kind: model.PartToolCall, CallID: head.callID(item.index), Name: head.Name, Arguments: head.Arguments}}, nil
	case "message":
		return r.message(head, item.index), nil
	}
	return nil, nil
}

func (r *responsesReader) message(head outputHead, index int) []model.Part {
	text := ""
	for _, c := range head.Content {
		text += c.Text + c.Refusal
		r.refused = r.refused || c.Refusal != ""
	}
	if text == "" {
		text = r.texts[index]
	}
	if text == "" {
		return nil
	}
	var out []model.Part
	if head.Phase != "" {
		out = append(out, r.opaque(encode(phaseBlock{Type: "message", Phase: head.Phase})))
	}
	return append(out, model.Part{Kind: model.PartText, Text: text})
}

func (r *responsesReader) opaque(block json.RawMessage) model.Part {
	o := &model.Opaque{Dialect: model.OpenAIResponses, Model: r.model, Block: block}
	return model.Part{Kind: model.PartOpaque, Opaque: o}
}
