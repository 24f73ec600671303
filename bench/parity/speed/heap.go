package speed

import (
	"runtime"
	"runtime/metrics"
	"time"
)

// heapBytes is the memory of the objects on the heap, the dead ones included that have not been swept.
func heapBytes() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// liveHeap is the memory of the objects that are in use. It collects twice: a sync.Pool lives through one collection.
func liveHeap() uint64 {
	runtime.GC()
	runtime.GC()
	return heapBytes()
}

// peakHeap returns the most by which the heap exceeded, during f, what it held before. It looks every millisecond.
func peakHeap(f func() error) (uint64, error) {
	before := liveHeap()
	peak := before
	done, sampled := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(sampled)
		ticker := time.NewTicker(time.Millisecond)
		defer ticker.Stop()
		for {
			peak = max(peak, heapBytes())
			select {
			case <-ticker.C:
			case <-done:
				return
			}
		}
	}()
	err := f()
	close(done)
	<-sampled
	return peak - before, err
}
