package decode

import (
	"sync/atomic"

	"github.com/stowage-scheduler/stowage/server/wire"
)

// Bounds of what Parts receives ahead of decoding.
const (
	aheadBytes = 4 << 20
	aheadParts = 64
)

// Follow reports whether a part is large enough to receive the next ones while it is decoded.
func Follow(part wire.Pieces) bool { return part.Len() > sequentialBytes }

// Parts decodes the parts of a cluster as Part does, until one is invalid, and receives the next parts meanwhile. receive
// returns nil after the last part. Another goroutine calls it, and may still be in the call when Parts returns because of an
// invalid part. Parts frees the parts.
func (r *Request) Parts(field string, receive func() *wire.Request) {
	received, stopped := make(chan *wire.Request, aheadParts), make(chan struct{})
	decoded := make(chan struct{}, 1) // wakes the receiver
	defer close(stopped)
	var ahead atomic.Int64 // bytes received and not decoded
	var panicked any
	go func() {
		defer close(received)
		panicked = capturePanic(func() {
			for in := receive(); in != nil; in = receive() {
				ahead.Add(int64(in.Cluster.Len()))
				select {
				case received <- in:
				case <-stopped:
					return
				}
				for ahead.Load() > aheadBytes {
					select {
					case <-decoded:
					case <-stopped:
						return
					}
				}
			}
		})
	}()
	for in := range received {
		bytes := in.Cluster.Len()
		r.Part(field, in.Cluster)
		in.Free()
		if r.ended != nil || len(r.violations) > 0 {
			return
		}
		ahead.Add(-int64(bytes))
		select {
		case decoded <- struct{}{}:
		default:
		}
	}
	if panicked != nil {
		panic(panicked)
	}
}
