package answer_test

import (
	"strings"
	"testing"

	"github.com/stowage-scheduler/stowage/clients/answer"
	"github.com/stowage-scheduler/stowage/clients/kube"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// TestQueueMode expects queues that the server refuses in kube-scheduler's mode to be placed in order, with a note why.
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
		for _, queue := range []answer.QueueMode{"", answer.KubeScheduler, answer.InOrder} {
			test.group.Name = "g"
			snapshot := &kube.Snapshot{
				Live: true, Cluster: &stowagev1.Cluster{PodGroups: []*stowagev1.PodGroup{test.group}}, Queue: []kube.Entry{{Pods: test.pods}},
			}
			q := &answer.Question{Snapshot: snapshot, Queue: queue}
			mode, notes := q.QueueMode(), strings.Join(q.Notes(), "\n")
			want := stowagev1.QueueMode_QUEUE_MODE_IN_ORDER
			if why == "" && queue != answer.InOrder {
				want = stowagev1.QueueMode_QUEUE_MODE_KUBE_SCHEDULER
			}
			if mode != want || !strings.Contains(notes, why) && queue != answer.InOrder {
				t.Errorf("%s, %s: %v, %q", why, queue, mode, notes)
			}
		}
	}
}
