package placement

import (
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// TestFieldsOnTheWay compares the numbers by which clusters are found in requests with the contract's.
func TestFieldsOnTheWay(t *testing.T) {
	for _, test := range []struct {
		message proto.Message
		field   protoreflect.Name
		number  protoreflect.FieldNumber
	}{
		{&stowagev1.FilterRequest{}, "context", contextField},
		{&stowagev1.ScoreRequest{}, "context", contextField},
		{&stowagev1.PlaceRequest{}, "context", contextField},
		{&stowagev1.ScaleDownRequest{}, "context", contextField},
		{&stowagev1.DecisionContext{}, "cluster", clusterField},
		{&stowagev1.PlaceStreamRequest{}, "place", placeField},
		{&stowagev1.PutSnapshotRequest{}, "part", partField},
	} {
		if want := test.message.ProtoReflect().Descriptor().Fields().ByName(test.field).Number(); test.number != want {
			t.Errorf("%T.%s is %d, want %d", test.message, test.field, test.number, want)
		}
	}
}
