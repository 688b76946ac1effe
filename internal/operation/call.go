package operation

import (
	"context"
	"errors"
	"strings"

	"github.com/loam-agents/loam/dagcbor"
	"github.com/loam-agents/loam/internal/account"
	"github.com/loam-agents/loam/internal/account/idempotency"
	"github.com/loam-agents/loam/internal/account/nonce"
	"github.com/loam-agents/loam/internal/agent"
	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/runs"
	"github.com/loam-agents/loam/internal/sessionlog"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

// Call is one use of an operation.
type Call struct {
	*Service
	Caller Caller
	op     *Operation
	fields map[string]any
}

// RoleOwner is the role of an agent's own account.
const RoleOwner = "owner"

// admit decides whether the account may act on this server at all.
func (c *Call) admit(ctx context.Context) error {
	return c.opts.Store.Read(ctx, func(tx store.Tx) error { return c.opts.Policy.MayAct(tx, c.Caller.Account) })
}

// replayed answers a mutation whose very bytes were answered before.
func (c *Call) replayed(ctx context.Context) (Result, bool, error) {
	if c.Caller.Nonce == "" {
		return Result{}, false, nil
	}
	var body []byte
	var known bool
	err := c.opts.Store.Read(ctx, func(tx store.Tx) (err error) {
		body, known, err = nonce.Lookup(tx, c.Caller.Nonce)
		return err
	})
	if err != nil || !known {
		return Result{}, false, err
	}
	out, err := c.repeat(ctx, body)
	return out, true, err
}

// repeat answers with what was recorded. A turn is recorded by its run, so that a repetition waits for the same end.
func (c *Call) repeat(ctx context.Context, body []byte) (Result, error) {
	if pending, ok := parsePending(body); ok {
		return c.follow(ctx, pending)
	}
	return Result{Encoded: body}, nil
}

// once makes a mutation with a client's own id answer a repetition like the first time.
type once struct {
	id *string
	// label names the id in errors.
	label string
	// request is what has to be the same.
	request any
}

// commit carries out a mutation: effect, nonce and client id in one transaction. fn returns the answer, or what stands for it
// in the record.
func (c *Call) commit(ctx context.Context, o once, fn func(tx store.Tx) (any, error)) (Result, error) {
	key, request, err := c.key(o)
	if err != nil {
		return Result{}, err
	}
	var out Result
	var again []byte
	err = c.opts.Store.Write(ctx, store.Interactive, func(tx store.Tx) error {
		out, again = Result{}, nil
		now := clock.Millis(c.opts.Clock)
		if err := account.Ensure(tx, c.Caller.Account, now); err != nil {
			return err
		}
		if request != nil {
			body, found, err := idempotency.Lookup(tx, key, request)
			if err != nil || found {
				again = body
				return err
			}
		}
		value, err := fn(tx)
		if err != nil {
			return err
		}
		body, err := encodeRecord(c.op.Response, value)
		if err != nil {
			return err
		}
		out = Result{Value: value}
		if request != nil {
			if err := idempotency.Record(tx, key, request, body, now); err != nil {
				return err
			}
		}
		return c.recordNonce(tx, body)
	})
	switch {
	case errors.Is(err, nonce.ErrSeen):
		out, _, err = c.replayed(ctx)
		return out, err
	case err != nil:
		return Result{}, err
	case again != nil:
		return c.repeat(ctx, again)
	}
	return out, nil
}

func (c *Call) recordNonce(tx store.Tx, body []byte) error {
	if c.Caller.Nonce == "" {
		return nil
	}
	return nonce.Record(tx, nonce.Entry{
		Hash: c.Caller.Nonce, Account: c.Caller.Account, Action: c.op.Name, Response: body, ExpiresAt: c.Caller.NonceExpires,
	})
}

func (c *Call) key(o once) (idempotency.Key, []byte, error) {
	if o.id == nil {
		return idempotency.Key{}, nil, nil
	}
	clientID, err := bounded(o.label, *o.id)
	if err != nil {
		return idempotency.Key{}, nil, err
	}
	request, err := dagcbor.Marshal(o.request)
	return idempotency.Key{Account: c.Caller.Account, Action: c.op.Name, ClientID: clientID}, request, err
}

// bind reads the request's fields into a struct. A value of the wrong kind is an error that names the field; text that must
// be there is reported as missing.
func (c *Call) bind(into any) error {
	raw, err := dagcbor.Marshal(c.fields)
	if err != nil {
		return fault.Invalid("The request cannot be read: %v", err)
	}
	err = dagcbor.Unmarshal(raw, into)
	if t, ok := errors.AsType[*dagcbor.TypeError](err); ok {
		if t.Want == "text" && !strings.ContainsAny(t.Path, ".[") {
			return fault.Invalid("%s", wire.MsgRequired(label(t.Path))).With("field", t.Path)
		}
		return fault.Invalid("%s must be %s, not %s", t.Path, t.Want, t.Got).With("field", t.Path)
	}
	return err
}

// maxText bounds names, ids and titles in bytes (spec §3.0).
const maxText = 256

// bounded is the wire's bounded text: trimmed, not empty, at most 256 bytes.
func bounded(name, value string) (string, error) { return boundedTo(name, value, maxText) }

func boundedTo(name, value string, limit int) (string, error) {
	value = strings.TrimSpace(value)
	switch {
	case value == "":
		return "", fault.Invalid("%s", wire.MsgRequired(name))
	case len(value) > limit:
		return "", fault.Invalid("%s", wire.MsgTooLarge(name)).With("limit", limit)
	}
	return value, nil
}

// label is the wire's label of a field.
func label(field string) string {
	switch field {
	case "agentId":
		return "Agent ID"
	case "sessionId":
		return "Session ID"
	case "runId":
		return "Run ID"
	case "attachmentId":
		return "Attachment ID"
	case "clientRequestId":
		return "Client request ID"
	case "clientMessageId":
		return "Client message ID"
	}
	return strings.ToUpper(field[:1]) + field[1:]
}

// access is what an agent-scoped call may work with.
type access struct {
	agent agent.Agent
	role  string
}

// onAgent resolves the agent and checks the caller's role. An agent that the caller may not see does not exist for it.
func (c *Call) onAgent(tx store.Tx, agentID, notFound string) (access, error) {
	a, err := agent.Get(tx, agentID)
	if err != nil || a.Account != c.Caller.Account {
		if err == nil || fault.CodeOf(err) == fault.NotFound {
			return access{}, fault.Missing("%s", notFound)
		}
		return access{}, err
	}
	return access{agent: a, role: RoleOwner}, nil
}

// onSession resolves a session and its agent.
func (c *Call) onSession(tx store.Tx, sessionID string) (sessionlog.Session, access, error) {
	s, err := sessionlog.Get(tx, sessionID)
	if err != nil {
		return sessionlog.Session{}, access{}, err
	}
	a, err := c.onAgent(tx, s.Agent, wire.MsgSessionNotFound)
	return s, a, err
}

// onRun resolves a run and its agent. A run whose agent is gone does not exist.
func (c *Call) onRun(tx store.Tx, runID string) (runs.Run, access, error) {
	r, err := runs.Get(tx, runID)
	if err != nil {
		return runs.Run{}, access{}, err
	}
	if r.Agent == "" {
		return runs.Run{}, access{}, fault.Missing("%s", wire.MsgRunNotFound)
	}
	a, err := c.onAgent(tx, r.Agent, wire.MsgRunNotFound)
	return r, a, err
}
