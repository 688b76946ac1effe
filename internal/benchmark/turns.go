package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/internal/model/scripted"
	"github.com/loam-agents/loam/wire"
)

// deltas is a turn of 20 deltas from a model without latency.
func deltas() scripted.Turn {
	return scripted.Turn{Repeat: true, Steps: []scripted.Step{{Text: "some words ", Times: 20}}}
}

// maxTurnCPU is the goal for the server's processor time of one turn (design "Proof").
const maxTurnCPU = 1500 * time.Microsecond

const headingTurns = "A turn of 20 deltas"

// turns measures plain turns at three levels of concurrency.
func (b *bench) turns() error {
	w, err := b.open(deltas())
	if err != nil {
		return err
	}
	if _, err := w.drive(8, 20, "warm up"); err != nil {
		return errors.Join(err, w.close())
	}
	for _, level := range []struct{ sessions, turns int }{{1, 150}, {8, 50}, {32, 25}} {
		l, err := w.drive(level.sessions, level.turns, "go on")
		if err != nil {
			return errors.Join(err, w.close())
		}
		b.addTurns(level.sessions, l)
	}
	return w.close()
}

func (b *bench) addTurns(sessions int, l *load) {
	name := fmt.Sprintf("%d at once", sessions)
	p50 := quantile(l.times, 0.5)
	compared := times(ratio(p50, b.flush)) + " fsync"
	latency := row{what: name + ": time, median", value: millis(p50), compared: compared}
	if sessions == 1 {
		latency = judge(latency.what, p50, 3*b.flush+3*time.Millisecond, millis, compared)
	}
	b.report.add(headingTurns, latency)
	b.report.add(headingTurns, row{what: name + ": time, 99 of 100", value: millis(quantile(l.times, 0.99))})
	b.report.add(headingTurns, judge(name+": CPU of the server a turn", l.cpu(), maxTurnCPU, millis, ""))
	b.report.add(headingTurns, row{what: name + ": commits a turn", value: fmt.Sprintf("%.2f", l.commits())})
	rate := float64(len(l.times)) / l.wall.Seconds()
	b.report.add(headingTurns, row{what: name + ": turns a second", value: fmt.Sprintf("%.0f", rate)})
}

// steps is how many calls the turns with calls make, one after the other.
const steps = 5

// inSequence is a model that makes one call an answer. The rules of later steps stand first.
func inSequence(name, arguments string) []scripted.Turn {
	call := func(step int) []scripted.Step {
		return []scripted.Step{{Call: &scripted.Call{Name: name, Arguments: strings.ReplaceAll(arguments, "STEP", fmt.Sprint(step))}}}
	}
	last := scripted.Match{Result: fmt.Sprintf("step-%d", steps)}
	turns := []scripted.Turn{{Match: last, Repeat: true, Steps: []scripted.Step{{Text: "Done."}}}}
	for step := steps - 1; step >= 1; step-- {
		turns = append(turns, scripted.Turn{Match: scripted.Match{Result: fmt.Sprintf("step-%d", step)}, Repeat: true, Steps: call(step + 1)})
	}
	return append(turns, scripted.Turn{Repeat: true, Steps: call(1)})
}

// memoryWrite is the input of a call with an effect.
const memoryWrite = `{"address":"~/memory/step-STEP.md","content":"text of this step"}`

// calls measures turns with calls of two kinds: with effects, and pure.
func (b *bench) calls() error {
	const heading = "A turn with 5 calls, one after the other"
	for _, kind := range []struct{ name, verb, arguments string }{
		{"memory writes", "write", memoryWrite},
		{"memory reads", "read", `{"address":"~/memory/step-STEP.md"}`},
	} {
		w, err := b.open(inSequence(kind.verb, kind.arguments)...)
		if err != nil {
			return err
		}
		l, err := w.callInSequence()
		if err := errors.Join(err, w.close()); err != nil {
			return err
		}
		p50 := quantile(l.times, 0.5)
		b.report.add(heading, judge(kind.name+": time, median", p50, 12*b.flush+8*time.Millisecond, millis, times(ratio(p50, b.flush))+" fsync"))
		b.report.add(heading, row{what: kind.name + ": commits a turn", value: fmt.Sprintf("%.2f", l.commits())})
		b.report.add(heading, row{what: kind.name + ": CPU of the server a turn", value: millis(l.cpu())})
	}
	return nil
}

// callInSequence makes the files that are read or written over, and then turns.
func (w *world) callInSequence() (*load, error) {
	for step := range steps {
		_, err := client.Call[wire.WriteAgentMemoryFileResponse](w.ctx, w.Client, "WriteAgentMemoryFile", map[string]any{
			"agentId": w.agent, "path": fmt.Sprintf("step-%d.md", step+1), "content": "text",
		})
		if err != nil {
			return nil, err
		}
	}
	return w.drive(1, 60, "do it")
}

// profile records where the server spends its time: under turns of 20 deltas, or under turns with memory writes.
func (b *bench) profile(path string, calls bool) error {
	turns, sessions, count := []scripted.Turn{deltas()}, 8, 400
	if calls {
		turns, sessions, count = inSequence("write", memoryWrite), 1, 300
	}
	w, err := b.open(turns...)
	if err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return errors.Join(err, w.close())
	}
	done := make(chan error, 1)
	go func() { done <- w.process.Profile(b.ctx, 5, f) }()
	l, err := w.drive(sessions, count, "go on")
	if err == nil {
		fmt.Printf("p50 %s, CPU %s a turn, %.2f commits a turn\n", millis(quantile(l.times, 0.5)), millis(l.cpu()), l.commits())
	}
	return errors.Join(err, <-done, f.Close(), w.close())
}
