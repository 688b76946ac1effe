package scripted

import (
	"fmt"

	"github.com/loam-agents/loam/internal/model"
)

// responsesEmitter speaks OpenAI Responses. Items open and close as the kind of step changes.
type responsesEmitter struct {
	model  string
	n      int
	seq    int
	output []obj
	// open is the item that deltas go to, nil between items.
	open    obj
	content string
}

func (e *responsesEmitter) contentType() string { return "text/event-stream" }

func (e *responsesEmitter) event(kind string, fields obj) []byte {
	fields["type"], fields["sequence_number"] = kind, e.seq
	e.seq++
	return frame(kind, fields)
}

func (e *responsesEmitter) response(status string) obj {
	output := e.output
	if output == nil {
		output = []obj{}
	}
	return obj{"id": fmt.Sprintf("resp_%d", e.n), "object": "response", "model": e.model, "status": status, "output": output}
}

func (e *responsesEmitter) begin() [][]byte {
	return [][]byte{
		e.event("response.created", obj{"response": e.response("in_progress")}),
		e.event("response.in_progress", obj{"response": e.response("in_progress")}),
	}
}

// item closes what is open and opens an item of the kind, unless one of the same kind is open.
func (e *responsesEmitter) item(kind string, fields obj) [][]byte {
	if e.open != nil && e.open["type"] == kind && kind != "function_call" {
		return nil
	}
	out := e.close()
	prefix := map[string]string{"message": "msg", "reasoning": "rs", "function_call": "fc"}[kind]
	fields["type"], fields["id"] = kind, fmt.Sprintf("%s_%d_%d", prefix, e.n, len(e.output))
	e.open, e.content = fields, ""
	return append(out, e.event("response.output_item.added", obj{"output_index": len(e.output), "item": fields}))
}

func (e *responsesEmitter) close() [][]byte {
	if e.open == nil {
		return nil
	}
	item := e.open
	item["status"] = "completed"
	switch item["type"] {
	case "message":
		item["content"] = []obj{{"type": "output_text", "text": e.content, "annotations": []any{}}}
	case "reasoning":
		delete(item, "status")
		if e.content != "" {
			item["summary"] = []obj{{"type": "summary_text", "text": e.content}}
		}
	}
	e.open = nil
	done := e.event("response.output_item.done", obj{"output_index": len(e.output), "item": item})
	e.output = append(e.output, item)
	return [][]byte{done}
}

// delta adds to the open item.
func (e *responsesEmitter) delta(kind, text string) []byte {
	e.content += text
	return e.event(kind, obj{"output_index": len(e.output), "item_id": e.open["id"], "content_index": 0, "summary_index": 0, "delta": text})
}

func (e *responsesEmitter) text(delta string) [][]byte {
	out := e.item("message", obj{"role": "assistant", "content": []any{}})
	return append(out, e.delta("response.output_text.delta", delta))
}

func (e *responsesEmitter) reasoning(delta string) [][]byte {
	out := e.item("reasoning", obj{"summary": []any{}})
	return append(out, e.delta("response.reasoning_summary_text.delta", delta))
}

// opaque completes a reasoning item with encrypted content.
func (e *responsesEmitter) opaque(content string) [][]byte {
	out := e.item("reasoning", obj{"summary": []any{}})
	e.open["encrypted_content"] = content
	return append(out, e.close()...)
}

func (e *responsesEmitter) call(c Call) [][]byte {
	id := c.ID
	if id == "" {
		id = fmt.Sprintf("call_%d_%d", e.n, len(e.output))
	}
	out := e.item("function_call", obj{"call_id": id, "name": c.Name, "arguments": ""})
	for _, f := range halves(c.Arguments) {
		out = append(out, e.delta("response.function_call_arguments.delta", f))
	}
	e.open["arguments"] = c.Arguments
	out = append(out, e.event("response.function_call_arguments.done",
		obj{"output_index": len(e.output), "item_id": e.open["id"], "arguments": c.Arguments}))
	return append(out, e.close()...)
}

func (e *responsesEmitter) fail(message string) [][]byte {
	failed := e.response("failed")
	failed["error"] = obj{"code": "server_error", "message": message}
	return [][]byte{e.event("response.failed", obj{"response": failed})}
}

func (e *responsesEmitter) raw(content string) [][]byte { return rawFrame(content) }

func (e *responsesEmitter) end(stop model.StopReason, u model.Usage) [][]byte {
	out := e.close()
	status := "completed"
	if stop == model.StopLength || stop == model.StopRefusal {
		status = "incomplete"
	}
	whole := e.response(status)
	if status == "incomplete" {
		reason := map[model.StopReason]string{model.StopLength: "max_output_tokens", model.StopRefusal: "content_filter"}[stop]
		whole["incomplete_details"] = obj{"reason": reason}
	}
	in := u.Input + u.CacheRead + u.CacheWrite
	whole["usage"] = obj{
		"input_tokens": in, "output_tokens": u.Output, "total_tokens": in + u.Output,
		"input_tokens_details": obj{"cached_tokens": u.CacheRead, "cache_write_tokens": u.CacheWrite},
	}
	return append(out, e.event("response."+status, obj{"response": whole}))
}
