package state

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	st "k8s.io/kubernetes/pkg/scheduler/testing"
	librarytesting "sigs.k8s.io/scheduler-library/pkg/framework/testing"

	"github.com/stowage-scheduler/stowage/bench/schedulerlibrary/snapshot"
)

// TestSnapshotAfterChanges expects that what one snapshot scheduled and preempted is not in the next one. The library's next snapshot
// lacks the preempted pod.
func TestSnapshotAfterChanges(t *testing.T) {
	profiles, shared, err := librarytesting.SetupSnapshotTest(t.Context(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, logger := New(cache.New(t.Context(), nil, false), profiles, shared), klog.Background()
	s.Cache.AddNode(logger, st.MakeNode().Name("node").Capacity(map[corev1.ResourceName]string{corev1.ResourcePods: "5"}).Obj())
	running := st.MakePod().Name("running").Namespace("default").UID("running").Node("node").Obj()
	if err := s.Cache.AddPod(logger, running); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		of, err := s.Snapshot(logger)
		if err != nil {
			t.Fatal(err)
		}
		librarytesting.VerifySnapshot(t, shared, map[string][]string{"node": {"running"}})
		all, err := of.MakePlacement([]string{"node"})
		if err != nil {
			t.Fatal(err)
		}
		pods := []*corev1.Pod{st.MakePod().Name("pending").Namespace("default").UID("pending").Obj()}
		if _, err := of.SchedulePods(t.Context(), pods, all, snapshot.SchedulePodsOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := of.PreemptPods(t.Context(), []*corev1.Pod{running}); err != nil {
			t.Fatal(err)
		}
		librarytesting.VerifySnapshot(t, shared, map[string][]string{"node": {"pending"}})
	}
}
