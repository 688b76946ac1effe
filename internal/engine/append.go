package engine

import (
	"github.com/loam-agents/loam/internal/model"
	"github.com/loam-agents/loam/internal/sessionlog"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

func (t *turn) entry(payload any) sessionlog.Entry {
	return sessionlog.Entry{Payload: payload, Run: t.run.ID}
}

// append writes events under the lease and, once they are durable, adds them to what this turn replays, as a later turn will
// read them. whole is the message that the first of them begins, if events do not give it back.
func (t *turn) append(tx store.Tx, fence sessionlog.Fence, whole *model.Message, entries ...sessionlog.Entry) ([]wire.SessionEvent, error) {
	if len(entries) > 0 {
		opaque, err := (&hidden{Before: t.before, Whole: whole}).encode()
		if err != nil {
			return nil, err
		}
		entries[0].Opaque = opaque
	}
	events, err := t.engine.opts.Log.Append(tx, t.run.Session, fence, entries...)
	if err != nil || len(events) == 0 {
		return nil, err
	}
	stored := make([]sessionlog.Stored, len(events))
	for i, ev := range events {
		stored[i] = sessionlog.Stored{
			SessionEvent: ev, Type: typeOf(entries[i].Payload), Actor: sessionlog.ActorAgent, Opaque: entries[i].Opaque, Run: t.run.ID,
		}
	}
	fresh, err := read(stored)
	if err != nil {
		return nil, err
	}
	tx.AfterCommit(func() {
		t.before = nil
		for i := range fresh {
			if t.says(&fresh[i]) {
				t.said = fresh[i].id
			}
		}
		t.log.add(fresh...)
	})
	return events, nil
}

func typeOf(payload any) string {
	switch payload.(type) {
	case wire.ToolCallEvent:
		return sessionlog.TypeToolCall
	case wire.ToolResultEvent:
		return sessionlog.TypeToolResult
	case wire.ToolSpawnEvent:
		return sessionlog.TypeToolSpawn
	}
	return sessionlog.TypeMessage
}

// says tells whether an entry is an answer of this run.
func (t *turn) says(e *entry) bool {
	return e.run == t.run.ID && e.kind == sessionlog.TypeMessage && e.message.Role == "assistant"
}
