package ollama

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/loam-agents/loam/internal/model"
)

// classify implements exchange.Classify.
func classify(_ int, _ http.Header, body []byte, fallback model.Error) model.Error {
	var parsed struct {
		Error string `json:"error"`
	}
	if err := json.Unmarshal(body, &parsed); err != nil {
		return fallback
	}
	fallback.Message = parsed.Error
	if tooLong(parsed.Error) {
		fallback.Kind = model.ErrContextTooLong
	}
	return fallback
}

func tooLong(text string) bool {
	text = strings.ToLower(text)
	return strings.Contains(text, "exceeds the context length") || strings.Contains(text, "exceeds maximum context length") ||
		strings.Contains(text, "exceeds the available context size")
}

// explain adds to two common failures what a person can do about them.
func explain(err error, modelID string) error {
	e, ok := model.AsError(err)
	if !ok {
		return err
	}
	out := *e
	switch {
	case e.Status == http.StatusNotFound && strings.Contains(e.Message, "not found"):
		out.Message = fmt.Sprintf("Ollama has no model %s: run `ollama pull %s` on its machine", modelID, modelID)
	case strings.Contains(e.Message, "does not support tools"):
		out.Message = fmt.Sprintf("%s: choose a model with tool support", e.Message)
	case e.Kind == model.ErrUnreachable:
		out.Message = fmt.Sprintf("%s: is `ollama serve` running?", e.Message)
	}
	return &out
}
