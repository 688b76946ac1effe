package server

import (
	"context"
	"net/http"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/transport/rest"
	"github.com/loam-agents/loam/internal/transport/signed"
	"github.com/loam-agents/loam/internal/transport/webhook"
)

// signInURL is the page that takes a one-time code. The code stands in the fragment, which browsers do not send.
func (s *Server) signInURL(code string) string { return s.origin.Origin() + "/sign-in#" + code }

// SignInLink makes a link that signs one browser in as the server owner, once, within signin.CodeLife.
func (s *Server) SignInLink(ctx context.Context) (string, error) {
	return s.ops.SignInLink(ctx, s.owner.String())
}

// page is what browsers show, under the server's own names alone.
func (s *Server) page(w http.ResponseWriter, r *http.Request) {
	if err := s.origin.CheckHost(r); err != nil {
		f := fault.From(err)
		http.Error(w, f.Message, f.Status())
		return
	}
	s.cfg.Page.ServeHTTP(w, r)
}

// handler gives each request to the transport whose path it is. What belongs to none is the page's, or unknown.
func (s *Server) handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch path := r.URL.Path; {
		case path == mcpCallback:
			s.mcpReturn(w, r)
		case webhook.Serves(path):
			s.webhooks.ServeHTTP(w, r)
		case rest.Serves(path):
			s.rest.ServeHTTP(w, r)
		case signed.Serves(path) || s.cfg.Page == nil:
			s.signed.ServeHTTP(w, r)
		default:
			s.page(w, r)
		}
	})
}
