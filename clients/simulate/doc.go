// Package simulate schedules pods in a copy of a cluster, for controllers that need to predict kube-scheduler's decisions.
//
// A Snapshot has nodes and pods as Kubernetes objects. Schedule places pods as kube-scheduler would and counts them on their nodes.
// Feasible returns the feasible nodes of a pod, and the reasons of the other nodes. Preemption returns the pods that a pod would
// preempt. Evict removes pods, and Restore puts them back. None of them changes the live cluster.
//
//	client, stop, err := embedded.Dial(ctx)        // or stowage.Dial(addresses)
//	cluster, err := simulate.Objects(nodes, pods)  // or a kube.Builder, for Services, PodDisruptionBudgets and more
//	s, err := simulate.New(ctx, client, cluster, simulate.Options{})
//	err = s.Transaction(func() error {
//		results, err := s.Schedule(ctx, pending, simulate.ScheduleOptions{})
//		...
//		return simulate.ErrRevert
//	})
//
// # Transactions and forks
//
// Begin opens a transaction, Commit keeps what it changed and Revert undoes it. Transactions nest to any depth. Fork returns an
// independent snapshot with the same content. Begin, Commit, Revert, Fork and Adopt take constant time: a snapshot is an immutable
// cluster, which was put to the server once, and a journal of changes. A transaction or a fork keeps a position in the journal.
//
// A Snapshot is for one goroutine at a time. Its forks may be used concurrently with it and with each other: they share only
// immutable data, and no lock.
//
// # Cost
//
// Schedule, ScheduleTemplate, ScheduleGroup, Feasible and Preemption are one request each, with the address of the cluster and
// the changes since. After 16 changes, they become part of a new cluster, which the server derives from the first one. All other
// calls are local. So place many pods with one call where possible. If a server has forgotten a cluster, the snapshot puts it again.
//
// # Decisions
//
// Decisions equal kube-scheduler v1.37's within the limits of docs/semantics.md; among several best nodes the first one wins. A pod
// with the name of a pod on a node is an error. Pods of other schedulers are scheduled as well. Result.Doubts lists the undecided
// aspects of a pod, such as its resource claims: with doubts, kube-scheduler may reject the node. Devices pass from pod to pod within one
// call. Later calls do not count them, which is a doubt about each pod with claims.
//
// The call that adds an object refuses it if Stowage cannot read it. If the server rejects it, later calls fail with the path of its
// field until the change is reverted.
package simulate
