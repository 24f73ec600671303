// Package scenario holds a parity case: everything that one comparison of Stowage with kube-scheduler depends on, as
// ordinary Kubernetes objects in the form in which a user would write them.
//
// A case is a value that can be written to a file and read back without loss, so that a difference found once can be
// replayed forever. Objects are in the manifest form: what the API server adds (defaults, merged label keys,
// pod-level requests) is added by the oracle. Only status is kept as it is, as it comes from kubelets.
package scenario

import (
	"encoding/json"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	schedulerv1 "k8s.io/kube-scheduler/config/v1"
)

// Case is one comparison.
type Case struct {
	// Name is the origin of the case, such as "spread/17".
	Name   string `json:"name"`
	Config Config `json:"config,omitzero"`

	// Nodes are in the order in which the scheduler's cache and Stowage's cluster get to know them. The size of an image
	// is what the first node says.
	Nodes []*corev1.Node `json:"nodes"`
	// Pods are on nodes: spec.nodeName is set.
	Pods []*corev1.Pod `json:"pods,omitempty"`
	// Nominated are pending pods with status.nominatedNodeName that are not in the queue, or that the queue has as they were
	// before kube-scheduler nominated them. Pods of the queue that have the field are nominated too.
	Nominated              []*corev1.Pod                   `json:"nominated,omitempty"`
	Namespaces             []*corev1.Namespace             `json:"namespaces,omitempty"`
	Services               []*corev1.Service               `json:"services,omitempty"`
	ReplicationControllers []*corev1.ReplicationController `json:"replicationControllers,omitempty"`
	ReplicaSets            []*appsv1.ReplicaSet            `json:"replicaSets,omitempty"`
	StatefulSets           []*appsv1.StatefulSet           `json:"statefulSets,omitempty"`
	// PodDisruptionBudgets may be in any order: kube-scheduler is given them by namespace and name.
	PodDisruptionBudgets []*policyv1.PodDisruptionBudget `json:"podDisruptionBudgets,omitempty"`

	// Storage are the storage objects. Pods on nodes and of the queue refer to them.
	Storage Storage `json:"storage,omitzero"`

	// Devices are the objects of devices. Pods of the queue refer to claims.
	Devices Devices `json:"devices,omitzero"`

	// PodGroups are the groups that pods of the queue, and pods on nodes, name. A case that has any is about Place alone.
	PodGroups []*schedulingv1beta1.PodGroup `json:"podGroups,omitempty"`

	// Queue is the queue of Place. Filter and Score decide about each entry's pod on the cluster as it stands.
	Queue []Pending `json:"queue"`
	// Candidates are the names of the nodes to consider; all if nil, none if empty.
	Candidates []string `json:"candidates,omitzero"`
	// Whole has a whole kube-scheduler run the queue, with retries and preemption, and nothing else.
	Whole bool `json:"whole,omitempty"`
	// WhatIf are scenarios; a case with scenarios tests nothing else. With Whole a whole kube-scheduler runs their queues.
	WhatIf []WhatIf `json:"whatIf,omitempty"`
	// Drain is the test of a case that has it, and the only one; the queue is empty. With Whole a whole kube-scheduler places pods.
	Drain *Drain `json:"drain,omitempty"`
	// Remedies tests the changes that Stowage offers for the queue's pods, and nothing else.
	Remedies bool `json:"remedies,omitempty"`
	// Advice tests the advice about the workload of the queue's first pod, and nothing else.
	Advice bool `json:"advice,omitempty"`
	// PriorityClasses are the priority classes that such a workload may have.
	PriorityClasses []*schedulingv1.PriorityClass `json:"priorityClasses,omitempty"`
	// TieBreakSeed is Stowage's; kube-scheduler has none.
	TieBreakSeed uint64 `json:"tieBreakSeed,omitempty"`
}

// Grouped reports whether the case has pod groups.
func (c *Case) Grouped() bool { return len(c.PodGroups) > 0 }

// Copy encodes the case and decodes it, as an API server does with all objects: empty and absent fields are then equal where the API
// does not distinguish them.
func (c *Case) Copy() *Case {
	data, err := json.Marshal(c)
	if err != nil {
		panic(err)
	}
	out := new(Case)
	if err := json.Unmarshal(data, out); err != nil {
		panic(err)
	}
	return out
}

// LongLived is the annotation of a pod that an older release of the API server stored: it is validated as an update that
// changes nothing, which lets label values stay that a new pod may not have.
const LongLived = "parity.example.com/long-lived"

// Pending is a queue entry.
type Pending struct {
	Pod   *corev1.Pod `json:"pod"`
	Count int         `json:"count"`
}

// Config is how the scheduler is configured; the zero value is its default.
type Config struct {
	// Weights are the weights of score plugins that differ from the default, by plugin name.
	Weights            map[string]int32                                 `json:"weights,omitempty"`
	NodeAffinity       *schedulerv1.NodeAffinityArgs                    `json:"nodeAffinity,omitempty"`
	NodeResourcesFit   *schedulerv1.NodeResourcesFitArgs                `json:"nodeResourcesFit,omitempty"`
	BalancedAllocation *schedulerv1.NodeResourcesBalancedAllocationArgs `json:"balancedAllocation,omitempty"`
	InterPodAffinity   *schedulerv1.InterPodAffinityArgs                `json:"interPodAffinity,omitempty"`
	PodTopologySpread  *schedulerv1.PodTopologySpreadArgs               `json:"podTopologySpread,omitempty"`
	// DisabledFilters and DisabledScores are plugins that do not filter, and that do not score.
	DisabledFilters []string `json:"disabledFilters,omitempty"`
	DisabledScores  []string `json:"disabledScores,omitempty"`
	// DisabledPostFilters and DisabledPodGroupPostFilters are plugins that do not run after Filter found no node.
	DisabledPostFilters         []string `json:"disabledPostFilters,omitempty"`
	DisabledPodGroupPostFilters []string `json:"disabledPodGroupPostFilters,omitempty"`
	// TolerationComparisonOperators is the feature gate TaintTolerationComparisonOperators of the scheduler.
	TolerationComparisonOperators bool `json:"tolerationComparisonOperators,omitempty"`
}
