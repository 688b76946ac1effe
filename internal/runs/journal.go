package runs

import (
	"encoding/json"
	"fmt"

	"github.com/loam-agents/loam/internal/store"
)

// JournalEntry is one entry of a run's journal.
type JournalEntry struct {
	Seq       int64
	Entry     json.RawMessage
	CreatedAt int64
}

// AppendJournal appends entries to a run's journal, in order, and returns how many it has now. Whoever writes for a run checks
// its lease; the end of a child and a signal are appended by others.
func (q *Queue) AppendJournal(tx store.Tx, runID string, entries ...json.RawMessage) (total int64, err error) {
	var root string
	err = tx.QueryRow(`UPDATE runs SET journal_seq = journal_seq + ? WHERE id = ? RETURNING journal_seq, root_run_id`, len(entries), runID).Scan(&total, &root)
	if err != nil {
		return 0, fmt.Errorf("append to journal: %w", err)
	}
	seq := total - int64(len(entries))
	now := tx.Now()
	appended := make([]JournalEntry, len(entries))
	for i, e := range entries {
		seq++
		if _, err := tx.Exec(`INSERT INTO run_journal (run_id, seq, entry, created_at) VALUES (?, ?, ?, ?)`, runID, seq, string(e), now); err != nil {
			return 0, fmt.Errorf("append to journal: %w", err)
		}
		appended[i] = JournalEntry{Seq: seq, Entry: e, CreatedAt: now}
	}
	if q.opts.Hooks.Journaled != nil && len(appended) > 0 {
		q.opts.Hooks.Journaled(tx, root, runID, appended)
	}
	return total, nil
}

// Journal reads the entries of a run behind a seq, at most limit.
func Journal(tx store.Tx, runID string, after, limit int64) ([]JournalEntry, error) {
	rows, err := tx.Query(`SELECT seq, entry, created_at FROM run_journal WHERE run_id = ? AND seq > ? ORDER BY seq LIMIT ?`, runID, after, limit)
	if err != nil {
		return nil, fmt.Errorf("read journal: %w", err)
	}
	defer rows.Close()
	out := []JournalEntry{}
	for rows.Next() {
		var e JournalEntry
		var text string
		if err := rows.Scan(&e.Seq, &text, &e.CreatedAt); err != nil {
			return nil, fmt.Errorf("read journal: %w", err)
		}
		e.Entry = json.RawMessage(text)
		out = append(out, e)
	}
	return out, rows.Err()
}

// Journals are the runs of a tree that have a journal, at most limit, and the seqs of their last entries.
func Journals(tx store.Tx, root string, limit int64) (map[string]int64, error) {
	rows, err := tx.Query(`SELECT id, journal_seq FROM runs WHERE root_run_id = ? AND journal_seq > 0 ORDER BY created_at, id LIMIT ?`, root, limit)
	if err != nil {
		return nil, fmt.Errorf("list journals: %w", err)
	}
	defer rows.Close()
	out := map[string]int64{}
	for rows.Next() {
		var id string
		var last int64
		if err := rows.Scan(&id, &last); err != nil {
			return nil, fmt.Errorf("list journals: %w", err)
		}
		out[id] = last
	}
	return out, rows.Err()
}
