package batch

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/servertest"
	"github.com/stowage-scheduler/stowage/clients/stowage"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// TestOnlyWhatTheServerRefusesIsLeftOut asks about pods and groups of which some break a rule of the contract.
func TestOnlyWhatTheServerRefusesIsLeftOut(t *testing.T) {
	q := &question{groups: []*stowagev1.PodGroup{
		{Name: "small", MinCount: 1},
		{Name: "large", MinCount: 1, Mode: stowagev1.PodGroupMode_POD_GROUP_MODE_JOINT},
		{Name: "half", MinCount: 1},
	}}
	for _, e := range []struct {
		name, group string
		count       uint32
		wrong       bool
	}{
		{"single", "", 1, false}, {"small", "small", 1, false}, {"large-1", "large", 700, false}, {"large-2", "large", 700, false},
		{"wrong", "", 1, true}, {"half-1", "half", 1, false}, {"half-2", "half", 1, true},
	} {
		c := candidate{pod: waitingPod(e.name, 0, 0, "")}
		p, err := kube.PendingPod(c.pod)
		if err != nil {
			t.Fatal(err)
		}
		if e.wrong {
			p.GetTemplate().Spec.NodeName = string(make([]byte, 300))
		}
		q.queue = append(q.queue, &stowagev1.PendingPods{Pod: p, Count: e.count, PodGroup: e.group})
		q.pods = append(q.pods, []candidate{c})
	}
	client, err := stowage.Dial([]string{servertest.Start(t).Address})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	_, err = client.Place(t.Context(), &stowagev1.PlaceRequest{Cluster: &stowagev1.Cluster{}, Queue: q.queue, PodGroups: q.groups})
	var refused []string
	for _, v := range q.without(err) {
		refused = append(refused, v.pod.Name+": "+v.message)
	}
	slices.Sort(refused)
	want := []string{
		"half-1: spec.node_name: has 300 bytes, at most 253 are allowed",
		"half-2: spec.node_name: has 300 bytes, at most 253 are allowed",
		"large-1: pod group large: has 1400 pods, at most 1000 can be placed jointly",
		"large-2: pod group large: has 1400 pods, at most 1000 can be placed jointly",
		"wrong: spec.node_name: has 300 bytes, at most 253 are allowed",
	}
	if d := cmp.Diff(want, refused); d != "" {
		t.Error(d, err)
	}
}
