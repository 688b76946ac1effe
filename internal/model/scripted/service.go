package scripted

import (
	"net/http"
	"strings"

	"github.com/loam-agents/loam/internal/model"
)

// models is what the service offers.
func (s *Server) models() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.script.Models) == 0 {
		return []string{"scripted-1"}
	}
	return s.script.Models
}

// allowed compares the key where one is required, in the place that any dialect puts it.
func (s *Server) allowed(r *http.Request) bool {
	s.mu.Lock()
	key := s.script.Key
	s.mu.Unlock()
	bearer, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return key == "" || key == bearer || key == r.Header.Get("X-Api-Key") ||
		key == r.Header.Get("X-Goog-Api-Key") || key == r.URL.Query().Get("key")
}

// listDialect guesses the dialect of a request that generates nothing.
func listDialect(r *http.Request, d model.Dialect) model.Dialect {
	switch {
	case d != "":
		return d
	case strings.Contains(r.URL.Path, "/api/"):
		return model.Ollama
	case strings.Contains(r.URL.Path, "/v1beta/"):
		return model.Gemini
	case r.Header.Get("X-Api-Key") != "":
		return model.Anthropic
	}
	return model.OpenAIChat
}

// list answers the listings: OpenAI and Anthropic share a path and a superset of both shapes.
func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	var out obj
	switch p := r.URL.Path; {
	case strings.HasSuffix(p, "/api/tags"):
		var list []obj
		for _, m := range s.models() {
			list = append(list, obj{"name": m, "model": m})
		}
		out = obj{"models": list}
	case strings.HasSuffix(p, "/api/show"):
		out = obj{"capabilities": []string{"completion", "tools", "thinking"}, "model_info": obj{"scripted.context_length": 8192}}
	case strings.HasSuffix(p, "/v1beta/models"):
		list := []obj{{"name": "models/embedder", "displayName": "embedder", "supportedGenerationMethods": []string{"embedContent"}}}
		for _, m := range s.models() {
			list = append(list, obj{"name": "models/" + m, "displayName": m, "supportedGenerationMethods": []string{"generateContent"}})
		}
		out = obj{"models": list}
	case strings.HasSuffix(p, "/models"):
		var list []obj
		for _, m := range s.models() {
			list = append(list, obj{"id": m, "object": "model", "type": "model", "display_name": m})
		}
		out = obj{"object": "list", "data": list, "has_more": false}
	default:
		writeError(w, listDialect(r, ""), http.StatusNotFound, "not_found", "no such path")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(encode(out))
}

// writeError answers with the error body of the dialect.
func writeError(w http.ResponseWriter, d model.Dialect, status int, code, message string) {
	var body obj
	switch d {
	case model.Anthropic:
		body = obj{"type": "error", "error": obj{"type": code, "message": message}}
	case model.Gemini:
		body = obj{"error": obj{"code": status, "status": code, "message": message}}
	case model.Ollama:
		body = obj{"error": message}
	default:
		body = obj{"error": obj{"type": code, "code": code, "message": message, "param": nil}}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(encode(body))
}
