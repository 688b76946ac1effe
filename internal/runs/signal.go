package runs

import (
	"encoding/json"
	"fmt"

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
	if signal, err = bounded.Text(signal, "Signal", maxSignal); err != nil {
		return false, err
	}
	if len(payload) > maxPayload {
		return false, fault.New(fault.TooLarge, "Signal payload has %d bytes, at most %d KiB", len(payload), maxPayload>>10)
	}
	waits, err := Waits(tx, runID)
	if err != nil {
		return false, err
	}
	for i := range waits {
		w := &waits[i]
		if !w.takes(signal) {
			continue
		}
		delivery, err := json.Marshal(Delivery{Source: "signal", Signal: signal, Payload: payload})
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
		return true, q.settleWait(tx, w)
	}
	return false, nil
}
