package loopback

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net"

	"google.golang.org/grpc"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// ServeEcho runs a server with the methods Filter and PutSnapshot that answers with the number of bytes it received.
func ServeEcho() (*Server, error) {
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := grpc.NewServer(
		grpc.ForceServerCodecV2(lengths{}),
		grpc.MaxRecvMsgSize(math.MaxInt32),
		grpc.MaxConcurrentStreams(1024),
		grpc.ReadBufferSize(bufferBytes),
		grpc.WriteBufferSize(bufferBytes),
		grpc.SharedWriteBuffer(true),
		grpc.NumStreamWorkers(streamWorkers),
		grpc.InitialWindowSize(windowBytes),
		grpc.InitialConnWindowSize(windowBytes),
	)
	s.RegisterService(&grpc.ServiceDesc{
		ServiceName: stowagev1.PlacementService_ServiceDesc.ServiceName,
		HandlerType: (*any)(nil),
		Methods:     []grpc.MethodDesc{{MethodName: "Filter", Handler: echo}},
		Streams:     []grpc.StreamDesc{{StreamName: "PutSnapshot", Handler: echoStream, ClientStreams: true}},
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

func echo(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
	received := new(uint64)
	return received, decode(received)
}

func echoStream(_ any, stream grpc.ServerStream) error {
	var received uint64
	for {
		var message uint64
		err := stream.RecvMsg(&message)
		if errors.Is(err, io.EOF) {
			return stream.SendMsg(&received)
		}
		if err != nil {
			return err
		}
		received += message
	}
}

// countAnswer is the echo server's answer to a number of bytes.
func countAnswer(received uint64) []byte { return binary.BigEndian.AppendUint64(nil, received) }

// CheckEcho tells whether the answer is the echo server's to a number of bytes.
func CheckEcho(answer []byte, sent int) error {
	if len(answer) != 8 || binary.BigEndian.Uint64(answer) != uint64(sent) {
		return fmt.Errorf("the echo server answers % x to %d bytes", answer, sent)
	}
	return nil
}
