// Package clock is the seam through which Loam reads time, so that tests and replays decide what time it is.
//
// Durations that only bound waiting on the outside world (an HTTP timeout) may use package time directly; whatever is
// stored, compared with a stored time or decides what happens next comes from a Clock. Any tier may import it.
package clock

import (
	"sync"
	"time"
)

// Clock tells time and wakes its caller.
type Clock interface {
	// Now is the current time.
	Now() time.Time
	// After returns a channel that receives once, d from now. A d of zero or less fires at once.
	After(d time.Duration) <-chan time.Time
}

// System is the clock of the machine.
type System struct{}

// Now implements Clock.
func (System) Now() time.Time { return time.Now() }

// After implements Clock.
func (System) After(d time.Duration) <-chan time.Time { return time.After(d) }

// Millis is a clock's time as the epoch milliseconds that Loam stores and sends.
func Millis(c Clock) int64 { return c.Now().UnixMilli() }

// Fake is a clock that stands still until Advance moves it. The zero value starts at the zero time; use NewFake.
type Fake struct {
	mu      sync.Mutex
	now     time.Time
	waiters []waiter
	arrived chan struct{}
}

type waiter struct {
	at time.Time
	ch chan time.Time
}

// NewFake returns a clock that stands at start.
func NewFake(start time.Time) *Fake { return &Fake{now: start, arrived: make(chan struct{}, 1024)} }

// Now implements Clock.
func (f *Fake) Now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

// After implements Clock.
func (f *Fake) After(d time.Duration) <-chan time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	ch := make(chan time.Time, 1)
	if d <= 0 {
		ch <- f.now
		return ch
	}
	f.waiters = append(f.waiters, waiter{at: f.now.Add(d), ch: ch})
	select {
	case f.arrived <- struct{}{}:
	default:
	}
	return ch
}

// Waiting receives once for every After that has to wait: a test waits on it before it calls Advance.
func (f *Fake) Waiting() <-chan struct{} { return f.arrived }

// Advance moves the clock and wakes everything that is due.
func (f *Fake) Advance(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = f.now.Add(d)
	kept := f.waiters[:0]
	for _, w := range f.waiters {
		if w.at.After(f.now) {
			kept = append(kept, w)
			continue
		}
		w.ch <- f.now
	}
	f.waiters = kept
}
