package anthropic

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/loam-agents/loam/internal/model"
)

// errorBody is the shape of a failed answer and of an error event.
type errorBody struct {
	Error struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	} `json:"error"`
}

// classify implements exchange.Classify.
func classify(_ int, _ http.Header, body []byte, fallback model.Error) model.Error {
	var parsed errorBody
	if err := json.Unmarshal(body, &parsed); err != nil || parsed.Error.Type == "" {
		return fallback
	}
	return parsed.apply(fallback)
}

// apply improves on what the status says by the service's own type and words.
func (b errorBody) apply(e model.Error) model.Error {
	e.Message = b.Error.Message
	if e.Message == "" {
		e.Message = b.Error.Type
	}
	switch b.Error.Type {
	case "rate_limit_error":
		e.Kind = model.ErrRateLimited
	case "overloaded_error":
		e.Kind = model.ErrOverloaded
	case "authentication_error", "permission_error":
		e.Kind = model.ErrBadKey
	case "request_too_large":
		e.Kind = model.ErrContextTooLong
	case "api_error", "timeout_error":
		e.Kind = model.ErrServer
	case "invalid_request_error":
		e.Kind = model.ErrBadRequest
		if tooLong(e.Message) {
			e.Kind = model.ErrContextTooLong
		}
	}
	return e
}

// tooLong recognises the texts for a conversation that does not fit; the service has no type for it.
func tooLong(text string) bool {
	text = strings.ToLower(text)
	return strings.Contains(text, "prompt is too long") ||
		strings.Contains(text, "exceed context limit") ||
		strings.Contains(text, "exceeds the context window")
}
