package sessionlog

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

// Continuation says that one session goes on with the work of another (spec §7.8).
type Continuation struct {
	ID string
	// Predecessor is the session that ended its turn with the call ToolCall in the run Run, and Successor the one that goes on.
	Predecessor, Successor string
	ToolCall, Run          string
	// InitiatingEvent is the person's message in the predecessor that the successor answers.
	InitiatingEvent string
	Reason          string
	// Manifest is what went over, as JSON.
	Manifest  json.RawMessage
	CreatedAt int64
}

const continuationColumns = `id, predecessor_id, successor_id, tool_call_id, run_id, initiating_event_id, reason, manifest, created_at`

func scanContinuation(row interface{ Scan(dest ...any) error }) (c Continuation, err error) {
	var manifest string
	err = row.Scan(&c.ID, &c.Predecessor, &c.Successor, &c.ToolCall, &c.Run, &c.InitiatingEvent, &c.Reason, &manifest, &c.CreatedAt)
	c.Manifest = json.RawMessage(manifest)
	return c, err
}

// Continue records that a session continues another. ID and CreatedAt are set here.
func (l *Log) Continue(tx store.Tx, c Continuation) (Continuation, error) {
	c.ID, c.CreatedAt = l.opts.IDs(), clock.Millis(l.opts.Clock)
	_, err := tx.Exec(`INSERT INTO session_continuations (`+continuationColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		c.ID, c.Predecessor, c.Successor, c.ToolCall, c.Run, c.InitiatingEvent, c.Reason, string(c.Manifest), c.CreatedAt)
	if err != nil {
		return c, fmt.Errorf("record a continuation: %w", err)
	}
	from, err := Get(tx, c.Predecessor)
	if err != nil {
		return c, err
	}
	to, err := Get(tx, c.Successor)
	if err != nil {
		return c, err
	}
	if to.ContinuedFrom, err = link(tx, "continued_from", to.ID, &from, c); err != nil {
		return c, err
	}
	if from.ContinuedTo, err = link(tx, "continued_to", from.ID, &to, c); err != nil {
		return c, err
	}
	l.changed(tx, &to, ReasonUpdated)
	l.changed(tx, &from, ReasonContinued)
	return c, nil
}

// link writes one side of a continuation into a session: a column, and the session that it names.
func link(tx store.Tx, column, session string, other *Session, c Continuation) (*wire.SessionContinuationLink, error) {
	out := &wire.SessionContinuationLink{ContinuationID: c.ID, SessionID: other.ID, Title: other.Title, Reason: c.Reason, CreatedAt: c.CreatedAt}
	text, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("encode a link: %w", err)
	}
	if _, err := tx.Exec(`UPDATE sessions SET `+column+` = ? WHERE id = ?`, string(text), session); err != nil {
		return nil, fmt.Errorf("link a continuation: %w", err)
	}
	return out, nil
}

func decodeLink(text sql.NullString, into **wire.SessionContinuationLink) error {
	if !text.Valid {
		return nil
	}
	if err := json.Unmarshal([]byte(text.String), into); err != nil {
		return fmt.Errorf("decode a continuation: %w", err)
	}
	return nil
}

// ContinuedBy is the continuation that a call made, and false when it made none.
func ContinuedBy(tx store.Tx, predecessor, toolCall string) (c Continuation, found bool, err error) {
	c, err = scanContinuation(tx.QueryRow(`SELECT `+continuationColumns+` FROM session_continuations WHERE predecessor_id = ? AND tool_call_id = ?`,
		predecessor, toolCall))
	if errors.Is(err, sql.ErrNoRows) {
		return Continuation{}, false, nil
	}
	return c, err == nil, err
}

// Lineage is the session that one continues, empty when it continues none, and those that continue it, oldest first.
func Lineage(tx store.Tx, sessionID string) (from string, to []string, err error) {
	rows, err := tx.Query(`SELECT predecessor_id, successor_id FROM session_continuations WHERE predecessor_id = ? OR successor_id = ? ORDER BY created_at, id`,
		sessionID, sessionID)
	if err != nil {
		return "", nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var predecessor, successor string
		if err := rows.Scan(&predecessor, &successor); err != nil {
			return "", nil, err
		}
		if successor == sessionID {
			from = predecessor
		} else {
			to = append(to, successor)
		}
	}
	return from, to, rows.Err()
}

// CopyAttachments lets a session have files of another one. Their bytes are kept once.
func (l *Log) CopyAttachments(tx store.Tx, from, to string, files []wire.AttachmentRef) error {
	for _, f := range files {
		a, err := GetAttachment(tx, from, f.ID)
		if err != nil {
			return err
		}
		if _, err := l.Attach(tx, to, Attachment{Hash: a.ID, Size: a.Size, Name: a.Name, MIMEType: a.MimeType}); err != nil {
			return err
		}
	}
	return nil
}
