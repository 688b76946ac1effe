package scripted

import (
	"encoding/json"

	"github.com/loam-agents/loam/internal/model"
)

// ollamaEmitter speaks Ollama's /api/chat: one JSON object a line. Calls arrive whole and without ids.
type ollamaEmitter struct{ model string }

func (e *ollamaEmitter) contentType() string { return "application/x-ndjson" }

func (e *ollamaEmitter) line(fields obj) []byte {
	fields["model"], fields["created_at"] = e.model, "2026-01-01T00:00:00Z"
	return append(encode(fields), '\n')
}

func (e *ollamaEmitter) message(message obj) [][]byte {
	message["role"] = "assistant"
	if message["content"] == nil {
		message["content"] = ""
	}
	return [][]byte{e.line(obj{"message": message, "done": false})}
}

func (e *ollamaEmitter) begin() [][]byte { return nil }

func (e *ollamaEmitter) text(delta string) [][]byte { return e.message(obj{"content": delta}) }

func (e *ollamaEmitter) reasoning(delta string) [][]byte { return e.message(obj{"thinking": delta}) }

// opaque sends nothing: the dialect has no hidden state.
func (e *ollamaEmitter) opaque(string) [][]byte { return nil }

func (e *ollamaEmitter) call(c Call) [][]byte {
	function := obj{"name": c.Name}
	if json.Valid([]byte(c.Arguments)) {
		function["arguments"] = json.RawMessage(c.Arguments)
	}
	call := obj{"function": function}
	if c.ID != "" {
		call["id"] = c.ID
	}
	return e.message(obj{"tool_calls": []obj{call}})
}

func (e *ollamaEmitter) fail(message string) [][]byte {
	return [][]byte{append(encode(obj{"error": message}), '\n')}
}

func (e *ollamaEmitter) raw(content string) [][]byte { return [][]byte{[]byte(content + "\n")} }

func (e *ollamaEmitter) end(stop model.StopReason, u model.Usage) [][]byte {
	reason := "stop"
	if stop == model.StopLength {
		reason = "length"
	}
	return [][]byte{e.line(obj{
		"message": obj{"role": "assistant", "content": ""}, "done": true, "done_reason": reason,
		"prompt_eval_count": u.Input + u.CacheRead + u.CacheWrite, "eval_count": u.Output,
	})}
}
