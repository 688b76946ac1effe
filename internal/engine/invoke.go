package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/sessionlog"
	"github.com/loam-agents/loam/internal/space"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/verbs"
	"github.com/loam-agents/loam/wire"
)

// Invocation is a verb that a person uses in a session, with the executors of a turn (seeds/000 "The user holds the same verbs").
type Invocation struct {
	engine *Engine
	scope  space.Scope
	call   wire.ToolCallEvent
	result verbs.Result
	err    error
	took   int64
}

// Invoke carries out a verb as a person, as far as that goes without a transaction. call is the event that stands in the log already.
func (e *Engine) Invoke(ctx context.Context, scope space.Scope, call wire.ToolCallEvent) *Invocation {
	i := &Invocation{engine: e, scope: scope, call: call}
	begun := clock.Millis(e.opts.Clock)
	i.result, i.err = e.opts.Verbs.Prepare(ctx, scope, call.Name, string(call.Input)).Run(ctx)
	i.took = max(clock.Millis(e.opts.Clock)-begun, 0)
	return i
}

// Record makes the effect and appends its result. A failed execution is a result like any other. When the effect itself fails, the
// transaction has to be given up and Record called once more in another one; Again tells so.
func (i *Invocation) Record(tx store.Tx) (wire.SessionEvent, wire.ToolResultEvent, error) {
	event := wire.ToolResultEvent{
		Type: sessionlog.TypeToolResult, ToolCallID: i.call.ID, Name: i.call.Name, Actor: string(sessionlog.ActorUser), Meta: i.call.Meta,
	}
	if i.took > 0 {
		meta := *i.call.Meta
		meta.DurationMs = i.took
		event.Meta = &meta
	}
	value, err := i.result.Value, i.err
	if err == nil && i.result.Change != nil {
		if value, err = i.result.Change.Apply(tx); err != nil {
			return wire.SessionEvent{}, event, &failedInvocation{err}
		}
	}
	if err != nil {
		event.Error = i.explain(err)
	} else {
		output, err := json.Marshal(value)
		if err != nil {
			return wire.SessionEvent{}, event, fmt.Errorf("encode result of %s: %w", i.call.Name, err)
		}
		event.Output = kept(output)
	}
	events, err := i.engine.opts.Log.Append(tx, i.scope.Session, nil, sessionlog.Entry{Payload: event})
	if err != nil {
		return wire.SessionEvent{}, event, err
	}
	return events[0], event, nil
}

func (i *Invocation) explain(err error) string {
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Code != fault.Internal {
		return cutUTF8(f.Message, MaxResultShown)
	}
	i.engine.opts.Logger.Error("a person's call failed", "tool", i.call.Name, "session", i.scope.Session, "account", i.scope.Account, "agent", i.scope.Agent, "error", err)
	return "The server failed while it carried out this call."
}

// failedInvocation says that an effect could not be made.
type failedInvocation struct{ err error }

// Error implements error.
func (f *failedInvocation) Error() string { return f.err.Error() }

// Unwrap lets the store see that the change only lost against another transaction.
func (f *failedInvocation) Unwrap() error { return f.err }

// Again tells whether err is that of an effect that failed; its failure is what Record records next.
func (i *Invocation) Again(err error) bool {
	f, ok := errors.AsType[*failedInvocation](err)
	if ok {
		i.result.Change, i.err = nil, f.err
	}
	return ok
}
