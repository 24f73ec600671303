// Package kube turns Kubernetes objects into the contract's cluster and queue.
//
// An object with a metadata.uid has been through an API server: it is taken as it is. An object without one is about
// to be created, and gets what the API server of v1.37 would give it before kube-scheduler saw it, as far as decisions
// depend on it: requests from limits, pod-level requests, host ports of pods on the host's network, the namespace
// "default", a namespace's own label, the priority of a PriorityClass that a Builder has. Other admission plugins are not
// imitated: what a RuntimeClass or a LimitRange would add is told as unread, and the tolerations of
// DefaultTolerationSeconds must be stated in the pod.
//
// A workload without a uid has all its pods still to come, and they become queue entries; a workload with one already
// has its pods, which are objects of their own.
//
// Quantities become whole units: cpu in thousandths of a core, everything else in ones. Where a pod states fractions, each
// amount is what it adds to the rounded sum of those before it, so that all sums are those that kube-scheduler rounds up.
//
// A PodGroup becomes a group of the queue if pending pods name it. Its annotations may ask for what kube-scheduler does
// not do, such as PodGroupModeAnnotation for a joint placement. Pods whose group is not there, or has too few pods for its
// minCount, stay out of the queue, as in kube-scheduler, and are in Snapshot.Waiting.
//
// The pods of nodes that are not in the cluster are pending again, but for those that are bound to the node.
//
// What kube-scheduler reads and the contract does not state, such as volume claims, is in the Unread of each pod to be placed:
// kube-scheduler might reject a node because of it. An object that does not convert costs only itself: see Misread.
//
// The functions do not change what they are given and keep no reference to it; a Builder refers to nodes until Build,
// and is for one goroutine. Errors name the field by its path in the object.
package kube
