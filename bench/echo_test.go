//go:build unix

package bench

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"net"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/bench/bigcluster"
	"github.com/stowage-scheduler/stowage/engine"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server"
	"github.com/stowage-scheduler/stowage/server/config"
	"github.com/stowage-scheduler/stowage/server/decode"
)

// Both servers have the buffers and windows of server/grpc.go, so that they differ only in what they do with a message.
const (
	bufferBytes     = 256 << 10
	windowBytes     = 64 << 20
	maxMessageBytes = 256 << 20
)

// BenchmarkInline measures whole Filter calls over loopback with the cluster in the request, next to a gRPC server that
// only receives the same bytes: the floor under every stateless answer. Client and server share the process, so B/op,
// allocs/op, cpu-ns/op and the peak are of both; the client sends bytes that are ready and adds next to nothing.
//
// peak-B is the most that the heap grew to during one call, garbage included; wire-B the size of the request.
//
// Recipe: go test -run - -bench Inline -benchtime 20x -count 5 ./bench
func BenchmarkInline(b *testing.B) {
	const nodes, template = 5000, 9
	factored := request(nodes, template)
	want := feasible(b, factored)
	full := &stowagev1.FilterRequest{
		Cluster: bigcluster.StatedInFull(factored.Cluster),
		Pod:     &stowagev1.Pod{Source: &stowagev1.Pod_Template{Template: factored.Cluster.PodTemplates[template]}},
	}
	echoServer := dial(b, serveEcho(b))
	filterServer := dial(b, serveStowage(b))
	for _, form := range []struct {
		name string
		wire []byte
	}{
		{"templates", marshal(b, factored)},
		{"full", marshal(b, full)},
	} {
		at := fmt.Sprintf("nodes=%d/pods=%d/form=%s", nodes, nodes*bigcluster.PodsPerNode, form.name)
		b.Run(at+"/call=echo", func(b *testing.B) {
			measure(b, echoServer, form.wire, func(answer []byte) error {
				if got := binary.BigEndian.Uint64(answer); got != uint64(len(form.wire)) {
					return fmt.Errorf("the server received %d bytes, want %d", got, len(form.wire))
				}
				return nil
			})
		})
		b.Run(at+"/call=filter", func(b *testing.B) {
			measure(b, filterServer, form.wire, func(answer []byte) error {
				var r stowagev1.FilterResponse
				if err := proto.Unmarshal(answer, &r); err != nil {
					return err
				}
				if got := len(r.GetFeasibleNodes().GetIndexes()); got != want {
					return fmt.Errorf("%d feasible nodes, want %d", got, want)
				}
				return nil
			})
		})
	}
}

// measure times calls with a ready request. The first answer is checked, and the others must be the same bytes.
func measure(b *testing.B, conn *grpc.ClientConn, wire []byte, check func(answer []byte) error) {
	call := func() []byte {
		var answer frame
		err := conn.Invoke(context.Background(), stowagev1.PlacementService_Filter_FullMethodName, &frame{wire}, &answer,
			grpc.ForceCodecV2(frames{}))
		if err != nil {
			b.Fatal(err)
		}
		return answer.bytes
	}
	first := call()
	if err := check(first); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(wire)))
	b.ReportAllocs()
	cpu := cpuTime()
	for b.Loop() {
		if answer := call(); !bytes.Equal(answer, first) {
			b.Fatal("the same request got another answer")
		}
	}
	b.ReportMetric(float64(cpuTime()-cpu)/float64(b.N), "cpu-ns/op")
	peak := peakHeap(func() { call() })
	b.ReportMetric(float64(peak), "peak-B")
	b.ReportMetric(float64(len(wire)), "wire-B")
}

// feasible answers a request without any server in between.
func feasible(b *testing.B, r *stowagev1.FilterRequest) int {
	call, err := decode.Filter(r)
	if err != nil {
		b.Fatal(err)
	}
	compiled, err := engine.Compile(context.Background(), call.Cluster)
	if err != nil {
		b.Fatal(err)
	}
	result, err := compiled.Filter(context.Background(), call.Pod, call.Options)
	if err != nil || len(result.Feasible) == 0 || len(result.Feasible) == len(r.Cluster.Nodes) {
		b.Fatalf("%v: %d feasible nodes", err, len(result.Feasible))
	}
	return len(result.Feasible)
}

func marshal(b *testing.B, m proto.Message) []byte {
	wire, err := proto.Marshal(m)
	if err != nil {
		b.Fatal(err)
	}
	return wire
}

func dial(b *testing.B, address string) *grpc.ClientConn {
	conn, err := grpc.NewClient(address,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithReadBufferSize(bufferBytes),
		grpc.WithWriteBufferSize(bufferBytes),
	)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = conn.Close() })
	return conn
}

// serveStowage runs the real server and returns its address.
func serveStowage(b *testing.B) string {
	ctx, stop := context.WithCancel(context.Background())
	s, err := server.New(ctx, config.Config{
		ListenAddress:          "127.0.0.1:0",
		AdminAddress:           "127.0.0.1:0",
		MaxReceiveMessageBytes: maxMessageBytes,
		MaxInFlightBytes:       2 * maxMessageBytes,
		MaxConcurrentStreams:   16,
	}, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	b.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			b.Error(err)
		}
	})
	return s.Address().String()
}

// serveEcho runs a server that answers every call with the number of bytes it received, and returns its address.
func serveEcho(b *testing.B) string {
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	s := grpc.NewServer(
		grpc.ForceServerCodecV2(lengths{}),
		grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
			var received uint64
			if err := stream.RecvMsg(&received); err != nil {
				return err
			}
			return stream.SendMsg(&received)
		}),
		grpc.MaxRecvMsgSize(maxMessageBytes),
		grpc.ReadBufferSize(bufferBytes),
		grpc.WriteBufferSize(bufferBytes),
		grpc.SharedWriteBuffer(true),
		grpc.InitialWindowSize(windowBytes),
		grpc.InitialConnWindowSize(windowBytes),
	)
	done := make(chan error, 1)
	go func() { done <- s.Serve(listener) }()
	b.Cleanup(func() {
		s.Stop()
		if err := <-done; err != nil {
			b.Error(err)
		}
	})
	return listener.Addr().String()
}

// frame is a message in its wire form.
type frame struct{ bytes []byte }

// frames is a codec that sends and receives frames as they are.
type frames struct{}

var _ encoding.CodecV2 = frames{}

func (frames) Name() string { return "proto" }

func (frames) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.(*frame).bytes)}, nil
}

func (frames) Unmarshal(data mem.BufferSlice, v any) error {
	v.(*frame).bytes = data.Materialize()
	return nil
}

// lengths is a codec that keeps nothing of a message but its length, and sends a length as eight bytes.
type lengths struct{}

var _ encoding.CodecV2 = lengths{}

func (lengths) Name() string { return "proto" }

func (lengths) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(binary.BigEndian.AppendUint64(nil, *v.(*uint64)))}, nil
}

func (lengths) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*uint64) = uint64(data.Len())
	return nil
}
