package engine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// Whatever turns append and whatever others append in between, the next turn replays the whole log as it stands.
func TestAKeptHistoryReplaysLikeTheWholeLog(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		kept := newHistories()
		var payloads []any
		log := func() []entry { return logOf(t, payloads...) }
		made := 0
		another := func() int {
			switch rapid.SampledFrom([]string{"user", "says", "call", "answer"}).Draw(rt, "event") {
			case "user":
				payloads = append(payloads, user(fmt.Sprint("u", len(payloads))))
			case "says":
				payloads = append(payloads, says(fmt.Sprint("a", len(payloads))))
			case "call":
				made++
				payloads = append(payloads, calls(fmt.Sprint("c", made), `{}`))
			case "answer":
				payloads = append(payloads, answers(fmt.Sprint("c", rapid.IntRange(1, made+1).Draw(rt, "call")), `{}`))
			}
			return len(payloads)
		}
		for range rapid.IntRange(1, 6).Draw(rt, "turns") {
			for range rapid.IntRange(0, 3).Draw(rt, "before") {
				another()
			}
			h := kept.take("s")
			h.add(log()[h.upTo:]...)
			h.upTo = int64(len(payloads))
			if diff := cmp.Diff(shape(replay(log())), shape(replay(h.entries))); diff != "" {
				rt.Fatalf("the payload differs: %s", diff)
			}
			want := newHistory("s")
			want.add(log()...)
			if diff := cmp.Diff(want.open, h.open, cmp.AllowUnexported(openCall{})); diff != "" {
				rt.Fatalf("the open calls differ: %s", diff)
			}
			for range rapid.IntRange(0, 4).Draw(rt, "during") {
				n := another()
				if rapid.Bool().Draw(rt, "by the turn") {
					h.add(log()[n-1])
				}
			}
			if rapid.IntRange(0, 9).Draw(rt, "lost") > 0 {
				kept.put(h)
			}
		}
	})
}

func TestHistoriesAreKeptUpToTheirLimit(t *testing.T) {
	t.Parallel()
	of := func(session string, bytes int) *history {
		h := newHistory(session)
		h.add(entry{seq: 1, size: bytes - entryOverhead})
		return h
	}
	c := newHistories()
	c.put(of("large", maxHistory+1))
	if h := c.take("large"); len(h.entries) != 0 {
		t.Error("a history over the limit of one is kept")
	}
	const fit = maxHistories / maxHistory
	for i := range fit {
		c.put(of(fmt.Sprint(i), maxHistory))
	}
	if c.size != maxHistories || c.recent.Len() != fit {
		t.Errorf("%d histories of %d bytes are kept at the limit", c.recent.Len(), c.size)
	}
	c.put(c.take("0"))
	c.put(of("one more", maxHistory))
	if h := c.take("1"); len(h.entries) != 0 {
		t.Error("the one that was not used for longest is still there")
	}
	for _, session := range []string{"0", "one more"} {
		if h := c.take(session); len(h.entries) != 1 {
			t.Errorf("history %q was forgotten", session)
		}
	}
	if c.size != maxHistories-2*maxHistory {
		t.Errorf("%d bytes are counted for what is left", c.size)
	}
}

func TestWhatATurnAppendsBehindAGapIsReadAgain(t *testing.T) {
	t.Parallel()
	log := logOf(t, user("one"), says("two"), user("three"), says(strings.Repeat("4", 100)))
	h := newHistory("s")
	h.add(log[0])
	h.upTo = 1
	h.add(log[1])
	h.add(log[3])
	size := h.size
	h.settle()
	if h.upTo != 2 || len(h.entries) != 2 || h.size != size-log[3].size-entryOverhead {
		t.Errorf("%d entries up to %d are kept, %d bytes of %d", len(h.entries), h.upTo, h.size, size)
	}
}
