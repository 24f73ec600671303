package convert

import (
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// TestFieldsOfNodesHavePaths: what manifests state of a node is in its metadata, spec or status, so none of its fields has a path by its
// name alone.
func TestFieldsOfNodesHavePaths(t *testing.T) {
	inNoManifest := []string{"Node.pod_counts", "Node.pods", "Node.class_index", "Node.nominated_pods"}
	for _, m := range []proto.Message{&stowagev1.Node{}, &stowagev1.NodeClass{}} {
		fields := m.ProtoReflect().Descriptor().Fields()
		for i := range fields.Len() {
			f := fields.Get(i)
			if names[key(f)] == "" && !slices.Contains(inNoManifest, key(f)) {
				t.Errorf("names has no path of %s", key(f))
			}
		}
	}
}
