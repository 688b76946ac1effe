package operation

import (
	"context"

	"github.com/loam-agents/loam/internal/bounded"
	"github.com/loam-agents/loam/internal/logctx"
)

// LogContext returns a context whose log lines name the request, the account, and what the fields of the request are about.
// Transports call it as soon as they know the caller; Do does too.
func LogContext(ctx context.Context, caller Caller, fields map[string]any) context.Context {
	ctx = logctx.With(ctx, logctx.Request, caller.RequestID)
	ctx = logctx.With(ctx, logctx.Account, caller.Account)
	for field, name := range map[string]string{"sessionId": logctx.Session, "runId": logctx.Run, "agentId": logctx.Agent} {
		// What is no name is refused later, and not worth a line's length.
		if text, ok := fields[field].(string); ok {
			if text, err := bounded.Name(text, field); err == nil {
				ctx = logctx.With(ctx, name, text)
			}
		}
	}
	return ctx
}
