package server

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
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

// TestNoMessage asks with what is no message: it is refused as any bad request is, and logged.
func TestNoMessage(t *testing.T) {
	var log bytes.Buffer
	r := run(t, testConfig(), &log, nil, nil)
	for what, sent := range map[string][]byte{
		"a field that is cut off": {10, 200},
		"a text that is none":     {18, 3, 10, 1, 0xff}, // pod.name of most
		"no field":                {7},
	} {
		for _, method := range []string{
			stowagev1.PlacementService_Filter_FullMethodName, stowagev1.PlacementService_Score_FullMethodName,
			stowagev1.PlacementService_Place_FullMethodName, stowagev1.PlacementService_ScaleDown_FullMethodName,
			stowagev1.PlacementService_PlaceStream_FullMethodName,
		} {
			stream, err := r.conn.NewStream(t.Context(), &grpc.StreamDesc{ServerStreams: true}, method, grpc.ForceCodecV2(asBytes{}))
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(stream.SendMsg(sent), stream.CloseSend()); err != nil {
				t.Fatal(err)
			}
			err = stream.RecvMsg(new(stowagev1.FilterResponse))
			if code, reason, _, _ := why(err); code != codes.InvalidArgument || reason != "stowage/INVALID_REQUEST" {
				t.Errorf("%s with %s: %v", method, what, err)
			}
		}
	}
	r.stop()
	if err := <-r.ended; err != nil {
		t.Error(err)
	}
	if n := strings.Count(log.String(), "InvalidArgument"); n != 15 {
		t.Errorf("%d of 15 calls are logged", n)
	}
}
