package sessionlog

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/loam-agents/loam/internal/bus"
	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

const textSessionNotFound = "Session not found"

// The sources of a title, weakest first: a title is only replaced by an equal or stronger source.
const (
	TitleSystem = "system"
	TitleAgent  = "agent"
	TitleUser   = "user"
)

// The statuses of a session that mirror its runs.
const (
	StatusIdle      = "idle"
	StatusStreaming = "streaming"
	StatusError     = "error"
)

const sessionColumns = `id, account_id, agent_id, created_by, title, title_source, description, status, parent_session_id, run_id,
	plan, model_override, thoroughness, continued_from, continued_to, last_seq, last_event_at, last_event_kind, last_message_at, last_message_from, created_at,
	updated_at, started_by_trigger, (SELECT count(*) FROM sessions c WHERE c.parent_session_id = sessions.id)`

func scanSession(row interface{ Scan(dest ...any) error }) (Session, error) {
	var s Session
	var parent, run, plan, override, from, to, trigger sql.NullString
	err := row.Scan(&s.ID, &s.Account, &s.Agent, &s.CreatedBy, &s.Title, &s.TitleSource, &s.Description, &s.Status, &parent, &run, &plan, &override, &s.Thoroughness, &from, &to,
		&s.LastSeq, &s.LastEventAt, &s.LastEventKind, &s.LastMessageAt, &s.LastMessageFrom, &s.CreatedAt, &s.UpdatedAt, &trigger, &s.Children)
	if err != nil {
		return Session{}, err
	}
	s.Parent, s.Run = parent.String, run.String
	if plan.Valid {
		if s.Plan, err = decodePlan(plan.String); err != nil {
			return Session{}, fmt.Errorf("session %s: decode plan: %w", s.ID, err)
		}
	}
	if override.Valid {
		if err := json.Unmarshal([]byte(override.String), &s.ModelOverride); err != nil {
			return Session{}, fmt.Errorf("session %s: decode model override: %w", s.ID, err)
		}
	}
	if trigger.Valid {
		if err := json.Unmarshal([]byte(trigger.String), &s.StartedByTrigger); err != nil {
			return Session{}, fmt.Errorf("session %s: decode its trigger: %w", s.ID, err)
		}
	}
	return s, errors.Join(decodeLink(from, &s.ContinuedFrom), decodeLink(to, &s.ContinuedTo))
}

// CreateParams describe a session to create.
type CreateParams struct {
	Account, Agent string
	// CreatedBy is the account that opens it. A session that is opened by another one has that of its parent.
	CreatedBy string
	// Title is provisional: an agent or a person may replace it. Placeholders are stored as no title.
	Title         string
	ModelOverride *wire.ModelOverride
	// Thoroughness is the session's own; empty leaves it to the agent.
	Thoroughness string
	// Parent is the session whose turn opens this one, and Run the run that this one is opened for.
	Parent, Run string
	// StartedByTrigger is the firing that opens it, or nil.
	StartedByTrigger *wire.SessionTrigger
}

// Create inserts a session.
func (l *Log) Create(tx store.Tx, p CreateParams) (Session, error) {
	now := clock.Millis(l.opts.Clock)
	s := Session{
		ID: l.opts.IDs(), Account: p.Account, Agent: p.Agent, CreatedBy: p.CreatedBy, Title: cleanTitle(p.Title), TitleSource: TitleSystem,
		Status: StatusIdle, ModelOverride: p.ModelOverride, Thoroughness: p.Thoroughness, Parent: p.Parent, Run: p.Run, StartedByTrigger: p.StartedByTrigger, CreatedAt: now, UpdatedAt: now,
	}
	override, err := nullJSON(p.ModelOverride)
	if err != nil {
		return Session{}, err
	}
	trigger, err := nullJSON(p.StartedByTrigger)
	if err != nil {
		return Session{}, err
	}
	_, err = tx.Exec(`INSERT INTO sessions (id, account_id, agent_id, created_by, title, model_override, thoroughness, started_by_trigger, parent_session_id, run_id, created_at, updated_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, s.ID, s.Account, s.Agent, s.CreatedBy, s.Title, override, s.Thoroughness, trigger, nullText(s.Parent), nullText(s.Run), now, now)
	if err != nil {
		return Session{}, fmt.Errorf("create session: %w", err)
	}
	l.changed(tx, &s, ReasonCreated)
	return s, nil
}

// Get reads a session. It fails with not_found "Session not found".
func Get(tx store.Tx, sessionID string) (Session, error) {
	s, err := scanSession(tx.QueryRow(`SELECT `+sessionColumns+` FROM sessions WHERE id = ?`, sessionID))
	if errors.Is(err, sql.ErrNoRows) {
		return Session{}, fault.Missing(textSessionNotFound)
	}
	return s, err
}

// LastSeqs are the seqs of the newest events of sessions by their ids, zero where there is none. Sessions that do not exist are
// left out. It takes at most a few hundred ids.
func LastSeqs(tx store.Tx, ids []string) (map[string]int64, error) {
	args := make([]any, len(ids))
	for i, id := range ids {
		args[i] = id
	}
	rows, err := tx.Query(`SELECT id, last_seq FROM sessions WHERE id IN (`+strings.TrimSuffix(strings.Repeat("?, ", len(ids)), ", ")+`)`, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := make(map[string]int64, len(ids))
	for rows.Next() {
		var id string
		var last int64
		if err := rows.Scan(&id, &last); err != nil {
			return nil, err
		}
		out[id] = last
	}
	return out, rows.Err()
}

// Triggered is a condition in SQL: a trigger started the session of the row.
const Triggered = `(sessions.started_by_trigger IS NOT NULL)`

// Query selects a page of sessions, newest update first.
type Query struct {
	// The first of Parent, Agent and Account that is not empty selects; Agents are further agents beside those of Account.
	Parent, Agent, Account string
	Agents                 []string
	// CreatedBy, when not empty, leaves out what others opened.
	CreatedBy string
	// TopLevel leaves out sessions that have a parent.
	TopLevel bool
	// Without is a condition on sessions.id in SQL; sessions that meet it are left out. Empty leaves none out.
	Without string
	// After is the last row of the page before.
	After *wire.SessionListCursor
	// Limit is at most 200.
	Limit int64
}

// List returns a page of sessions and whether there are more.
func List(tx store.Tx, q Query) (page []Session, more bool, err error) {
	where, args := []string{}, []any{}
	add := func(condition string, values ...any) {
		where, args = append(where, condition), append(args, values...)
	}
	switch {
	case q.Parent != "":
		add("parent_session_id = ?", q.Parent)
	case q.Agent != "":
		add("agent_id = ?", q.Agent)
	case len(q.Agents) > 0:
		add("(account_id = ? OR agent_id IN (?"+strings.Repeat(", ?", len(q.Agents)-1)+"))", append([]any{q.Account}, texts(q.Agents)...)...)
	default:
		add("account_id = ?", q.Account)
	}
	if q.CreatedBy != "" {
		add("created_by = ?", q.CreatedBy)
	}
	if q.TopLevel && q.Parent == "" {
		add("parent_session_id IS NULL")
	}
	if q.Without != "" {
		add("NOT " + q.Without)
	}
	if q.After != nil {
		add("(updated_at < ? OR (updated_at = ? AND id < ?))", q.After.UpdatedBefore, q.After.UpdatedBefore, q.After.IDBefore)
	}
	rows, err := tx.Query(`SELECT `+sessionColumns+` FROM sessions WHERE `+strings.Join(where, " AND ")+
		` ORDER BY updated_at DESC, id DESC LIMIT ?`, append(args, q.Limit+1)...)
	if err != nil {
		return nil, false, err
	}
	defer rows.Close()
	page = []Session{}
	for rows.Next() {
		s, err := scanSession(rows)
		if err != nil {
			return nil, false, err
		}
		page = append(page, s)
	}
	if int64(len(page)) > q.Limit {
		page, more = page[:q.Limit], true
	}
	return page, more, rows.Err()
}

func texts(list []string) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}

// CountTopLevel is the number of an agent's sessions that have no parent; of those that one account opened, when createdBy is not
// empty.
func CountTopLevel(tx store.Tx, agentID, createdBy string) (n int64, err error) {
	query, args := `SELECT count(*) FROM sessions WHERE agent_id = ? AND parent_session_id IS NULL`, []any{agentID}
	if createdBy != "" {
		query, args = query+` AND created_by = ?`, append(args, createdBy)
	}
	err = tx.QueryRow(query, args...).Scan(&n)
	return n, err
}

// Activity is the rollup of an agent's sessions; nil when nothing ever happened. Busy is left to the caller.
func Activity(tx store.Tx, agentID string) (*wire.AgentActivity, error) {
	var a wire.AgentActivity
	err := tx.QueryRow(`SELECT last_event_at, last_event_kind FROM sessions WHERE agent_id = ? AND last_event_at > 0
		ORDER BY last_event_at DESC, id DESC LIMIT 1`, agentID).Scan(&a.At, &a.Kind)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	err = tx.QueryRow(`SELECT last_message_at, last_message_from, id FROM sessions WHERE agent_id = ? AND last_message_at > 0
		ORDER BY last_message_at DESC, id DESC LIMIT 1`, agentID).Scan(&a.MessageAt, &a.MessageFrom, &a.SessionID)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, err
	}
	return &a, nil
}

// SetTitle names a session unless a stronger source named it before. It tells whether the title was taken.
func (l *Log) SetTitle(tx store.Tx, sessionID, title, source string) (bool, error) {
	s, err := Get(tx, sessionID)
	if err != nil {
		return false, err
	}
	if titleRank(source) < titleRank(s.TitleSource) {
		return false, nil
	}
	return true, l.update(tx, s.ID, `title = ?, title_source = ?`, "", cleanTitle(title), source)
}

func titleRank(source string) int {
	switch source {
	case TitleUser:
		return 2
	case TitleAgent:
		return 1
	}
	return 0
}

// SetDescription replaces a session's live description.
func (l *Log) SetDescription(tx store.Tx, sessionID, description string) error {
	return l.update(tx, sessionID, `description = ?`, "", description)
}

// SetModelOverride replaces or, with nil, clears a session's model.
func (l *Log) SetModelOverride(tx store.Tx, sessionID string, o *wire.ModelOverride) error {
	text, err := nullJSON(o)
	if err != nil {
		return err
	}
	return l.update(tx, sessionID, `model_override = ?`, "", text)
}

// SetThoroughness replaces or, with an empty one, clears a session's thoroughness.
func (l *Log) SetThoroughness(tx store.Tx, sessionID, thoroughness string) error {
	return l.update(tx, sessionID, `thoroughness = ?`, "", thoroughness)
}

// SetPlan replaces or, with nil, clears a session's plan.
func (l *Log) SetPlan(tx store.Tx, sessionID string, plan *wire.RunPlan) error {
	text, err := nullJSON(plan)
	if err != nil {
		return err
	}
	return l.update(tx, sessionID, `plan = ?`, "", text)
}

// SetStatus mirrors the state of a session's runs. A status that already stands changes and announces nothing.
func (l *Log) SetStatus(tx store.Tx, sessionID, status string) error {
	// Every turn comes here twice, so the transition is decided, made and read in one statement.
	err := l.update(tx, sessionID, `status = ?`, `AND status <> ?`, status, status)
	if fault.CodeOf(err) != fault.NotFound {
		return err
	}
	_, err = Get(tx, sessionID)
	return err
}

// update changes a session, if it meets the further condition, and announces it. args are those of set and condition.
func (l *Log) update(tx store.Tx, sessionID, set, condition string, args ...any) error {
	n := strings.Count(set, "?")
	values := append(args[:n:n], clock.Millis(l.opts.Clock), sessionID)
	values = append(values, args[n:]...)
	fresh, err := scanSession(tx.QueryRow(`UPDATE sessions SET `+set+`, updated_at = ? WHERE id = ? `+condition+
		` RETURNING `+sessionColumns, values...))
	if errors.Is(err, sql.ErrNoRows) {
		return fault.Missing(textSessionNotFound)
	}
	if err != nil {
		return fmt.Errorf("update session: %w", err)
	}
	l.changed(tx, &fresh, ReasonUpdated)
	return nil
}

// Delete removes a session, its events and the rows of its attachments, and makes its children top-level.
func (l *Log) Delete(tx store.Tx, sessionID string) error {
	s, err := Get(tx, sessionID)
	if err != nil {
		return err
	}
	if err := unindex(tx, sessionID); err != nil {
		return err
	}
	for _, stmt := range []string{
		`DELETE FROM session_events WHERE session_id = ?`,
		`DELETE FROM session_attachments WHERE session_id = ?`,
		`UPDATE sessions SET continued_from = NULL WHERE id IN (SELECT successor_id FROM session_continuations WHERE predecessor_id = ?)`,
		`UPDATE sessions SET continued_to = NULL WHERE id IN (SELECT predecessor_id FROM session_continuations WHERE successor_id = ?)`,
		`DELETE FROM session_continuations WHERE successor_id = ?`,
		`DELETE FROM session_continuations WHERE predecessor_id = ?`,
		`DELETE FROM person_actions WHERE session_id = ?`,
		`UPDATE sessions SET parent_session_id = NULL WHERE parent_session_id = ?`,
		`DELETE FROM sessions WHERE id = ?`,
	} {
		if _, err := tx.Exec(stmt, sessionID); err != nil {
			return fmt.Errorf("delete session: %w", err)
		}
	}
	l.changed(tx, &s, ReasonDeleted)
	return nil
}

// DeleteAgent removes every session of an agent.
func (l *Log) DeleteAgent(tx store.Tx, agentID string) error {
	rows, err := tx.Query(`SELECT id FROM sessions WHERE agent_id = ?`, agentID)
	if err != nil {
		return err
	}
	var ids []string
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			rows.Close()
			return err
		}
		ids = append(ids, s)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return err
	}
	for _, s := range ids {
		if err := l.Delete(tx, s); err != nil {
			return err
		}
	}
	return nil
}

// changed announces a session's snapshot, or to those who watch it that it is gone.
func (l *Log) changed(tx store.Tx, s *Session, reason string) {
	info := s.Info()
	change := Change{Session: s.ID, Agent: s.Agent, Account: s.Account, Reason: reason}
	tx.AfterCommit(func() {
		topic := wire.KeySession + change.Session
		if reason == ReasonDeleted {
			l.opts.Bus.Publish(bus.Gone(topic))
		} else {
			l.opts.Bus.Publish(bus.New(topic, wire.Frame{Kind: wire.FrameChange, Value: info}))
		}
		l.opts.Changed(change)
	})
}

// cleanTitle turns a client's placeholder into no title.
func cleanTitle(title string) string {
	title = strings.TrimSpace(title)
	switch strings.ToLower(title) {
	case "untitled session", "untitled sub-session", "new chat":
		return ""
	}
	return title
}

func nullText(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func nullJSON[T any](v *T) (any, error) {
	if v == nil {
		return nil, nil
	}
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode session: %w", err)
	}
	return string(b), nil
}
