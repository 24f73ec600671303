package loopback

import (
	"context"
	"encoding/binary"
	"math"
	"net"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/otel/sdk/metric"
	"google.golang.org/grpc"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// ServeEcho runs a server whose Filter answers with the bytes of the request, and whose Score answers with their number.
func ServeEcho() (*Server, error) {
	return serve(stowagev1.PlacementService_ServiceDesc.ServiceName, []grpc.MethodDesc{
		{MethodName: "Filter", Handler: echo}, {MethodName: "Score", Handler: count},
	})
}

// floors is the service of ServeFloors.
const floors = "stowage.bench.Floors"

// FloorMethod is the full name of a method of ServeFloors.
func FloorMethod(name string) string { return "/" + floors + "/" + name }

// ServeFloors runs a server of methods that do a given work with a request, and nothing else but count the call: it has
// OpenTelemetry's metrics, as a server has that somebody operates, and no interceptors.
func ServeFloors(methods map[string]func(request []byte) ([]byte, error)) (*Server, error) {
	var all []grpc.MethodDesc
	for name, work := range methods {
		all = append(all, grpc.MethodDesc{MethodName: name, Handler: working(work)})
	}
	return serve(floors, all, grpc.StatsHandler(otelgrpc.NewServerHandler(otelgrpc.WithMeterProvider(metric.NewMeterProvider()))))
}

// serve runs a server with the real one's settings.
func serve(service string, methods []grpc.MethodDesc, o ...grpc.ServerOption) (*Server, error) {
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := grpc.NewServer(append(o,
		grpc.ForceServerCodecV2(frames{}),
		grpc.MaxRecvMsgSize(math.MaxInt32),
		grpc.MaxConcurrentStreams(1024),
		grpc.ReadBufferSize(bufferBytes),
		grpc.WriteBufferSize(bufferBytes),
		grpc.NumStreamWorkers(streamWorkers),
		grpc.InitialWindowSize(minWindowBytes),
		grpc.InitialConnWindowSize(windowBytes),
	)...)
	s.RegisterService(&grpc.ServiceDesc{ServiceName: service, HandlerType: (*any)(nil), Methods: methods}, nil)
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

// working is a handler that receives a message as a whole, in memory of its own.
func working(work func([]byte) ([]byte, error)) grpc.MethodHandler {
	return func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
		var received frame
		if err := decode(&received); err != nil {
			return nil, err
		}
		answer, err := work(received.bytes)
		return &frame{answer}, err
	}
}

// gRPC sends and then frees the returned values.

//nolint:revive // context-as-argument: gRPC's methods have this order
func echo(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
	received := new(pieces)
	return received, decode(received)
}

//nolint:revive // context-as-argument: gRPC's methods have this order
func count(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
	received := new(pieces)
	if err := decode(received); err != nil {
		return nil, err
	}
	defer received.buffers.Free()
	return &frame{binary.BigEndian.AppendUint64(nil, uint64(received.buffers.Len()))}, nil
}
