package e2e

import (
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/stowage-scheduler/stowage/bench/e2e/controlplane"
	"github.com/stowage-scheduler/stowage/bench/e2e/stack"
)

// TestOddPodsInAQueue has pods in the batch scheduler's queue about which nothing can be decided: each says so, in words that
// have no autoscaler add nodes, and the others are bound.
func TestOddPodsInAQueue(t *testing.T) {
	s := start(t)
	startServer(t, s)
	must(t, s.StartBatch(t.Context()))
	must(t, controlplane.FakeNodes(t.Context(), s.Client, 3, 3))
	unreadable := sized("unreadable", "1", stack.BatchPods)
	unreadable.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{Weight: 1,
			Preference: corev1.NodeSelectorTerm{
				MatchExpressions: []corev1.NodeSelectorRequirement{
					{Key: "disks", Operator: corev1.NodeSelectorOpGt, Values: []string{"many"}},
				},
			}}},
	}}
	claim := sized("claim", "1", stack.BatchPods)
	device := "device"
	claim.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimName: &device}}
	for _, odd := range []*corev1.Pod{unreadable, claim} {
		create(t, s, odd, sized("after-"+odd.Name, "1", stack.BatchPods))
	}
	for _, odd := range []*corev1.Pod{unreadable, claim} {
		bound(t, s, "after-"+odd.Name)
		eventually(t, patience, func() error {
			p := get(t, s, odd.Name)
			if c := condition(p); c == nil || c.Reason != corev1.PodReasonSchedulerError {
				return fmt.Errorf("%s: %+v", odd.Name, c)
			}
			notes := failures(t, s, p)
			if len(notes) == 0 {
				return errors.New("no event says why the pod waits")
			}
			t.Logf("%s: %s", odd.Name, notes[0])
			return nil
		})
	}
	create(t, s, sized("last", "1", stack.BatchPods))
	bound(t, s, "last")
}
