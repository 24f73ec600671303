package server

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/stowage-scheduler/stowage/bench/lists"
	"github.com/stowage-scheduler/stowage/engine/enginetest/raced"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/count"
	"github.com/stowage-scheduler/stowage/server/inprocess"
	"github.com/stowage-scheduler/stowage/server/wire"
)

// peakOf returns how much the heap grows at most while f runs.
func peakOf(f func()) int64 {
	heap := func() int64 {
		s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		metrics.Read(s)
		return int64(s[0].Value.Uint64())
	}
	runtime.GC()
	runtime.GC()
	base := heap()
	defer debug.SetGCPercent(debug.SetGCPercent(8)) // what is measured is in use, but for so many percent
	stop, most := make(chan struct{}), make(chan int64)
	go func() {
		peak := int64(0)
		for {
			select {
			case <-stop:
				most <- peak
				return
			case <-time.After(300 * time.Microsecond):
				peak = max(peak, heap())
			}
		}
	}()
	f()
	close(stop)
	return <-most - base
}

// TestEveryListIsCounted asks with each list of each request, as long as it may be, alone and in elements of the list around it, and
// with nothing in it. The estimate that the server charges must be at least what the heap then grows by.
func TestEveryListIsCounted(t *testing.T) {
	if raced.Detector {
		t.Skip("the race detector takes memory itself")
	}
	conn, stop, err := inprocess.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	}()
	const n = 20_000
	stored := &stowagev1.Cluster{Nodes: []*stowagev1.Node{{Name: "a"}}}
	put, err := put(t, stowagev1.NewPlacementServiceClient(conn), part(stored), end(""))
	if err != nil {
		t.Fatal(err)
	}
	reference := &stowagev1.SnapshotReference{Address: put.Address}
	// What most requests need is in the same fields of all of them.
	on := encoded(t, &stowagev1.FilterRequest{
		Context: &stowagev1.DecisionContext{Base: &stowagev1.DecisionContext_Snapshot{Snapshot: reference}},
	})
	pod := encoded(t, &stowagev1.FilterRequest{Pod: &stowagev1.Pod{
		Name: "p", Source: &stowagev1.Pod_Template{Template: &stowagev1.PodTemplate{Spec: &stowagev1.PodSpec{}}},
	}})
	cases := 0
	for _, l := range lists.All() {
		for _, level := range l.Levels() {
			if cases++; testing.Short() && cases%10 != 0 {
				continue
			}
			most := l.Most(level, n)
			if level < len(l.Path)-1 && most < 1000 {
				continue
			}
			raw := l.Encode(level, most)
			if !l.In("pod") && l.Asks("pod") {
				raw = append(raw, pod...)
			}
			steps := [][]byte{raw}
			switch {
			case l.In("part"):
				steps = [][]byte{raw, encoded(t, end(""))}
			case l.In("delta"):
				base := &stowagev1.PutSnapshotRequest_BaseAddress{BaseAddress: put.Address}
				steps = [][]byte{encoded(t, &stowagev1.PutSnapshotRequest{Step: base}), raw}
			case !l.InCluster() && !l.In("place"):
				steps = [][]byte{slices.Concat(on, raw)}
			}
			request := newMessage(l.Path[0].ContainingMessage())
			estimate := int64(0)
			for _, step := range steps {
				size, err := count.Of(request).Count(t.Context(), wire.Pieces{step})
				if err != nil {
					t.Fatalf("%v: %v", l, err)
				}
				estimate += size.Bytes
			}
			var answer error
			peak := peakOf(func() { answer = ask(t.Context(), conn, l.Method, steps) })
			const slack = 3 << 20
			line := fmt.Sprintf("%v, %d of %s: %d bytes take %d (%d each), estimated %d; %.100s",
				l, most, l.Path[level].Name(), len(raw), peak, peak/int64(most), estimate, fmt.Sprint(answer))
			if peak > estimate+estimate/4+slack {
				t.Error(line)
			} else {
				t.Log(line)
			}
		}
	}
	if cases < 100 {
		t.Errorf("only %d cases", cases)
	}
}

// ask sends encoded requests and waits for the end of the call.
func ask(ctx context.Context, conn *grpc.ClientConn, method string, messages [][]byte) error {
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, method, grpc.ForceCodecV2(wire.NewCodec()))
	if err != nil {
		return err
	}
	for _, m := range messages {
		if stream.SendMsg(wire.Encoded(m)) != nil {
			break
		}
	}
	_ = stream.CloseSend()
	for {
		in := wire.NewRequest(nil)
		if err := stream.RecvMsg(in); err != nil {
			return err
		}
		in.Free()
	}
}

func newMessage(d protoreflect.MessageDescriptor) proto.Message {
	t, err := protoregistry.GlobalTypes.FindMessageByName(d.FullName())
	if err != nil {
		panic(err)
	}
	return t.New().Interface()
}

func encoded(t *testing.T, m proto.Message) []byte {
	t.Helper()
	raw, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
