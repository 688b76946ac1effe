package egress

import (
	"context"
	"errors"
	"net"
	"net/url"

	"github.com/loam-agents/loam/internal/fault"
)

// Clean turns an error of a client of this package into one that may be shown: refusals as they are, an ended context as its
// own error, and everything else as a provider error that names the failure but neither path nor query of the URL.
// Nil stays nil.
func Clean(err error) error {
	if err == nil {
		return nil
	}
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return f
	}
	cause := err
	where := "The address"
	if u, ok := errors.AsType[*url.Error](err); ok {
		cause = u.Err
		if parsed, err := url.Parse(u.URL); err == nil && parsed.Host != "" {
			where = parsed.Host
		}
	}
	// The client's own deadline errors match context.DeadlineExceeded too; only a bare one is the caller's.
	if errors.Is(cause, context.Canceled) || cause == context.DeadlineExceeded { //nolint:errorlint // see above
		return cause
	}
	return fault.Wrap(cause, fault.ProviderError, "%s %s", where, reason(cause))
}

// reason says what went wrong without quoting the cause, whose text may hold internal addresses.
func reason(cause error) string {
	var dns *net.DNSError
	var timeout net.Error
	switch {
	case errors.As(cause, &dns):
		return "does not resolve"
	case errors.Is(cause, errIdle):
		return "went silent in the middle of its answer"
	case errors.As(cause, &timeout) && timeout.Timeout():
		return "did not answer in time"
	}
	return "cannot be reached"
}
