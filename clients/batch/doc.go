// Package batch is a scheduler: it takes the pods of its scheduler name that are pending, asks Place once for all of
// them, and binds them through the API server.
//
// # The order of things
//
// Pods are taken by priority, then by age, as kube-scheduler's PrioritySort does
// (pkg/scheduler/framework/plugins/queuesort/priority_sort.go, v1.37); a group goes where its first pod is. Place is
// asked about the cluster as the informers show it and with every pod counted that has been decided, bound or not. What
// it answers is taken only if the cluster has not changed meanwhile; if it keeps changing, the batch is halved, and in
// the end a decision holds that is as old as its call, which is what kube-scheduler's are.
//
// A pod without a node gets the condition PodScheduled and an event FailedScheduling with the reason, and is tried again
// once the cluster has changed, after 1 s at first and 10 s at most. The condition says Unschedulable only where another node
// might help. Neither bindings nor the pod itself wait for this to be sent: only the latest report of a pod is kept, and none
// once the pod has a node.
//
// # Groups
//
// The pods of a group have the labels of scheduler-plugins' lightweight coscheduling (KEP-42):
//
//	pod-group.scheduling.sigs.k8s.io/name: training
//	pod-group.scheduling.sigs.k8s.io/min-available: "4"
//
// Either so many of them have a node or none gets one; those that are bound already count, and those that have
// succeeded. Without a minimum it is all that there are. Until so many have been sent to the API server, the decisions about
// all members that wait to be bound hold together or are made anew together. What the API server refuses or loses after that
// can leave a group in part.
//
// # What it does not do
//
// It preempts nothing, and leaves pods pending that need a volume or a resource claim to be bound with them: that takes
// more than a node's name, and those that Pod.unread tells of. PodGroup objects are not read, only labels; a pod that names
// one is left pending, as its group would not be kept together. Such pods are kube-scheduler's.
//
// # Restarts
//
// Nothing is kept but in the API server. A binding names the pod's UID and is accepted once, so another replica that
// takes over cannot bind a pod twice. After an error the API server is asked what has become of the pod, and only its answer
// ends the attempt. Who loses the lease binds nothing any more: each binding is sent only if the lease was renewed in time
// (package lease), the scheduler has led without a break since the decision, and no event has made the decision out of date.
package batch
