package server

import (
	"context"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/loam-agents/loam/internal/engine"
	"github.com/loam-agents/loam/internal/model/connect"
	"github.com/loam-agents/loam/wire"
)

// models gives the engine and the operations what they need of the connector.
type models struct{ *connect.Connector }

// Resolve implements engine.Models.
func (m *models) Resolve(ctx context.Context, account string, def wire.AgentDefinition, o *wire.ModelOverride) (engine.Model, error) {
	c, err := m.Connector.Resolve(ctx, account, def, o)
	if err != nil {
		return engine.Model{}, err
	}
	return engine.Model{
		Provider: c.Provider, Type: c.Config.Type, ID: c.ID, Reasoning: c.Reasoning, Window: int64(c.Model.ContextWindow),
		Defaults: c.Config.ModelDefaults,
	}, nil
}

// crashPoint returns a hook that kills this process at "name" or, with "name:n", when that point is reached the n-th time. It
// is how crash tests stop a real server where it hurts; an empty setting does nothing.
func crashPoint(setting string) func(string) {
	if setting == "" {
		return func(string) {}
	}
	name, count, found := strings.Cut(setting, ":")
	at := int64(1)
	if found {
		if n, err := strconv.ParseInt(count, 10, 64); err == nil {
			at = n
		}
	}
	var seen atomic.Int64
	return func(point string) {
		if point == name && seen.Add(1) == at {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
}
