package sqlite

import (
	"sync"

	"github.com/loam-agents/loam/internal/store"
)

// request is one call of Write.
type request struct {
	// turn receives the transaction when it is the closure's turn.
	turn chan *tx
	// ran receives the closure's result when it has run.
	ran chan error
	// done receives what Write returns.
	done chan error
}

func newRequest() *request {
	return &request{turn: make(chan *tx, 1), ran: make(chan error, 1), done: make(chan error, 1)}
}

// queue holds the requests that wait for the writer: interactive first, then in order of arrival.
type queue struct {
	mu      sync.Mutex
	closed  bool
	waiting [2][]*request
	arrived *sync.Cond
}

func newQueue() *queue {
	q := &queue{}
	q.arrived = sync.NewCond(&q.mu)
	return q
}

// push adds a request; false says that the queue is closed.
func (q *queue) push(p store.Priority, r *request) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	lane := lane(p)
	q.waiting[lane] = append(q.waiting[lane], r)
	q.arrived.Signal()
	return true
}

func lane(p store.Priority) int {
	if p == store.Interactive {
		return 0
	}
	return 1
}

// remove takes a request out again; false says that its turn has come already.
func (q *queue) remove(r *request) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for lane, waiting := range q.waiting {
		for i, other := range waiting {
			if other == r {
				q.waiting[lane] = append(waiting[:i:i], waiting[i+1:]...)
				return true
			}
		}
	}
	return false
}

// length is the number of requests that wait.
func (q *queue) length() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return int64(len(q.waiting[0]) + len(q.waiting[1]))
}

// pop returns the next request, or nil when there is none. With wait it blocks for one, and nil says that the queue is
// closed and empty.
func (q *queue) pop(wait bool) *request {
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		for lane, waiting := range q.waiting {
			if len(waiting) > 0 {
				r := waiting[0]
				waiting[0] = nil
				q.waiting[lane] = waiting[1:]
				return r
			}
		}
		if !wait || q.closed {
			return nil
		}
		q.arrived.Wait()
	}
}

// close lets no request in any more; those that wait still get their turn.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.arrived.Broadcast()
}
