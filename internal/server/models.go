package server

import (
	"context"

	"github.com/loam-agents/loam/internal/engine"
	"github.com/loam-agents/loam/internal/model/connect"
	"github.com/loam-agents/loam/internal/server/metrics"
	"github.com/loam-agents/loam/wire"
)

// models gives the engine and the operations what they need of the connector.
type models struct {
	*connect.Connector
	metrics *metrics.Metrics
}

// Resolve implements engine.Models.
func (m *models) Resolve(ctx context.Context, account string, def wire.AgentDefinition, o *wire.ModelOverride) (engine.Model, error) {
	c, err := m.Connector.Resolve(ctx, account, def, o)
	if err != nil {
		return engine.Model{}, err
	}
	return engine.Model{
		Provider: m.metrics.Model(c.Provider, c.Config.Type), Name: c.Name, Type: c.Config.Type, ID: c.ID, Reasoning: c.Reasoning,
		Window: int64(c.Model.ContextWindow), Images: c.Model.Images, Defaults: c.Config.ModelDefaults,
	}, nil
}
