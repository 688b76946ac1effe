package limit

import (
	"context"
	"slices"
	"time"

	"github.com/loam-agents/loam/internal/model"
)

// lane is the state of one key. The limiter's lock guards it.
type lane struct {
	inUse       int
	pausedUntil time.Time
	// strikes counts the 429s since the last success.
	strikes int
	// accounts is the ring of accounts that wait, the next one to be served first.
	accounts []string
	queues   map[string][]*waiter
}

// waiter is a request that waits. granted is set under the limiter's lock; wake tells the waiter to look again.
type waiter struct {
	granted bool
	wake    chan struct{}
}

func (w *waiter) nudge() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (ln *lane) waiting() int {
	n := 0
	for _, q := range ln.queues {
		n += len(q)
	}
	return n
}

// acquire takes a place, waiting for one. Every successful acquire needs one release.
func (g Gate) acquire(ctx context.Context) *model.Error {
	l := g.limiter
	w := &waiter{wake: make(chan struct{}, 1)}
	l.mu.Lock()
	ln := l.lanes[g.key]
	if ln == nil {
		ln = &lane{queues: map[string][]*waiter{}}
		l.lanes[g.key] = ln
	}
	ln.enqueue(g.account, w)
	l.dispatch(ln)
	for {
		if w.granted {
			l.mu.Unlock()
			return nil
		}
		pause := ln.pausedUntil.Sub(l.clock.Now())
		if pause > l.maxWait || ctx.Err() != nil {
			ln.remove(g.account, w)
			l.forget(g.key, ln)
			l.mu.Unlock()
			if ctx.Err() != nil {
				return &model.Error{Kind: model.ErrCanceled, Message: "Waiting for the model provider was canceled", Err: context.Cause(ctx)}
			}
			return limited(pause)
		}
		l.mu.Unlock()
		l.sleep(ctx, w, pause)
		l.mu.Lock()
		l.dispatch(ln)
	}
}

// sleep ends when the waiter is nudged, the pause is over or the context ends.
func (l *Limiter) sleep(ctx context.Context, w *waiter, pause time.Duration) {
	var over <-chan time.Time
	if pause > 0 {
		over = l.clock.After(pause)
	}
	select {
	case <-w.wake:
	case <-over:
	case <-ctx.Done():
	}
}

func (g Gate) release() {
	l := g.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	ln := l.lanes[g.key]
	ln.inUse--
	l.dispatch(ln)
	l.forget(g.key, ln)
}

// report lets the lane learn from how a request ended; nil is a success.
func (g Gate) report(err *model.Error) {
	l := g.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	ln := l.lanes[g.key]
	switch {
	case err == nil:
		ln.strikes = 0
	case err.Kind == model.ErrRateLimited:
		pause := err.RetryAfter
		if pause <= 0 {
			pause = min(FirstBackoff<<min(ln.strikes, 10), MaxBackoff)
		}
		ln.strikes++
		ln.pause(l.clock.Now().Add(pause))
	case err.Kind == model.ErrOverloaded && err.RetryAfter > 0:
		ln.pause(l.clock.Now().Add(err.RetryAfter))
	}
}

// pause never shortens a pause. Everybody who waits looks at the new one.
func (ln *lane) pause(until time.Time) {
	if !until.After(ln.pausedUntil) {
		return
	}
	ln.pausedUntil = until
	for _, q := range ln.queues {
		for _, w := range q {
			w.nudge()
		}
	}
}

// dispatch gives free places to the accounts in turn.
func (l *Limiter) dispatch(ln *lane) {
	if l.clock.Now().Before(ln.pausedUntil) {
		return
	}
	for ln.inUse < l.concurrency && len(ln.accounts) > 0 {
		account := ln.accounts[0]
		ln.accounts = ln.accounts[1:]
		w := ln.queues[account][0]
		ln.queues[account] = ln.queues[account][1:]
		if len(ln.queues[account]) > 0 {
			ln.accounts = append(ln.accounts, account)
		} else {
			delete(ln.queues, account)
		}
		ln.inUse++
		w.granted = true
		w.nudge()
	}
}

func (ln *lane) enqueue(account string, w *waiter) {
	if len(ln.queues[account]) == 0 {
		ln.accounts = append(ln.accounts, account)
	}
	ln.queues[account] = append(ln.queues[account], w)
}

func (ln *lane) remove(account string, w *waiter) {
	q := ln.queues[account]
	if i := slices.Index(q, w); i >= 0 {
		ln.queues[account] = slices.Delete(q, i, i+1)
	}
	if len(ln.queues[account]) == 0 {
		delete(ln.queues, account)
		ln.accounts = slices.DeleteFunc(ln.accounts, func(a string) bool { return a == account })
	}
}

// forget drops a lane that has nothing to remember, so that keys which are gone cost nothing.
func (l *Limiter) forget(key string, ln *lane) {
	if ln.inUse == 0 && len(ln.accounts) == 0 && ln.strikes == 0 && !l.clock.Now().Before(ln.pausedUntil) {
		delete(l.lanes, key)
	}
}
