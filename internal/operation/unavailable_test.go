package operation_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/loam-agents/loam/internal/account"
	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/operation"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/store/storetest"
)

// failing is a store whose writes fail.
type failing struct {
	store.Store
	err error
}

func (f failing) Write(context.Context, store.Priority, func(store.Tx) error) error { return f.err }

func TestAStorageThatIsFullOrAwayIsSaidToBe(t *testing.T) {
	t.Parallel()
	real := storetest.SQLite(t)
	for cause, want := range map[error]struct {
		status int
		text   string
	}{
		store.ErrFull:        {http.StatusInsufficientStorage, "disk is full"},
		store.ErrUnreachable: {http.StatusServiceUnavailable, "cannot reach its database"},
		store.ErrClosed:      {http.StatusServiceUnavailable, "is stopping"},
	} {
		s := operation.New(operation.Options{
			Store: failing{real, fmt.Errorf("commit: %w", cause)}, Policy: account.Policy{Open: true}, Clock: clock.System{},
		})
		_, _, err := s.Do(t.Context(), operation.Caller{Account: "z"}, "DeleteSession", map[string]any{"sessionId": "s"})
		f, ok := errors.AsType[*fault.Error](err)
		if !ok || f.Code != fault.Unavailable || f.Status() != want.status || !strings.Contains(f.Message, want.text) || !errors.Is(err, cause) {
			t.Errorf("%v became %v", cause, err)
		}
	}
	other := errors.New("something else")
	s := operation.New(operation.Options{Store: failing{real, other}, Policy: account.Policy{Open: true}, Clock: clock.System{}})
	_, _, err := s.Do(t.Context(), operation.Caller{Account: "z"}, "DeleteSession", map[string]any{"sessionId": "s"})
	if !errors.Is(err, other) || fault.CodeOf(err) != fault.Internal {
		t.Errorf("another failure became %v", err)
	}
}
