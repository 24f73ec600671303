// Package garbage says how much of it may lie about before it is collected.
package garbage

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// Room is for the garbage of several large requests. A server that keeps little would otherwise collect during each.
const Room = 128 << 20

// usual is Go's default of GOGC: as much garbage as there is in use.
const usual = 100

// LeaveRoom lets garbage grow to as many bytes as are in use, and to at least so many. A memory limit is kept all the same.
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
	if p := percent(c.room, inUse()); math.Abs(float64(p-c.percent)) > float64(c.percent)/8 {
		c.percent = p
		debug.SetGCPercent(p)
	}
	runtime.AddCleanup(&sentinel{c}, (*collector).adjust, c)
}

// sentinel is dead when the next collection looks for it.
type sentinel struct{ *collector }

// percent is what garbage of so many bytes is of what is in use, at least what is usual.
func percent(room, inUse uint64) int {
	return int(max(usual, min(100*float64(room)/float64(max(inUse, 1)), math.MaxInt32)))
}

// inUse is what the last collection found to be in use on the heap.
func inUse() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
