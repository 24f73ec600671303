package rollout_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/stowage-scheduler/stowage/clients/kube"
	"github.com/stowage-scheduler/stowage/clients/kube/change"
	"github.com/stowage-scheduler/stowage/clients/whatif"
)

// decide decides a rollout in a cluster of some nodes with the old pods.
func decide(t *testing.T, of *change.Rollout, nodes []*corev1.Node, old []*corev1.Pod) *whatif.Rollout {
	t.Helper()
	return decideIn(t, simulated(t, nodes, old), of, old)
}

func on(p *corev1.Pod, node, cpu string) *corev1.Pod {
	if p.Spec.NodeName = node; node != "" {
		p.Status.Phase = corev1.PodRunning
	}
	p.Spec.Containers[0].Resources.Requests["cpu"] = resource.MustParse(cpu)
	return p
}

// TestStatefulSets: the highest ordinals go first, no more than maxUnavailable are without an available pod at a time, pods of the
// partition stay, and with room for all the rollout is complete.
func TestStatefulSets(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	complete := 0
	for range 40 {
		n := 1 + random.IntN(6)
		of := &change.Rollout{
			Origin: kube.Origin{Kind: "StatefulSet", Namespace: "shop", Name: "db"}, Replicas: n, Before: n,
			MaxUnavailable: 1 + random.IntN(3), Partition: random.IntN(n + 1), Parallel: random.IntN(2) == 0,
		}
		nodes, _, _ := cluster(random, 0)
		var old []*corev1.Pod
		for i := range n {
			name := fmt.Sprintf("db-%d", i)
			of.Pods, of.OldPods = append(of.Pods, on(pod(name), "", "2")), append(of.OldPods, on(pod(name), "", "1"))
			old = append(old, on(pod(name), nodes[random.IntN(3)].Name, "1"))
		}
		result := decide(t, of, nodes, old)
		checkStatefulSet(t, of, result)
		if result.Complete {
			complete++
		}
	}
	if complete < 5 || complete > 35 {
		t.Errorf("%d of 40 are complete", complete)
	}
}

func checkStatefulSet(t *testing.T, of *change.Rollout, result *whatif.Rollout) {
	t.Helper()
	last, missing, placed := of.Replicas, 0, 0
	for _, step := range result.Steps {
		missing -= len(step.Placed)
		placed += len(step.Placed)
		// In order, pods behind one without a node are not created.
		if of.Parallel && missing != step.Waiting || step.Waiting > missing || missing > 0 && step.Waiting == 0 {
			t.Fatalf("%+v: %d pods wait: %+v", of, missing, result)
		}
		for _, l := range step.Left {
			var ordinal int
			if _, err := fmt.Sscanf(l.Name, "db-%d", &ordinal); err != nil || ordinal != last-1 || ordinal < of.Partition {
				t.Fatalf("%+v: %s leaves after %d: %+v", of, l.Name, last, result)
			}
			last = ordinal
			missing++
		}
		if missing > of.MaxUnavailable {
			t.Fatalf("%+v: %d pods are missing: %+v", of, missing, result)
		}
	}
	if result.Placed != placed || result.Old != last || result.Complete != (last == of.Partition && missing == 0) {
		t.Fatalf("%+v: %d new pods, the first %d are old: %+v", of, placed, last, result)
	}
	if result.Complete != (result.Stuck == nil) || result.Stuck != nil && result.Stuck.Message == "" {
		t.Fatalf("%+v: %+v", of, result)
	}
}

// TestDaemonSets: no more nodes than maxUnavailable are without a pod at a time, with maxSurge none is, and with room on each
// node the rollout is complete.
func TestDaemonSets(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	complete := 0
	for range 40 {
		of := &change.Rollout{Origin: kube.Origin{Kind: "DaemonSet", Namespace: "shop", Name: "agent"}, MaxUnavailable: 1 + random.IntN(2)}
		if random.IntN(2) == 0 {
			of.MaxSurge, of.MaxUnavailable = of.MaxUnavailable, 0
		}
		var nodes []*corev1.Node
		var old []*corev1.Pod
		room := true
		for i := range 1 + random.IntN(5) {
			name := fmt.Sprint("n", i)
			size := int64(2 + random.IntN(8)/2)
			node := &corev1.Node{}
			node.Name = name
			node.Status.Allocatable = corev1.ResourceList{"cpu": *resource.NewQuantity(size, resource.DecimalSI), "pods": resource.MustParse("9")}
			nodes = append(nodes, node)
			if room = room && size >= 2; of.MaxSurge > 0 {
				room = room && size >= 3
			}
			fresh := on(pod("agent-"+name), "", "2")
			fresh.Spec.NodeSelector = nil
			fresh.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
					MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: "In", Values: []string{name}}},
				}}},
			}}
			of.Pods, of.Nodes = append(of.Pods, fresh), append(of.Nodes, name)
			old = append(old, on(pod("agent-old-"+name), name, "1"))
		}
		of.Replicas, of.Before = len(nodes), len(nodes)
		result := decide(t, of, nodes, old)
		checkDaemonSet(t, of, result)
		if result.Complete != room {
			t.Fatalf("%+v: room is %v: %+v", of, room, result)
		}
		if room {
			complete++
		}
	}
	if complete < 5 || complete > 35 {
		t.Errorf("%d of 40 are complete", complete)
	}
}

func checkDaemonSet(t *testing.T, of *change.Rollout, result *whatif.Rollout) {
	t.Helper()
	old, fresh := map[string]bool{}, map[string]bool{}
	for _, n := range of.Nodes {
		old[n] = true
	}
	for _, step := range result.Steps {
		for _, n := range step.Placed {
			if fresh[n] || old[n] && of.MaxSurge == 0 {
				t.Fatalf("%+v: a second pod on %s: %+v", of, n, result)
			}
			fresh[n] = true
		}
		for _, l := range step.Left {
			if !old[l.Node] || of.MaxSurge > 0 && !fresh[l.Node] {
				t.Fatalf("%+v: %s leaves: %+v", of, l.Name, result)
			}
			delete(old, l.Node)
		}
		without := 0
		for _, n := range of.Nodes {
			if !old[n] && !fresh[n] {
				without++
			}
		}
		if without > of.MaxUnavailable || step.Waiting > max(of.MaxSurge, of.MaxUnavailable) {
			t.Fatalf("%+v: %d nodes without a pod: %+v", of, without, result)
		}
	}
	if len(old) != result.Old || len(fresh) != result.Placed || result.Complete != (len(old) == 0 && len(fresh) == of.Replicas) {
		t.Fatalf("%+v: %d old and %d new pods: %+v", of, len(old), len(fresh), result)
	}
}
