// Package collector sets how often the garbage collector runs. Go's default lets the heap double between two collections,
// which on a small heap is a collection every few megabytes: a server at rest has little alive, and a burst of turns spent a
// tenth of its processor time on collecting. Here at least Headroom lies between two collections, and a heap that is larger
// than that doubles as usual, so that memory under load is what it was.
//
// collector is tier 0 and imports nothing of Loam. The serve command calls it; what the operator says with GOGC wins.
package collector

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// Headroom is how many bytes may at least be allocated between two collections.
const Headroom = 32 << 20

// Tune adjusts the collector of this process now and after every collection. It changes nothing when GOGC is set.
func Tune() {
	if os.Getenv("GOGC") != "" {
		return
	}
	adjust()
	watch()
}

// sentinel is garbage at once: its cleanup says that a collection has run.
type sentinel struct{ _ [16]byte }

func watch() {
	runtime.AddCleanup(new(sentinel), func(struct{}) {
		adjust()
		watch()
	}, struct{}{})
}

func adjust() {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	debug.SetGCPercent(Percent(sample[0].Value.Uint64()))
}

// Percent is the value of GOGC for a heap with so many live bytes: 100, Go's default, from Headroom on.
func Percent(live uint64) int {
	if live >= Headroom {
		return 100
	}
	// The runtime never takes the goal of a heap below 4 MiB, so less than that need not be told apart.
	return int(100 * Headroom / max(live, 1<<20))
}
