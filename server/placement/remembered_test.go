package placement

import (
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

func TestSnapshotFields(t *testing.T) {
	for _, test := range []struct {
		request proto.Message
		number  protoreflect.FieldNumber
	}{
		{&stowagev1.FilterRequest{}, filter.snapshotField},
		{&stowagev1.ScoreRequest{}, score.snapshotField},
	} {
		fields := test.request.ProtoReflect().Descriptor().Fields()
		if want := fields.ByName("snapshot").Number(); test.number != want {
			t.Errorf("%T: %d, want %d", test.request, test.number, want)
		}
	}
}
