// Package limit stands before the model: it bounds how many requests share one provider key, lets one "too many requests"
// pause everybody with that key, and is fair between the accounts that wait.
//
// It promises that at most Concurrency streams of a key run at once; that a free place goes to the accounts in turn, and
// within an account to whoever came first; that after a 429 nobody with the key sends anything until the provider's time is
// over (or, when it named none, a backoff that doubles from one second to thirty); that a wait ends with its context; and that
// a pause longer than MaxWait fails at once with model.ErrRateLimited, so that the run goes back to its queue instead of
// holding a worker. It never repeats a request: retries belong to the queue of runs.
//
// limit is part of tier 3 and calls package model and clock. The chooser of adapters wraps every provider with it. A limiter
// knows its own process only; on several nodes each has its share.
package limit

import (
	"crypto/sha256"
	"encoding/hex"
	"sync"
	"time"

	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/model"
)

// Defaults and bounds.
const (
	// DefaultConcurrency is how many streams of one key run at once.
	DefaultConcurrency = 16
	// DefaultMaxWait is the longest pause that a request waits out.
	DefaultMaxWait = 15 * time.Second
	// FirstBackoff and MaxBackoff bound the pause after a 429 that names no time.
	FirstBackoff = time.Second
	MaxBackoff   = 30 * time.Second
)

// Options configures New. Zero fields take the defaults.
type Options struct {
	Concurrency int
	MaxWait     time.Duration
	// Clock is the clock of the machine when nil.
	Clock clock.Clock
}

// Limiter holds the lanes of all keys. It is safe for concurrent use.
type Limiter struct {
	concurrency int
	maxWait     time.Duration
	clock       clock.Clock

	mu    sync.Mutex
	lanes map[string]*lane
}

// New returns a limiter.
func New(o Options) *Limiter {
	l := &Limiter{concurrency: o.Concurrency, maxWait: o.MaxWait, clock: o.Clock, lanes: map[string]*lane{}}
	if l.concurrency <= 0 {
		l.concurrency = DefaultConcurrency
	}
	if l.maxWait <= 0 {
		l.maxWait = DefaultMaxWait
	}
	if l.clock == nil {
		l.clock = clock.System{}
	}
	return l
}

// Key names the lane of a provider's address and key without holding the key.
func Key(baseURL, apiKey string) string {
	sum := sha256.Sum256([]byte(baseURL + "\x00" + apiKey))
	return hex.EncodeToString(sum[:16])
}

// Gate is one account's door to the lane of a key.
type Gate struct {
	limiter      *Limiter
	key, account string
}

// For returns the gate of an account for a key; see Key.
func (l *Limiter) For(key, account string) Gate { return Gate{limiter: l, key: key, account: account} }

// Lanes counts the keys that the limiter remembers: those in use, paused, or struck by their last 429.
func (l *Limiter) Lanes() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.lanes)
}

// Queued counts the requests that wait for a place at the gate's key, of all accounts.
func (g Gate) Queued() int {
	g.limiter.mu.Lock()
	defer g.limiter.mu.Unlock()
	if ln := g.limiter.lanes[g.key]; ln != nil {
		return ln.waiting()
	}
	return 0
}

// limited is the error of a pause that is too long to wait for.
func limited(pause time.Duration) *model.Error {
	return &model.Error{
		Kind: model.ErrRateLimited, RetryAfter: pause,
		Message: "The model provider asked to wait " + pause.Round(time.Second).String() + " before the next request",
	}
}
