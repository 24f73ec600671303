package server

import (
	"fmt"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// asBytes sends bytes as messages.
type asBytes struct{}

func (asBytes) Name() string { return "proto" }

func (asBytes) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.([]byte))}, nil
}

func (asBytes) Unmarshal(data mem.BufferSlice, v any) error {
	return proto.Unmarshal(data.Materialize(), v.(proto.Message))
}

// TestMalformedSteps sends what is no message behind parts that are sound and parts that are not: the first thing that is
// wrong is told, however much of it came already.
func TestMalformedSteps(t *testing.T) {
	r := run(t, testConfig(), t.Output(), nil, nil)
	nodes := &stowagev1.Cluster{}
	for i := range 3000 {
		nodes.Nodes = append(nodes.Nodes, &stowagev1.Node{Name: fmt.Sprint("a-node-with-a-long-name-", i)})
	}
	nameless := &stowagev1.Cluster{Nodes: append(nodes.Nodes[:3000:3000], &stowagev1.Node{})}
	encoded := func(m proto.Message) []byte {
		raw, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	noMessage := []byte{7}
	last := end("")
	last.Sequence = 1
	for name, test := range map[string]struct {
		messages [][]byte
		field    string
	}{
		"first":            {[][]byte{noMessage}, "step"},
		"behind a part":    {[][]byte{encoded(part(nodes)), noMessage}, "step"},
		"behind a bad one": {[][]byte{encoded(part(nameless)), noMessage, noMessage}, "part.nodes[3000].name"},
		"behind the end":   {[][]byte{encoded(part(nodes)), encoded(last), noMessage}, "sequence"},
	} {
		t.Run(name, func(t *testing.T) {
			for range 20 {
				stream, err := r.conn.NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true},
					stowagev1.PlacementService_PutSnapshot_FullMethodName, grpc.ForceCodecV2(asBytes{}))
				if err != nil {
					t.Fatal(err)
				}
				for _, m := range test.messages {
					if stream.SendMsg(m) != nil {
						break // the answer says why
					}
				}
				err = stream.RecvMsg(new(stowagev1.PutSnapshotResponse))
				code, _, _, violations := why(err)
				if code != codes.InvalidArgument || len(violations) != 1 || violations[0].GetField() != test.field {
					t.Fatalf("got %v, want what is wrong with %s", err, test.field)
				}
			}
		})
	}
}
