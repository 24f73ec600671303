package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
	"google.golang.org/protobuf/proto"

	"github.com/stowage-scheduler/stowage/bench/bigcluster"
	"github.com/stowage-scheduler/stowage/bench/loopback"
	"github.com/stowage-scheduler/stowage/server/wire"
)

// refusing is a server that only computes for a while, and refuses three of four calls when their headers arrive, as early as gRPC
// allows. It decides by a counter, so no server that uses gRPC refuses faster.
type refusing struct {
	server  *grpc.Server
	address string
	served  chan error
	steps   int
	refuses atomic.Bool
	calls   atomic.Int64
}

// compute takes a fixed amount of processor time, however many processors there are.
func compute(steps int) (x int64) {
	for range steps {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return x
}

// stepsOf returns the number of steps that a processor computes in a time, by the fastest of several measurements.
func stepsOf(work time.Duration) int {
	const steps = 1 << 22
	fastest := time.Hour
	for range 20 {
		begin := time.Now()
		sink.Add(compute(steps))
		fastest = min(fastest, time.Since(begin))
	}
	return int(steps * work / fastest)
}

// sink keeps the results of compute alive.
var sink atomic.Int64

func serveRefusing(ctx context.Context, work time.Duration) (*refusing, error) {
	r := &refusing{steps: stepsOf(work), served: make(chan error, 1)}
	r.server = grpc.NewServer(grpc.InTapHandle(r.enter), grpc.UnknownServiceHandler(r.handle), grpc.ForceServerCodecV2(wire.NewCodec()))
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r.address = listener.Addr().String()
	go func() { r.served <- r.server.Serve(listener) }()
	return r, nil
}

var errNotNow = status.Error(codes.ResourceExhausted, "three of four calls are refused")

func (r *refusing) enter(ctx context.Context, _ *tap.Info) (context.Context, error) {
	if r.refuses.Load() && r.calls.Add(1)%4 != 0 {
		return ctx, errNotNow
	}
	return ctx, nil
}

func (r *refusing) handle(_ any, stream grpc.ServerStream) error {
	in := wire.NewRequest(nil)
	if err := stream.RecvMsg(in); err != nil {
		return err
	}
	in.Free()
	sink.Add(compute(r.steps))
	return stream.SendMsg(wire.Encoded{})
}

func (r *refusing) stop() error {
	r.server.Stop()
	return <-r.served
}

// floor measures the answers that plain callers at four times the peak get from a server whose refusals cost nothing, by the work of
// a call and the size of its request: few bytes, or a cluster of a number of nodes.
func floor(ctx context.Context, nodes, rounds int, duration time.Duration) (err error) {
	few, cluster := make([]byte, 500), make([]byte, proto.Size(bigcluster.Compact(bigcluster.New(nodes))))
	idle, err := loopback.ServeEcho()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, idle.Stop()) }()
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "work of a call\tits bytes\tpeak/s\tdeadline\t4 times, plain callers: answered/s\tof the peak\trefused/s\tsent too late/s\t")
	for range rounds {
		for _, request := range [][]byte{few, cluster} {
			for _, work := range []time.Duration{0, 50 * time.Microsecond, 250 * time.Microsecond, time.Millisecond, 2 * time.Millisecond, 4 * time.Millisecond} {
				if err := errors.Join(floorOf(ctx, out, idle.Address, work, request, duration), out.Flush()); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func floorOf(
	ctx context.Context, out *tabwriter.Writer, idle string, work time.Duration, request []byte, duration time.Duration,
) (err error) {
	r, err := serveRefusing(ctx, work)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.stop()) }()
	callers, err := dial(r.address, idle, false)
	if err != nil {
		return err
	}
	defer callers.close()
	f := &form{name: "nothing", method: "/floor/Call", request: request}
	peak, err := callers.closed(ctx, f, duration)
	if err != nil {
		return err
	}
	half := callers.open(ctx, f, peak/2, duration, 0).p99()
	r.refuses.Store(true)
	at := callers.open(ctx, f, 4*peak, duration, mostLatency*half)
	_, err = fmt.Fprintf(out, "%v\t%d\t%.0f\t%v\t%.0f\t%.0f %%\t%.0f\t%.0f\t\n", work, len(request), peak, short(mostLatency*half), at.rate(),
		100*at.rate()/peak, at.perSecond(len(at.refused)), at.perSecond(at.late))
	return err
}
