package server

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// full is a queue on fullNodes and a node d. The pods of urgent preempt on the former. On d, the pods of waits need late, and in the
// meantime cheap takes the room.
func full() *stowagev1.PlaceRequest {
	nodes := fullNodes()
	for _, n := range nodes.Nodes {
		n.Labels = map[string]string{"late": "no"}
	}
	urgent := cpuPod("urgent", 10, 2)
	urgent.GetTemplate().Spec.NodeSelector = map[string]string{"late": "no"}
	waits := cpuPod("waits", 500, 2)
	forLate := &stowagev1.PodAffinityTerm{
		TopologyKey: "kubernetes.io/hostname", LabelSelector: &stowagev1.LabelSelector{MatchLabels: map[string]string{"app": "late"}},
	}
	waits.GetTemplate().Spec.Affinity = &stowagev1.Affinity{
		PodAffinity: &stowagev1.PodAffinity{Required: []*stowagev1.PodAffinityTerm{forLate}},
	}
	late := cpuPod("late", 500, 0)
	late.GetTemplate().Spec.NodeSelector = map[string]string{"late": "yes"}
	nodes.Nodes = append(nodes.Nodes, fourCPUs("d", startedAt(cpuPod("d-old", 2000, 2), 100)))
	nodes.Nodes[3].Labels = map[string]string{"kubernetes.io/hostname": "d", "late": "yes"}
	cheap := cpuPod("cheap", 0, 2)
	cheap.GetTemplate().Spec.NodeSelector = map[string]string{"late": "yes"}
	return &stowagev1.PlaceRequest{
		Context: whole(nodes), QueueMode: stowagev1.QueueMode_QUEUE_MODE_KUBE_SCHEDULER, IncludePreemption: true,
		Queue: []*stowagev1.PendingPods{{Pod: cheap}, {Pod: waits}, {Pod: late}, {Pod: urgent, Count: new(uint32(3))}},
	}
}

func TestPlaceAsKubeScheduler(t *testing.T) {
	client := run(t, testConfig(), t.Output(), nil, nil).client()
	got, err := client.Place(t.Context(), full())
	if err != nil {
		t.Fatal(err)
	}
	// By priority: waits fails, late is placed on d, the three of urgent evict b-new, a-new and b-old. Then cheap takes what is
	// left of d, before waits, which backs off, evicts it.
	victim := func(node uint32, name string) *stowagev1.PodReference {
		return &stowagev1.PodReference{
			Namespace: "default", Name: name, NodeIndex: new(node), Count: 1, Origin: &stowagev1.PodReference_QueueIndex{},
		}
	}
	want := []string{"b-new", "a-new", "b-old", "cheap"}
	var victims []string
	for _, e := range got.Evictions {
		for _, v := range e.Victims {
			victims = append(victims, v.Name)
		}
	}
	if diff := cmp.Diff(want, victims); diff != "" {
		t.Errorf("victims (-want +got):\n%s", diff)
	}
	last := got.Evictions[len(got.Evictions)-1]
	if last.QueueIndex != 1 || last.GetNodeIndex() != 3 || !proto.Equal(last.Victims[0], victim(3, "cheap")) {
		t.Errorf("the last eviction is %v", last)
	}
	type entry struct {
		Nodes    []uint32
		Evicted  uint32
		Attempts uint64
	}
	var entries []entry
	for _, p := range got.Placements {
		entries = append(entries, entry{p.Nodes.Indexes, p.EvictedCount, p.AttemptCount})
	}
	became := []entry{{nil, 1, 1}, {[]uint32{3}, 0, 3}, {[]uint32{3}, 0, 1}, {[]uint32{1, 0, 1}, 0, 6}}
	if diff := cmp.Diff(became, entries); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	if got.PlacedCount != 5 || got.UnplacedCount != 0 || got.EvictedCount != 1 {
		t.Errorf("%d placed, %d unplaced, %d evicted", got.PlacedCount, got.UnplacedCount, got.EvictedCount)
	}
	for _, per := range []uint32{1, 2, 256} {
		all, err := parts(t.Context(), client, &stowagev1.PlaceStreamRequest{Place: full(), PodsPerMessage: new(per)})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(got, together(len(got.Placements), all), protocmp.Transform()); diff != "" {
			t.Errorf("%d pods a message (-want +got):\n%s", per, diff)
		}
	}
}

// fullGroups is full with urgent and cheap in a group each, so that a group preempts on several nodes.
func fullGroups() *stowagev1.PlaceRequest {
	r := full()
	r.PodGroups = []*stowagev1.PodGroup{
		{Name: "urgent", MinCount: new(uint32(2)), Priority: new(int32(10))},
		{Name: "cheap", Priority: new(int32(0))},
		{Name: "none"},
	}
	r.Queue[0].PodGroup, r.Queue[3].PodGroup = "cheap", "urgent"
	return r
}

// TestPlaceGroupsAsKubeScheduler: what a group evicts comes from several nodes, and streams have no part of a group.
func TestPlaceGroupsAsKubeScheduler(t *testing.T) {
	client := run(t, testConfig(), t.Output(), nil, nil).client()
	got, err := client.Place(t.Context(), fullGroups())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(got.Evictions, func(e *stowagev1.Eviction) bool { return e.PodGroup == "urgent" })
	if i < 0 {
		t.Fatalf("urgent evicts no pod: %v", got.Evictions)
	}
	on := map[uint32]bool{}
	for _, v := range got.Evictions[i].Victims {
		on[v.GetNodeIndex()] = true
	}
	nominated := 0
	for _, n := range got.Evictions[i].Nominations {
		nominated += len(n.Nodes.Indexes)
	}
	if len(on) < 2 || nominated != 3 || got.Evictions[i].NodeName != "" {
		t.Errorf("the eviction of urgent is %v", got.Evictions[i])
	}
	if g := got.PodGroups[0]; g.Status != stowagev1.PodGroupStatus_POD_GROUP_STATUS_COMPLETE || g.PlacedCount != 3 {
		t.Errorf("urgent: %v", g)
	}
	if g := got.PodGroups[2]; g.Status != stowagev1.PodGroupStatus_POD_GROUP_STATUS_COMPLETE || g.PlacedCount != 0 {
		t.Errorf("none: %v", g)
	}
	for _, per := range []uint32{1, 2, 256} {
		all, err := parts(t.Context(), client, &stowagev1.PlaceStreamRequest{Place: fullGroups(), PodsPerMessage: new(per)})
		if err != nil {
			t.Fatal(err)
		}
		joined := together(len(got.Placements), all)
		slices.SortFunc(joined.PodGroups, func(a, b *stowagev1.PodGroupPlacement) int { return strings.Compare(b.Name, a.Name) })
		want := proto.CloneOf(got)
		slices.SortFunc(want.PodGroups, func(a, b *stowagev1.PodGroupPlacement) int { return strings.Compare(b.Name, a.Name) })
		if diff := cmp.Diff(want, joined, protocmp.Transform()); diff != "" {
			t.Errorf("%d pods a message (-want +got):\n%s", per, diff)
		}
	}
}
