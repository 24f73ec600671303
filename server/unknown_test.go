package server

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/stowage-scheduler/stowage/engine/enginetest/raced"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

const unknownNumber = 99

// message is a place in a request where a message may be, with a field in it that is unknown.
type message struct {
	path string
	raw  []byte // of a request that has nothing else
}

// messages returns one for each message that may be in a message, and for itself.
func messages(t *testing.T, m protoreflect.MessageDescriptor, path string) []message {
	t.Helper()
	if m.Fields().ByNumber(unknownNumber) != nil {
		t.Fatalf("%s has a field %d", m.FullName(), unknownNumber)
	}
	unknown := protowire.AppendVarint(protowire.AppendTag(nil, unknownNumber, protowire.VarintType), 1)
	all := []message{{path, unknown}}
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		if f.Message() == nil {
			continue
		}
		step := string(f.Name())
		switch {
		case f.IsMap():
			step += `[""]`
		case f.IsList():
			step += "[0]"
		}
		for _, inner := range messages(t, f.Message(), strings.TrimPrefix(path+"."+step, ".")) {
			raw := protowire.AppendTag(nil, f.Number(), protowire.BytesType)
			all = append(all, message{inner.path, protowire.AppendBytes(raw, inner.raw)})
		}
	}
	return all
}

// TestUnknownFieldsRefused sends every request with a field that the contract does not have, in each of its messages: a newer
// client's constraint must not be taken as absent.
func TestUnknownFieldsRefused(t *testing.T) {
	r := run(t, testConfig(), t.Output(), nil, nil)
	pod := &stowagev1.Pod{Source: &stowagev1.Pod_Template{Template: &stowagev1.PodTemplate{}}}
	on := &stowagev1.DecisionContext{Base: &stowagev1.DecisionContext_Cluster{Cluster: &stowagev1.Cluster{}}}
	place := &stowagev1.PlaceRequest{Context: on}
	sound := map[protoreflect.Name]proto.Message{
		"Filter":      &stowagev1.FilterRequest{Context: on, Pod: pod},
		"Score":       &stowagev1.ScoreRequest{Context: on, Pod: pod},
		"Place":       place,
		"PlaceStream": &stowagev1.PlaceStreamRequest{Place: place},
		"Preempt":     &stowagev1.PreemptRequest{Context: on, Pod: pod},
		"ScaleDown": &stowagev1.ScaleDownRequest{
			Context: on, Pod: pod, Replicas: proto.Uint32(0), Selector: &stowagev1.LabelSelector{},
		},
		"PutSnapshot": &stowagev1.PutSnapshotRequest{},
		"WhatIf":      &stowagev1.WhatIfRequest{Context: on},
		"Fit":         &stowagev1.FitRequest{Context: on},
		"Provision":   &stowagev1.ProvisionRequest{Context: on},
		"Consolidate": &stowagev1.ConsolidateRequest{Context: on},
	}
	methods := stowagev1.File_stowage_v1_placement_service_proto.Services().ByName("PlacementService").Methods()
	simulations := stowagev1.File_stowage_v1_simulation_service_proto.Services().ByName("SimulationService").Methods()
	rpcs := []protoreflect.MethodDescriptor{
		simulations.ByName("WhatIf"), simulations.ByName("Fit"), simulations.ByName("Provision"), simulations.ByName("Consolidate"),
	}
	for i := range methods.Len() {
		rpcs = append(rpcs, methods.Get(i))
	}
	for _, rpc := range rpcs {
		t.Run(string(rpc.Name()), func(t *testing.T) {
			base, err := proto.Marshal(sound[rpc.Name()]) // nothing for a request without fields
			if err != nil {
				t.Fatal(err)
			}
			for i, m := range messages(t, rpc.Input(), "") {
				if raced.Detector && testing.Short() && i%4 != 0 {
					continue
				}
				checkUnknown(t, r, rpc, slices.Concat(base, m.raw), m.path)
			}
		})
	}
}

func checkUnknown(t *testing.T, r *running, rpc protoreflect.MethodDescriptor, request []byte, path string) {
	t.Helper()
	err := called(t, r, rpc, request)
	code, _, _, violations := why(err)
	if code != codes.InvalidArgument || len(violations) == 0 {
		t.Errorf("an unknown field in %q: %v", path, err)
		return
	}
	for _, v := range violations {
		if v.GetField() == path && v.GetDescription() == "unknown field 99" {
			return
		}
	}
	t.Errorf("an unknown field in %q: %v", path, violations)
}

// called calls an RPC with an encoded request and returns its error.
func called(t *testing.T, r *running, rpc protoreflect.MethodDescriptor, request []byte) error {
	t.Helper()
	name := "/" + string(rpc.Parent().FullName()) + "/" + string(rpc.Name())
	stream := begin(t.Context(), t, r.conn, name, request, grpc.ForceCodecV2(asBytes{}))
	for {
		if err := stream.RecvMsg(new(stowagev1.PutSnapshotResponse)); err != nil {
			return err
		}
	}
}

// TestUnknownFieldsOfAnsweredRequests adds a field that is unknown to a request whose answer the server remembers.
func TestUnknownFieldsOfAnsweredRequests(t *testing.T) {
	c := testConfig()
	c.MaxSnapshotBytes = 1 << 20
	r := run(t, c, t.Output(), nil, nil)
	rpc := stowagev1.File_stowage_v1_placement_service_proto.Services().ByName("PlacementService").Methods().ByName("Filter")
	stored, err := put(t, r.client(), part(&stowagev1.Cluster{Nodes: []*stowagev1.Node{{Name: "a"}}}), end(""))
	if err != nil {
		t.Fatal(err)
	}
	request := &stowagev1.FilterRequest{
		Context: &stowagev1.DecisionContext{Base: &stowagev1.DecisionContext_Snapshot{
			Snapshot: &stowagev1.SnapshotReference{Address: stored.Address},
		}},
		Pod: &stowagev1.Pod{Source: &stowagev1.Pod_Template{Template: &stowagev1.PodTemplate{}}},
	}
	for range 3 {
		if _, err := r.client().Filter(t.Context(), request); err != nil {
			t.Fatal(err)
		}
	}
	base, err := proto.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range messages(t, rpc.Input(), "") {
		checkUnknown(t, r, rpc, slices.Concat(base, m.raw), m.path)
	}
}
