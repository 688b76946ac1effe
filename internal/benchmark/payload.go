package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/internal/model/scripted"
	"github.com/loam-agents/loam/wire"
)

const headingPayload = "What a turn sends to the model"

// maxPrompt is the goal for the request of an agent's first turn in bytes, whatever tools it has (design §8).
const maxPrompt = 8 << 10

// payload measures the requests that the model gets: their bytes, and how much of one the next begins with, which a provider caches.
func (b *bench) payload() error {
	call := scripted.Turn{Steps: []scripted.Step{{Call: &scripted.Call{Name: "read", Arguments: `{"address":"~/self"}`}}}}
	answer := scripted.Turn{Steps: []scripted.Step{{Text: "some words ", Times: 20}}}
	const turns = 10
	var script []scripted.Turn
	for range turns {
		script = append(script, call, answer)
	}
	w, err := b.openKeeping(script...)
	if err != nil {
		return err
	}
	session, err := w.session(w.agent)
	for n := 0; err == nil && n < turns; n++ {
		err = w.send(session, fmt.Sprintf("question %d: go on with what you do, please", n))
	}
	if err = errors.Join(err, w.close()); err != nil {
		return err
	}
	var sizes []int
	var shares []float64
	var before request
	for i, r := range w.model.Requests() {
		var now request
		if err := json.Unmarshal(r.Body, &now); err != nil {
			return fmt.Errorf("decode a request: %w", err)
		}
		sizes = append(sizes, len(r.Body))
		if i > 0 {
			shares = append(shares, now.share(&before, len(r.Body)))
		}
		before = now
	}
	slices.Sort(shares)
	b.report.add(headingPayload, judge("request of the first turn", sizes[0], maxPrompt, count, ""))
	b.report.add(headingPayload, row{what: fmt.Sprintf("request of turn %d, two answers a turn", turns), value: count(sizes[len(sizes)-1])})
	b.report.add(headingPayload, row{
		what: "share of a request that the one before began with too, median", value: fmt.Sprintf("%.0f %%", 100*shares[len(shares)/2]),
		compared: fmt.Sprintf("smallest %.0f %%", 100*shares[0]),
	})
	return nil
}

// request is what a provider caches of a payload, in the order in which it reads it: the tools, and then the messages.
type request struct {
	Tools    json.RawMessage
	Messages []json.RawMessage
}

// share is how much of a request of size bytes an earlier one held at its beginning.
func (r *request) share(before *request, size int) float64 {
	if !bytes.Equal(r.Tools, before.Tools) {
		return 0
	}
	same := len(r.Tools)
	for i := 0; i < len(r.Messages) && i < len(before.Messages) && bytes.Equal(r.Messages[i], before.Messages[i]); i++ {
		same += len(r.Messages[i])
	}
	return float64(same) / float64(size)
}

func count(bytes int) string { return fmt.Sprintf("%d bytes", bytes) }

// growTools measures the turn of an agent with ever more tools.
func (b *bench) growTools() error {
	w, err := b.openKeeping(deltas())
	if err != nil {
		return err
	}
	return errors.Join(b.growToolsOf(w), w.close())
}

func (b *bench) growToolsOf(w *world) error {
	have := 0
	for _, n := range []int{2, 25, 250} {
		for ; have < n; have++ {
			_, err := client.Call[wire.SaveAgentToolResponse](w.ctx, w.Client, "SaveAgentTool", map[string]any{"agentId": w.agent, "tool": map[string]any{
				"name": fmt.Sprintf("tool_%d", have), "description": fmt.Sprintf("Does the work of number %d. It takes a text and gives a text back.", have),
				"source": "export default async (input) => input", "input": map[string]any{"type": "object", "properties": map[string]any{"text": map[string]any{"type": "string"}}},
			}})
			if err != nil {
				return err
			}
		}
		// The first turn reads the tools that are new; the others are those that count.
		if _, err := w.drive(1, 1, "go on"); err != nil {
			return err
		}
		l, err := w.drive(1, 60, "go on")
		if err != nil {
			return err
		}
		requests := w.model.Requests()
		first := len(requests[len(requests)-turnsPerSession].Body)
		b.report.add(headingGrowth, row{
			what: fmt.Sprintf("%d tools of the agent's own", n), value: millis(quantile(l.times, 0.5)),
			compared: fmt.Sprintf("CPU of the server %s, request of a first turn %s", millis(l.cpu()), count(first)),
		})
	}
	return nil
}

// openKeeping is open with a model that keeps the requests that it got.
func (b *bench) openKeeping(turns ...scripted.Turn) (*world, error) {
	b.keep = true
	defer func() { b.keep = false }()
	return b.open(turns...)
}
