// Package oracle runs kube-scheduler v1.37 over a case and records what it decides.
//
// Nothing of kube-scheduler is imitated. A Scheduler is upstream's own, made by scheduler.New with its default profile,
// all of its in-tree plugins, its cache and snapshot; only the informers are filled by hand and the loop that takes
// pods from the queue is not started. Objects go through the API server's own defaulting, preparation and validation
// first, so that only what the API would store is decided on, and a case that it would refuse is an InvalidError.
//
// A Queue goes further: there pods are taken from the scheduling queue, bound and evicted, and events reach the scheduler.
//
// Every decision is made twice: by upstream's schedulePod, whose choice and FitError text count, and by calling the
// same framework plugin by plugin for the details. That both agree is checked on every decision.
//
// Nodes are named by their index in Case.Nodes. A Scheduler belongs to one goroutine; any number may live side by side.
package oracle
