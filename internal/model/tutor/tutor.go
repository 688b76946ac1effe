// Package tutor is a small deterministic model inside the binary, so that a server without any provider still answers.
//
// It is honest: it says that it is no language model, recognises a few English phrases, and plays a scene for each, calling
// the verbs that the request really offers. It promises never to name or call a tool that is not offered, to derive the
// next step of a scene from the conversation alone (it has no memory of its own, so a crash or a second server changes
// nothing), and to end: a scene makes a bounded number of calls.
//
// tutor is part of tier 3. The chooser of adapters makes one; it calls nothing but the clock it was given.
package tutor

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"time"
	"unicode"

	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/model"
)

// ModelID is the one model of this provider.
const ModelID = "tutor"

// maxRounds bounds the answers with calls that one message of a person can lead to. The longest scene needs seven.
const maxRounds = 12

// Config sets the pace. The zero value speaks without pauses.
type Config struct {
	// Clock measures Pace; it may be nil when Pace is zero.
	Clock clock.Clock
	// Pace is the pause before each word, so that a person sees an answer arrive.
	Pace time.Duration
}

type tutor struct {
	cfg    Config
	scenes []scene
}

// New returns the tutor as a provider.
func New(cfg Config) model.Provider { return &tutor{cfg: cfg, scenes: scenes()} }

// Dialect implements model.Provider.
func (*tutor) Dialect() model.Dialect { return model.TutorDialect }

// Models implements model.Provider.
func (*tutor) Models(context.Context) ([]model.ModelRef, error) {
	return []model.ModelRef{{ID: ModelID, Name: "Tutor (built in, not a language model)"}}, nil
}

// Stream implements model.Provider. The only error is ErrCanceled.
func (t *tutor) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		now := readTurn(req)
		now.scenes = t.scenes
		reply := respond(now)
		for _, word := range words(reply.say) {
			if err := t.pause(ctx); err != nil {
				yield(model.Event{}, err)
				return
			}
			if !yield(model.Event{Kind: model.EventTextDelta, Text: word}, nil) {
				return
			}
		}
		message := reply.message(now.callsSoFar)
		for _, part := range message.Parts {
			if part.Kind == model.PartToolCall &&
				!yield(model.Event{Kind: model.EventToolCallStart, CallID: part.CallID, Name: part.Name}, nil) {
				return
			}
		}
		done := model.Event{Kind: model.EventDone, Message: message, Usage: usage(req, message), Stop: model.StopEnd}
		if len(reply.calls) > 0 {
			done.Stop = model.StopToolCalls
		}
		yield(done, nil)
	}
}

func (t *tutor) pause(ctx context.Context) error {
	var due <-chan time.Time
	if t.cfg.Pace > 0 {
		due = t.cfg.Clock.After(t.cfg.Pace)
	} else {
		ready := make(chan time.Time)
		close(ready)
		due = ready
	}
	select {
	case <-ctx.Done():
	case <-due:
		if ctx.Err() == nil {
			return nil
		}
	}
	return &model.Error{Kind: model.ErrCanceled, Message: "Tutor request was canceled", Err: context.Cause(ctx)}
}

// reply is what the tutor does next: words, and calls that run side by side.
type reply struct {
	say   string
	calls []call
}

type call struct {
	name string
	args map[string]any
}

func say(format string, args ...any) reply { return reply{say: fmt.Sprintf(format, args...)} }

// then adds a call to a reply.
func (r reply) then(name string, args map[string]any) reply {
	r.calls = append(r.calls, call{name: name, args: args})
	return r
}

// message is the storable form. Ids count on from the calls that the conversation holds, so they stay unique in it.
func (r reply) message(before int) model.Message {
	m := model.Message{Role: model.Assistant}
	if r.say != "" {
		m.Parts = append(m.Parts, model.Part{Kind: model.PartText, Text: r.say})
	}
	for i, c := range r.calls {
		args, err := json.Marshal(c.args)
		if err != nil {
			args = []byte(`{}`)
		}
		m.Parts = append(m.Parts, model.Part{
			Kind: model.PartToolCall, CallID: fmt.Sprintf("tutor-%d", before+i+1), Name: c.name, Arguments: string(args),
		})
	}
	return m
}

// words splits a text so that the pieces join to the text again; each ends with the space that follows it.
func words(text string) []string {
	var out []string
	for text != "" {
		end := strings.IndexFunc(text, unicode.IsSpace)
		if end < 0 {
			return append(out, text)
		}
		for end < len(text) && strings.ContainsRune(" \n\t", rune(text[end])) {
			end++
		}
		end = max(end, 1)
		out = append(out, text[:end])
		text = text[end:]
	}
	return out
}

// usage counts a token for every four bytes begun, so that budgets and meters have something to show.
func usage(req model.Request, answer model.Message) model.Usage {
	in := len(req.System)
	for _, t := range req.Tools {
		in += len(t.Name) + len(t.Description) + len(t.Schema)
	}
	for _, m := range req.Messages {
		in += size(m)
	}
	u := model.Usage{Input: int64(in+3) / 4, Output: int64(size(answer)+3) / 4}
	u.Total = u.Input + u.Output
	return u
}

func size(m model.Message) int {
	n := 0
	for _, p := range m.Parts {
		n += len(p.Text) + len(p.Name) + len(p.Arguments) + len(p.Data)
	}
	return n
}
