package bench

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

// peakHeap returns the most by which the heap exceeded, during f, what it held before. It looks every millisecond.
func peakHeap(f func()) uint64 {
	runtime.GC()
	before := heapBytes()
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
	f()
	close(done)
	<-sampled
	return peak - before
}
