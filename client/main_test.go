package client_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/loam-agents/loam/internal/store/storetest"
)

// TestMain fails the package when a subscription or its pings outlive their test.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m, storetest.Leaks()) }
