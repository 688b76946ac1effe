package scripted

import (
	"fmt"
	"slices"

	"github.com/loam-agents/loam/internal/model"
)

// chatEmitter speaks OpenAI Chat Completions. Usage is always sent, in a last chunk without choices.
type chatEmitter struct {
	model string
	n     int
	calls int
}

func (e *chatEmitter) contentType() string { return "text/event-stream" }

func (e *chatEmitter) chunk(delta obj, finish any) []byte {
	return frame("", obj{
		"id": fmt.Sprintf("chatcmpl-%d", e.n), "object": "chat.completion.chunk", "created": 1_700_000_000, "model": e.model,
		"choices": []obj{{"index": 0, "delta": delta, "finish_reason": finish}},
	})
}

func (e *chatEmitter) begin() [][]byte {
	return [][]byte{e.chunk(obj{"role": "assistant", "content": ""}, nil)}
}

func (e *chatEmitter) text(delta string) [][]byte {
	return [][]byte{e.chunk(obj{"content": delta}, nil)}
}

func (e *chatEmitter) reasoning(delta string) [][]byte {
	return [][]byte{e.chunk(obj{"reasoning_content": delta}, nil)}
}

func (e *chatEmitter) opaque(content string) [][]byte {
	detail := obj{"type": "reasoning.encrypted", "data": content, "index": 0}
	return [][]byte{e.chunk(obj{"reasoning_details": []obj{detail}}, nil)}
}

func (e *chatEmitter) call(c Call) [][]byte {
	id := c.ID
	if id == "" {
		id = fmt.Sprintf("call_%d_%d", e.n, e.calls)
	}
	fragments := slices.Concat([]string{""}, halves(c.Arguments))
	if c.has(QuirkWhole) {
		fragments = []string{c.Arguments}
	}
	var out [][]byte
	for i, f := range fragments {
		function := obj{"arguments": f}
		entry := obj{"index": e.calls, "function": function}
		if i == 0 || c.has(QuirkRepeat) {
			function["name"], entry["id"], entry["type"] = c.Name, id, "function"
		}
		if c.has(QuirkNoIndex) {
			delete(entry, "index")
		}
		if c.has(QuirkNoID) {
			delete(entry, "id")
		}
		out = append(out, e.chunk(obj{"tool_calls": []obj{entry}}, nil))
	}
	e.calls++
	return out
}

func (e *chatEmitter) fail(message string) [][]byte {
	return [][]byte{frame("", obj{"error": obj{"message": message, "type": "server_error", "code": nil}})}
}

func (e *chatEmitter) raw(content string) [][]byte { return rawFrame(content) }

func (e *chatEmitter) end(stop model.StopReason, u model.Usage) [][]byte {
	finish := map[model.StopReason]string{
		model.StopToolCalls: "tool_calls", model.StopLength: "length", model.StopRefusal: "content_filter",
	}[stop]
	if finish == "" {
		finish = "stop"
	}
	prompt := u.Input + u.CacheRead + u.CacheWrite
	usage := frame("", obj{
		"id": fmt.Sprintf("chatcmpl-%d", e.n), "object": "chat.completion.chunk", "created": 1_700_000_000, "model": e.model,
		"choices": []obj{}, "usage": obj{
			"prompt_tokens": prompt, "completion_tokens": u.Output, "total_tokens": prompt + u.Output,
			"prompt_tokens_details": obj{"cached_tokens": u.CacheRead, "cache_write_tokens": u.CacheWrite},
		},
	})
	return [][]byte{e.chunk(obj{}, finish), usage, []byte("data: [DONE]\n\n")}
}
