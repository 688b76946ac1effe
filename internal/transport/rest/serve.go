package rest

import (
	"context"
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/logctx"
	"github.com/loam-agents/loam/internal/operation"
	"github.com/loam-agents/loam/wire"
)

// caller is who asks, and with which credential.
type caller struct {
	operation.Caller
	credential operation.Credential
}

// serve answers a request of an endpoint.
func (s *Server) serve(e *endpoint) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		requestID, ctx := s.begin(w, r)
		start := s.opts.Clock.Now()
		err := guard(func() error {
			who, err := s.authenticate(ctx, r, e, requestID)
			if err != nil {
				return err
			}
			ctx = operation.LogContext(ctx, who.Caller, about(r))
			return e.handle(w, r.WithContext(ctx), who)
		})
		s.opts.Logger.DebugContext(ctx, "request", "method", r.Method, "route", e.Path, "duration", s.opts.Clock.Now().Sub(start), "error", err)
		if err != nil {
			s.fail(ctx, w, err)
		}
	}
}

// about are the names in the path of a request, which log lines tell.
func about(r *http.Request) map[string]any {
	fields := map[string]any{}
	for _, name := range []string{"sessionId", "runId", "agentId"} {
		fields[name] = r.PathValue(name)
	}
	return fields
}

// refuse answers every request with an error.
func (s *Server) refuse(fn func(w http.ResponseWriter) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, ctx := s.begin(w, r)
		s.fail(ctx, w, fn(w))
	}
}

// begin sets what every answer has.
func (s *Server) begin(w http.ResponseWriter, r *http.Request) (requestID string, ctx context.Context) {
	requestID = s.opts.IDs()
	h := w.Header()
	h.Set("X-Request-Id", requestID)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; sandbox")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	return requestID, logctx.With(r.Context(), logctx.Request, requestID)
}

// guard turns a defect into an error, so that the client gets an answer.
func guard(fn func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return fn()
}

// authenticate finds out who asks. Endpoints that are open take everybody.
func (s *Server) authenticate(ctx context.Context, r *http.Request, e *endpoint, requestID string) (caller, error) {
	who := caller{Caller: operation.Caller{
		Protocol: wire.ProtocolNumber, Transport: "rest", RequestID: requestID, Routed: true,
		IdempotencyKey: r.Header.Get("Idempotency-Key"), IfMatch: r.Header.Get("If-Match"), Async: wantsAsync(r.Header),
	}}
	if r.Header.Get("Authorization") == "" {
		// A browser adds its cookie by itself, whatever page makes it ask.
		if err := s.opts.Origin.CheckSource(r); err != nil {
			return caller{}, err
		}
	}
	if e.open {
		return who, nil
	}
	credential, err := s.credential(ctx, r)
	if err != nil {
		return caller{}, err
	}
	who.credential, who.Credential = credential, credential.ID
	who.Account, who.Signer, who.Via, who.Scopes = credential.Account, credential.Account, credential.Via, credential.Scopes
	return who, nil
}

func (s *Server) credential(ctx context.Context, r *http.Request) (operation.Credential, error) {
	header := r.Header.Get("Authorization")
	if cookie, err := r.Cookie(CookieName); err == nil && header == "" {
		return s.opts.Operations.Browser(ctx, cookie.Value)
	}
	scheme, text, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Bearer") || strings.TrimSpace(text) == "" {
		return operation.Credential{}, fault.New(fault.Unauthenticated, "Sign in, or send a token: Authorization: Bearer loam_…")
	}
	return s.opts.Operations.Token(ctx, strings.TrimSpace(text))
}

// wantsAsync reads the preference of RFC 7240.
func wantsAsync(h http.Header) bool {
	for _, value := range h.Values("Prefer") {
		for part := range strings.SplitSeq(value, ",") {
			if strings.EqualFold(strings.TrimSpace(part), "respond-async") {
				return true
			}
		}
	}
	return false
}

// operation carries out one operation of the table.
func (s *Server) operation(w http.ResponseWriter, r *http.Request, op *operation.Operation, who caller) error {
	if err := op.Permits(who.Caller); err != nil {
		return err
	}
	request, err := fields(w, r, op.Route, s.opts.Limits)
	if err != nil {
		return err
	}
	out, err := s.opts.Operations.Serve(r.Context(), who.Caller, op.Name, request)
	if err != nil {
		return err
	}
	if out.Tag != "" {
		w.Header().Set("ETag", out.Tag)
		if r.Method == http.MethodGet && r.Header.Get("If-None-Match") == out.Tag {
			w.WriteHeader(http.StatusNotModified)
			return nil
		}
	}
	if file, ok := out.Value.(operation.File); ok {
		return download(w, file)
	}
	status := op.Route.OK()
	if out.Status != 0 {
		status = out.Status
	}
	return answer(w, status, out.Value)
}
