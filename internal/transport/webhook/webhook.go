// Package webhook takes deliveries to the webhooks of triggers over HTTP (spec/agents-protocol.md §10).
//
// A delivery proves itself by the secret in its path, or as a bearer token, and by a signature where the trigger asks for one. The
// secret is checked before the body is read; an unknown webhook and a wrong secret are the same 404. Nothing of a path is logged.
//
// webhook is part of tier 7. It imports trigger and fault; the composition root gives it the paths that it serves.
package webhook

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/trigger"
	"github.com/loam-agents/loam/wire"
)

const root = "/api/webhooks/"

// Serves tells whether a path belongs to this transport: /api/webhooks/… with or without the protocol's prefix.
func Serves(path string) bool {
	return strings.HasPrefix(strings.TrimPrefix(path, wire.PathPrefix), root)
}

// Server is the handler.
type Server struct {
	triggers *trigger.Service
	log      *slog.Logger
}

// New returns the handler.
func New(triggers *trigger.Service, log *slog.Logger) *Server { return &Server{triggers, log} }

// accepted answers a delivery that is durable.
type accepted struct {
	Accepted  bool `json:"accepted"`
	Duplicate bool `json:"duplicate"`
}

// ServeHTTP implements http.Handler: 202 once the delivery is durable; errors are {"error": text}.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	duplicate, err := s.deliver(w, r)
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	w.WriteHeader(http.StatusAccepted)
	_ = json.NewEncoder(w).Encode(accepted{true, duplicate}) // The sender may be gone.
}

func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	f := fault.From(err)
	if f.Code == fault.Internal {
		s.log.ErrorContext(r.Context(), "take a delivery to a webhook", "error", err)
	}
	if after, ok := f.Details["retryAfter"].(int64); ok {
		w.Header().Set("Retry-After", strconv.FormatInt(after, 10))
	}
	w.WriteHeader(f.Status())
	_ = json.NewEncoder(w).Encode(map[string]string{"error": f.Message}) // The sender may be gone.
}

func (s *Server) deliver(w http.ResponseWriter, r *http.Request) (duplicate bool, err error) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return false, status(http.StatusMethodNotAllowed, "Deliveries are sent with POST")
	}
	id, secret, err := address(r)
	if err != nil {
		return false, err
	}
	t, err := s.triggers.Admit(r.Context(), id, secret)
	if err != nil {
		return false, err
	}
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return false, status(http.StatusUnsupportedMediaType, "Content-Type must be application/json")
	}
	if coding := r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return false, status(http.StatusUnsupportedMediaType, "Content-Encoding must be identity")
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, trigger.MaxDelivery))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return false, fault.New(fault.TooLarge, "The body has more than %d KiB", trigger.MaxDelivery>>10)
	}
	if err != nil {
		return false, fault.Invalid("The body ended before it was complete")
	}
	return s.triggers.Deliver(r.Context(), &t, trigger.Delivery{
		IdempotencyKey: r.Header.Get("Idempotency-Key"), ID: r.Header.Get(trigger.HeaderID), Timestamp: r.Header.Get(trigger.HeaderTimestamp),
		Signature: r.Header.Get(trigger.HeaderSignature), Body: body,
	})
}

// address reads the trigger and the secret of a delivery: both from the path, or the secret as a bearer token.
func address(r *http.Request) (id, secret string, err error) {
	rest := strings.TrimPrefix(strings.TrimPrefix(r.URL.EscapedPath(), wire.PathPrefix), root)
	first, second, split := strings.Cut(rest, "/")
	if !split {
		second = strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	} else if second, err = url.PathUnescape(second); err != nil {
		return "", "", fault.Missing("Webhook not found")
	}
	if id, err = url.PathUnescape(first); err != nil || strings.Contains(second, "/") || strings.ContainsRune(id, 0) {
		return "", "", fault.Missing("Webhook not found")
	}
	return id, second, nil
}

func status(code int, text string) error {
	f := fault.Invalid("%s", text)
	f.HTTPStatus = code
	return f
}
