// Package batch is a scheduler. It takes the pending pods of its scheduler name, places all of them with one call of Place,
// and binds them through the API server.
//
// # Order
//
// Pods are taken by priority, then by age, as kube-scheduler's PrioritySort does
// (pkg/scheduler/framework/plugins/queuesort/priority_sort.go, v1.37). A group is placed at the position of its first pod.
// Place reads the cluster as the informers show it, plus every assumed pod, bound or not. The scheduler uses a response
// only if the cluster has not changed since the request. If the cluster keeps changing, the scheduler halves the batch, and finally
// accepts a decision that is as old as its call, as kube-scheduler does.
//
// A pod without a node gets the condition PodScheduled and an event FailedScheduling with the reason. It is retried once
// the cluster has changed, with a backoff of 1 s to 10 s. The condition's reason is Unschedulable only if another node might help.
// Neither bindings nor the pod wait for the write of the status: only the latest report of a pod is kept, and it is dropped once
// the pod has a node.
//
// # Groups
//
// The pods of a group name a PodGroup (scheduling.k8s.io/v1beta1), whose policy, topology and priority have kube-scheduler's
// meaning, or have the labels of scheduler-plugins' lightweight coscheduling (KEP-42):
//
//	pod-group.scheduling.sigs.k8s.io/name: training
//	pod-group.scheduling.sigs.k8s.io/min-available: "4"
//
// Either the minimum of members gets nodes or none does. Bound and succeeded members count towards the minimum. Without the
// label, the minimum is the number of existing members. Until the bindings of the minimum have been sent to the API server, the
// decisions about all waiting members hold together or not at all: if one is outdated, all are made again. A binding that the API
// server rejects or loses afterwards can leave a group incomplete.
//
// # Devices
//
// With Options.AllocateDevices, the resource claims of a pod are written before the pod is bound, as kube-scheduler's PreBind does. A pod that keeps
// devices of an earlier attempt is placed where they are. If it does not fit there, they are taken back, and the pod is retried.
//
// # Preemption
//
// With Options.Preempt, an unschedulable pod evicts pods of lower priority where kube-scheduler's DefaultPreemption does. The pod
// is nominated first, immediately in memory and then in its status, so that the room of its victims is never free for pods behind
// it. The pods behind it in the call are decided again. Then nominations of lower priority on the node are cleared, and the
// victims get the condition DisruptionTarget and are deleted by UID. The pod is retried once they terminate: while one is
// terminating, the server finds the pod not eligible to preempt. A pod that is deleted or loses its nomination meanwhile evicts no
// more victims. A group evicts the victims that kube-scheduler evicts for a PodGroup, or none. Groups that kube-scheduler does not
// support, joint or with several topology keys, evict none.
//
// # Unsupported pods
//
// These pods stay pending, and belong to kube-scheduler: pods with volumes that must be bound with them, pods with claims
// where the cluster does not read volumes, pods with resource claims without Options.AllocateDevices, or with devices that have binding
// conditions, pods that request an extended resource of a DeviceClass, pods with other fields that Pod.unread lists, and pods of composite pod
// groups.
//
// # Restarts
//
// All state is in the API server. A binding names the pod's UID and is accepted once, so that a new leader cannot bind a pod
// twice. After an error the scheduler reads the pod from the API server, and only the result of the read ends the attempt.
// A replica that loses the lease binds nothing more: a binding is sent only if the lease was renewed in time (package lease), the
// scheduler has led without a break since the decision, and no event has made the decision outdated. The same holds for each
// nomination and each eviction. The next leader finds nominations and terminating victims like any starting scheduler.
package batch
