package server

import (
	"net/http"

	"github.com/loam-agents/loam/internal/transport/rest"
	"github.com/loam-agents/loam/internal/transport/signed"
)

// handler gives each request to the transport whose path it is. What belongs to none is the page's, or unknown.
func (s *Server) handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch path := r.URL.Path; {
		case rest.Serves(path):
			s.rest.ServeHTTP(w, r)
		case signed.Serves(path) || s.cfg.Page == nil:
			s.signed.ServeHTTP(w, r)
		default:
			s.cfg.Page.ServeHTTP(w, r)
		}
	})
}
