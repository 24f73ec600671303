package loopback

import (
	"context"
	"encoding/binary"
	"math"
	"net"

	"google.golang.org/grpc"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// ServeEcho runs a server whose Filter answers with the bytes of the request, and whose Score with how many there were.
func ServeEcho() (*Server, error) {
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := grpc.NewServer(
		grpc.ForceServerCodecV2(frames{}),
		grpc.MaxRecvMsgSize(math.MaxInt32),
		grpc.MaxConcurrentStreams(1024),
		grpc.ReadBufferSize(bufferBytes),
		grpc.WriteBufferSize(bufferBytes),
		grpc.NumStreamWorkers(streamWorkers),
		grpc.InitialWindowSize(minWindowBytes),
		grpc.InitialConnWindowSize(windowBytes),
	)
	s.RegisterService(&grpc.ServiceDesc{
		ServiceName: stowagev1.PlacementService_ServiceDesc.ServiceName,
		HandlerType: (*any)(nil),
		Methods:     []grpc.MethodDesc{{MethodName: "Filter", Handler: echo}, {MethodName: "Score", Handler: count}},
	}, nil)
	done := make(chan error, 1)
	go func() { done <- s.Serve(listener) }()
	return &Server{
		Address: listener.Addr().String(),
		stop: func() error {
			s.Stop()
			return <-done
		},
	}, nil
}

// What these return, gRPC sends and then frees.

//nolint:revive // context-as-argument: the order is that of gRPC's methods
func echo(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
	received := new(pieces)
	return received, decode(received)
}

//nolint:revive // context-as-argument: the order is that of gRPC's methods
func count(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
	received := new(pieces)
	if err := decode(received); err != nil {
		return nil, err
	}
	defer received.buffers.Free()
	return &frame{binary.BigEndian.AppendUint64(nil, uint64(received.buffers.Len()))}, nil
}
