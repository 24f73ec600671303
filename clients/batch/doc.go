// Package batch is a scheduler. It takes the pending pods of its scheduler name, places all of them with one call of Place,
// and binds them through the API server.
//
// # Order
//
// Pods are taken by priority, then by age, as kube-scheduler's PrioritySort does
// (pkg/scheduler/framework/plugins/queuesort/priority_sort.go, v1.37). A group is placed at the position of its first pod.
// Place reads the cluster as the informers show it, plus every assumed pod, bound or not. The scheduler uses a response
// only if the cluster has not changed since the request. If the cluster keeps changing, the scheduler halves the batch. In
// the end it accepts a decision that is as old as its call, as kube-scheduler does.
//
// A pod without a node gets the condition PodScheduled and an event FailedScheduling with the reason. It is retried once
// the cluster has changed, with a backoff of 1 s to 10 s. The condition's reason is Unschedulable only where another node
// might help. Neither bindings nor the pod wait until the status has been written: only the latest report of a pod is kept,
// and it is dropped once the pod has a node.
//
// # Groups
//
// The pods of a group name a PodGroup (scheduling.k8s.io/v1beta1), whose policy, topology and priority count as for
// kube-scheduler, or carry the labels of scheduler-plugins' lightweight coscheduling (KEP-42):
//
//	pod-group.scheduling.sigs.k8s.io/name: training
//	pod-group.scheduling.sigs.k8s.io/min-available: "4"
//
// Either at least the minimum of them gets a node or none does. Members that are bound or have succeeded count towards the
// minimum. Without the label, the minimum is the number of members that exist. Until the minimum has been sent to the API
// server, the decisions about all members that wait for their bindings stand or fall together: if one is out of date, all
// are forgotten and made again. A binding that the API server rejects or loses after that can leave a group in part.
//
// # Preemption
//
// With Options.Preempt, a pod without a node evicts pods of lower priority where kube-scheduler's DefaultPreemption does. The
// pod is nominated first, in memory at once and then in its status: room that is being made is never free for pods behind it.
// So the pods behind it in a call are decided again. Then nominations of lower priority on the node are cleared, and the
// victims get the condition DisruptionTarget and are deleted, each with its UID. The pod is tried again once they terminate:
// while one does, the server finds it not eligible to preempt. A pod that is gone by then, or nominated no longer, evicts nothing
// more. A group evicts what kube-scheduler evicts for a PodGroup, or nothing; one that kube-scheduler does not
// have, joint or with several topology keys, evicts nothing.
//
// # What it does not do
//
// The scheduler leaves pods pending that need a volume or a
// resource claim to be bound with them, pods that request an extended resource that a DeviceClass serves, and pods with other
// fields that Pod.unread lists, and pods of composite pod groups. Such pods belong to kube-scheduler.
//
// # Restarts
//
// All state is in the API server. A binding names the pod's UID and is accepted once, so that a replica that takes over
// cannot bind a pod twice. After an error the scheduler reads the pod from the API server, and only that ends the attempt.
// A replica that loses the lease binds nothing any more: a binding is sent only if the lease was renewed in time (package
// lease), the scheduler has led without a break since the decision, and no event has made the decision out of date. So are a
// nomination and the eviction of a victim, each by itself. The next leader finds nominations and terminating victims as any
// scheduler does that starts.
package batch
