// Package gctune keeps a minimum heap headroom, so that a process with a small live heap does not run the garbage collector
// several times during one large request.
package gctune

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// DefaultHeadroomBytes fits the garbage of several large requests.
const DefaultHeadroomBytes = 128 << 20

// defaultPercent is Go's default GOGC: the heap may grow by the size of the live heap.
const defaultPercent = 100

// EnsureHeadroom raises GOGC so that the heap may grow by at least about this many bytes between collections, and never
// below Go's default. It applies to the whole process. It does nothing if GOGC is set. GOMEMLIMIT still holds.
func EnsureHeadroom(bytes uint64) {
	if os.Getenv("GOGC") == "" {
		(&tuner{headroom: bytes, percent: defaultPercent}).adjust()
	}
}

type tuner struct {
	headroom uint64
	percent  int // as set
}

// adjust sets the percentage for the current live heap, and runs again after each collection.
func (t *tuner) adjust() {
	// SetGCPercent stops the world, so small differences are ignored.
	if p := percent(t.headroom, liveBytes()); 8*max(p-t.percent, t.percent-p) > t.percent {
		t.percent = p
		debug.SetGCPercent(p)
	}
	runtime.AddCleanup(&sentinel{t}, (*tuner).adjust, t)
}

// sentinel is unreachable at once: its cleanup runs after the next collection.
type sentinel struct{ *tuner }

// minHeapBytes is the live heap that Go assumes at least: it scales its minimum heap of 4 MiB by GOGC, too.
const minHeapBytes = 4 << 20

// percent returns headroom as a percentage of the live bytes, at least the default.
func percent(headroom, live uint64) int {
	return max(defaultPercent, int(100*headroom/max(live, minHeapBytes)))
}

// liveBytes returns the live heap, stacks and globals of the last collection: what GOGC is a percentage of.
func liveBytes() uint64 {
	samples := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"}, {Name: "/gc/scan/globals:bytes"}}
	metrics.Read(samples)
	sum := uint64(0)
	for _, s := range samples {
		sum += s.Value.Uint64()
	}
	return sum
}
