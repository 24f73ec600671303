package scenario

import corev1 "k8s.io/api/core/v1"

// WhatIf is what happens to the case's cluster, in the order of the fields, and which pods are placed then.
type WhatIf struct {
	Delta     Delta       `json:"delta,omitzero"`
	Cordoned  []string    `json:"cordoned,omitempty"`
	Evictions []Evictions `json:"evictions,omitempty"`
	Removed   []string    `json:"removed,omitempty"`
	// Terminating says that evicted pods do not leave yet.
	Terminating bool `json:"terminating,omitempty"`
	Requeue     bool `json:"requeue,omitempty"`
	// Queue are indexes into the case's queue, each once.
	Queue []int `json:"queue,omitempty"`
	Stop  bool  `json:"stop,omitempty"`
}

// Evictions are pods of a node that are evicted.
type Evictions struct {
	Node string `json:"node"`
	// Pods are names with namespaces, as "default/web".
	Pods    []string `json:"pods,omitempty"`
	Drained bool     `json:"drained,omitempty"`
}

// Delta is a difference of the cluster.
type Delta struct {
	RemovedNodes []string `json:"removedNodes,omitempty"`
	// Nodes replace those of the same names, which keep their pods, or are added behind the others.
	Nodes       []*corev1.Node `json:"nodes,omitempty"`
	RemovedPods []string       `json:"removedPods,omitempty"`
	// Pods are on nodes, and are added behind the others.
	Pods []*corev1.Pod `json:"pods,omitempty"`
}

// PodName is the name with the namespace.
func PodName(p *corev1.Pod) string {
	n := nameOf(p)
	return n[0] + "/" + n[1]
}
