package sqlite_test

import (
	"testing"

	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/store/storetest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t testing.TB) store.Store { return storetest.SQLite(t) })
}
