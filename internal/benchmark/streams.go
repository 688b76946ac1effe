package main

import (
	"errors"
	"fmt"
	"syscall"
	"time"

	keys "github.com/loam-agents/loam/internal/model/limit"
	"github.com/loam-agents/loam/principal"
	"github.com/loam-agents/loam/wire"
)

// streams measures as many sessions as subscribers, each with an answer and a reader of its own. The limit of a provider's key
// bounds the answers of one address, so there are several.
func (b *bench) streams() error {
	w, err := b.openWith(subscribers+100, deltas())
	if err != nil {
		return err
	}
	delays, cpu, err := b.streamsOf(w)
	if err := errors.Join(err, w.close()); err != nil {
		return err
	}
	name := fmt.Sprintf("%d sessions with a subscriber each at %d deltas a second", subscribers, time.Second/beat)
	return b.addDelays(name, subscribers, delays, cpu)
}

func (b *bench) streamsOf(w *world) ([]time.Duration, time.Duration, error) {
	url, stop, err := serveBeats()
	if err != nil {
		return nil, 0, err
	}
	defer stop()
	var sessions []string
	var agent string
	for i := range subscribers {
		if i%keys.DefaultConcurrency == 0 {
			if agent, err = w.newAgent(fmt.Sprint("beat-", i), fmt.Sprintf("%s/%d/v1", url, i)); err != nil {
				return nil, 0, err
			}
		}
		session, err := w.session(agent)
		if err != nil {
			return nil, 0, err
		}
		sessions = append(sessions, session)
	}
	return b.beatAt(w, sessions, sessions, 0)
}

// ownCPU is the processor time that this process has used.
func ownCPU() time.Duration {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used) // of oneself it does not fail
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// envelopes measures what the verification of an action costs.
func (b *bench) envelopes() error {
	const rounds = 20_000
	key, err := principal.Generate(nil)
	if err != nil {
		return err
	}
	action := map[string]any{"_": "MessageSession", "sessionId": "01890a5d-ac96-774b-bcce-b302099a8057", "content": []any{
		map[string]any{"type": "text", "text": "a message of ordinary length"},
	}}
	body, err := wire.Sign(key, key.ID(), action, wire.SignOptions{TS: time.Now().UnixMilli(), Protocol: wire.ProtocolNumber})
	if err != nil {
		return err
	}
	now, begun := time.Now(), ownCPU()
	for range rounds {
		fields, err := wire.DecodeEnvelope(body)
		if err == nil {
			_, err = wire.Verify(fields, now, wire.ClockWindow)
		}
		if err != nil {
			return err
		}
	}
	each := (ownCPU() - begun) / rounds
	what := fmt.Sprintf("decoding and verifying an envelope of %d bytes: CPU, mean of %d", len(body), rounds)
	b.report.add(headingStream, judge(what, each, 100*time.Microsecond, func(d time.Duration) string { return fmt.Sprintf("%.1f µs", float64(d)/1e3) }, ""))
	return nil
}
