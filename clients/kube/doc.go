// Package kube converts Kubernetes objects into the contract's cluster and queue.
//
// An object with a metadata.uid has been admitted by an API server and is taken as it is. An object without one is about to
// be created. It gets the defaults that the API server of v1.37 would set before kube-scheduler saw it, as far as decisions
// depend on them: requests from limits, pod-level requests, host ports of pods on the host's network, the namespace
// "default", a namespace's own label. A Builder also applies the LimitRanges, PriorityClasses and RuntimeClasses that it
// has, and the tolerations of DefaultTolerationSeconds, as the admission plugins do: pods that these reject are in
// Snapshot.Waiting with the reason. A class that the Builder does not have is listed as unread. A priority, a preemption
// policy or an overhead without a class stays, though the API server would reject most of them. Other admission plugins are
// not imitated.
//
// The pods of a workload without a uid do not exist yet and become queue entries. The pods of a workload with a uid are
// objects of their own. The queue is in the order of kube-scheduler's PrioritySort, and has the pods of one scheduler; those of
// others are in Snapshot.Others.
//
// Quantities become whole units: cpu in thousandths of a core, everything else in ones. Where a pod has fractions, each
// amount is the increase of the rounded running sum, so that all sums are those that kube-scheduler rounds up.
//
// A PodGroup becomes a group of the queue if pending pods name it. Its annotations can ask for more than kube-scheduler
// offers, such as PodGroupModeAnnotation for a joint placement. Pods whose group is missing, or has fewer pods than its
// minCount, stay out of the queue, as in kube-scheduler, and are in Snapshot.Waiting.
//
// Pods on nodes that are not in the cluster are pending again, except those that are tied to the node.
//
// Pod.Unread lists the fields of a pending pod that kube-scheduler reads and the contract does not have, such as volume
// claims: kube-scheduler might reject a node because of them. An object that does not convert affects only itself: see
// Misread.
//
// The functions do not modify their arguments and keep no reference to them, except that a Builder refers to nodes, and to
// pods, until Build. A Builder is for one goroutine. Errors name fields by their paths in the object.
package kube
