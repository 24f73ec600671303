package wire

import "google.golang.org/grpc"

// Buffers for large requests, one for each direction of a connection, and flow-control windows. The window of a stream is gRPC's
// minimum. It grows to the size of a message when the message is read, so the rest of a call that is refused at its headers is never
// sent.
const (
	bufferBytes    = 256 << 10
	windowBytes    = 64 << 20
	minWindowBytes = 64 << 10
)

// streamWorkers is the number of long-lived handler goroutines, whose stacks have already grown. A call that finds all
// of them busy gets a goroutine of its own.
const streamWorkers = 16

// Transport returns the options of a server for large messages.
func Transport() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.ReadBufferSize(bufferBytes),
		grpc.WriteBufferSize(bufferBytes),
		grpc.InitialWindowSize(minWindowBytes),
		grpc.InitialConnWindowSize(windowBytes),
		grpc.NumStreamWorkers(streamWorkers),
		grpc.WaitForHandlers(true), // Stop returns only after the last handler has ended
	}
}
