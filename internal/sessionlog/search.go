package sessionlog

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

// The index of words is behind the log: a search catches it up first, so that writing a message costs nothing for it.

// Limits of the index: events that one transaction adds, transactions that one search waits for, words of a query, and bytes of a
// message that are indexed.
const (
	indexBatch   = 1000
	maxBatches   = 50
	maxWords     = 16
	maxIndexText = 64 << 10
)

// Hit is a message that a search found.
type Hit struct {
	Session string
	Seq     int64
	// Text is the whole message.
	Text string
}

// Search finds messages of an agent's sessions that hold all words of a query, newest first, at most limit of them. createdBy
// restricts it to sessions that this account has opened; empty is all. A query without words finds nothing.
func Search(ctx context.Context, s store.Store, agentID, createdBy, query string, limit int64) ([]Hit, error) {
	words := Words(query)
	if len(words) == 0 {
		return nil, nil
	}
	for range maxBatches {
		more := false
		err := s.Write(ctx, store.Background, func(tx store.Tx) (err error) {
			more, err = catchUp(tx, agentID)
			return err
		})
		if err != nil {
			return nil, err
		}
		if !more {
			break
		}
	}
	var out []Hit
	err := s.Read(ctx, func(tx store.Tx) (err error) {
		out, err = find(tx, agentID, createdBy, words, limit)
		return err
	})
	return out, err
}

// Titled lists sessions of an agent whose title holds the text, in any case, newest first. createdBy is that of Search.
func Titled(tx store.Tx, agentID, createdBy, text string, limit int64) ([]Session, error) {
	escape := strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)
	rows, err := tx.Query(`SELECT `+sessionColumns+` FROM sessions WHERE agent_id = ? AND (? = '' OR created_by = ?) AND lower(title) LIKE ? ESCAPE '\'
		ORDER BY updated_at DESC, id DESC LIMIT ?`, agentID, createdBy, createdBy, "%"+escape.Replace(strings.ToLower(text))+"%", limit)
	if err != nil {
		return nil, fmt.Errorf("search titles: %w", err)
	}
	defer rows.Close()
	var out []Session
	for rows.Next() {
		s, err := scanSession(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, rows.Err()
}

// Words are the words of a text as the index knows them, at most 16.
func Words(text string) []string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return words[:min(len(words), maxWords)]
}

// catchUp indexes what was appended since, and tells whether there is more.
func catchUp(tx store.Tx, agentID string) (more bool, err error) {
	rows, err := tx.Query(`SELECT s.id, COALESCE(i.upto, 0) FROM sessions s LEFT JOIN thread_indexed i ON i.session_id = s.id
		WHERE s.agent_id = ? AND s.last_seq > COALESCE(i.upto, 0) ORDER BY s.id`, agentID)
	if err != nil {
		return false, fmt.Errorf("find what is not indexed: %w", err)
	}
	type behind struct {
		session string
		upto    int64
	}
	var list []behind
	for rows.Next() {
		var b behind
		if err := rows.Scan(&b.session, &b.upto); err != nil {
			rows.Close()
			return false, err
		}
		list = append(list, b)
	}
	rows.Close()
	if err := rows.Err(); err != nil {
		return false, err
	}
	left := int64(indexBatch)
	for _, b := range list {
		n, err := indexSession(tx, agentID, b.session, b.upto, left)
		if err != nil {
			return false, err
		}
		if left -= n; left <= 0 {
			return true, nil
		}
	}
	return false, nil
}

func indexSession(tx store.Tx, agentID, sessionID string, upto, limit int64) (int64, error) {
	list, err := Events(tx, sessionID, upto, limit)
	if err != nil || len(list) == 0 {
		return 0, err
	}
	for _, e := range list {
		var m wire.MessageEvent
		if json.Unmarshal(e.Event, &m) != nil || m.Type != TypeMessage || m.Content == "" {
			continue
		}
		words := strings.Join(allWords(m.Content), " ")
		if words == "" {
			continue
		}
		if err := addWords(tx, agentID, sessionID, e.Seq, words); err != nil {
			return 0, fmt.Errorf("index message %d of session %s: %w", e.Seq, sessionID, err)
		}
	}
	_, err = tx.Exec(`INSERT INTO thread_indexed (session_id, upto) VALUES (?, ?)
		ON CONFLICT (session_id) DO UPDATE SET upto = excluded.upto`, sessionID, list[len(list)-1].Seq)
	return int64(len(list)), err
}

// allWords splits as Words does, so that both databases agree on what a word is.
func allWords(text string) []string {
	if len(text) > maxIndexText {
		text = strings.ToValidUTF8(text[:maxIndexText], "")
	}
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

func addWords(tx store.Tx, agentID, sessionID string, seq int64, words string) error {
	if tx.Dialect() == store.Postgres {
		_, err := tx.Exec(`INSERT INTO thread_index (session_id, agent_id, seq, words) VALUES (?, ?, ?, to_tsvector('simple', ?))`,
			sessionID, agentID, seq, words)
		return err
	}
	var id int64
	err := tx.QueryRow(`INSERT INTO thread_index (session_id, agent_id, seq) VALUES (?, ?, ?) RETURNING id`, sessionID, agentID, seq).Scan(&id)
	if err != nil {
		return err
	}
	_, err = tx.Exec(`INSERT INTO thread_words (rowid, words) VALUES (?, ?)`, id, words)
	return err
}

func find(tx store.Tx, agentID, createdBy string, words []string, limit int64) ([]Hit, error) {
	from, match := `thread_words w JOIN thread_index i ON i.id = w.rowid`, `w.words MATCH ?`
	query := `"` + strings.Join(words, `"* "`) + `"*`
	if tx.Dialect() == store.Postgres {
		from, match = `thread_index i`, `i.words @@ to_tsquery('simple', ?)`
		query = strings.Join(words, ":* & ") + ":*"
	}
	rows, err := tx.Query(`SELECT e.session_id, e.seq, e.payload FROM `+from+`
		JOIN sessions s ON s.id = i.session_id
		JOIN session_events e ON e.session_id = i.session_id AND e.seq = i.seq
		WHERE `+match+` AND i.agent_id = ? AND (? = '' OR s.created_by = ?)
		ORDER BY e.created_at DESC, e.seq DESC LIMIT ?`, query, agentID, createdBy, createdBy, limit)
	if err != nil {
		return nil, fmt.Errorf("search messages: %w", err)
	}
	defer rows.Close()
	var out []Hit
	for rows.Next() {
		var h Hit
		var payload string
		if err := rows.Scan(&h.Session, &h.Seq, &payload); err != nil {
			return nil, err
		}
		var m wire.MessageEvent
		if err := json.Unmarshal([]byte(payload), &m); err != nil {
			return nil, fmt.Errorf("session %s: event %d cannot be read: %w", h.Session, h.Seq, err)
		}
		h.Text = m.Content
		out = append(out, h)
	}
	return out, rows.Err()
}

// unindex forgets the words of a session.
func unindex(tx store.Tx, sessionID string) error {
	statements := []string{`DELETE FROM thread_index WHERE session_id = ?`, `DELETE FROM thread_indexed WHERE session_id = ?`}
	if tx.Dialect() == store.SQLite {
		statements = append([]string{`DELETE FROM thread_words WHERE rowid IN (SELECT id FROM thread_index WHERE session_id = ?)`}, statements...)
	}
	for _, s := range statements {
		if _, err := tx.Exec(s, sessionID); err != nil {
			return fmt.Errorf("forget the words of a session: %w", err)
		}
	}
	return nil
}
