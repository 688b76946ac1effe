package gemini

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/loam-agents/loam/internal/model"
)

// errorBody is the shape of a failed answer and of an error event.
type errorBody struct {
	Error struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Status  string `json:"status"`
		Details []struct {
			Type       string `json:"@type"`
			RetryDelay string `json:"retryDelay"`
			Reason     string `json:"reason"`
		} `json:"details"`
	} `json:"error"`
}

// classify implements exchange.Classify. Some gateways wrap the object in a list.
func classify(_ int, _ http.Header, body []byte, fallback model.Error) model.Error {
	var parsed errorBody
	if err := json.Unmarshal(body, &parsed); err != nil {
		var list []errorBody
		if json.Unmarshal(body, &list) != nil || len(list) == 0 {
			return fallback
		}
		parsed = list[0]
	}
	return parsed.apply(fallback)
}

// apply improves on what the HTTP status says by the service's own status, details and words.
func (b errorBody) apply(e model.Error) model.Error {
	e.Message = b.Error.Message
	if e.Message == "" {
		e.Message = b.Error.Status
	}
	switch b.Error.Status {
	case "RESOURCE_EXHAUSTED":
		e.Kind = model.ErrRateLimited
	case "UNAVAILABLE":
		e.Kind = model.ErrOverloaded
	case "UNAUTHENTICATED", "PERMISSION_DENIED":
		e.Kind = model.ErrBadKey
	case "INTERNAL", "DEADLINE_EXCEEDED", "UNKNOWN", "ABORTED":
		e.Kind = model.ErrServer
	case "INVALID_ARGUMENT", "FAILED_PRECONDITION", "NOT_FOUND", "OUT_OF_RANGE":
		e.Kind = model.ErrBadRequest
		if tooLong(e.Message) {
			e.Kind = model.ErrContextTooLong
		}
	}
	for _, d := range b.Error.Details {
		if wait, err := time.ParseDuration(d.RetryDelay); err == nil && wait > 0 {
			e.RetryAfter = min(wait, time.Hour)
		}
		if d.Reason == "API_KEY_INVALID" {
			e.Kind = model.ErrBadKey
		}
	}
	return e
}

// tooLong recognises the text for a conversation that does not fit; the service has no status for it.
func tooLong(text string) bool {
	text = strings.ToLower(text)
	return strings.Contains(text, "exceeds the maximum number of tokens") ||
		strings.Contains(text, "input token count") && strings.Contains(text, "exceed")
}
