package live

import (
	"context"
	"sync"
)

// Group is the open streams of a transport, so that a stopping server can end them. The zero value is empty.
type Group struct {
	mu     sync.Mutex
	open   map[*func()]struct{}
	closed bool
	wait   sync.WaitGroup
}

// Add joins a stream that ends soon after end was called. leave is called when it has ended. ok is false when the group is
// closed: then nothing was added.
func (g *Group) Add(end func()) (leave func(), ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, false
	}
	if g.open == nil {
		g.open = map[*func()]struct{}{}
	}
	member := &end
	g.open[member] = struct{}{}
	g.wait.Add(1)
	return func() {
		g.mu.Lock()
		delete(g.open, member)
		g.mu.Unlock()
		g.wait.Done()
	}, true
}

// Len is how many streams are open.
func (g *Group) Len() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.open)
}

// Close ends every stream, lets none join any more, and waits until all have ended or ctx does.
func (g *Group) Close(ctx context.Context) {
	g.mu.Lock()
	g.closed = true
	for end := range g.open {
		(*end)()
	}
	g.mu.Unlock()
	done := make(chan struct{})
	go func() {
		g.wait.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}
