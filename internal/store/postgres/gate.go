package postgres

import (
	"context"
	"sync"

	"github.com/loam-agents/loam/internal/store"
)

// gate lets a number of writes in at once, interactive ones first, then in order of arrival.
type gate struct {
	mu      sync.Mutex
	free    int
	waiting [2][]chan struct{}
}

func newGate(slots int) *gate { return &gate{free: slots} }

// enter waits for a slot until ctx ends.
func (g *gate) enter(ctx context.Context, p store.Priority) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	g.mu.Lock()
	if g.free > 0 {
		g.free--
		g.mu.Unlock()
		return nil
	}
	lane := 1
	if p == store.Interactive {
		lane = 0
	}
	turn := make(chan struct{})
	g.waiting[lane] = append(g.waiting[lane], turn)
	g.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
		g.giveUp(lane, turn)
		return ctx.Err()
	}
}

// giveUp leaves the queue; a slot that came at the same moment goes to the next.
func (g *gate) giveUp(lane int, turn chan struct{}) {
	g.mu.Lock()
	for i, other := range g.waiting[lane] {
		if other == turn {
			g.waiting[lane] = append(g.waiting[lane][:i:i], g.waiting[lane][i+1:]...)
			g.mu.Unlock()
			return
		}
	}
	g.mu.Unlock()
	g.leave()
}

// length is the number of writes that wait.
func (g *gate) length() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return int64(len(g.waiting[0]) + len(g.waiting[1]))
}

// leave gives the slot to the next in line.
func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for lane, waiting := range g.waiting {
		if len(waiting) > 0 {
			g.waiting[lane] = waiting[1:]
			close(waiting[0])
			return
		}
	}
	g.free++
}
