// Package garbage says how much of it may lie about before it is collected.
package garbage

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// Room is for the garbage of several large requests. A server that keeps little would otherwise collect during each.
const Room = 128 << 20

// usual is Go's default of GOGC: as much garbage as there is in use.
const usual = 100

// LeaveRoom lets garbage grow to as many bytes as are in use, and to at least about so many. A memory limit is kept all the
// same.
// It concerns the whole process and does nothing where GOGC is set.
func LeaveRoom(bytes uint64) {
	if os.Getenv("GOGC") == "" {
		(&collector{room: bytes, percent: usual}).adjust()
	}
}

type collector struct {
	room    uint64
	percent int
}

// adjust sets what the collector goes by after what is in use now, and does so again after each collection.
func (c *collector) adjust() {
	// To set it stops the world for a moment.
	if p := percent(c.room, inUse()); 8*max(p-c.percent, c.percent-p) > c.percent {
		c.percent = p
		debug.SetGCPercent(p)
	}
	runtime.AddCleanup(&sentinel{c}, (*collector).adjust, c)
}

// sentinel is dead when the next collection looks for it.
type sentinel struct{ *collector }

// minInUse is what Go takes to be in use at least: the smallest heap is scaled by the percentage, too.
const minInUse = 4 << 20

// percent is what garbage of so many bytes is of what is in use, at least what is usual.
func percent(room, inUse uint64) int {
	return max(usual, int(100*room/max(inUse, minInUse)))
}

// inUse is what the last collection found to be in use, of all that the percentage applies to.
func inUse() uint64 {
	samples := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"}, {Name: "/gc/scan/globals:bytes"}}
	metrics.Read(samples)
	sum := uint64(0)
	for _, s := range samples {
		sum += s.Value.Uint64()
	}
	return sum
}
