package server

import (
	"testing"

	"google.golang.org/grpc/codes"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// TestCountZero has a queue with an entry of no pods, one without a count and one of two pods; and scales down to zero.
func TestCountZero(t *testing.T) {
	client := run(t, testConfig(), t.Output(), nil, nil).client()
	for name, groups := range map[string][]*stowagev1.PodGroup{
		"no group": nil,
		"in order": {{Name: "g", Mode: stowagev1.PodGroupMode_POD_GROUP_MODE_IN_ORDER}},
		"joint":    {{Name: "g", Mode: stowagev1.PodGroupMode_POD_GROUP_MODE_JOINT}},
	} {
		group := ""
		if groups != nil {
			group = "g"
		}
		request := &stowagev1.PlaceRequest{
			Context: &stowagev1.DecisionContext{Base: &stowagev1.DecisionContext_Cluster{Cluster: threeZones()}},
			Queue: []*stowagev1.PendingPods{
				{Pod: apart(), Count: new(uint32(0)), PodGroup: group}, {Pod: apart()}, {Pod: apart(), Count: new(uint32(1))},
			},
			PodGroups: groups, Explain: true, IncludeChanges: true,
		}
		got, err := client.Place(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []int{0, 1, 1} {
			p := got.Placements[i]
			if n := len(p.Nodes.GetIndexes()); n != want || p.UnplacedCount != 0 || p.Message != "" {
				t.Errorf("%s: entry %d has %d pods placed, want %d: %v", name, i, n, want, p)
			}
		}
		if got.PlacedCount != 2 || got.UnplacedCount != 0 {
			t.Errorf("%s: %d placed and %d not, want 2 and 0", name, got.PlacedCount, got.UnplacedCount)
		}
		for _, g := range got.PodGroups {
			if g.Status != stowagev1.PodGroupStatus_POD_GROUP_STATUS_COMPLETE || g.PlacedCount+g.UnplacedCount > 0 {
				t.Errorf("%s: a group of no pods: %v", name, g)
			}
		}
		all, err := parts(t.Context(), client, &stowagev1.PlaceStreamRequest{Place: request})
		if err != nil || all[len(all)-1].TotalCount != 2 || all[len(all)-1].PlacedCount != 2 {
			t.Errorf("%s, in parts: %v, %v", name, all, err)
		}
	}
	running := threeZones()
	running.Nodes[0].Pods = []*stowagev1.Pod{apart()}
	none := replicasOf(running, new(uint32(0)))
	if got, err := client.ScaleDown(t.Context(), none); err != nil || len(got.Remaining) > 0 || len(got.Deletions) == 0 {
		t.Errorf("to 0 replicas: %v, %v", got, err)
	}
	_, err := client.ScaleDown(t.Context(), replicasOf(threeZones(), nil))
	if code, _, _, bad := why(err); code != codes.InvalidArgument || len(bad) != 1 || bad[0].Field != "replicas" {
		t.Errorf("without a number of replicas: %v", err)
	}
}

// replicasOf asks to scale the pods of the cluster's first template down.
func replicasOf(c *stowagev1.Cluster, replicas *uint32) *stowagev1.ScaleDownRequest {
	return &stowagev1.ScaleDownRequest{
		Context:  &stowagev1.DecisionContext{Base: &stowagev1.DecisionContext_Cluster{Cluster: c}},
		Pod:      apart(),
		Selector: &stowagev1.LabelSelector{},
		Replicas: replicas,
	}
}
