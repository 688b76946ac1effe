package model

import (
	"errors"
	"fmt"
	"time"
)

// ErrorKind classifies a provider failure by what can be done about it.
type ErrorKind string

// The kinds of provider failures.
const (
	// ErrRateLimited is 429: wait RetryAfter (or back off) and try again.
	ErrRateLimited ErrorKind = "rate_limited"
	// ErrOverloaded is 529 or 503 and their kin: back off and try again.
	ErrOverloaded ErrorKind = "overloaded"
	// ErrContextTooLong says that the conversation does not fit the model's window. Trying again does not help.
	ErrContextTooLong ErrorKind = "context_too_long"
	// ErrBadKey is 401 or 403: the key is missing, wrong or not allowed to use the model.
	ErrBadKey ErrorKind = "bad_key"
	// ErrBadRequest is any other 4xx: the request itself is wrong. Trying again does not help.
	ErrBadRequest ErrorKind = "bad_request"
	// ErrServer is any other 5xx: try again.
	ErrServer ErrorKind = "server_error"
	// ErrStreamCut says that the connection ended in the middle of an answer: try again.
	ErrStreamCut ErrorKind = "stream_cut"
	// ErrUnreachable says that no connection could be made: try again.
	ErrUnreachable ErrorKind = "unreachable"
	// ErrInvalidResponse says that the answer was not what the dialect promises: try again.
	ErrInvalidResponse ErrorKind = "invalid_response"
	// ErrEmptyAnswer says that the model ended without text and without a call: try again.
	ErrEmptyAnswer ErrorKind = "empty_answer"
	// ErrCanceled says that the caller's context ended.
	ErrCanceled ErrorKind = "canceled"
)

// Error is a failed generation or listing.
type Error struct {
	Kind ErrorKind
	// Status is the provider's HTTP status, zero when there was none.
	Status int
	// Message is one sentence for people; it never holds the key.
	Message string
	// RetryAfter is what the provider asked for, zero when it said nothing.
	RetryAfter time.Duration
	// Err is the cause.
	Err error
}

// Error implements error.
func (e *Error) Error() string {
	if e.Message != "" {
		return e.Message
	}
	return fmt.Sprintf("provider failed: %s", e.Kind)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Retryable tells whether the same request may succeed later.
func (e *Error) Retryable() bool {
	switch e.Kind {
	case ErrContextTooLong, ErrBadKey, ErrBadRequest, ErrCanceled:
		return false
	}
	return true
}

// AsError finds the *Error in a chain.
func AsError(err error) (*Error, bool) { return errors.AsType[*Error](err) }
