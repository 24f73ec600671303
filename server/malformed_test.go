package server

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

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

// TestMalformedSteps sends bytes that are no message after sound parts and after malformed ones. The error names whichever
// came first.
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
	for name, test := range map[string]struct {
		messages [][]byte
		field    string
	}{
		"first":            {[][]byte{noMessage}, "step"},
		"behind a part":    {[][]byte{encoded(part(nodes)), noMessage}, "step"},
		"behind a bad one": {[][]byte{encoded(part(nameless)), noMessage, noMessage}, "part.nodes[3000].name"},
		"behind the end":   {[][]byte{encoded(part(nodes)), encoded(last), noMessage}, "end"},
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

// TestNoMessage sends bytes that are no message. The server refuses them as it does any malformed request, and logs that.
func TestNoMessage(t *testing.T) {
	var log bytes.Buffer
	r := run(t, testConfig(), &log, nil, nil)
	calls := 0
	for what, sent := range map[string][]byte{
		"a field that is cut off": {10, 200},
		"a text that is none":     {18, 3, 10, 1, 0xff}, // pod.name of most
		"no field":                {7},
	} {
		for _, method := range []string{
			stowagev1.PlacementService_Filter_FullMethodName, stowagev1.PlacementService_Score_FullMethodName,
			stowagev1.PlacementService_Place_FullMethodName, stowagev1.PlacementService_ScaleDown_FullMethodName,
			stowagev1.PlacementService_PlaceStream_FullMethodName, stowagev1.PlacementService_Preempt_FullMethodName,
			stowagev1.SimulationService_WhatIf_FullMethodName, stowagev1.SimulationService_Drain_FullMethodName,
			stowagev1.SimulationService_Fit_FullMethodName, stowagev1.SimulationService_Provision_FullMethodName,
			stowagev1.SimulationService_Consolidate_FullMethodName,
		} {
			stream := begin(t.Context(), t, r.conn, method, sent, grpc.ForceCodecV2(asBytes{}))
			calls++
			err := stream.RecvMsg(new(stowagev1.FilterResponse))
			if code, reason, _, _ := why(err); code != codes.InvalidArgument || reason != "INVALID_REQUEST" {
				t.Errorf("%s with %s: %v", method, what, err)
			}
		}
	}
	r.stop()
	if err := <-r.ended; err != nil {
		t.Error(err)
	}
	if n := strings.Count(log.String(), "InvalidArgument"); n != calls {
		t.Errorf("%d of %d calls are logged", n, calls)
	}
}

// TestNumbersThatDoNotFit sends a taint whose effect is 1 in 32 bits, in every way that a cluster comes.
func TestNumbersThatDoNotFit(t *testing.T) {
	r := run(t, testConfig(), t.Output(), nil, nil)
	field := func(number protowire.Number, parts ...[]byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), slices.Concat(parts...))
	}
	effect := protowire.AppendVarint(protowire.AppendTag(nil, 3, protowire.VarintType), 1<<32+1)
	node := slices.Concat(field(1, []byte("a")), field(3, field(1, []byte("k")), effect))
	reference := slices.Concat(field(1, []byte(addressOf(t, threeZones()))), field(2, field(4, node)))
	pod := field(2, field(3))
	noReplicas := protowire.AppendVarint(protowire.AppendTag(nil, 4, protowire.VarintType), 0)
	const suffix = "nodes[0].taints[0].effect"
	for method, request := range map[string]struct {
		raw  []byte
		root string
	}{
		stowagev1.PlacementService_Filter_FullMethodName: {slices.Concat(field(1, field(1, field(1, node))), pod), "context.cluster."},
		stowagev1.PlacementService_Score_FullMethodName: {
			slices.Concat(field(1, field(2, reference)), pod), "context.snapshot.delta.",
		},
		stowagev1.PlacementService_Preempt_FullMethodName: {
			slices.Concat(field(1, field(1, field(1, node))), pod), "context.cluster.",
		},
		stowagev1.PlacementService_Place_FullMethodName: {field(1, field(1, field(1, node))), "context.cluster."},
		stowagev1.SimulationService_Drain_FullMethodName: {
			field(1, field(1, field(1, node))), "context.cluster.",
		},
		stowagev1.PlacementService_ScaleDown_FullMethodName: {
			slices.Concat(field(1, field(1, field(1, node))), pod, noReplicas), "context.cluster.",
		},
		stowagev1.SimulationService_WhatIf_FullMethodName: {field(1, field(1, field(1, node))), "context.cluster."},
		stowagev1.SimulationService_Fit_FullMethodName: {
			slices.Concat(field(1, field(1, field(1, node))), field(2, field(1, field(3)))), "context.cluster.",
		},
		stowagev1.SimulationService_Provision_FullMethodName: {
			slices.Concat(field(1, field(1, field(1, node))), field(5, field(1, field(1, []byte("t"))))), "context.cluster.",
		},
		stowagev1.SimulationService_Consolidate_FullMethodName: {
			slices.Concat(field(1, field(1, field(1, node))), field(2)), "context.cluster.",
		},
		stowagev1.PlacementService_PlaceStream_FullMethodName: {field(1, field(1, field(1, field(1, node)))), "place.context.cluster."},
		stowagev1.PlacementService_PutSnapshot_FullMethodName: {field(1, field(1, node)), "part."},
		stowagev1.PlacementService_PutSnapshot_FullMethodName + "?": {
			field(3, field(4, node)), "delta.",
		},
	} {
		method, _, _ = strings.Cut(method, "?")
		err := begin(t.Context(), t, r.conn, method, request.raw, grpc.ForceCodecV2(asBytes{})).RecvMsg(new(emptypb.Empty))
		code, _, _, violations := why(err)
		want := request.root + suffix
		if code != codes.InvalidArgument || !slices.ContainsFunc(violations, func(v *errdetails.BadRequest_FieldViolation) bool {
			return v.GetField() == want && v.GetDescription() == "is 4294967297, which does not fit 32 bits"
		}) {
			t.Errorf("%s: got %v, want what is wrong with %s", method, err, want)
		}
	}
}
