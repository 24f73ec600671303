package answer

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stowage-scheduler/stowage/clients/kube"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// The parts of an answer name the same pods as the whole answer, and the pods that a deadline left differ from pods that
// found no node.
func TestPodsOfParts(t *testing.T) {
	web := kube.Entry{
		Pods:   &stowagev1.PendingPods{Pod: &stowagev1.Pod{Name: "web-6ffb46d664"}, Count: new(uint32(4))},
		Origin: kube.Origin{Kind: "Deployment", Namespace: "shop", Name: "web"},
	}
	snapshot := &kube.Snapshot{Queue: []kube.Entry{web}}
	first := &stowagev1.Placement{Nodes: &stowagev1.NodeList{Indexes: []uint32{0}, Names: []string{"a"}}}
	last := &stowagev1.Placement{
		Nodes:         &stowagev1.NodeList{Indexes: []uint32{1}, Names: []string{"b"}},
		UnplacedCount: 2, UnattemptedCount: 1, Message: "full",
	}
	names := NewPlacements(snapshot)
	var got []Pod
	for _, p := range []*stowagev1.Placement{first, last} {
		part := &stowagev1.PlaceStreamResponse{Placements: []*stowagev1.QueuePlacement{{QueueIndex: 0, Placement: p}}}
		got = append(got, names.Part(part)...)
	}
	pod := Pod{Namespace: "shop", Name: "web", Kind: "Deployment"}
	want := []Pod{pod, pod, pod, pod}
	for i := range want {
		want[i].Replica = i
	}
	want[0].Node, want[1].Node, want[2].Reason, want[3].Reason = "a", "b", "full", notAttempted
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	whole := &stowagev1.PlaceResponse{Placements: []*stowagev1.Placement{{
		Nodes:         &stowagev1.NodeList{Indexes: []uint32{0, 1}, Names: []string{"a", "b"}},
		UnplacedCount: 2, UnattemptedCount: 1, Message: "full",
	}}}
	if d := cmp.Diff(want, NewPlacements(snapshot).Answer(whole)); d != "" {
		t.Error(d)
	}
}
