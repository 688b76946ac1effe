package operation

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"reflect"
	"slices"

	"github.com/loam-agents/loam/dagcbor"
	"github.com/loam-agents/loam/internal/account"
	"github.com/loam-agents/loam/internal/fault"
)

// Kind says what the bodies of a route are.
type Kind string

// The kinds of routes.
const (
	// JSON routes take and answer JSON; they are most.
	JSON Kind = ""
	// Upload routes take bytes, which become the field `content`; the media type becomes `mimeType`.
	Upload Kind = "upload"
	// Download routes answer with a Download.
	Download Kind = "download"
)

// Route says how REST serves an operation. A field of the request that the path names comes from the path; the others come from
// the query when the method is GET or DELETE, and else from the body.
type Route struct {
	Method string
	// Path below the base of the API: "/agents/{agentId}". {name...} takes the rest of the path, slashes included.
	Path string
	// Summary says in a few words what it does.
	Summary string
	// Note adds what a caller has to know, in sentences; may be empty.
	Note string
	Kind Kind
	// Status of the answer; 200 when zero.
	Status int
	// Request is the zero value of the struct with the route's fields, nil when there are none. Fields of structs inside are known
	// too, and unknown ones refused.
	Request any
	// Reply is the zero value of what is answered.
	Reply any
	// Tagged says that a change takes If-Match.
	Tagged bool

	// shape turns the fields of the route into those of the operation; may be nil.
	shape func(fields map[string]any) error
	// present turns the answer of the operation into that of the route; may be nil.
	present func(ctx context.Context, c *Call, r Result) (Result, error)
}

// OK is the status of the answer.
func (r *Route) OK() int {
	if r.Status == 0 {
		return http.StatusOK
	}
	return r.Status
}

// InQuery tells whether the fields that are not in the path come from the query.
func (r *Route) InQuery() bool {
	return r.Method == http.MethodGet || r.Method == http.MethodDelete || r.Kind == Upload
}

// File is the answer of a Download route.
type File struct {
	Name, MimeType string
	Data           []byte
}

// Needs is the scope that a token has to hold for the operation.
func (op *Operation) Needs() account.Scope {
	switch {
	case op.Scope != "":
		return op.Scope
	case op.Effect == Mutation:
		return account.Write
	default:
		return account.Read
	}
}

// Serve carries out the operation behind a route: fields are those of Route.Request. Access, validation and what makes a
// repetition harmless are those of Do. Errors are those of Do, and fault.PreconditionFailed.
func (s *Service) Serve(ctx context.Context, caller Caller, name string, fields map[string]any) (Result, error) {
	op := s.table[name]
	if op == nil || op.Route == nil {
		return Result{}, fault.Missing("There is no such route")
	}
	if caller.IfMatch != "" && !op.Route.Tagged {
		return Result{}, fault.New(fault.PreconditionFailed, "This request takes no If-Match: leave the header out")
	}
	if op.Route.shape != nil {
		if err := op.Route.shape(fields); err != nil {
			return Result{}, err
		}
	}
	_, out, err := s.Do(ctx, caller, name, fields)
	if err != nil {
		return Result{}, err
	}
	if op.Route.present != nil {
		return op.Route.present(ctx, &Call{Service: s, Caller: caller, op: op, fields: fields}, out)
	}
	return out, op.decode(&out)
}

// decode gives an answer that was recorded its value.
func (op *Operation) decode(r *Result) error {
	if r.Encoded == nil {
		return nil
	}
	value := reflect.New(reflect.TypeOf(op.Route.Reply))
	if err := dagcbor.Unmarshal(r.Encoded, value.Interface()); err != nil {
		return fmt.Errorf("decode the recorded answer of %s: %w", op.Name, err)
	}
	r.Value = value.Elem().Interface()
	return nil
}

// Permits decides whether a caller's scopes include the operation. Do asks it first; a transport asks before it reads a body.
func (op *Operation) Permits(caller Caller) error {
	if caller.Scopes == nil || slices.Contains(caller.Scopes, op.Needs()) {
		return nil
	}
	return lacks(op.Needs())
}

// lacks says which scope a token does not hold.
func lacks(scope account.Scope) error {
	return fault.New(fault.PermissionDenied, "This token does not hold the scope %s", scope).With("scope", string(scope))
}

// unchanged refuses a change of something that is not in the state the caller has seen.
func (c *Call) unchanged(tag string) error {
	if c.Caller.IfMatch == "" || tag != "" && matches(c.Caller.IfMatch, tag) {
		return nil
	}
	return fault.New(fault.PreconditionFailed, "It has changed since you read it: read it again, then repeat the change").With("etag", tag)
}

// fingerprint stands for the fields of a request in the record of a repetition.
func fingerprint(fields map[string]any) (any, error) {
	body, err := dagcbor.Marshal(fields)
	if err != nil {
		return nil, fault.Wrap(err, fault.ValidationFailed, "The request cannot be read")
	}
	sum := sha256.Sum256(body)
	return sum[:], nil
}
