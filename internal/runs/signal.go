package runs

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/loam-agents/loam/internal/bounded"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/store"
)

// Limits of a signal.
const (
	maxSignal  = 128
	maxPayload = 64 << 10
)

// Delivery is what a wait for an event gets (spec §9).
type Delivery struct {
	Source  string          `json:"source"`
	Signal  string          `json:"signal,omitempty"`
	Payload json.RawMessage `json:"payload,omitempty"`
}

// Signal gives a run a signal. The first wait that takes it is settled, with an entry in the run's journal, and true is
// returned; a signal that nobody waits for is lost, which is no error. It resumes a run that paused for the time it took, and
// settles no approval and no money.
func (q *Queue) Signal(tx store.Tx, runID, signal string, payload json.RawMessage) (delivered bool, err error) {
	return q.Deliver(tx, runID, Delivery{Source: "signal", Signal: signal, Payload: payload})
}

// Deliver is Signal for whoever says where the signal comes from.
func (q *Queue) Deliver(tx store.Tx, runID string, d Delivery) (delivered bool, err error) {
	if d.Signal, err = bounded.Text(d.Signal, "Signal", maxSignal); err != nil {
		return false, err
	}
	if len(d.Payload) > maxPayload {
		return false, fault.New(fault.TooLarge, "Signal payload has %d bytes, at most %d KiB", len(d.Payload), maxPayload>>10)
	}
	waits, err := Waits(tx, runID)
	if err != nil {
		return false, err
	}
	for i := range waits {
		w := &waits[i]
		if !w.takes(d.Signal) {
			continue
		}
		delivery, err := json.Marshal(d)
		if err != nil {
			return false, fmt.Errorf("encode signal: %w", err)
		}
		entry, err := json.Marshal(struct {
			Kind     string          `json:"kind"`
			CallSeq  int64           `json:"callSeq"`
			WaitID   string          `json:"waitId"`
			Delivery json.RawMessage `json:"delivery"`
		}{"event", w.CallSeq, w.ID, delivery})
		if err != nil {
			return false, fmt.Errorf("encode signal: %w", err)
		}
		if _, err := q.AppendJournal(tx, runID, entry); err != nil {
			return false, err
		}
		tx.AfterCommit(func() { q.opts.Point(PointSignaled) })
		return true, q.settleWait(tx, w)
	}
	return false, nil
}

// maxListening bounds the runs that one signal reaches.
const maxListening = 100

// Listening are the runs of an agent that wait for a signal of that name, the oldest wait first. Runs that take any signal are not meant.
func Listening(tx store.Tx, agentID, signal string) ([]string, error) {
	match, err := json.Marshal(map[string]string{"signal": signal})
	if err != nil {
		return nil, fmt.Errorf("encode a match: %w", err)
	}
	ids, err := texts(tx, `SELECT w.run_id FROM run_waits w JOIN runs r ON r.id = w.run_id
		WHERE r.agent_id = ? AND w.reason = ? AND w.match = ? ORDER BY w.created_at, w.run_id LIMIT ?`, agentID, string(WaitEvent), string(match), maxListening)
	if err != nil {
		return nil, fmt.Errorf("find runs that wait for a signal: %w", err)
	}
	return slices.Compact(ids), nil
}
