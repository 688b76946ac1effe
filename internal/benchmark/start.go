package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/loam-agents/loam/internal/crashtest/process"
)

// Goals of starting and resting (design "Proof").
const (
	maxStart    = 200 * time.Millisecond
	maxResident = 80_000_000
)

const headingStart = "Start and memory"

// starts measures first and later starts until the server says that it is healthy, and the memory it then holds.
func (b *bench) starts() error {
	var first, later []time.Duration
	for range 5 {
		data, err := os.MkdirTemp(b.dir, "start-")
		if err != nil {
			return err
		}
		for i := range 3 {
			took, err := b.healthy(data)
			if err != nil {
				return err
			}
			if i == 0 {
				first = append(first, took)
			} else {
				later = append(later, took)
			}
		}
	}
	for _, kind := range []struct {
		name  string
		times []time.Duration
	}{{"first start until healthy, median of 5", first}, {"start on existing data until healthy, median of 10", later}} {
		p50 := quantile(kind.times, 0.5)
		b.report.add(headingStart, judge(kind.name, p50, maxStart, millis, times(ratio(p50, b.spawn))+" plain process"))
	}
	return b.memory()
}

// healthy starts a server, waits for its health, and kills it.
func (b *bench) healthy(data string) (time.Duration, error) {
	begun := time.Now()
	p, err := b.program.Start(b.ctx, process.Options{DataDir: data, Log: os.Stderr})
	if err != nil {
		return 0, err
	}
	defer p.Kill()
	err = get(b.ctx, p.URL()+"/api/health")
	return time.Since(begun), err
}

func get(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answered %s", url, resp.Status)
	}
	return errors.Join(err, resp.Body.Close())
}

// memory measures what the server holds at rest, and after its first and some more turns.
func (b *bench) memory() error {
	w, err := b.open(deltas())
	if err != nil {
		return err
	}
	for _, step := range []struct {
		name  string
		turns int
	}{{"at rest", 0}, {"after the first turn", 1}, {"after 100 more turns", 100}} {
		if _, err := w.converse(step.turns, "go on"); err != nil {
			return errors.Join(err, w.close())
		}
		cost, err := w.process.Cost(b.ctx)
		if err != nil {
			return errors.Join(err, w.close())
		}
		b.report.add(headingStart, judge("resident memory "+step.name, cost.Resident, maxResident, megabytes, ""))
	}
	return w.close()
}
