package quota

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// minSweep is from how many buckets on full ones are forgotten: whoever comes back gets a full one anyway.
const minSweep = 1024

// buckets are token buckets by name.
type buckets struct {
	mu       sync.Mutex
	limiters map[string]*rate.Limiter
	// sweepAt is the number of buckets at which the full ones are dropped next.
	sweepAt int
}

// take takes a token, or says how long it takes until there is one. In each period come `most` tokens; a bucket holds twice
// those of a second, and those of a longer period.
func (b *buckets) take(name string, most int, each time.Duration, now time.Time) (wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	limiter := b.limiters[name]
	if limiter == nil {
		b.sweep(now)
		burst := most
		if each == time.Second {
			burst = 2 * most
		}
		limiter = rate.NewLimiter(rate.Limit(float64(most)/each.Seconds()), burst)
		b.limiters[name] = limiter
	}
	r := limiter.ReserveN(now, 1)
	if wait = r.DelayFrom(now); wait > 0 {
		r.CancelAt(now)
	}
	return wait
}

func (b *buckets) sweep(now time.Time) {
	if len(b.limiters) < max(b.sweepAt, minSweep) {
		return
	}
	for name, l := range b.limiters {
		if l.TokensAt(now) >= float64(l.Burst()) {
			delete(b.limiters, name)
		}
	}
	b.sweepAt = 2 * len(b.limiters)
}

// counts are numbers of open things by name.
type counts struct {
	mu sync.Mutex
	n  map[string]int
}

// enter counts one more until leave is called, unless there are `most`.
func (c *counts) enter(name string, most int) (leave func(), ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n[name] >= most {
		return nil, false
	}
	c.n[name]++
	return sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.n[name]--; c.n[name] == 0 {
			delete(c.n, name)
		}
	}), true
}
