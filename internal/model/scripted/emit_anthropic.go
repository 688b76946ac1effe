package scripted

import (
	"fmt"

	"github.com/loam-agents/loam/internal/model"
)

// anthropicEmitter speaks Anthropic Messages. Blocks open and close as the kind of step changes. Input tokens are
// reported at the end too, as message_delta carries cumulative usage.
type anthropicEmitter struct {
	model string
	n     int
	index int
	calls int
	// open is the type of the block that deltas go to, empty between blocks.
	open string
}

func (e *anthropicEmitter) contentType() string { return "text/event-stream" }

func (e *anthropicEmitter) event(kind string, fields obj) []byte {
	fields["type"] = kind
	return frame(kind, fields)
}

func (e *anthropicEmitter) begin() [][]byte {
	message := obj{
		"id": fmt.Sprintf("msg_%d", e.n), "type": "message", "role": "assistant", "model": e.model, "content": []any{},
		"stop_reason": nil, "usage": obj{"input_tokens": 0, "output_tokens": 1},
	}
	return [][]byte{e.event("message_start", obj{"message": message}), e.event("ping", obj{})}
}

// block closes what is open and opens a block, unless one of the same type is open.
func (e *anthropicEmitter) block(kind string, content obj) [][]byte {
	if e.open == kind && kind != "tool_use" {
		return nil
	}
	out := e.close()
	content["type"] = kind
	e.open = kind
	return append(out, e.event("content_block_start", obj{"index": e.index, "content_block": content}))
}

func (e *anthropicEmitter) close() [][]byte {
	if e.open == "" {
		return nil
	}
	e.open = ""
	e.index++
	return [][]byte{e.event("content_block_stop", obj{"index": e.index - 1})}
}

func (e *anthropicEmitter) delta(kind, field, value string) []byte {
	return e.event("content_block_delta", obj{"index": e.index, "delta": obj{"type": kind, field: value}})
}

func (e *anthropicEmitter) text(delta string) [][]byte {
	out := e.block("text", obj{"text": ""})
	return append(out, e.delta("text_delta", "text", delta))
}

func (e *anthropicEmitter) reasoning(delta string) [][]byte {
	out := e.block("thinking", obj{"thinking": "", "signature": ""})
	return append(out, e.delta("thinking_delta", "thinking", delta))
}

// opaque signs the open thinking block, or sends redacted thinking when none is open.
func (e *anthropicEmitter) opaque(content string) [][]byte {
	if e.open == "thinking" {
		return append([][]byte{e.delta("signature_delta", "signature", content)}, e.close()...)
	}
	return append(e.block("redacted_thinking", obj{"data": content}), e.close()...)
}

func (e *anthropicEmitter) call(c Call) [][]byte {
	id := c.ID
	if id == "" {
		id = fmt.Sprintf("call_%d_%d", e.n, e.calls)
	}
	e.calls++
	out := e.block("tool_use", obj{"id": id, "name": c.Name, "input": obj{}})
	out = append(out, e.delta("input_json_delta", "partial_json", ""))
	for _, f := range halves(c.Arguments) {
		out = append(out, e.delta("input_json_delta", "partial_json", f))
	}
	return append(out, e.close()...)
}

func (e *anthropicEmitter) fail(message string) [][]byte {
	return [][]byte{e.event("error", obj{"error": obj{"type": "overloaded_error", "message": message}})}
}

func (e *anthropicEmitter) raw(content string) [][]byte { return rawFrame(content) }

func (e *anthropicEmitter) end(stop model.StopReason, u model.Usage) [][]byte {
	reason := map[model.StopReason]string{
		model.StopToolCalls: "tool_use", model.StopLength: "max_tokens", model.StopRefusal: "refusal",
	}[stop]
	if reason == "" {
		reason = "end_turn"
	}
	usage := obj{
		"input_tokens": u.Input, "output_tokens": u.Output,
		"cache_read_input_tokens": u.CacheRead, "cache_creation_input_tokens": u.CacheWrite,
	}
	return append(e.close(),
		e.event("message_delta", obj{"delta": obj{"stop_reason": reason, "stop_sequence": nil}, "usage": usage}),
		e.event("message_stop", obj{}))
}
