package id_test

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/id"
)

var (
	start = time.UnixMilli(1_800_000_000_123)
	shape = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
)

// millis is the time inside an identifier.
func millis(t *testing.T, s string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(s[:8]+s[9:13], 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// ones is randomness of one bits only.
type ones struct{}

func (ones) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 0xff
	}
	return len(b), nil
}

func TestIdentifiersAreUUIDsOfVersion7(t *testing.T) {
	t.Parallel()
	next := id.NewSource(clock.NewFake(start), ones{})
	if got := next(); got != "01a3185c-507b-7000-bfff-ffffffffffff" {
		t.Errorf("the first identifier is %s", got)
	}
	if got := next(); got != "01a3185c-507b-7001-bfff-ffffffffffff" {
		t.Errorf("the second identifier is %s", got)
	}
	real := id.NewSource(clock.System{}, nil)
	seen := map[string]bool{}
	for range 10_000 {
		s := real()
		if !shape.MatchString(s) || seen[s] {
			t.Fatalf("%q is no new UUIDv7", s)
		}
		seen[s] = true
	}
}

func TestIdentifiersSortByCreation(t *testing.T) {
	t.Parallel()
	c := clock.NewFake(start)
	next := id.NewSource(c, nil)
	var made []string
	for _, step := range []time.Duration{0, time.Millisecond, -time.Hour, time.Hour, time.Second, -time.Millisecond} {
		c.Advance(step)
		for range 1000 {
			made = append(made, next())
		}
	}
	if !slices.IsSorted(made) || len(slices.Compact(slices.Clone(made))) != len(made) {
		t.Error("identifiers are not strictly ascending when the clock stands or goes back")
	}
	if got := millis(t, made[0]); got != start.UnixMilli() {
		t.Errorf("the first identifier tells %d", got)
	}
}

func TestMoreThan4096IdentifiersOfAMillisecondBorrowFromTheNext(t *testing.T) {
	t.Parallel()
	c := clock.NewFake(start)
	next := id.NewSource(c, nil)
	var last string
	for i := range 3 * 4096 {
		s := next()
		if s <= last {
			t.Fatalf("identifier %d: %s after %s", i, s, last)
		}
		last = s
	}
	if got := millis(t, last) - start.UnixMilli(); got != 2 {
		t.Errorf("the last identifier is %d ms ahead of the clock, want 2", got)
	}
	c.Advance(time.Second)
	if got := millis(t, next()) - start.UnixMilli(); got != 1000 {
		t.Errorf("a second later an identifier tells %d ms", got)
	}
}

func TestASourceIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	for name, next := range map[string]id.Source{"uuid": id.NewSource(clock.System{}, nil), "sequence": id.Sequence()} {
		var mu sync.Mutex
		seen := map[string]bool{}
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for range 500 {
					s := next()
					mu.Lock()
					seen[s] = true
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		if len(seen) != 2000 {
			t.Errorf("%s: %d different identifiers of 2000", name, len(seen))
		}
	}
}

func TestNoIdentifierIsMadeWithoutRandomness(t *testing.T) {
	t.Parallel()
	for name, random := range map[string]*bytes.Reader{"none": bytes.NewReader(nil), "too little": bytes.NewReader(make([]byte, 7))} {
		func() {
			defer func() {
				if err := recover(); err == nil || !strings.HasPrefix(err.(string), "id: read randomness: ") {
					t.Errorf("%s: recovered %v", name, err)
				}
			}()
			t.Errorf("%s: made %s", name, id.NewSource(clock.System{}, random)())
		}()
	}
}

func TestASequenceCountsInTheShapeOfAUUID(t *testing.T) {
	t.Parallel()
	next := id.Sequence()
	for i, want := range []string{"00000000-0000-7000-8000-000000000001", "00000000-0000-7000-8000-000000000002"} {
		if got := next(); got != want || !shape.MatchString(got) {
			t.Errorf("identifier %d is %s, want %s", i, got, want)
		}
	}
}

func BenchmarkNewSource(b *testing.B) {
	next := id.NewSource(clock.System{}, nil)
	for b.Loop() {
		if next() == "" {
			b.Fatal("empty")
		}
	}
}
