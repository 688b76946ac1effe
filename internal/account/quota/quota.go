// Package quota bounds what one account may do and keep, so that nobody takes a shared server from the others.
//
// Rates (actions, messages) are token buckets in the memory of this process: an account may use up twice what it gets in a
// second, or a minute's messages at once, and then waits; each of several processes counts by itself. What is kept (bytes,
// sessions) is counted in the database, in the transaction that adds to it. What is open (sockets, subscriptions) is counted
// here until it closes. The server owner is exempt unless the operator says otherwise.
//
// quota belongs to account (tier 2). Operations and transports ask it; the composition root makes it.
package quota

import (
	"fmt"
	"math"
	"time"

	"golang.org/x/time/rate"

	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/store"
)

// The names of limits, as details of errors and metrics spell them.
const (
	Actions       = "actions"
	SignerActions = "signer_actions"
	Messages      = "messages"
	Storage       = "storage"
	Sessions      = "sessions"
	Sockets       = "sockets"
	Subscriptions = "subscriptions"
)

// Limits of one account. Zero is the default, a negative number no limit.
type Limits struct {
	// Actions are requests in a second, SignerActions those of one key, token or browser.
	Actions, SignerActions int
	// Messages are messages to agents in a minute.
	Messages int
	// Storage is in bytes: files of agents and of sessions, and uploads.
	Storage int64
	// Sessions are sessions that were not deleted.
	Sessions int
	// Sockets are open WebSockets, Subscriptions the keys of all of them.
	Sockets, Subscriptions int
}

// Default are the limits of an operator who says nothing: far beyond what people need.
var Default = Limits{
	Actions: 200, SignerActions: 100, Messages: 60, Storage: 10 << 30, Sessions: 10_000, Sockets: 256, Subscriptions: 4096,
}

// complete fills in defaults and makes "no limit" a number that is never reached.
func (l Limits) complete() Limits {
	whole := func(n, otherwise int) int {
		if n == 0 {
			n = otherwise
		}
		if n < 0 {
			return math.MaxInt
		}
		return n
	}
	out := Limits{
		Actions: whole(l.Actions, Default.Actions), SignerActions: whole(l.SignerActions, Default.SignerActions),
		Messages: whole(l.Messages, Default.Messages), Sessions: whole(l.Sessions, Default.Sessions),
		Sockets: whole(l.Sockets, Default.Sockets), Subscriptions: whole(l.Subscriptions, Default.Subscriptions), Storage: l.Storage,
	}
	switch {
	case l.Storage == 0:
		out.Storage = Default.Storage
	case l.Storage < 0:
		out.Storage = math.MaxInt64
	}
	return out
}

// Options configure a Quota.
type Options struct {
	Limits
	Clock clock.Clock
	// Exempt tells whether an account has no limits. May be nil.
	Exempt func(account string) bool
	// Refused is told the name of a limit that was met. May be nil; it must be quick.
	Refused func(limit string)
}

// Quota decides. It is safe for concurrent use. A nil one bounds nothing.
type Quota struct {
	opts    Options
	buckets buckets
	open    counts
}

// New returns a quota of which nothing is used.
func New(o Options) *Quota {
	o.Limits = o.complete()
	if o.Refused == nil {
		o.Refused = func(string) {}
	}
	return &Quota{opts: o, buckets: buckets{limiters: map[string]*rate.Limiter{}}, open: counts{n: map[string]int{}}}
}

func (q *Quota) exempt(account string) bool {
	return q == nil || q.opts.Exempt != nil && q.opts.Exempt(account)
}

// refuse makes the error of a limit.
func (q *Quota) refuse(code fault.Code, limit string, most int64, text string) *fault.Error {
	q.opts.Refused(limit)
	return fault.New(code, "%s", text).With("quota", limit).With("limit", most)
}

// Action counts one action of an account by a credential: its key, token or browser. Too many are fault.RateLimited with the time
// after which the next one is taken.
func (q *Quota) Action(account, credential string) error {
	if q.exempt(account) {
		return nil
	}
	if err := q.rate(SignerActions, credential, q.opts.SignerActions, time.Second); err != nil {
		return err
	}
	return q.rate(Actions, account, q.opts.Actions, time.Second)
}

// Message counts one message of an account: see Action.
func (q *Quota) Message(account string) error {
	if q.exempt(account) {
		return nil
	}
	return q.rate(Messages, account, q.opts.Messages, time.Minute)
}

func (q *Quota) rate(limit, who string, most int, each time.Duration) error {
	if most == math.MaxInt {
		return nil
	}
	wait := q.buckets.take(limit+"/"+who, most, each, q.opts.Clock.Now())
	if wait == 0 {
		return nil
	}
	what, unit := "actions", "second"
	if limit == Messages {
		what, unit = "messages", "minute"
	}
	seconds := int64(math.Ceil(wait.Seconds()))
	text := fmt.Sprintf("Too many %s: at most %d in a %s; try again in %d s", what, most, unit, seconds)
	err := q.refuse(fault.RateLimited, limit, int64(most), text)
	err.RetryAfter = wait
	return err
}

// Stored decides, after bytes were added for an account in tx, whether they may stay: fault.TooLarge when the account keeps more
// than it may.
func (q *Quota) Stored(tx store.Tx, account string) error {
	if q.exempt(account) || q.opts.Storage == math.MaxInt64 {
		return nil
	}
	// Two writers that are each within the limit must not go beyond it together.
	if err := tx.Lock("quota/" + account); err != nil {
		return fmt.Errorf("lock storage quota: %w", err)
	}
	used, err := Used(tx, account)
	if err != nil || used <= q.opts.Storage {
		return err
	}
	return q.NoRoom()
}

// Room is how many bytes an account may add. Whoever keeps bytes before the transaction that adds them asks first, so that what
// is refused in the end does not lie there.
func (q *Quota) Room(tx store.Tx, account string) (int64, error) {
	if q.exempt(account) || q.opts.Storage == math.MaxInt64 {
		return math.MaxInt64, nil
	}
	used, err := Used(tx, account)
	return max(q.opts.Storage-used, 0), err
}

// NoRoom is the refusal of bytes that there is no room for.
func (q *Quota) NoRoom() error {
	return q.refuse(fault.TooLarge, Storage, q.opts.Storage,
		fmt.Sprintf("The account may keep %d bytes, and this would be more: delete files or sessions first", q.opts.Storage))
}

// Used is how many bytes an account keeps.
func Used(tx store.Tx, account string) (used int64, err error) {
	err = tx.QueryRow(`SELECT
		(SELECT CAST(COALESCE(SUM(f.size), 0) AS BIGINT) FROM memory_files f JOIN agents a ON a.id = f.agent_id WHERE a.account_id = ?) +
		(SELECT CAST(COALESCE(SUM(t.size), 0) AS BIGINT) FROM session_attachments t JOIN sessions s ON s.id = t.session_id WHERE s.account_id = ?) +
		(SELECT CAST(COALESCE(SUM(u.size), 0) AS BIGINT) FROM uploads u WHERE u.account_id = ?)`, account, account, account).Scan(&used)
	if err != nil {
		return 0, fmt.Errorf("sum up storage: %w", err)
	}
	return used, nil
}

// SessionOpened decides, after a session was made for an account in tx, whether it may stay: fault.RateLimited when there are too
// many.
func (q *Quota) SessionOpened(tx store.Tx, account string) error {
	if q.exempt(account) || q.opts.Sessions == math.MaxInt {
		return nil
	}
	if err := tx.Lock("quota/" + account); err != nil {
		return fmt.Errorf("lock session quota: %w", err)
	}
	var n int64
	if err := tx.QueryRow(`SELECT count(*) FROM sessions WHERE account_id = ?`, account).Scan(&n); err != nil {
		return fmt.Errorf("count sessions: %w", err)
	}
	if n <= int64(q.opts.Sessions) {
		return nil
	}
	return q.refuse(fault.RateLimited, Sessions, int64(q.opts.Sessions),
		fmt.Sprintf("The account has too many sessions: at most %d; delete some first", q.opts.Sessions))
}

// Socket counts an open socket of an account until leave is called. Too many are fault.RateLimited.
func (q *Quota) Socket(account string) (leave func(), err error) {
	if q.exempt(account) {
		return func() {}, nil
	}
	return q.enter(Sockets, account, q.opts.Sockets, "sockets are open")
}

// Subscription counts a subscription of an account on one of its sockets until leave is called. Too many are fault.RateLimited.
func (q *Quota) Subscription(account string) (leave func(), err error) {
	if q.exempt(account) {
		return func() {}, nil
	}
	return q.enter(Subscriptions, account, q.opts.Subscriptions, "subscriptions")
}

func (q *Quota) enter(limit, account string, most int, what string) (leave func(), err error) {
	leave, ok := q.open.enter(limit+"/"+account, most)
	if !ok {
		return nil, q.refuse(fault.RateLimited, limit, int64(most), fmt.Sprintf("Too many %s of this account: at most %d", what, most))
	}
	return leave, nil
}
