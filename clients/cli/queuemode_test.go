package cli

import (
	"strings"
	"testing"

	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/schedulerconfig"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// TestQueueMode: what the server refuses with KUBE_SCHEDULER is asked for in order, with a note why.
func TestQueueMode(t *testing.T) {
	single, grouped := &stowagev1.PendingPods{}, &stowagev1.PendingPods{PodGroup: "g"}
	for why, test := range map[string]struct {
		group *stowagev1.PodGroup
		pods  *stowagev1.PendingPods
	}{
		"":                         {group: &stowagev1.PodGroup{}, pods: single},
		"pod group g is placed as": {group: &stowagev1.PodGroup{Mode: stowagev1.PodGroupMode_POD_GROUP_MODE_JOINT}, pods: grouped},
		"g only prefers": {pods: grouped, group: &stowagev1.PodGroup{Topology: &stowagev1.PodGroupTopology{
			Keys: []string{"rack"}, Policy: stowagev1.PodGroupTopologyPolicy_POD_GROUP_TOPOLOGY_POLICY_PREFERRED,
		}}},
		"several topology keys": {pods: grouped, group: &stowagev1.PodGroup{
			Topology: &stowagev1.PodGroupTopology{Keys: []string{"rack", "zone"}},
		}},
	} {
		for _, queue := range []string{"auto", "kube-scheduler", "in-order"} {
			test.group.Name = "g"
			snapshot := &kube.Snapshot{
				Live: true, Cluster: &stowagev1.Cluster{PodGroups: []*stowagev1.PodGroup{test.group}}, Queue: []kube.Entry{{Pods: test.pods}},
			}
			var told strings.Builder
			a := &asked{
				session: &session{stderr: &told}, snapshot: snapshot, scheduler: &schedulerconfig.Scheduler{},
			}
			mode := a.queueMode(queue)
			want := stowagev1.QueueMode_QUEUE_MODE_IN_ORDER
			if why == "" && queue != "in-order" {
				want = stowagev1.QueueMode_QUEUE_MODE_KUBE_SCHEDULER
			}
			if mode != want || !strings.Contains(told.String(), why) && queue != "in-order" {
				t.Errorf("%s, %s: %v, %q", why, queue, mode, told.String())
			}
		}
	}
}
