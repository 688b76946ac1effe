package sqlite

import (
	"sync"

	"github.com/loam-agents/loam/internal/store"
)

// request is a call of Write that waits.
type request struct {
	// lead says that it is this one's turn to lead the next batch.
	lead chan struct{}
	// turn receives the transaction when it is the closure's turn in the batch of another.
	turn chan *tx
	// ran receives the closure's result when it has run there.
	ran chan error
	// done receives what Write returns.
	done chan error
}

func newRequest() *request {
	return &request{lead: make(chan struct{}, 1), turn: make(chan *tx, 1), ran: make(chan error, 1), done: make(chan error, 1)}
}

// queue says whose turn it is to write. One request leads at a time; the others wait, interactive ones first, then in order of arrival.
type queue struct {
	mu      sync.Mutex
	closed  bool
	led     bool
	waiting [2][]*request
	idle    *sync.Cond
}

func newQueue() *queue {
	q := &queue{}
	q.idle = sync.NewCond(&q.mu)
	return q
}

// enter lets a caller lead at once when nobody does, and gives it nil then; others wait with the request that they get. A closed
// queue lets nobody in.
func (q *queue) enter(p store.Priority) (r *request, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return nil, store.ErrClosed
	}
	if !q.led {
		q.led = true
		return nil, nil
	}
	r = newRequest()
	lane := lane(p)
	q.waiting[lane] = append(q.waiting[lane], r)
	return r, nil
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

// pop returns the next request, or nil when none waits.
func (q *queue) pop() *request {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.next()
}

// next is pop for callers that hold the lock.
func (q *queue) next() *request {
	for lane, waiting := range q.waiting {
		if len(waiting) > 0 {
			r := waiting[0]
			waiting[0] = nil
			q.waiting[lane] = waiting[1:]
			return r
		}
	}
	return nil
}

// pass ends a caller's lead, and gives it to the next one that waits.
func (q *queue) pass() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if r := q.next(); r != nil {
		r.lead <- struct{}{}
		return
	}
	q.led = false
	q.idle.Broadcast()
}

// close lets no request in any more, and returns when those that waited have had their turn.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	for q.led {
		q.idle.Wait()
	}
}
