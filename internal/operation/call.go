package operation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/loam-agents/loam/dagcbor"
	"github.com/loam-agents/loam/internal/account"
	"github.com/loam-agents/loam/internal/account/idempotency"
	"github.com/loam-agents/loam/internal/account/nonce"
	"github.com/loam-agents/loam/internal/bounded"
	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/fault"
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

// admit finds out for whom the caller acts and decides whether that account may act on this server at all.
func (c *Call) admit(ctx context.Context) error {
	asked := c.Caller
	err := c.opts.Store.Read(ctx, func(tx store.Tx) error {
		c.Caller = asked
		if err := c.resolve(tx); err != nil || c.known.has(c.Caller.Account) || c.op.newcomer {
			return err
		}
		return c.opts.Policy.MayAct(tx, c.Caller.Account)
	})
	if errors.Is(err, errUnproven) {
		err = c.prove(ctx)
	}
	if err == nil && c.Caller.Delegate && !c.op.Delegable() {
		err = fault.New(fault.PermissionDenied, "A delegated key may not do this: sign with the account's own key")
	}
	return err
}

// pace counts the action against the rates of its account and of the key, token or browser that asks.
func (c *Call) pace() error {
	credential := c.Caller.Credential
	if credential == "" {
		credential = c.Caller.Signer
	}
	return c.opts.Quota.Action(c.Caller.Account, credential)
}

// replayed answers a mutation whose very bytes were answered before.
func (c *Call) replayed(ctx context.Context) (Result, bool, error) {
	var body []byte
	var known bool
	err := c.opts.Store.Read(ctx, func(tx store.Tx) (err error) {
		body, known, err = c.recorded(tx)
		return err
	})
	if err != nil || !known {
		return Result{}, false, err
	}
	out, err := c.repeat(ctx, body)
	return out, true, err
}

// recorded is the record of these very bytes, if they were carried out.
func (c *Call) recorded(tx store.Tx) (body []byte, known bool, err error) {
	if c.Caller.Nonce == "" {
		return nil, false, nil
	}
	return nonce.Lookup(tx, c.Caller.Nonce)
}

// repeat answers with what was recorded. A turn is recorded by its run, so that a repetition waits for the same end.
func (c *Call) repeat(ctx context.Context, body []byte) (Result, error) {
	if pending, ok := parsePending(body); ok {
		return c.follow(ctx, pending)
	}
	if wasShownOnce(body) {
		return Result{}, fault.New(fault.Conflict, "This was done already, and its answer held a secret that is shown once: ask anew, with another key")
	}
	return Result{Encoded: body}, nil
}

// once makes a mutation with a client's own id answer a repetition like the first time.
type once struct {
	id *string
	// label names the id in errors.
	label string
	// request is what has to be the same; all fields when nil.
	request any
	// session that the mutation writes to, if its writers are many or it has much to do: they take turns instead of undoing
	// each other's work. May be empty.
	session string
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
	err = c.opts.Store.Write(ctx, store.Interactive, func(tx store.Tx) (err error) {
		out = Result{}
		if o.session != "" {
			if err := tx.Lock(wire.KeySession + o.session); err != nil {
				return err
			}
		}
		if again, err = c.before(tx, key, request); err != nil || again != nil {
			return err
		}
		out, err = c.effect(tx, key, request, fn)
		return err
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

// before is the record of a request that was carried out already. It looks inside the transaction, since the same bytes may
// have been in flight: what they did is no reason to refuse them now.
func (c *Call) before(tx store.Tx, key idempotency.Key, request []byte) ([]byte, error) {
	if body, found, err := c.recorded(tx); err != nil || found || request == nil {
		return body, err
	}
	body, _, err := idempotency.Lookup(tx, key, request)
	return body, err
}

// effect carries out fn and records its answer.
func (c *Call) effect(tx store.Tx, key idempotency.Key, request []byte, fn func(tx store.Tx) (any, error)) (Result, error) {
	now := clock.Millis(c.opts.Clock)
	if !c.op.newcomer && !c.known.has(c.Caller.Account) {
		if err := account.Ensure(tx, c.Caller.Account, now); err != nil {
			return Result{}, err
		}
		tx.AfterCommit(func() { c.known.add(c.Caller.Account) })
	}
	value, err := fn(tx)
	if err != nil {
		return Result{}, err
	}
	body, err := encodeRecord(c.op.Response, value)
	if err != nil {
		return Result{}, err
	}
	if request != nil {
		if err := idempotency.Record(tx, key, request, body, now); err != nil {
			return Result{}, err
		}
	}
	return Result{Value: value}, c.recordNonce(tx, body)
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
	if o.id == nil && c.Caller.IdempotencyKey != "" && !c.op.harmless {
		o.id, o.label = &c.Caller.IdempotencyKey, "Idempotency-Key"
	}
	if o.id == nil {
		return idempotency.Key{}, nil, nil
	}
	clientID, err := bounded.Name(*o.id, o.label)
	if err != nil {
		return idempotency.Key{}, nil, err
	}
	if o.request == nil {
		if o.request, err = fingerprint(c.fields); err != nil {
			return idempotency.Key{}, nil, err
		}
	}
	request, err := dagcbor.Marshal(o.request)
	return idempotency.Key{Account: c.Caller.Account, Action: c.op.Name, ClientID: clientID}, request, err
}

// bind reads the request's fields into a struct. A value of the wrong kind is an error that names the field; text that must
// be there is reported as missing.
func (c *Call) bind(into any) error {
	if path := withNUL(c.fields, ""); path != "" {
		return fault.Invalid("%s must not contain a NUL character", path).With("field", path)
	}
	raw, err := dagcbor.Marshal(c.fields)
	if err != nil {
		return fault.Wrap(err, fault.ValidationFailed, "The request cannot be read")
	}
	err = dagcbor.Unmarshal(raw, into)
	if t, ok := errors.AsType[*dagcbor.TypeError](err); ok {
		switch top := !strings.ContainsAny(t.Path, ".["); {
		case t.Path == "afterSeq":
			return fault.Invalid("%s", wire.MsgAfterSeq).With("field", t.Path)
		case top && t.Want == "text":
			return fault.Invalid("%s", wire.MsgRequired(label(t.Path))).With("field", t.Path)
		}
		return fault.Invalid("%s must be %s, not %s", t.Path, t.Want, t.Got).With("field", t.Path)
	}
	if err != nil {
		return fault.Wrap(err, fault.ValidationFailed, "The request cannot be read")
	}
	return nil
}

// freeText are the fields that may hold any text: what people say, and the content of files.
const freeText = "content"

// withNUL finds text with a NUL character, which PostgreSQL cannot keep, and returns its path; empty when there is none.
func withNUL(v any, path string) string {
	switch v := v.(type) {
	case string:
		if strings.ContainsRune(v, 0) {
			return path
		}
	case []any:
		for i, e := range v {
			if found := withNUL(e, fmt.Sprintf("%s[%d]", path, i)); found != "" {
				return found
			}
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			below := strings.TrimPrefix(path+"."+k, ".")
			if strings.ContainsRune(k, 0) {
				return strings.TrimPrefix(path+".*", ".")
			}
			if below == freeText {
				continue
			}
			if found := withNUL(v[k], below); found != "" {
				return found
			}
		}
	}
	return ""
}

// label is the wire's label of a field: "clientRequestId" is "Client request ID".
func label(field string) string {
	var words []string
	start := 0
	for i := 1; i <= len(field); i++ {
		if i == len(field) || field[i] >= 'A' && field[i] <= 'Z' {
			words = append(words, strings.ToLower(field[start:i]))
			start = i
		}
	}
	for i, w := range words {
		if w == "id" {
			words[i] = "ID"
		}
	}
	text := strings.Join(words, " ")
	return strings.ToUpper(text[:1]) + text[1:]
}
