// Package simulate schedules pods in a copy of a cluster, for controllers that want to know what kube-scheduler would do.
//
// A Snapshot has nodes and pods as Kubernetes objects. Schedule places pods as kube-scheduler would and counts them on their
// nodes; Feasible tells where a pod can go and why not elsewhere; Preemption tells whom it would evict; Evict and Restore take
// pods away and put them back. Nothing of this changes the cluster.
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
// independent snapshot with the same content. Begin, Commit, Revert, Fork and Adopt take the same time whatever the size of the
// cluster: a snapshot is an immutable cluster, which was put to the server once, and a journal of changes. A transaction
// or a fork keeps a position in the journal.
//
// A Snapshot is for one goroutine at a time. Its forks may be used concurrently with it and with each other: they share nothing
// that changes, and no lock.
//
// # Cost
//
// Schedule, ScheduleTemplate, ScheduleGroup, Feasible and Preemption are one request each, with the address of the cluster and
// the changes since. After 16 changes, they become part of a cluster of their own, which the server derives from the first one.
// All other calls are local. So place many pods by one call where that is possible. A server that has forgotten a cluster gets
// it again.
//
// # What is decided
//
// Decisions equal those of kube-scheduler v1.37 as far as docs/semantics.md says; of several best nodes the first one is taken.
// A pod's namesake on a node is an error. Pods of other schedulers are scheduled as well. Result.Doubts lists what is not
// decided about a pod, such as its volume claims: with doubts, a node is a maybe.
//
// An object that Stowage cannot read is refused by the call that adds it. An object that the server refuses fails the calls after
// it, with the path of its field, until the change is reverted.
package simulate
