package scripted

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/loam-agents/loam/internal/model"
)

// obj is a JSON object in the making.
type obj = map[string]any

// emitter turns steps into the events of one dialect. Each method returns the frames to send, already encoded.
type emitter interface {
	contentType() string
	begin() [][]byte
	text(delta string) [][]byte
	reasoning(delta string) [][]byte
	opaque(content string) [][]byte
	call(c Call) [][]byte
	fail(message string) [][]byte
	raw(content string) [][]byte
	end(stop model.StopReason, usage model.Usage) [][]byte
}

func newEmitter(d model.Dialect, modelID string, n int) emitter {
	switch d {
	case model.OpenAIResponses:
		return &responsesEmitter{model: modelID, n: n}
	case model.Anthropic:
		return &anthropicEmitter{model: modelID, n: n}
	case model.Gemini:
		return &geminiEmitter{model: modelID, n: n}
	case model.Ollama:
		return &ollamaEmitter{model: modelID}
	}
	return &chatEmitter{model: modelID, n: n}
}

// player plays one turn into one response.
type player struct {
	server *Server
	w      http.ResponseWriter
	turn   Turn
	emit   emitter
}

// play reports false when the connection has to break.
func (p *player) play(ctx context.Context, d model.Dialect) bool {
	for k, v := range p.turn.Headers {
		p.w.Header().Set(k, v)
	}
	switch {
	case p.turn.Body != "":
		p.w.WriteHeader(p.turn.status())
		_, _ = p.w.Write([]byte(p.turn.Body))
		return true
	case p.turn.status() != http.StatusOK:
		writeError(p.w, d, p.turn.Status, p.turn.ErrorCode, p.turn.ErrorMessage)
		return true
	}
	p.w.Header().Set("Content-Type", p.emit.contentType())
	p.w.WriteHeader(http.StatusOK)
	p.send(p.emit.begin())
	for _, step := range p.turn.Steps {
		for range max(step.Times, 1) {
			if !p.wait(ctx, p.turn.delay()) {
				return false
			}
			if done, whole := p.step(ctx, step); done {
				return whole
			}
		}
	}
	p.send(p.emit.end(p.turn.stop(), p.turn.Usage))
	return true
}

// step plays one step; done ends the turn, and whole then tells whether the response counts as complete.
func (p *player) step(ctx context.Context, s Step) (done, whole bool) {
	switch {
	case s.Cut != "":
		return true, s.Cut == CutClean
	case s.Fail != "":
		p.send(p.emit.fail(s.Fail))
		return true, true
	case s.Gate != "":
		return p.server.gate(s.Gate).pass(ctx) != nil, false
	case s.WaitMillis > 0:
		return !p.wait(ctx, time.Duration(s.WaitMillis)*time.Millisecond), false
	case s.Raw != "":
		p.send(p.emit.raw(s.Raw))
	case s.Call != nil:
		p.send(p.emit.call(*s.Call))
	case s.Opaque != "":
		p.send(p.emit.opaque(s.Opaque))
	case s.Reasoning != "":
		p.send(p.emit.reasoning(s.Reasoning))
	default:
		p.send(p.emit.text(s.Text))
	}
	return ctx.Err() != nil, false
}

func (*player) wait(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// send writes frames and flushes them, each step on its own as a live model does. A client that left is noticed by the
// context of the request.
func (p *player) send(frames [][]byte) {
	for _, f := range frames {
		_, _ = p.w.Write(f)
	}
	_ = http.NewResponseController(p.w).Flush()
}

// frame is one server-sent event with an optional name.
func frame(name string, payload any) []byte {
	out := []byte{}
	if name != "" {
		out = append(out, "event: "+name+"\n"...)
	}
	out = append(out, "data: "...)
	return append(append(out, encode(payload)...), "\n\n"...)
}

// rawFrame is a server-sent event with a payload of any content.
func rawFrame(content string) [][]byte { return [][]byte{[]byte("data: " + content + "\n\n")} }

// encode cannot fail: emitters build payloads from strings, numbers, maps and checked JSON.
func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}

// object is arguments as JSON, or nil when they are not a JSON object.
func object(arguments string) json.RawMessage {
	var m map[string]json.RawMessage
	if json.Unmarshal([]byte(arguments), &m) != nil || m == nil {
		return nil
	}
	return json.RawMessage(arguments)
}

// halves splits arguments into the fragments that they are streamed in.
func halves(arguments string) []string {
	if len(arguments) < 2 {
		return []string{arguments}
	}
	mid := len(arguments) / 2
	for mid < len(arguments) && arguments[mid]&0xC0 == 0x80 {
		mid++
	}
	return []string{arguments[:mid], arguments[mid:]}
}
