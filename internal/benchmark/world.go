package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/internal/crashtest/process"
	"github.com/loam-agents/loam/internal/model"
	"github.com/loam-agents/loam/internal/model/scripted"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/principal"
	"github.com/loam-agents/loam/wire"
)

// bench is what all measurements share.
type bench struct {
	ctx     context.Context
	dir     string
	program process.Program
	report  *report
	// flush and spawn are the probes: the median of a small append with fsync, and of a plain process.
	flush, spawn time.Duration
	// keep lets the models of servers that are opened keep their requests.
	keep bool
}

// world is a server with an agent on a scripted model.
type world struct {
	*client.Client
	ctx     context.Context
	process *process.Process
	key     *principal.Key
	model   *scripted.Server
	http    *http.Transport
	agent   string

	sessions atomic.Int64
}

// open starts a server on a fresh folder.
func (b *bench) open(turns ...scripted.Turn) (*world, error) { return b.openWith(0, turns...) }

// openWith is open with another number of workers than the server's own.
func (b *bench) openWith(workers int, turns ...scripted.Turn) (*world, error) {
	data, err := os.MkdirTemp(b.dir, "data-")
	if err != nil {
		return nil, err
	}
	w := &world{ctx: b.ctx, http: &http.Transport{MaxIdleConnsPerHost: max(128, workers)}}
	if w.model, err = scripted.New(scripted.Options{Discard: !b.keep, Script: scripted.Script{Turns: turns}}); err != nil {
		return nil, err
	}
	if w.process, err = b.program.Start(b.ctx, process.Options{DataDir: data, Log: os.Stderr, Workers: workers}); err != nil {
		return nil, errors.Join(err, w.model.Close())
	}
	if err := w.connect(data); err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w, nil
}

func (w *world) connect(data string) (err error) {
	if w.key, err = server.OwnerKey(data); err != nil {
		return err
	}
	if w.Client, err = client.New(w.process.URL(), w.key, client.WithHTTPClient(&http.Client{Transport: w.http})); err != nil {
		return err
	}
	w.agent, err = w.newAgent("scripted", w.model.BaseURL(model.OpenAIChat))
	return err
}

// newAgent makes an agent on the model service at an address.
func (w *world) newAgent(name, address string) (string, error) {
	_, err := client.Call[wire.ProviderResponse](w.ctx, w.Client, "SetModelProvider", map[string]any{
		"name": name, "provider": map[string]any{"type": "custom", "baseUrl": address},
	})
	if err != nil {
		return "", err
	}
	out, err := client.Call[wire.CreateAgentResponse](w.ctx, w.Client, "CreateAgent", map[string]any{"definition": map[string]any{
		"name": name, "systemPrompt": "You answer.", "modelProvider": name, "model": "scripted-1",
	}})
	return out.AgentID, err
}

func (w *world) close() error {
	w.process.Kill()
	w.http.CloseIdleConnections()
	return w.model.Close()
}

func (w *world) session(agent string) (string, error) {
	// Equal actions of one millisecond are the same bytes, which a server answers once: the id tells them apart.
	out, err := client.Call[wire.CreateSessionResponse](w.ctx, w.Client, "CreateSession", map[string]any{
		"agentId": agent, "clientRequestId": fmt.Sprint("session-", w.sessions.Add(1)),
	})
	return out.SessionID, err
}

// send sends texts as one message and waits for the turn.
func (w *world) send(session string, texts ...string) error {
	content := make([]any, len(texts))
	for i, t := range texts {
		content[i] = map[string]any{"type": "text", "text": t}
	}
	out, err := client.Call[wire.MessageSessionResponse](w.ctx, w.Client, "MessageSession", map[string]any{"sessionId": session, "content": content})
	if err == nil && out.AssistantEventID == "" {
		err = fmt.Errorf("the turn of session %s was not awaited", session)
	}
	return err
}

// load is the outcome of many turns.
type load struct {
	times []time.Duration
	cost  process.Cost
	wall  time.Duration
}

// cpu and commits are those of one turn.
func (l *load) cpu() time.Duration { return l.cost.CPU / time.Duration(len(l.times)) }
func (l *load) commits() float64   { return float64(l.cost.Commits) / float64(len(l.times)) }

// turnsPerSession keeps logs short: what a long log costs is measured apart.
const turnsPerSession = 10

// drive has workers send turns at the same time, each in sessions of its own.
func (w *world) drive(workers, turns int, text string) (*load, error) {
	out := &load{}
	var mu sync.Mutex
	var failed error
	before, err := w.process.Cost(w.ctx)
	if err != nil {
		return nil, err
	}
	begun := time.Now()
	var work sync.WaitGroup
	for range workers {
		work.Go(func() {
			times, err := w.converse(turns, text)
			mu.Lock()
			defer mu.Unlock()
			out.times, failed = append(out.times, times...), errors.Join(failed, err)
		})
	}
	work.Wait()
	out.wall = time.Since(begun)
	after, err := w.process.Cost(w.ctx)
	out.cost = process.Cost{CPU: after.CPU - before.CPU, Commits: after.Commits - before.Commits, Writes: after.Writes - before.Writes, Resident: after.Resident}
	return out, errors.Join(failed, err)
}

// converse sends turns one after the other and returns how long each took.
func (w *world) converse(turns int, text string) ([]time.Duration, error) {
	var times []time.Duration
	session := ""
	for n := range turns {
		if n%turnsPerSession == 0 {
			var err error
			if session, err = w.session(w.agent); err != nil {
				return nil, err
			}
		}
		begun := time.Now()
		if err := w.send(session, text); err != nil {
			return nil, err
		}
		times = append(times, time.Since(begun))
	}
	return times, nil
}
