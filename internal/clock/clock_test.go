package clock_test

import (
	"sync"
	"testing"
	"time"

	"github.com/loam-agents/loam/internal/clock"
)

var start = time.UnixMilli(1_800_000_000_123)

// fired tells whether a timer has fired, and when.
func fired(ch <-chan time.Time) (time.Time, bool) {
	select {
	case at := <-ch:
		return at, true
	default:
		return time.Time{}, false
	}
}

func TestAFakeClockStandsStillUntilItIsAdvanced(t *testing.T) {
	t.Parallel()
	c := clock.NewFake(start)
	if !c.Now().Equal(start) || clock.Millis(c) != 1_800_000_000_123 {
		t.Errorf("a new clock tells %v", c.Now())
	}
	c.Advance(1500 * time.Microsecond)
	if !c.Now().Equal(start.Add(1500*time.Microsecond)) || clock.Millis(c) != 1_800_000_000_124 {
		t.Errorf("after 1.5 ms the clock tells %v", c.Now())
	}
}

func TestAFakeTimerFiresOnceWhenItIsDue(t *testing.T) {
	t.Parallel()
	c := clock.NewFake(start)
	short, long := c.After(time.Second), c.After(2*time.Second)
	c.Advance(time.Second - 1)
	if _, ok := fired(short); ok {
		t.Error("the timer fired a nanosecond early")
	}
	c.Advance(1)
	if at, ok := fired(short); !ok || !at.Equal(start.Add(time.Second)) {
		t.Errorf("the timer that is due: %v, %v", at, ok)
	}
	c.Advance(time.Hour)
	if _, ok := fired(short); ok {
		t.Error("the timer fired twice")
	}
	if at, ok := fired(long); !ok || !at.Equal(start.Add(time.Second+time.Hour)) {
		t.Errorf("a timer that is overdue tells the time of the clock: %v, %v", at, ok)
	}
}

func TestATimerOfNoLengthFiresAtOnce(t *testing.T) {
	t.Parallel()
	c := clock.NewFake(start)
	for _, d := range []time.Duration{0, -time.Second} {
		if at, ok := fired(c.After(d)); !ok || !at.Equal(start) {
			t.Errorf("After(%v): %v, %v", d, at, ok)
		}
	}
	select {
	case <-c.Waiting():
		t.Error("a timer that does not wait is told as waiting")
	default:
	}
}

func TestWaitingTellsOfEveryTimerThatHasToWait(t *testing.T) {
	t.Parallel()
	c := clock.NewFake(start)
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() { <-c.After(time.Second) })
	}
	for range 3 {
		<-c.Waiting()
	}
	c.Advance(time.Second)
	wg.Wait()
	select {
	case <-c.Waiting():
		t.Error("more timers than were made")
	default:
	}
}

func TestTheSystemClockTellsTheTimeOfTheMachine(t *testing.T) {
	t.Parallel()
	var c clock.System
	before := time.Now()
	at := <-c.After(time.Nanosecond)
	if at.Before(before) || c.Now().Before(at) {
		t.Errorf("now %v, then the timer %v, then %v", before, at, c.Now())
	}
}
