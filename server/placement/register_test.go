package placement

import (
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// TestClusterFieldNumbers compares the field numbers on the path to a cluster with the contract's.
func TestClusterFieldNumbers(t *testing.T) {
	for _, test := range []struct {
		message proto.Message
		field   protoreflect.Name
		number  protoreflect.FieldNumber
	}{
		{&stowagev1.FilterRequest{}, "context", contextField},
		{&stowagev1.ScoreRequest{}, "context", contextField},
		{&stowagev1.PlaceRequest{}, "context", contextField},
		{&stowagev1.PreemptRequest{}, "context", contextField},
		{&stowagev1.ScaleDownRequest{}, "context", contextField},
		{&stowagev1.WhatIfRequest{}, "context", contextField},
		{&stowagev1.DrainRequest{}, "context", contextField},
		{&stowagev1.FitRequest{}, "context", contextField},
		{&stowagev1.ProvisionRequest{}, "context", contextField},
		{&stowagev1.ConsolidateRequest{}, "context", contextField},
		{&stowagev1.DecisionContext{}, "cluster", clusterField},
		{&stowagev1.PlaceStreamRequest{}, "place", placeField},
		{&stowagev1.PutSnapshotRequest{}, "part", partField},
	} {
		if want := test.message.ProtoReflect().Descriptor().Fields().ByName(test.field).Number(); test.number != want {
			t.Errorf("%T.%s is %d, want %d", test.message, test.field, test.number, want)
		}
	}
}
