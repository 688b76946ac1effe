package scripted

import (
	"encoding/json"
	"fmt"

	"github.com/loam-agents/loam/internal/model"
)

// geminiEmitter speaks Gemini's streamGenerateContent with alt=sse. Calls carry an id only when the script gives one, as
// the live service does not promise one.
type geminiEmitter struct {
	model string
	n     int
	// signature waits for the next part.
	signature string
}

func (e *geminiEmitter) contentType() string { return "text/event-stream" }

func (e *geminiEmitter) chunk(part obj) []byte {
	if e.signature != "" && part["thought"] == nil {
		part["thoughtSignature"] = e.signature
		e.signature = ""
	}
	return frame("", obj{
		"candidates":   []obj{{"index": 0, "content": obj{"role": "model", "parts": []obj{part}}}},
		"modelVersion": e.model, "responseId": fmt.Sprintf("gemini-%d", e.n),
	})
}

func (e *geminiEmitter) begin() [][]byte { return nil }

func (e *geminiEmitter) text(delta string) [][]byte { return [][]byte{e.chunk(obj{"text": delta})} }

func (e *geminiEmitter) reasoning(delta string) [][]byte {
	return [][]byte{e.chunk(obj{"text": delta, "thought": true})}
}

func (e *geminiEmitter) opaque(content string) [][]byte {
	e.signature = content
	return nil
}

func (e *geminiEmitter) call(c Call) [][]byte {
	call := obj{"name": c.Name}
	if args := object(c.Arguments); args != nil {
		call["args"] = args
	} else if json.Valid([]byte(c.Arguments)) {
		call["args"] = json.RawMessage(c.Arguments)
	}
	if c.ID != "" {
		call["id"] = c.ID
	}
	return [][]byte{e.chunk(obj{"functionCall": call})}
}

func (e *geminiEmitter) fail(message string) [][]byte {
	return [][]byte{frame("", obj{"error": obj{"code": 503, "status": "UNAVAILABLE", "message": message}})}
}

func (e *geminiEmitter) raw(content string) [][]byte { return rawFrame(content) }

// end sends the finish reason with the usage; a signature without a part travels on an empty text, as the service does.
func (e *geminiEmitter) end(stop model.StopReason, u model.Usage) [][]byte {
	reason := map[model.StopReason]string{model.StopLength: "MAX_TOKENS", model.StopRefusal: "SAFETY"}[stop]
	if reason == "" {
		reason = "STOP"
	}
	var out [][]byte
	if e.signature != "" {
		out = append(out, e.chunk(obj{"text": ""}))
	}
	prompt := u.Input + u.CacheRead
	return append(out, frame("", obj{
		"candidates": []obj{{"index": 0, "finishReason": reason}},
		"usageMetadata": obj{
			"promptTokenCount": prompt, "cachedContentTokenCount": u.CacheRead,
			"candidatesTokenCount": u.Output, "totalTokenCount": prompt + u.Output,
		},
		"modelVersion": e.model, "responseId": fmt.Sprintf("gemini-%d", e.n),
	}))
}
