// Package kube converts Kubernetes objects into the contract's cluster and queue.
//
// Builder and Snapshot are composed of packages with one idea each: object names objects, admission does what the API server does
// to pods before it stores them, controller creates and deletes the pods of workloads, convert converts objects one by one, and change
// decides what a changed workload does.
//
// An object with a metadata.uid has been admitted by an API server and is taken as it is. An object without one is about to
// be created: it gets defaults and passes the plugins of package admission. Pods that these reject are in Snapshot.Waiting with the
// reason. A class that the Builder does not have is listed as unread. A priority, a preemption policy or an overhead without a
// class stays, though the API server would reject most of them.
//
// The pods of a workload without a uid do not exist yet and become queue entries. The pods of a workload with a uid are
// objects of their own. The queue is in the order of kube-scheduler's PrioritySort, and has the pods of one scheduler; the pods
// of others are in Snapshot.Others.
//
// A PodGroup becomes a group of the queue if pending pods name it. Its annotations can request more than kube-scheduler
// offers, such as convert.PodGroupModeAnnotation for a joint placement. Pods whose group is missing, or has fewer pods than its
// minCount, stay out of the queue, as in kube-scheduler, and are in Snapshot.Waiting.
//
// Pods on nodes that are not in the cluster are pending again, unless they are tied to the node.
//
// Pod.Unread lists the fields of a pending pod that kube-scheduler reads and the contract does not have, such as volume
// claims: kube-scheduler might reject a node because of them. An object that does not convert affects only itself: see
// Misread.
//
// The functions do not modify their arguments and keep no reference to them, except that a Builder refers to nodes, and to
// pods, until Build. A Builder is for one goroutine. Errors name fields by their paths in the object.
package kube
