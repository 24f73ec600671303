package snapshot

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	librarytesting "sigs.k8s.io/scheduler-library/pkg/framework/testing"
	"sigs.k8s.io/scheduler-library/pkg/upstreamsync"
)

// setupSnapshotTest is what the library's tests call for a snapshot. The library has its own beside the tests of unexported functions.
func setupSnapshotTest(t *testing.T, ctx context.Context, nodes []*corev1.Node, pods []*corev1.Pod) ( //nolint:revive,unused // the library's tests call it so
	*ClusterSnapshot, *cache.Snapshot, *upstreamsync.ProfileMap,
) {
	t.Helper()
	profiles, snapshot, err := librarytesting.SetupSnapshotTest(ctx, pods, nodes)
	if err != nil {
		t.Fatal(err)
	}
	return New(snapshot, profiles), snapshot, profiles
}
