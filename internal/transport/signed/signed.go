// Package signed serves the signed protocol: actions as DAG-CBOR envelopes over HTTP, and the live stream over a WebSocket.
//
// A request proves who acts by its signature alone: there are no cookies and no tokens here, so any origin may call it.
// Error texts are part of the protocol (wire.Msg…): clients show them, and some read them.
//
// signed is tier 7. It decodes, authenticates and encodes; what an action does is the operation table's business.
package signed

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"path"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/loam-agents/loam/internal/account/quota"
	"github.com/loam-agents/loam/internal/bus"
	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/id"
	"github.com/loam-agents/loam/internal/logctx"
	"github.com/loam-agents/loam/internal/operation"
	"github.com/loam-agents/loam/internal/transport/inbound"
	"github.com/loam-agents/loam/internal/transport/live"
	"github.com/loam-agents/loam/wire"
)

// Options configure a Server.
type Options struct {
	Operations *operation.Service
	Bus        bus.Bus
	Clock      clock.Clock
	IDs        id.Source
	Logger     *slog.Logger
	// Health is what /api/health answers.
	Health func() map[string]any
	// Version is what /api/version answers.
	Version map[string]any
	// Limits bound the bodies of requests.
	inbound.Limits
	// Quota bounds the sockets and subscriptions of an account.
	Quota *quota.Quota
	// MaxSubscriptions bounds the keys of one socket; DefaultSubscriptions when zero.
	MaxSubscriptions int
	// MinProtocol is the oldest version that is admitted; wire.MinClientProtocol when zero.
	MinProtocol int
}

// Server is an http.Handler. Close ends its sockets.
type Server struct {
	opts    Options
	mux     *http.ServeMux
	sockets live.Group
	// frames counts what was sent on all sockets.
	frames atomic.Int64
}

// New returns the handler.
func New(opts Options) *Server {
	opts.Limits = opts.Complete()
	if opts.MaxSubscriptions <= 0 {
		opts.MaxSubscriptions = DefaultSubscriptions
	}
	if opts.MinProtocol <= 0 {
		opts.MinProtocol = wire.MinClientProtocol
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Server{opts: opts, mux: http.NewServeMux()}
	for _, prefix := range prefixes {
		s.mux.HandleFunc("POST "+prefix+wire.MessagePath, s.message)
		s.mux.HandleFunc("OPTIONS "+prefix+wire.MessagePath, s.preflight)
		s.mux.HandleFunc("GET "+prefix+healthPath, s.health)
		s.mux.HandleFunc("GET "+prefix+versionPath, s.version)
	}
	s.mux.HandleFunc("GET "+wire.SocketPath, s.socket)
	s.mux.HandleFunc("/", notFound)
	return s
}

// The protocol's paths exist with and without the prefix of the servers that it was made for.
var prefixes = []string{"", wire.PathPrefix}

const (
	healthPath  = "/api/health"
	versionPath = "/api/version"
)

// Serves tells whether a path belongs to this transport.
func Serves(path string) bool {
	for _, prefix := range prefixes {
		switch path {
		case prefix + wire.MessagePath, prefix + healthPath, prefix + versionPath:
			return true
		}
	}
	return path == wire.SocketPath
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set(wire.ProtocolHeader, strconv.Itoa(wire.ProtocolNumber))
	w.Header().Set("Access-Control-Expose-Headers", wire.ProtocolHeader)
	if r.URL.Path != path.Clean(r.URL.Path) {
		// The mux would redirect; an action that is sent again is another request, and the protocol knows no redirects.
		notFound(w, r)
		return
	}
	s.mux.ServeHTTP(w, r)
}

func notFound(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(http.StatusNotFound)
	_, _ = io.WriteString(w, "Not Found")
}

func allow(w http.ResponseWriter, methods string) {
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Allow-Methods", methods)
	h.Set("Access-Control-Allow-Headers", "Content-Type, Accept")
}

func (s *Server) preflight(w http.ResponseWriter, _ *http.Request) {
	allow(w, "GET, POST, OPTIONS")
	w.WriteHeader(http.StatusNoContent)
}

func (s *Server) health(w http.ResponseWriter, _ *http.Request)  { s.json(w, s.opts.Health()) }
func (s *Server) version(w http.ResponseWriter, _ *http.Request) { s.json(w, s.opts.Version) }

func (s *Server) json(w http.ResponseWriter, v any) {
	allow(w, "GET, POST, OPTIONS")
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(v); err != nil {
		s.opts.Logger.Debug("write response", "error", err)
	}
}

// message carries out one action.
func (s *Server) message(w http.ResponseWriter, r *http.Request) {
	requestID := s.opts.IDs()
	ctx := logctx.With(r.Context(), logctx.Request, requestID)
	status := http.StatusOK
	var body []byte
	env, err := s.envelope(w, r)
	if err == nil {
		who := caller(env, "http", requestID)
		ctx = operation.LogContext(ctx, who, env.Action)
		body, err = s.act(ctx, who, env)
	}
	if err != nil {
		body, status = s.failure(ctx, err)
		if wait := fault.From(err).RetryAfter; wait > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
		}
	}
	allow(w, "POST, OPTIONS")
	w.Header().Set("Content-Type", wire.MediaType)
	w.WriteHeader(status)
	if _, err := w.Write(body); err != nil {
		s.opts.Logger.DebugContext(ctx, "write response", "error", err)
	}
}

// recovered turns a panic into an error: a browser only sees an answer that carries the CORS headers, so that even a defect
// gets one.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
	}
}

// envelope reads and verifies what was sent.
func (s *Server) envelope(w http.ResponseWriter, r *http.Request) (env *wire.Envelope, err error) {
	defer recovered(&err)
	// Whatever follows the first semicolon is not looked at (spec §1.2).
	media, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	if !strings.EqualFold(strings.TrimSpace(media), wire.MediaType) {
		return nil, &fault.Error{Code: fault.ValidationFailed, HTTPStatus: http.StatusUnsupportedMediaType, Message: wire.MsgContentType}
	}
	raw, err := s.opts.Read(w, r)
	if err != nil {
		return nil, err
	}
	return s.authenticate(raw)
}

func (s *Server) act(ctx context.Context, who operation.Caller, env *wire.Envelope) (body []byte, err error) {
	defer recovered(&err)
	if env.Name == wire.SubscribeAction {
		return nil, fault.Invalid(wire.MsgSubscribeOverHTTP)
	}
	start := s.opts.Clock.Now()
	op, result, err := s.opts.Operations.Do(ctx, who, env.Name, env.Action)
	s.opts.Logger.DebugContext(ctx, "action", "name", env.Name, "duration", s.opts.Clock.Now().Sub(start), "error", err)
	if err != nil {
		return nil, err
	}
	return op.Encode(result)
}

// authenticate verifies an envelope. Whether its signer may act for its account, the operation decides.
func (s *Server) authenticate(raw []byte) (*wire.Envelope, error) {
	fields, err := wire.DecodeEnvelope(raw)
	if err != nil {
		return nil, authFault(err)
	}
	if wire.DeclaredProtocol(fields) < s.opts.MinProtocol {
		return nil, &fault.Error{
			Code: codeProtocolTooOld, HTTPStatus: http.StatusUpgradeRequired, Message: wire.MsgProtocolTooOld,
		}
	}
	env, err := wire.Verify(fields, s.opts.Clock.Now(), wire.ClockWindow)
	if err != nil {
		return nil, authFault(err)
	}
	return env, nil
}

// codeProtocolTooOld is the one code that travels on the wire; it is not part of the taxonomy.
const codeProtocolTooOld = fault.Code(wire.CodeProtocolTooOld)

func authFault(err error) error {
	if errors.Is(err, wire.ErrInvalidCBOR) {
		return fault.Invalid(wire.MsgInvalidCBOR)
	}
	if a, ok := errors.AsType[*wire.AuthError](err); ok {
		return fault.New(fault.Unauthenticated, "%s", a.Message)
	}
	return err
}

func caller(env *wire.Envelope, transport, requestID string) operation.Caller {
	return operation.Caller{
		Account: env.Account.String(), Signer: env.Signer.String(), Protocol: env.Protocol, Transport: transport, Via: operation.ViaSignature, RequestID: requestID,
		Capability: env.Capability, CapabilityBlob: env.CapabilityBlob,
		Nonce: hex.EncodeToString(env.Digest[:]), NonceExpires: env.TS + wire.ClockWindow.Milliseconds(),
	}
}

// failure is the wire form of an error. What went wrong inside is logged, not told.
func (s *Server) failure(ctx context.Context, err error) ([]byte, int) {
	f := fault.From(err)
	if f.Code == fault.Internal && !errors.Is(err, context.Canceled) {
		s.opts.Logger.ErrorContext(ctx, "action failed", "error", err)
	}
	code := ""
	if f.Code == codeProtocolTooOld {
		code = wire.CodeProtocolTooOld
	}
	body, encodeErr := wire.EncodeError(f.Message, code)
	if encodeErr != nil {
		s.opts.Logger.ErrorContext(ctx, "encode error", "error", encodeErr)
	}
	return body, f.Status()
}

// Close tells every socket that the server is going away and waits until they have ended or ctx does.
func (s *Server) Close(ctx context.Context) { s.sockets.Close(ctx) }

// writeTimeout bounds one frame to one client.
const writeTimeout = 30 * time.Second
