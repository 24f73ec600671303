package placement_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
	"github.com/stowage-scheduler/stowage/server/wire"
)

// incoming is a stream with messages from a pool that counts the freed buffers.
type incoming struct {
	grpc.ServerStream
	ctx      context.Context
	messages []*stowagev1.PutSnapshotRequest
	freed    int
}

func (s *incoming) Context() context.Context { return s.ctx }

func (s *incoming) Get(n int) *[]byte { b := make([]byte, n); return &b }
func (s *incoming) Put(*[]byte)       { s.freed++ }

func (s *incoming) RecvMsg(m any) error {
	raw, err := proto.Marshal(s.messages[0])
	if err != nil {
		return err
	}
	s.messages = s.messages[1:]
	frames := mem.BufferSlice{mem.Copy(raw, s)}
	defer frames.Free()
	return wire.NewCodec().Unmarshal(frames, m)
}

// stuck is a stream that blocks after the first messages until its context is done.
type stuck struct{ *incoming }

func (s stuck) RecvMsg(m any) error {
	if len(s.messages) > 0 {
		return s.incoming.RecvMsg(m)
	}
	<-s.ctx.Done()
	return s.ctx.Err()
}

// TestPutIsRefusedLongElement: an invalid part is reported even if the client sends nothing more.
func TestPutIsRefusedLongElement(t *testing.T) {
	for _, nodes := range []int{1, 5000} {
		c := &stowagev1.Cluster{}
		for i := range nodes {
			c.Nodes = append(c.Nodes, &stowagev1.Node{Name: fmt.Sprint("a-node-with-a-name-", i)})
		}
		c.Nodes = append(c.Nodes, &stowagev1.Node{})
		in := stuck{&incoming{ctx: t.Context(), messages: []*stowagev1.PutSnapshotRequest{
			{Step: &stowagev1.PutSnapshotRequest_Part{Part: c}},
		}}}
		err := service(t).PutSnapshot(&grpc.GenericServerStream[stowagev1.PutSnapshotRequest,
			stowagev1.PutSnapshotResponse]{ServerStream: in})
		if want := fmt.Sprintf("part.nodes[%d].name", nodes); status.Code(err) != codes.InvalidArgument ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%d nodes: %v, want %s", nodes, err, want)
		}
	}
}

func TestPutFreesEveryMessage(t *testing.T) {
	part := func() *stowagev1.PutSnapshotRequest {
		large := &stowagev1.Node{Name: "node", Labels: map[string]string{"a": string(slices.Repeat([]byte("a"), 63))}}
		c := &stowagev1.Cluster{}
		for range 40 {
			c.Nodes = append(c.Nodes, proto.CloneOf(large))
			large.Name += "x"
		}
		return &stowagev1.PutSnapshotRequest{Step: &stowagev1.PutSnapshotRequest_Part{Part: c}}
	}
	end := &stowagev1.PutSnapshotRequest{Step: &stowagev1.PutSnapshotRequest_End{End: &stowagev1.PutSnapshotEnd{}}}
	in := &incoming{ctx: t.Context(), messages: []*stowagev1.PutSnapshotRequest{part(), end, part()}}
	err := service(t).PutSnapshot(&grpc.GenericServerStream[stowagev1.PutSnapshotRequest,
		stowagev1.PutSnapshotResponse]{ServerStream: in})
	if status.Code(err) != codes.InvalidArgument {
		t.Errorf("a part after the end: %v", err)
	}
	if in.freed != 2 {
		t.Errorf("%d of 2 parts were freed", in.freed)
	}
}
