package gemini

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

// chunk is one event of the stream.
type chunk struct {
	Candidates []struct {
		Content struct {
			Parts []inPart `json:"parts"`
		} `json:"content"`
		FinishReason string `json:"finishReason"`
	} `json:"candidates"`
	PromptFeedback struct {
		BlockReason string `json:"blockReason"`
	} `json:"promptFeedback"`
	UsageMetadata *usageMetadata `json:"usageMetadata"`
	Error         *struct{}      `json:"error"`
}

type inPart struct {
	Text             string          `json:"text"`
	Thought          bool            `json:"thought"`
	FunctionCall     *functionCall   `json:"functionCall"`
	ThoughtSignature json.RawMessage `json:"thoughtSignature"`
}

type usageMetadata struct {
	Prompt     int64 `json:"promptTokenCount"`
	ToolPrompt int64 `json:"toolUsePromptTokenCount"`
	Cached     int64 `json:"cachedContentTokenCount"`
	Candidates int64 `json:"candidatesTokenCount"`
	Thoughts   int64 `json:"thoughtsTokenCount"`
}

// reader turns one stream into events.
type reader struct {
	client *exchange.Client
	model  string
	yield  func(model.Event, error) bool

	parts  []model.Part
	usage  model.Usage
	finish string
	said   bool
	called bool
	gone   bool // the consumer has left
	// growing says that the last part is a text that the next delta may join.
	growing bool
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

// run reads to the end of the body: usage may come in an event after the one with the finish reason.
func (r *reader) run(ctx context.Context, body io.Reader) {
	for ev, err := range sse.Events(body, 0) {
		if err == nil {
			err = r.take(ev.Data)
		} else if errors.Is(err, sse.ErrTooLong) {
			err = r.client.Invalid(err)
		} else if r.finish != "" {
			// The answer was complete; how the connection ends after that does not matter.
			break
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
	}
	if r.finish == "" {
		r.yield(model.Event{}, r.client.Cut(ctx))
		return
	}
	r.done()
}

func (r *reader) emit(ev model.Event) {
	if !r.gone && !r.yield(ev, nil) {
		r.gone = true
	}
}

func (r *reader) take(data []byte) error {
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return r.client.Invalid(err)
	}
	if c.Error != nil {
		var failed errorBody
		if err := json.Unmarshal(data, &failed); err != nil {
			return r.client.Invalid(err)
		}
		return r.client.Failed(failed.apply(model.Error{Kind: model.ErrServer, Status: failed.Error.Code}))
	}
	if u := c.UsageMetadata; u != nil {
		r.usage = model.Usage{Input: u.Prompt + u.ToolPrompt - u.Cached, CacheRead: u.Cached, Output: u.Candidates + u.Thoughts}
		r.usage.Total = r.usage.Input + r.usage.CacheRead + r.usage.Output
	}
	if c.PromptFeedback.BlockReason != "" {
		r.finish = blockedPrompt + c.PromptFeedback.BlockReason
	}
	for _, candidate := range c.Candidates[:min(1, len(c.Candidates))] {
		for _, p := range candidate.Content.Parts {
			r.part(p)
		}
		if candidate.FinishReason != "" {
			r.finish = candidate.FinishReason
		}
	}
	return nil
}

// part takes one part of the answer. Readable thoughts are shown and not kept; their signature travels on the part that
// follows them, where the service puts it.
func (r *reader) part(p inPart) {
	if p.Thought {
		if p.Text != "" {
			r.emit(model.Event{Kind: model.EventReasoningDelta, Text: p.Text})
		}
		return
	}
	signed := len(p.ThoughtSignature) > 0 && string(p.ThoughtSignature) != "null"
	switch {
	case p.FunctionCall != nil:
		r.sign(p.ThoughtSignature, signed, false)
		r.call(*p.FunctionCall)
	case p.Text != "":
		r.sign(p.ThoughtSignature, signed, false)
		r.text(p.Text, signed)
	case signed:
		r.sign(p.ThoughtSignature, signed, true)
	}
}

// sign keeps a signature before the part that it belongs to.
func (r *reader) sign(sig json.RawMessage, signed, alone bool) {
	if !signed {
		return
	}
	r.growing = false
	block, err := exchange.Encode(signature{ThoughtSignature: sig, Alone: alone}, nil)
	if err != nil {
		return
	}
	r.parts = append(r.parts, model.Part{Kind: model.PartOpaque, Opaque: &model.Opaque{Dialect: model.Gemini, Model: r.model, Block: block}})
}

// text joins deltas into one part; a signed delta stays a part of its own, as the signature is bound to it.
func (r *reader) text(text string, signed bool) {
	r.said = true
	r.emit(model.Event{Kind: model.EventTextDelta, Text: text})
	if r.growing && !signed {
		r.parts[len(r.parts)-1].Text += text
		return
	}
	r.parts = append(r.parts, model.Part{Kind: model.PartText, Text: text})
	r.growing = !signed
}

func (r *reader) call(c functionCall) {
	r.called, r.growing = true, false
	if c.ID == "" {
		c.ID = r.newID()
	}
	r.ids[c.ID] = true
	r.emit(model.Event{Kind: model.EventToolCallStart, CallID: c.ID, Name: c.Name})
	r.parts = append(r.parts, model.Part{Kind: model.PartToolCall, CallID: c.ID, Name: c.Name, Arguments: string(c.Args)})
}

func (r *reader) newID() string {
	for n := len(r.ids) + 1; ; n++ {
		if id := fmt.Sprintf("%s%d", madeID, n); !r.ids[id] {
			return id
		}
	}
}

func (r *reader) done() {
	stop := stopReason(r.finish, r.called)
	if !r.said && !r.called && stop == model.StopEnd {
		r.yield(model.Event{}, r.client.Empty())
		return
	}
	r.emit(model.Event{Kind: model.EventDone, Message: model.Message{Role: model.Assistant, Parts: r.parts}, Usage: r.usage, Stop: stop})
}

// blockedPrompt marks a finish that is the service's refusal of the prompt itself.
const blockedPrompt = "PROMPT_"

// stopReason maps the finish reason. A malformed call leaves the answer without a call and without text, which done turns
// into an error that is tried again.
func stopReason(finish string, called bool) model.StopReason {
	switch finish {
	case "MAX_TOKENS":
		return model.StopLength
	case "SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII",
		"IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION":
		return model.StopRefusal
	}
	if strings.HasPrefix(finish, blockedPrompt) {
		return model.StopRefusal
	}
	if called {
		return model.StopToolCalls
	}
	return model.StopEnd
}
