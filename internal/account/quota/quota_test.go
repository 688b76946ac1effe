package quota_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/loam-agents/loam/internal/account/quota"
	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/fault"
)

func setup(o quota.Options) (*quota.Quota, *clock.Fake) {
	c := clock.NewFake(time.UnixMilli(1_800_000_000_000))
	o.Clock = c
	return quota.New(o), c
}

// taken is how many of n requests are taken, and how the first that is not was refused.
func taken(n int, fn func() error) (ok int, refused *fault.Error) {
	for range n {
		if err := fn(); err == nil {
			ok++
		} else if refused == nil {
			refused = fault.From(err)
		}
	}
	return ok, refused
}

func TestARateIsTakenAndComesBack(t *testing.T) {
	t.Parallel()
	var met []string
	q, c := setup(quota.Options{
		Limits: quota.Limits{Actions: 10, SignerActions: 4, Messages: 6}, Refused: func(limit string) { met = append(met, limit) },
	})
	one := func() error { return q.Action("account", "one") }
	ok, refused := taken(20, one)
	if ok != 8 || refused.Code != fault.RateLimited || refused.Message != "Too many actions: at most 4 in a second; try again in 1 s" ||
		refused.RetryAfter != 250*time.Millisecond || refused.Details["quota"] != quota.SignerActions || refused.Details["limit"] != int64(4) {
		t.Errorf("%d actions of a key, then %+v", ok, refused)
	}
	c.Advance(refused.RetryAfter)
	if ok, _ := taken(2, one); ok != 1 {
		t.Errorf("after the time that was said %d are taken", ok)
	}
	// What was refused for a key does not count for its account, which had 20, used 8, got 2.5 in the quarter second and used one.
	key := 0
	if ok, refused := taken(20, func() error { key++; return q.Action("account", fmt.Sprint(key)) }); ok != 13 || refused.Details["quota"] != quota.Actions {
		t.Errorf("%d more by other keys, then %+v", ok, refused)
	}
	if ok, _ := taken(3, func() error { return q.Action("other", "two") }); ok != 3 {
		t.Errorf("another account: %d", ok)
	}
	ok, refused = taken(10, func() error { return q.Message("account") })
	if ok != 6 || refused.Message != "Too many messages: at most 6 in a minute; try again in 10 s" || refused.RetryAfter != 10*time.Second {
		t.Errorf("%d messages, then %+v", ok, refused)
	}
	if c.Advance(time.Minute); len(met) == 0 {
		t.Error("no limit was counted as met")
	}
	if ok, _ = taken(10, func() error { return q.Message("account") }); ok != 6 {
		t.Errorf("a minute later %d messages", ok)
	}
}

func TestNoLimitAndTheExemptAreNeverRefused(t *testing.T) {
	t.Parallel()
	free, _ := setup(quota.Options{Limits: quota.Limits{Actions: -1, SignerActions: -1, Messages: -1, Storage: -1, Sessions: -1, Sockets: -1, Subscriptions: -1}})
	owner, _ := setup(quota.Options{
		Limits: quota.Limits{Actions: 1, SignerActions: 1, Messages: 1, Storage: 1, Sessions: 1, Sockets: 1, Subscriptions: 1},
		Exempt: func(account string) bool { return account == "a" },
	})
	for name, q := range map[string]*quota.Quota{"no limit": free, "exempt": owner, "no quota": nil} {
		ok, refused := taken(1000, func() error {
			_, socket := q.Socket("a")
			_, sub := q.Subscription("a")
			// Without a limit the database is not asked.
			for _, err := range []error{q.Action("a", "k"), q.Message("a"), socket, sub, q.Stored(nil, "a"), q.SessionOpened(nil, "a")} {
				if err != nil {
					return err
				}
			}
			return nil
		})
		if ok != 1000 {
			t.Errorf("%s: %v", name, refused)
		}
	}
}

func TestWhatIsOpenCountsUntilItCloses(t *testing.T) {
	t.Parallel()
	q, _ := setup(quota.Options{Limits: quota.Limits{Sockets: 3, Subscriptions: 5}})
	var mu sync.Mutex
	var leave []func()
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			if l, err := q.Socket("a"); err == nil {
				mu.Lock()
				leave = append(leave, l)
				mu.Unlock()
			} else if err.Error() != "Too many sockets are open of this account: at most 3" || fault.CodeOf(err) != fault.RateLimited {
				t.Errorf("one too many: %v", err)
			}
		})
	}
	wg.Wait()
	if len(leave) != 3 {
		t.Fatalf("%d sockets are open", len(leave))
	}
	if _, err := q.Socket("b"); err != nil {
		t.Errorf("another account: %v", err)
	}
	// Leaving twice is leaving once.
	leave[0]()
	leave[0]()
	if ok, _ := taken(5, func() error { _, err := q.Socket("a"); return err }); ok != 1 {
		t.Errorf("%d sockets after one closed", ok)
	}
}

func TestForgottenBucketsWereFull(t *testing.T) {
	t.Parallel()
	q, c := setup(quota.Options{Limits: quota.Limits{Messages: 2}})
	if ok, _ := taken(3, func() error { return q.Message("busy") }); ok != 2 {
		t.Fatalf("%d messages", ok)
	}
	for i := range 5000 {
		if err := q.Message(fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := q.Message("busy"); err == nil {
		t.Error("whoever makes many accounts is forgiven")
	}
	c.Advance(time.Minute)
	for i := range 5000 {
		if err := q.Message(fmt.Sprint("later ", i)); err != nil {
			t.Fatal(err)
		}
	}
	if ok, _ := taken(3, func() error { return q.Message("busy") }); ok != 2 {
		t.Errorf("a minute later: %d messages", ok)
	}
}
