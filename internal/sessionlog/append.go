package sessionlog

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/loam-agents/loam/internal/bus"
	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

// facts of an entry that the row and the session's activity need.
type facts struct {
	kind    string
	actor   Actor
	message bool
}

func describe(payload any) (facts, error) {
	switch p := payload.(type) {
	case wire.MessageEvent:
		actor := Actor(p.Actor)
		if actor == "" {
			actor = ActorAgent
			if p.Role == "user" {
				actor = ActorUser
			}
		}
		return facts{TypeMessage, actor, actor == ActorUser || actor == ActorAgent}, nil
	case wire.ToolCallEvent:
		return facts{TypeToolCall, orAgent(p.Actor), false}, nil
	case wire.ToolResultEvent:
		return facts{TypeToolResult, orAgent(p.Actor), false}, nil
	case wire.ToolSpawnEvent:
		return facts{TypeToolSpawn, orAgent(p.Actor), false}, nil
	case wire.ErrorEvent:
		return facts{TypeError, ActorSystem, false}, nil
	}
	return facts{}, fmt.Errorf("session log: no such event payload: %T", payload)
}

func orAgent(actor string) Actor {
	if actor == "" {
		return ActorAgent
	}
	return Actor(actor)
}

// activityKind is the kind of a session's latest event in an activity rollup: user, agent or tool.
func (f facts) activityKind() string {
	switch {
	case f.kind == TypeToolCall || f.kind == TypeToolResult || f.kind == TypeToolSpawn:
		return "tool"
	case f.actor == ActorUser:
		return "user"
	}
	return "agent"
}

// Append adds events to a session and returns them with their ids and seqs. The fence is checked first, in the same
// transaction. After the commit every event is published on sessions/<id>, those of one call in order. (Two processes, or two
// transactions on PostgreSQL, announce in the order in which they wake up after their commits: a subscriber that sees a gap
// reads the log.) It fails with not_found when the session does not exist, and with whatever the fence says.
func (l *Log) Append(tx store.Tx, sessionID string, fence Fence, entries ...Entry) ([]wire.SessionEvent, error) {
	if fence != nil {
		if err := fence.Check(tx); err != nil {
			return nil, err
		}
	}
	if len(entries) == 0 {
		return nil, nil
	}
	described := make([]facts, len(entries))
	messageFrom := ""
	for i, e := range entries {
		var err error
		if described[i], err = describe(e.Payload); err != nil {
			return nil, err
		}
		if described[i].message {
			messageFrom = string(described[i].actor)
		}
	}
	now := clock.Millis(l.opts.Clock)
	last := described[len(described)-1]
	var change Change
	var lastSeq int64
	err := tx.QueryRow(`UPDATE sessions SET last_seq = last_seq + ?, last_event_at = ?, last_event_kind = ?,
		last_message_at = CASE WHEN ? = '' THEN last_message_at ELSE CAST(? AS BIGINT) END,
		last_message_from = CASE WHEN ? = '' THEN last_message_from ELSE CAST(? AS TEXT) END, updated_at = ?
		WHERE id = ? RETURNING last_seq, agent_id, account_id`,
		len(entries), now, last.activityKind(), messageFrom, now, messageFrom, messageFrom, now, sessionID).
		Scan(&lastSeq, &change.Agent, &change.Account)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fault.Missing(textSessionNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("append to session: %w", err)
	}
	out := make([]wire.SessionEvent, len(entries))
	for i, e := range entries {
		seq := lastSeq - int64(len(entries)-1-i)
		if out[i], err = l.insert(tx, sessionID, seq, now, described[i], e); err != nil {
			return nil, err
		}
	}
	change.Session, change.Reason = sessionID, ReasonEvent
	tx.AfterCommit(func() { l.announce(change, out) })
	return out, nil
}

func (l *Log) insert(tx store.Tx, sessionID string, seq, now int64, f facts, e Entry) (wire.SessionEvent, error) {
	payload, err := json.Marshal(e.Payload)
	if err != nil {
		return wire.SessionEvent{}, fmt.Errorf("encode event: %w", err)
	}
	ev := wire.SessionEvent{ID: l.opts.IDs(), SessionID: sessionID, Seq: seq, Event: payload, CreatedAt: now}
	actor := f.actor
	if e.Actor != "" {
		actor = e.Actor
	}
	var opaque, run any
	if len(e.Opaque) > 0 {
		opaque = string(e.Opaque)
	}
	if e.Run != "" {
		run = e.Run
	}
	_, err = tx.Exec(`INSERT INTO session_events (session_id, seq, id, type, actor, version, payload, opaque, run_id, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, sessionID, seq, ev.ID, f.kind, string(actor), payloadVersion, string(payload), opaque, run, now)
	if err != nil {
		return wire.SessionEvent{}, fmt.Errorf("append event: %w", err)
	}
	return ev, nil
}

func (l *Log) announce(change Change, events []wire.SessionEvent) {
	for i := range events {
		l.opts.Bus.Publish(bus.New(wire.KeySession+change.Session, wire.Frame{Kind: wire.FrameAppend, Event: &events[i]}))
	}
	l.opts.Changed(change)
}

// Events returns up to limit events with seq > after, in order. A limit of zero means all.
func Events(tx store.Tx, sessionID string, after, limit int64) ([]wire.SessionEvent, error) {
	if limit <= 0 {
		limit = 1 << 40
	}
	return events(tx, sessionID, `SELECT id, seq, version, payload, created_at FROM session_events
		WHERE session_id = ? AND seq > ? ORDER BY seq LIMIT ?`, sessionID, after, limit)
}

// EventAt returns one event. It fails with not_found when the log has no such seq.
func EventAt(tx store.Tx, sessionID string, seq int64) (wire.SessionEvent, error) {
	found, err := events(tx, sessionID, `SELECT id, seq, version, payload, created_at FROM session_events
		WHERE session_id = ? AND seq = ?`, sessionID, seq)
	if err == nil && len(found) == 0 {
		return wire.SessionEvent{}, fault.Missing("Session event not found")
	}
	if err != nil {
		return wire.SessionEvent{}, err
	}
	return found[0], nil
}

// EventsBefore returns the newest events with seq < before, in order, at most limit of them.
func EventsBefore(tx store.Tx, sessionID string, before, limit int64) ([]wire.SessionEvent, error) {
	return events(tx, sessionID, `SELECT id, seq, version, payload, created_at FROM (
		SELECT id, seq, version, payload, created_at FROM session_events
		WHERE session_id = ? AND seq < ? ORDER BY seq DESC LIMIT ?) newest ORDER BY seq`, sessionID, before, limit)
}

func events(tx store.Tx, sessionID, query string, args ...any) ([]wire.SessionEvent, error) {
	rows, err := tx.Query(query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := []wire.SessionEvent{}
	for rows.Next() {
		e := wire.SessionEvent{SessionID: sessionID}
		var version int64
		if err := rows.Scan(&e.ID, &e.Seq, &version, (*[]byte)(&e.Event), &e.CreatedAt); err != nil {
			return nil, err
		}
		if e.Event, err = upcast(e.Event, version); err != nil {
			return nil, fmt.Errorf("session %s: event %d: %w", sessionID, e.Seq, err)
		}
		out = append(out, e)
	}
	return out, rows.Err()
}

// Replay returns a session's log behind a seq, with the opaque provider state, for the engine.
func Replay(tx store.Tx, sessionID string, after int64) ([]Stored, error) {
	rows, err := tx.Query(`SELECT id, session_id, seq, version, payload, created_at, type, actor, opaque, run_id FROM session_events
		WHERE session_id = ? AND seq > ? ORDER BY seq`, sessionID, after)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []Stored
	for rows.Next() {
		var e Stored
		var version int64
		var opaque, run sql.NullString
		if err := rows.Scan(&e.ID, &e.SessionID, &e.Seq, &version, (*[]byte)(&e.Event), &e.CreatedAt, &e.Type, &e.Actor, &opaque, &run); err != nil {
			return nil, err
		}
		if e.Event, err = upcast(e.Event, version); err != nil {
			return nil, fmt.Errorf("session %s: event %d: %w", e.SessionID, e.Seq, err)
		}
		e.Run = run.String
		if opaque.Valid {
			e.Opaque = json.RawMessage(opaque.String)
		}
		out = append(out, e)
	}
	return out, rows.Err()
}

// MessageText is what a message of a session says; empty when there is no such message. Messages near the end of the log are
// found first.
func MessageText(tx store.Tx, sessionID, eventID string) (string, error) {
	var payload string
	err := tx.QueryRow(`SELECT payload FROM session_events WHERE session_id = ? AND id = ? ORDER BY seq DESC LIMIT 1`,
		sessionID, eventID).Scan(&payload)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read message: %w", err)
	}
	var message wire.MessageEvent
	if err := json.Unmarshal([]byte(payload), &message); err != nil {
		return "", fmt.Errorf("session %s: decode message: %w", sessionID, err)
	}
	return message.Content, nil
}

// CallsOf are the calls that a run has made in a session, in the order of the log.
func CallsOf(tx store.Tx, sessionID, runID string) ([]wire.ToolCallEvent, error) {
	rows, err := tx.Query(`SELECT payload FROM session_events WHERE session_id = ? AND run_id = ? AND type = ? ORDER BY seq`,
		sessionID, runID, TypeToolCall)
	if err != nil {
		return nil, fmt.Errorf("read calls: %w", err)
	}
	defer rows.Close()
	var out []wire.ToolCallEvent
	for rows.Next() {
		var payload string
		var call wire.ToolCallEvent
		if err := rows.Scan(&payload); err != nil {
			return nil, fmt.Errorf("read calls: %w", err)
		}
		if err := json.Unmarshal([]byte(payload), &call); err != nil {
			return nil, fmt.Errorf("session %s: decode call: %w", sessionID, err)
		}
		out = append(out, call)
	}
	return out, rows.Err()
}
