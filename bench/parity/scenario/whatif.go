package scenario

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

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
	// Nodes replace nodes of the same names and keep their pods, or are appended.
	Nodes       []*corev1.Node `json:"nodes,omitempty"`
	RemovedPods []string       `json:"removedPods,omitempty"`
	// Pods are on nodes, and are appended.
	Pods []*corev1.Pod `json:"pods,omitempty"`
	// The others replace objects of the same names, or are added. Removed names contain namespaces, except names of namespaces.
	RemovedNamespaces []string                        `json:"removedNamespaces,omitempty"`
	Namespaces        []*corev1.Namespace             `json:"namespaces,omitempty"`
	RemovedServices   []string                        `json:"removedServices,omitempty"`
	Services          []*corev1.Service               `json:"services,omitempty"`
	RemovedBudgets    []string                        `json:"removedBudgets,omitempty"`
	Budgets           []*policyv1.PodDisruptionBudget `json:"budgets,omitempty"`
}

// Empty reports whether there is no difference.
func (d *Delta) Empty() bool {
	return len(d.Nodes)+len(d.Pods)+len(d.RemovedNodes)+len(d.RemovedPods)+len(d.RemovedNamespaces)+len(d.Namespaces)+
		len(d.RemovedServices)+len(d.Services)+len(d.RemovedBudgets)+len(d.Budgets) == 0
}

// changed returns objects without some, with replacements of others, and with further ones behind them.
func changed[T metav1.Object](all []T, removed []string, by []T) []T {
	all = slices.DeleteFunc(slices.Clone(all), func(o T) bool { return slices.Contains(removed, Name(o)) })
	for _, o := range by {
		if i := slices.IndexFunc(all, func(old T) bool { return Name(old) == Name(o) }); i >= 0 {
			all[i] = o
			continue
		}
		all = append(all, o)
	}
	return all
}

// Name is the name with the namespace, if the object is in one.
func Name(o metav1.Object) string {
	if _, cluster := o.(*corev1.Namespace); cluster {
		return o.GetName()
	}
	return cmp.Or(o.GetNamespace(), corev1.NamespaceDefault) + "/" + o.GetName()
}

// PodName is the name with the namespace.
func PodName(p *corev1.Pod) string {
	n := nameOf(p)
	return n[0] + "/" + n[1]
}
