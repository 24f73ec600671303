package shrink_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/stowage-scheduler/stowage/bench/parity/generate"
	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
	"github.com/stowage-scheduler/stowage/bench/parity/shrink"
)

func TestOnlyWhatFailsIsLeft(t *testing.T) {
	c := generate.Case("taints", 1)
	c.Nodes[2].Spec.Unschedulable = true
	unschedulable := func(c *scenario.Case) bool {
		return slices.ContainsFunc(c.Nodes, func(n *corev1.Node) bool { return n.Spec.Unschedulable })
	}
	got := shrink.Case(c, 10_000, unschedulable)
	if !unschedulable(got) {
		t.Fatal("the shrunken case does not fail")
	}
	if len(got.Nodes) != 1 || len(got.Pods)+len(got.Queue)+len(got.Namespaces) != 0 {
		t.Errorf("left are %d nodes, %d pods, %d entries, %d namespaces", len(got.Nodes), len(got.Pods), len(got.Queue), len(got.Namespaces))
	}
	if n := got.Nodes[0]; len(n.Labels)+len(n.Spec.Taints)+len(n.Status.Allocatable) != 0 {
		t.Errorf("left of the node is %v", n)
	}
}

func TestTriesAreBounded(t *testing.T) {
	tries := 0
	shrink.Case(generate.Case("mixed", 1), 7, func(*scenario.Case) bool {
		tries++
		return false
	})
	if tries > 7 {
		t.Errorf("asked %d times", tries)
	}
}
