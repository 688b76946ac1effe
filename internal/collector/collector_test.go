package collector_test

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"

	"github.com/loam-agents/loam/internal/collector"
)

func TestASmallHeapIsCollectedAfterTheHeadroomAndALargeOneWhenItDoubles(t *testing.T) {
	t.Parallel()
	for live, want := range map[uint64]int{
		0: 3200, 1 << 20: 3200, 8 << 20: 400, collector.Headroom / 2: 200, collector.Headroom - 1: 100, collector.Headroom: 100, 1 << 40: 100,
	} {
		if got := collector.Percent(live); got != want {
			t.Errorf("%d bytes alive: %d, want %d", live, got, want)
		}
	}
}

// The test changes the collector of its process, so it is not parallel.
func TestTheGoalFollowsTheHeap(t *testing.T) {
	t.Setenv("GOGC", "")
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	collector.Tune()
	if got := goal(); got < collector.Headroom {
		t.Fatalf("the next collection comes at %d bytes, want at least %d", got, collector.Headroom)
	}
	kept := make([]byte, 3*collector.Headroom)
	// The cleanup of a collection runs beside the program: the one after it finds the percentage adjusted.
	for percent := 0; percent != 100; {
		runtime.GC()
		if percent = debug.SetGCPercent(100); percent != 100 {
			debug.SetGCPercent(percent)
		}
	}
	runtime.KeepAlive(kept)
}

func TestTheOperatorsWordWins(t *testing.T) {
	t.Setenv("GOGC", "50")
	before := debug.SetGCPercent(50)
	defer debug.SetGCPercent(before)
	collector.Tune()
	if got := debug.SetGCPercent(50); got != 50 {
		t.Errorf("GOGC became %d", got)
	}
}

func goal() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/goal:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
