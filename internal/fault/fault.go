// Package fault is the one taxonomy of errors that cross a boundary of Loam.
//
// An operation, a verb and a transport speak of failures with the same codes (design §9). Inside a package errors are
// ordinary wrapped errors; what a person or a model is meant to read becomes an *Error at the boundary. Anything else is
// an internal error whose text is logged and never shown.
//
// fault imports nothing of Loam. Every tier may import it.
package fault

import (
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Code names a class of failure. The values are stored, sent on wires and compared by clients: they never change.
type Code string

// The codes of design §9.
const (
	PermissionDenied   Code = "permission_denied"
	NotFound           Code = "not_found"
	ValidationFailed   Code = "validation_failed"
	BudgetExceeded     Code = "budget_exceeded"
	RateLimited        Code = "rate_limited"
	PreconditionFailed Code = "precondition_failed"
	ProviderError      Code = "provider_error"
	Internal           Code = "internal_error"
	Unauthenticated    Code = "unauthenticated"
	Conflict           Code = "conflict"
	TooLarge           Code = "too_large"
	Unavailable        Code = "unavailable"
)

var statuses = map[Code]int{
	PermissionDenied:   http.StatusForbidden,
	NotFound:           http.StatusNotFound,
	ValidationFailed:   http.StatusBadRequest,
	BudgetExceeded:     http.StatusPaymentRequired,
	RateLimited:        http.StatusTooManyRequests,
	PreconditionFailed: http.StatusPreconditionFailed,
	ProviderError:      http.StatusBadGateway,
	Internal:           http.StatusInternalServerError,
	Unauthenticated:    http.StatusUnauthorized,
	Conflict:           http.StatusConflict,
	TooLarge:           http.StatusRequestEntityTooLarge,
	Unavailable:        http.StatusServiceUnavailable,
}

// Error is a failure that a caller may read.
type Error struct {
	// Code is the class of the failure.
	Code Code
	// Message is one sentence for a person. Clients of the signed protocol show it verbatim.
	Message string
	// Details carries machine-readable context, such as the field or the limit. It never holds a secret.
	Details map[string]any
	// RetryAfter is how long to wait before the same request may work; zero when unknown.
	RetryAfter time.Duration
	// HTTPStatus overrides the status of the code when it is not zero: the wire's texts fix some of their own.
	HTTPStatus int
	// Err is the cause, for logs only.
	Err error
}

// Error implements error with the public message.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Status is the HTTP status that the failure travels with.
func (e *Error) Status() int {
	if e.HTTPStatus != 0 {
		return e.HTTPStatus
	}
	if s, ok := statuses[e.Code]; ok {
		return s
	}
	return http.StatusInternalServerError
}

// With adds one detail and returns the same error.
func (e *Error) With(key string, value any) *Error {
	if e.Details == nil {
		e.Details = map[string]any{}
	}
	e.Details[key] = value
	return e
}

// New makes an error of a code with a formatted message.
func New(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Wrap makes an error of a code that keeps its cause for the logs.
func Wrap(err error, code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...), Err: err}
}

// Invalid is New(ValidationFailed, …): a request that the caller can correct.
func Invalid(format string, args ...any) *Error { return New(ValidationFailed, format, args...) }

// Missing is New(NotFound, …): absent and invisible are the same answer.
func Missing(format string, args ...any) *Error { return New(NotFound, format, args...) }

// From finds the *Error in a chain; anything else becomes an internal error with a fixed public text.
func From(err error) *Error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{Code: Internal, Message: "Internal server error", Err: err}
}

// CodeOf is the code of an error; Internal for errors that carry none, empty for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	return From(err).Code
}
