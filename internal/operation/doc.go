// Package operation defines every thing that a person or a program can ask of the server, once, for all transports.
//
// An Operation has a name, an access class, an effect and a handler. A transport decodes and authenticates, then calls
// Service.Do with the caller and the request's fields; access is decided here, before the handler, and missing and invisible
// are the same answer. A mutation commits its effect together with what makes a repetition harmless: the nonce of its signed
// bytes and the client's own request id (design §4, §10.4).
//
// operation is tier 6. It imports everything below and no transport.
package operation

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"sort"
	"time"

	"github.com/loam-agents/loam/internal/account"
	"github.com/loam-agents/loam/internal/account/passkey"
	"github.com/loam-agents/loam/internal/account/quota"
	"github.com/loam-agents/loam/internal/agent"
	"github.com/loam-agents/loam/internal/agent/collaborator"
	"github.com/loam-agents/loam/internal/blobstore"
	"github.com/loam-agents/loam/internal/callable"
	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/engine"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/hypermedia"
	"github.com/loam-agents/loam/internal/id"
	"github.com/loam-agents/loam/internal/mcp"
	"github.com/loam-agents/loam/internal/memory"
	"github.com/loam-agents/loam/internal/model"
	"github.com/loam-agents/loam/internal/model/catalogue"
	"github.com/loam-agents/loam/internal/model/subscription"
	"github.com/loam-agents/loam/internal/notify"
	"github.com/loam-agents/loam/internal/runs"
	"github.com/loam-agents/loam/internal/script"
	"github.com/loam-agents/loam/internal/sessionlog"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/trigger"
	"github.com/loam-agents/loam/internal/vault"
	"github.com/loam-agents/loam/wire"
)

// Access is who may use an operation (spec §3.0).
type Access string

// The access classes. The agent classes are decided on the agent that the request's resource belongs to.
const (
	// Self operations act on the caller's own account.
	Self Access = "self"
	// Read, Write and Owner need at least that role on the agent.
	Read  Access = "read"
	Write Access = "write"
	Owner Access = "owner"
	// Chat operations need the role of a writer, or public chat, which is for sessions that the caller opened.
	Chat Access = "chat"
)

// Effect says whether an operation changes anything.
type Effect string

// The effects.
const (
	Query    Effect = "query"
	Mutation Effect = "mutation"
)

// Caller is who asks, and how.
type Caller struct {
	// Account that is acted for, and Signer, the key that acts; both are principals.
	Account, Signer string
	// Protocol is the wire protocol that the caller speaks.
	Protocol int
	// Transport and RequestID are for logs.
	Transport, RequestID string
	// Nonce names the signed bytes of the request, and NonceExpires is when it may be forgotten. Empty for transports that do
	// not sign.
	Nonce        string
	NonceExpires int64
	// Via is how the caller proved who it is: ViaSignature, ViaToken or ViaCookie.
	Via string
	// Capability is the CID of the capability that the envelope names, CapabilityBlob its bytes; both may be empty.
	Capability     string
	CapabilityBlob []byte
	// Delegate says that the key acts by a capability: it may not change who else acts as the account, nor its secrets (design §4).
	Delegate bool
	// Credential is the id of the token, sign-in or linked key that proved it; empty for an account's own key.
	Credential string
	// Scopes are what the caller's credential permits; nil when it permits everything.
	Scopes []account.Scope
	// IdempotencyKey makes a repetition of a mutation with the same fields answer what the first one answered; may be empty.
	IdempotencyKey string
	// IfMatch is the header of that name: the state that a change is meant for. May be empty.
	IfMatch string
	// Routed says that the request came through a route: an agent's definition without a list of tools gets none, or keeps those
	// that it has, where the wire's default grants everything (design §10.1).
	Routed bool
	// Async asks for the answer to a message when it is durable, instead of when its turn has ended.
	Async bool
}

// Operation is one entry of the table.
type Operation struct {
	// Name is the wire's name of the action.
	Name string
	// Response is the wire's name of the answer.
	Response string
	Access   Access
	Effect   Effect
	// Since is the first version of Loam that serves it.
	Since string
	// Scope is what a token needs to hold; empty is account.Read for a query and account.Write for a mutation.
	Scope account.Scope
	// Route is how REST serves it, nil when it does not.
	Route *Route
	// Unrouted says why there is no route; empty when there is one.
	Unrouted string
	// harmless says that a repetition does no harm, so that nothing of the request is recorded for an idempotency key.
	harmless bool
	// prepares says that a mutation looks at the state before its transaction: what was carried out already has to be recognised
	// before that.
	prepares bool
	// delegable says that a delegate may do it although it needs the scope admin.
	delegable bool
	// newcomer says that the caller's own account need not be one of this server, and does not become one.
	newcomer bool

	handle func(ctx context.Context, c *Call) (Result, error)
}

// Delegable tells whether a key that acts by a capability may do it.
func (op *Operation) Delegable() bool { return op.Needs() != account.Admin || op.delegable }

// Result is an answer: a value to encode, or bytes that were encoded when the same request was answered before.
type Result struct {
	Value   any
	Encoded []byte
	// Tag is the entity tag of what is answered, quoted; empty when it has none.
	Tag string
	// Status replaces that of the route when it is not zero.
	Status int
}

// Models lists and checks the models of configured providers.
type Models interface {
	// List asks a provider of the account for its models.
	List(ctx context.Context, account, provider string) ([]model.ModelRef, error)
	// Levels are the reasoning levels that a model takes, in rising order.
	Levels(providerType, model string) []string
	// Window is a model's context window in tokens, zero when unknown.
	Window(providerType, model string) int64
	// Facts are what the catalogue knows about a model.
	Facts(providerType, model string) catalogue.Model
}

// Blobs is where bytes are kept; a blobstore.Dir is one.
type Blobs interface {
	memory.Blobs
	blobstore.Staging
}

// Options configure a Service.
type Options struct {
	Store store.Store
	Log   *sessionlog.Log
	Runs  *runs.Queue
	Vault *vault.Vault
	Blobs Blobs
	// Download is the client of the egress class agent.
	Download *http.Client
	Engine   *engine.Engine
	Models   Models
	Tools    *callable.Registry
	Mcp      *mcp.Manager
	// Equip is called in the transaction that saves a definition, so that the agent has the tools which its servers offer. It may be nil.
	Equip    func(tx store.Tx, a agent.Agent) error
	Scripts  *script.Compiler
	Triggers *trigger.Service
	// WebhookURL is where deliveries to a webhook are sent.
	WebhookURL func(triggerID, secret string) string
	Notify     *notify.Notifier
	Policy     account.Policy
	Quota      *quota.Quota
	Clock      clock.Clock
	IDs        id.Source
	Logger     *slog.Logger
	StateDir   func(agentID string) string
	// About is what callers are told of the server.
	About wire.ServerInfo
	// Passkeys are the ceremonies of the server's name.
	Passkeys *passkey.Ceremonies
	// SignInURL is the address that a sign-in code is opened with.
	SignInURL func(code string) string
	// FetchCapability asks the network for a capability by its CID; it fails with ErrNoCapability when it is not there. Nil is a
	// server without a place to ask.
	FetchCapability func(ctx context.Context, cid string) ([]byte, error)
	// Hypermedia is where accounts of agents are published; nil when there is no such server.
	Hypermedia *hypermedia.Client
	// Subscription signs accounts in with a model service; nil when the operator did not set it up.
	Subscription *subscription.Service
	// Random is where keys come from; crypto/rand when nil.
	Random io.Reader
	// Point is called at the named points of an operation; a crash test kills the process there. May be nil.
	Point func(name string)
	// Observe is told of every operation that was carried out or refused. May be nil; it must be quick.
	Observe func(Observation)
}

// Observation is one use of an operation, for metrics.
type Observation struct {
	// Transport is that of the caller. Name is the operation's, or "unknown": callers do not invent names.
	Transport, Name string
	// Err is what Do returned.
	Err  error
	Took time.Duration
}

// PointUserAppended is reached when a message is durable and its turn is queued.
const PointUserAppended = "user-appended"

// Service carries out operations.
type Service struct {
	opts  Options
	table map[string]*Operation
	known known
	// flights are requests that act outside before they commit.
	flights flights
	// acting are sessions in which a person's verb is at work.
	acting acting
}

// New returns a service with every operation of this package.
func New(opts Options) *Service {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.Observe == nil {
		opts.Observe = func(Observation) {}
	}
	if opts.Random == nil {
		opts.Random = rand.Reader
	}
	if opts.Equip == nil {
		opts.Equip = func(store.Tx, agent.Agent) error { return nil }
	}
	if opts.Point == nil {
		opts.Point = func(string) {}
	}
	s := &Service{opts: opts, table: map[string]*Operation{}}
	for _, group := range [][]Operation{agentOperations(), toolOperations(), invokeOperations(), providerOperations(), sessionOperations(), messageOperations(),
		runOperations(), approvalOperations(), scriptOperations(), triggerOperations(), memoryOperations(), uploadOperations(), attachmentOperations(), secretOperations(), accessOperations(), signInOperations(), keyOperations(), signerOperations(), passkeyOperations(),
		sharingOperations(), identityOperations(), mcpOperations(), oauthOperations()} {
		for i := range group {
			s.table[group[i].Name] = &group[i]
		}
	}
	return s
}

// Operations lists the table by name.
func (s *Service) Operations() []Operation {
	out := make([]Operation, 0, len(s.table))
	for _, op := range s.table {
		out = append(out, *op)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

// Do carries out one operation. Errors are *fault.Error, or internal errors whose text must not be shown. A storage that is full
// or away makes it unavailable: the caller may try again, with its own request id when twice would be too often.
func (s *Service) Do(ctx context.Context, caller Caller, name string, fields map[string]any) (op *Operation, r Result, err error) {
	ctx = LogContext(ctx, caller, fields)
	start := s.opts.Clock.Now()
	defer func() {
		seen := Observation{Transport: caller.Transport, Name: "unknown", Err: err, Took: s.opts.Clock.Now().Sub(start)}
		if op != nil {
			seen.Name = op.Name
		}
		s.opts.Observe(seen)
	}()
	op = s.table[name]
	if op == nil {
		return nil, Result{}, fault.Invalid("%s", wire.MsgUnsupportedAction(name))
	}
	out, err := s.carryOut(ctx, &Call{Service: s, Caller: caller, op: op, fields: fields})
	if away := unavailable(err); away != nil {
		if !errors.Is(err, runs.ErrStopping) {
			s.opts.Logger.ErrorContext(ctx, "the storage failed", "operation", name, "error", err)
		}
		return op, Result{}, away
	}
	return op, out, err
}

func (s *Service) carryOut(ctx context.Context, c *Call) (Result, error) {
	if err := c.op.Permits(c.Caller); err != nil {
		return Result{}, err
	}
	if err := c.admit(ctx); err != nil {
		return Result{}, err
	}
	if err := c.pace(); err != nil {
		return Result{}, err
	}
	if c.op.prepares {
		if done, found, err := c.replayed(ctx); err != nil || found {
			return done, err
		}
	}
	return c.op.handle(ctx, c)
}

// unavailable is what a caller reads of a storage that cannot work at the moment; nil for every other error. Only what passes
// by itself has the status of it, since programs wait and try again.
func unavailable(err error) error {
	for _, e := range []struct {
		cause  error
		status int
		text   string
	}{
		{store.ErrFull, http.StatusInsufficientStorage, "The server's disk is full: free some space there and try again"},
		{store.ErrUnreachable, http.StatusServiceUnavailable, "The server cannot reach its database: try again soon"},
		{runs.ErrStopping, http.StatusServiceUnavailable, "The server is stopping: try again soon"},
		{store.ErrClosed, http.StatusServiceUnavailable, "The server is stopping: try again soon"},
	} {
		if errors.Is(err, e.cause) {
			return &fault.Error{Code: fault.Unavailable, HTTPStatus: e.status, Message: e.text, Err: err}
		}
	}
	return nil
}

// Encode is the wire form of an answer.
func (op *Operation) Encode(r Result) ([]byte, error) {
	if r.Encoded != nil {
		return r.Encoded, nil
	}
	return wire.EncodeResponse(op.Response, r.Value)
}

// AgentInfo is the view of an agent for a role. The activity is told to those whom all sessions are shown.
func (s *Service) AgentInfo(a agent.Agent, role string, activity *wire.AgentActivity) wire.AgentInfo {
	if role == collaborator.Chatter {
		activity = nil
	}
	return agent.Info(a, role, s.opts.StateDir(a.ID), activity)
}
