package placement

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/admission"
	"github.com/stowage-scheduler/stowage/server/wire"
)

// handlers are the handlers that the services register, by method.
type handlers map[string]func(ctx context.Context, raw []byte) error

func (h handlers) RegisterService(d *grpc.ServiceDesc, service any) {
	receive := func(raw []byte, into any) error {
		return wire.NewCodec().Unmarshal(mem.BufferSlice{mem.SliceBuffer(raw)}, into)
	}
	for _, m := range d.Methods {
		h[m.MethodName] = func(ctx context.Context, raw []byte) error {
			_, err := m.Handler(service, ctx, func(into any) error { return receive(raw, into) }, nil)
			return err
		}
	}
	for _, s := range d.Streams {
		h[s.StreamName] = func(ctx context.Context, raw []byte) error {
			return s.Handler(service, &oneMessage{ctx: ctx, raw: raw})
		}
	}
}

// oneMessage is a stream with a message.
type oneMessage struct {
	grpc.ServerStream
	ctx context.Context
	raw []byte
}

func (s *oneMessage) Context() context.Context { return s.ctx }
func (s *oneMessage) SendMsg(any) error        { return nil }

func (s *oneMessage) RecvMsg(into any) error {
	return wire.NewCodec().Unmarshal(mem.BufferSlice{mem.SliceBuffer(s.raw)}, into)
}

// TestDecodingHasASeat: while all seats are taken, no method decodes a large request. Once one is free, it is decoded, and refused for
// its unknown fields.
func TestDecodingHasASeat(t *testing.T) {
	s, all := New(1<<20, nil), handlers{}
	limiter := admission.New(admission.Settings{Seats: 1})
	s.SetAdmission(limiter)
	Register(all, s)
	if len(all) < 13 {
		t.Errorf("only %d methods", len(all))
	}
	var raw []byte
	for len(raw) < 2*smallBytes {
		raw = protowire.AppendVarint(protowire.AppendTag(raw, 1000, protowire.VarintType), 1)
	}
	for method, call := range all {
		if method == "GetServerInfo" { // gRPC decodes it, and it has no field
			continue
		}
		t.Run(method, func(t *testing.T) {
			held, err := limiter.Admit(t.Context(), 0, time.Millisecond, 1)
			if err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- call(t.Context(), raw) }()
			select {
			case err := <-ended:
				t.Errorf("decoded without a seat: %v", err)
				held.Release()
				return
			case <-time.After(30 * time.Millisecond):
			}
			held.Release()
			if err := <-ended; status.Code(err) != codes.InvalidArgument {
				t.Errorf("with a seat: %v", err)
			}
		})
	}
}

// TestCountedBeforeItIsCut: a large request with too long a list is refused for it before the cluster is cut out of it, which would
// notice that the end is malformed.
func TestCountedBeforeItIsCut(t *testing.T) {
	s, all := New(1<<20, nil), handlers{}
	Register(all, s)
	raw := bytes.Repeat([]byte{0x12, 0}, 1_000_001) // PlaceRequest.queue
	raw = append(raw, 0xff)
	err := all["Place"](t.Context(), raw)
	if want := "queue: has 1000001 entries, at most 1000000 are allowed"; status.Convert(err).Message() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// watchedStream looks at the service while answers are sent.
type watchedStream struct {
	oneMessage
	look func()
	sent int
}

func (s *watchedStream) SendMsg(any) error {
	s.sent++
	s.look()
	return nil
}

// TestPlacesAreGivenBack: a request that decodes in one go has a place until it is decoded, not while it is answered, and none once it
// has ended.
func TestPlacesAreGivenBack(t *testing.T) {
	s, all := New(1<<20, nil), handlers{}
	s.SetAdmission(admission.New(admission.Settings{Seats: 2}))
	Register(all, s)
	many := func(tag protowire.Number) (raw []byte) {
		for range manyFields + 1 {
			raw = protowire.AppendVarint(protowire.AppendTag(raw, tag, protowire.VarintType), 1)
		}
		return raw
	}
	for method, call := range all {
		if method == "GetServerInfo" {
			continue
		}
		if err := call(t.Context(), many(1000)); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%s: %v", method, err)
		}
		if n := len(s.places); n > 0 {
			t.Fatalf("%s: %d places are not given back", method, n)
		}
	}

	node := &stowagev1.Node{Name: "a", Allocatable: &stowagev1.Resources{Pods: proto.Int64(10)}}
	pod := &stowagev1.Pod{Source: &stowagev1.Pod_Template{Template: &stowagev1.PodTemplate{Spec: &stowagev1.PodSpec{}}}}
	raw, err := proto.Marshal(&stowagev1.PlaceStreamRequest{Place: &stowagev1.PlaceRequest{
		Context: &stowagev1.DecisionContext{Base: &stowagev1.DecisionContext_Cluster{Cluster: &stowagev1.Cluster{Nodes: []*stowagev1.Node{node}}}},
		Queue:   []*stowagev1.PendingPods{{Pod: pod}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	stream := &watchedStream{oneMessage: oneMessage{ctx: t.Context(), raw: append(many(2), raw...)}} // pods_per_message
	stream.look = func() {
		if n := len(s.places); n > 0 {
			t.Errorf("%d places are taken while an answer is sent", n)
		}
	}
	if err := placeStreamOf(t, s)(s, stream); err != nil || stream.sent == 0 {
		t.Errorf("%d answers, %v", stream.sent, err)
	}
}

// placeStreamOf returns the handler of PlaceStream.
func placeStreamOf(t *testing.T, s *Service) grpc.StreamHandler {
	t.Helper()
	found := streamHandlers{}
	Register(found, s)
	return found["PlaceStream"]
}

type streamHandlers map[string]grpc.StreamHandler

func (h streamHandlers) RegisterService(d *grpc.ServiceDesc, _ any) {
	for _, s := range d.Streams {
		h[s.StreamName] = s.Handler
	}
}

// parts is a stream of the messages of a put.
type parts struct {
	oneMessage
	messages [][]byte
}

func (s *parts) RecvMsg(into any) error {
	if len(s.messages) == 0 {
		return io.EOF
	}
	s.raw, s.messages = s.messages[0], s.messages[1:]
	return s.oneMessage.RecvMsg(into)
}

// TestALargeElementAmongParts: a part with an element that decodes in one go, among parts that are received ahead, has a place, which
// it gives back.
func TestALargeElementAmongParts(t *testing.T) {
	s := New(1<<30, nil)
	s.SetAdmission(admission.New(admission.Settings{Seats: 1}))
	found := streamHandlers{}
	Register(found, s)
	nodes := func(prefix string) []byte {
		c := &stowagev1.Cluster{}
		for i := range 5000 {
			c.Nodes = append(c.Nodes, &stowagev1.Node{Name: fmt.Sprint(prefix, "-a-node-with-a-name-", i)})
		}
		raw, err := proto.Marshal(&stowagev1.PutSnapshotRequest{Step: &stowagev1.PutSnapshotRequest_Part{Part: c}})
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	large := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "large")
	unschedulable := (&stowagev1.Node{}).ProtoReflect().Descriptor().Fields().ByName("unschedulable").Number()
	for range manyFields + 1 {
		large = protowire.AppendVarint(protowire.AppendTag(large, unschedulable, protowire.VarintType), 1)
	}
	for range 2 { // in Cluster.nodes, in PutSnapshotRequest.part
		large = protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), large)
	}
	end, err := proto.Marshal(&stowagev1.PutSnapshotRequest{Step: &stowagev1.PutSnapshotRequest_End{End: &stowagev1.PutSnapshotEnd{}}})
	if err != nil {
		t.Fatal(err)
	}
	in := &parts{oneMessage{ctx: t.Context()}, [][]byte{nodes("a"), large, nodes("b"), end}}
	s.places <- struct{}{} // another request decodes in one go
	ended := make(chan error, 1)
	go func() { ended <- found["PutSnapshot"](s, in) }()
	select {
	case err := <-ended:
		t.Fatalf("it does not wait for a place: %v", err)
	case <-time.After(200 * time.Millisecond):
	}
	<-s.places
	if err := <-ended; err != nil || len(in.messages) > 0 || len(s.places) > 0 {
		t.Errorf("%v, %d messages left, %d places taken", err, len(in.messages), len(s.places))
	}
}
