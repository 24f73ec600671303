package server

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/count"
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

// lists yields the paths to the lists and maps of a request, each message in the same kind of place once.
func lists(d protoreflect.MessageDescriptor, path []protoreflect.FieldDescriptor, seen map[string]bool, yield func([]protoreflect.FieldDescriptor)) {
	for i := range d.Fields().Len() {
		f := d.Fields().Get(i)
		at := append(append([]protoreflect.FieldDescriptor{}, path...), f)
		if f.IsList() || f.IsMap() {
			yield(at)
		}
		if f.Message() == nil || f.IsMap() {
			continue
		}
		place := ""
		for _, p := range at {
			switch p.Name() {
			case "cluster", "part", "delta", "scenarios", "queue", "mix", "templates", "pod":
				place = string(p.Name())
			}
		}
		if key := place + string(f.Message().FullName()); !seen[key] {
			seen[key] = true
			lists(f.Message(), at, seen, yield)
		}
	}
}

// multiplied encodes a message that has a path, with n elements of the k-th list in it and one of all others.
func multiplied(path []protoreflect.FieldDescriptor, k, n int) []byte {
	var inner []byte
	for i := len(path) - 1; i >= 0; i-- {
		f := path[i]
		one := appendField(nil, f, inner)
		if i == k {
			all := make([]byte, 0, n*len(one))
			for range n {
				all = append(all, one...)
			}
			one = all
		}
		inner = one
	}
	return inner
}

func pathName(path []protoreflect.FieldDescriptor) string {
	var names []string
	for _, f := range path {
		names = append(names, string(f.Name()))
	}
	return strings.Join(names, ".")
}

// TestEveryListIsCounted asks with each list of each request, as long as it may be, alone and in elements of the list around it, and
// with nothing in it. The estimate that the server charges must be at least what the heap then grows by.
func TestEveryListIsCounted(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector takes memory itself")
	}
	conn, stop, err := NewEmbedded(t.Context())
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
	seen := map[string]bool{}
	all := requests()
	for _, method := range slices.Sorted(maps.Keys(all)) {
		request := all[method]
		lists(request.ProtoReflect().Descriptor(), nil, seen, func(path []protoreflect.FieldDescriptor) {
			for k, f := range path {
				if !f.IsList() && !f.IsMap() {
					continue
				}
				if cases++; testing.Short() && cases%10 != 0 {
					continue
				}
				most := n
				if limit := count.Limit(f); limit > 0 {
					most = min(n, limit)
				}
				if k < len(path)-1 && most < 1000 {
					continue
				}
				raw := multiplied(path, k, most)
				inCluster := path[0].Name() == "context" && len(path) > 1 && path[1].Name() == "cluster"
				if path[0].Name() != "pod" && request.ProtoReflect().Descriptor().Fields().ByName("pod") != nil {
					raw = append(raw, pod...)
				}
				steps := [][]byte{raw}
				switch {
				case path[0].Name() == "part":
					steps = [][]byte{raw, encoded(t, end(""))}
				case path[0].Name() == "delta":
					steps = [][]byte{encoded(t, &stowagev1.PutSnapshotRequest{Step: &stowagev1.PutSnapshotRequest_BaseAddress{BaseAddress: put.Address}}), raw}
				case !inCluster && path[0].Name() != "place":
					steps = [][]byte{append(append([]byte{}, on...), raw...)}
				}
				estimate := int64(0)
				for _, step := range steps {
					size, err := count.Of(request).Count(wire.Pieces{step})
					if err != nil {
						t.Fatalf("%s: %v", pathName(path), err)
					}
					estimate += size.Bytes
				}
				var answer error
				peak := peakOf(func() { answer = ask(t.Context(), conn, method, steps) })
				const slack = 3 << 20
				said := fmt.Sprint(answer)
				line := fmt.Sprintf("%s %s, %d of %s: %d bytes take %d (%d each), estimated %d; %.100s", method[strings.LastIndex(method, "/")+1:], pathName(path), most, f.Name(),
					len(raw), peak, peak/int64(most), estimate, said)
				if peak > estimate+estimate/4+slack {
					t.Error(line)
				} else {
					t.Log(line)
				}
			}
		})
	}
	if cases < 100 {
		t.Errorf("only %d cases", cases)
	}
}

// requests are the requests of all methods.
func requests() map[string]proto.Message {
	out := map[string]proto.Message{}
	for _, file := range []protoreflect.FileDescriptor{
		stowagev1.File_stowage_v1_placement_service_proto, stowagev1.File_stowage_v1_simulation_service_proto,
	} {
		for i := range file.Services().Len() {
			s := file.Services().Get(i)
			for j := range s.Methods().Len() {
				m := s.Methods().Get(j)
				out[fmt.Sprintf("/%s/%s", s.FullName(), m.Name())] = newMessage(m.Input())
			}
		}
	}
	return out
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

// appendField appends a field with a value, zero for a number.
func appendField(b []byte, f protoreflect.FieldDescriptor, value []byte) []byte {
	switch f.Kind() {
	case protoreflect.MessageKind, protoreflect.StringKind, protoreflect.BytesKind:
		return protowire.AppendBytes(protowire.AppendTag(b, f.Number(), protowire.BytesType), value)
	default:
		return protowire.AppendVarint(protowire.AppendTag(b, f.Number(), protowire.VarintType), 0)
	}
}

func encoded(t *testing.T, m proto.Message) []byte {
	t.Helper()
	raw, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
