package server

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/loam-agents/loam/internal/engine"
	"github.com/loam-agents/loam/internal/operation"
	"github.com/loam-agents/loam/internal/runs"
	"github.com/loam-agents/loam/internal/script"
	"github.com/loam-agents/loam/internal/trigger"
)

// openTriggers makes what starts agents by itself. Nothing fires before Serve.
func (s *Server) openTriggers(point func(string)) {
	cfg := &s.cfg
	s.triggers = trigger.New(trigger.Options{
		Store: s.store, Log: s.log, Vault: s.vault, Clock: cfg.Clock, IDs: cfg.IDs, Logger: cfg.Logger, Point: point,
		Runs: func() *runs.Queue { return s.queue }, Opened: s.quota.SessionOpened, Changed: s.notify.AgentChanged,
		Turn: func(first, last int64) (json.RawMessage, error) {
			return encodeInput(engine.Input{Kind: "message", FirstSeq: first, LastSeq: last})
		},
		Compile: func(ctx context.Context, source string) (json.RawMessage, error) {
			program, err := operation.Compile(ctx, s.scripts, source)
			if err != nil {
				return nil, err
			}
			return encodeInput(program)
		},
		Workflow: func(raw, input json.RawMessage) (json.RawMessage, error) {
			var program script.Program
			if err := json.Unmarshal(raw, &program); err != nil {
				return nil, fmt.Errorf("read the program of a trigger: %w", err)
			}
			return encodeInput(script.Start{Program: &program, Input: input})
		},
	})
}

func encodeInput(v any) (json.RawMessage, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode the input of a run: %w", err)
	}
	return raw, nil
}

// sender executes the runs that send webhooks.
func (s *Server) sender() *trigger.Sender {
	return &trigger.Sender{Client: s.egress.Agent(), Vault: s.vault, Clock: s.cfg.Clock}
}

// webhookURL is where deliveries to a webhook are sent.
func (s *Server) webhookURL(id, secret string) string {
	return s.origin.Origin() + "/agents/api/webhooks/" + id + "/" + secret
}
