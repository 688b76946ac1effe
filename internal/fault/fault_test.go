package fault_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/loam-agents/loam/internal/fault"
)

func TestEveryCodeHasItsStatus(t *testing.T) {
	t.Parallel()
	for code, want := range map[fault.Code]int{
		fault.PermissionDenied: 403, fault.NotFound: 404, fault.ValidationFailed: 400, fault.BudgetExceeded: 402, fault.RateLimited: 429,
		fault.PreconditionFailed: 412, fault.ProviderError: 502, fault.Internal: 500, fault.Unauthenticated: 401, fault.Conflict: 409,
		fault.TooLarge: 413, fault.Unavailable: 503, "unheard_of": 500,
	} {
		if got := fault.New(code, "m").Status(); got != want {
			t.Errorf("%s travels with %d, want %d", code, got, want)
		}
	}
	e := fault.New(fault.ValidationFailed, "m")
	e.HTTPStatus = http.StatusTeapot
	if e.Status() != http.StatusTeapot {
		t.Errorf("an own status is overruled with %d", e.Status())
	}
}

func TestAFaultIsFoundInAChain(t *testing.T) {
	t.Parallel()
	e := fault.Invalid("field %q is odd", "x")
	e.RetryAfter = time.Second
	wrapped := fmt.Errorf("save: %w", errors.Join(errors.New("other"), e))
	if got := fault.From(wrapped); got != e || fault.CodeOf(wrapped) != fault.ValidationFailed || got.Message != `field "x" is odd` {
		t.Errorf("From found %+v", got)
	}
}

func TestAnythingElseIsAnInternalErrorWhoseTextIsNotShown(t *testing.T) {
	t.Parallel()
	cause := errors.New("dial tcp 10.0.0.1: password wrong")
	got := fault.From(cause)
	if got.Code != fault.Internal || got.Error() != "Internal server error" || !errors.Is(got, cause) || fault.CodeOf(cause) != fault.Internal {
		t.Errorf("From made %+v", got)
	}
}

func TestNoErrorHasNoCode(t *testing.T) {
	t.Parallel()
	if fault.From(nil) != nil || fault.CodeOf(nil) != "" {
		t.Error("nil became a fault")
	}
}

func TestACauseIsKeptForTheLogsOnly(t *testing.T) {
	t.Parallel()
	cause := errors.New("secret detail")
	e := fault.Wrap(cause, fault.ProviderError, "Provider %s failed", "p")
	if !errors.Is(e, cause) || e.Error() != "Provider p failed" || fmt.Sprint(e) != "Provider p failed" {
		t.Errorf("Wrap made %v", e)
	}
}

func TestDetailsAreAddedToTheSameError(t *testing.T) {
	t.Parallel()
	e := fault.Missing("Agent not found")
	if e.With("limit", 3).With("field", "name") != e || e.Code != fault.NotFound || e.Details["limit"] != 3 || e.Details["field"] != "name" {
		t.Errorf("With made %+v", e)
	}
}
