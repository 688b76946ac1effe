package rest

import (
	"sync"

	"github.com/loam-agents/loam/internal/fault"
)

// MaxStreams bounds the event streams that an account has open on one server.
const MaxStreams = 256

// quota counts open streams by account. The zero value counts none.
type quota struct {
	mu   sync.Mutex
	open map[string]int
}

// enter counts one more until leave is called. Above MaxStreams it is fault.RateLimited.
func (q *quota) enter(account string) (leave func(), err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.open[account] >= MaxStreams {
		return nil, fault.New(fault.RateLimited, "Too many streams are open: at most %d", MaxStreams).With("limit", MaxStreams)
	}
	if q.open == nil {
		q.open = map[string]int{}
	}
	q.open[account]++
	return func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		if q.open[account]--; q.open[account] == 0 {
			delete(q.open, account)
		}
	}, nil
}
