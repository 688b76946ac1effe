package inbound

import (
	"context"
	"io"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/loam-agents/loam/internal/fault"
)

// freeBody is how much of a body is not counted: ordinary requests are smaller, and cost nothing here.
const freeBody = 64 << 10

// Budget bounds the memory of all bodies that are in work at once: nobody has shown yet who sends them, so no account's quota
// does. It is safe for concurrent use.
type Budget struct {
	limit int64
	used  atomic.Int64
}

// NewBudget returns a budget of so many bytes.
func NewBudget(limit int64) *Budget { return &Budget{limit: limit} }

// Used is how many bytes are taken now.
func (b *Budget) Used() int64 { return b.used.Load() }

// take counts bytes, unless they are too many.
func (b *Budget) take(n int64) bool {
	if b.used.Add(n) <= b.limit {
		return true
	}
	b.used.Add(-n)
	return false
}

// counted is a body whose bytes are taken from a budget as they arrive, until the request has been answered.
type counted struct {
	body   io.Reader
	budget *Budget
	read   int64

	// mu: a client may go away while its body is read.
	mu    sync.Mutex
	over  bool
	taken int64
}

// counted counts a request's body.
func (b *Budget) counted(r *http.Request, body io.Reader) io.Reader {
	if b == nil {
		return body
	}
	c := &counted{body: body, budget: b}
	// The context of a request ends when its handler returns.
	context.AfterFunc(r.Context(), c.release)
	return c
}

// Read implements io.Reader.
func (c *counted) Read(p []byte) (int, error) {
	n, err := c.body.Read(p)
	c.read += int64(n)
	c.mu.Lock()
	defer c.mu.Unlock()
	more := c.read - freeBody - c.taken
	switch {
	case c.over:
		return n, context.Canceled
	case more <= 0:
		return n, err
	case !c.budget.take(more):
		return n, fault.New(fault.Unavailable, "The server is receiving too much at once: try again soon").With("limit", c.budget.limit)
	}
	c.taken += more
	return n, err
}

func (c *counted) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	c.budget.used.Add(-c.taken)
}
