// Package extender is the HTTP extender of kube-scheduler that answers with Stowage's decisions
// (k8s.io/kube-scheduler/extender/v1, pkg/scheduler/extender.go of v1.37): filter, prioritize, bind and preempt.
//
// It asks about the cluster that a live.Cluster keeps, so kube-scheduler must send names of nodes only: nodeCacheCapable
// must be true, and a request with nodes in it is refused. (In v1.37.1 an extender without nodeCacheCapable makes
// kube-scheduler score nodes as if they were empty; kubernetes/kubernetes#141781.)
//
// # Nothing is decided on what is out of date
//
// kube-scheduler decides about one pod after the other, and binds beside that. What it has decided must count for the next
// pod, and nobody tells an extender what was decided before the pod is bound. There are two ways to know:
//
//   - AtBind, with bindVerb: Filter answers with every node that can take the pod. The next Filter waits for the bind of
//     the last pod, up to Options.OutcomeWait. Bind asks once more if anything has changed since Filter, and refuses what
//     does not hold any more: kube-scheduler tries that pod again. Then it counts the pod there and binds it. Checks and
//     assumptions happen one after the other, so two binds cannot contradict each other however late kube-scheduler's
//     calls and the API server's events are. A decision that is more than a second old is checked in any case.
//   - AtFilter, for configurations without bindVerb: Filter answers with the best node alone and counts the pod there at
//     once. kube-scheduler has no choice left, and Prioritize is not called. The decision is Stowage's alone, to the last
//     point of the score.
//
// A process that hung, with its kube-scheduler or without, reads all bound pods before it decides again: another
// kube-scheduler may have taken over meanwhile (live.Cluster.CatchUp).
//
// An assumed pod that is not bound in time is settled as package live says; one that kube-scheduler asks about again is not
// assumed any more.
//
// # One call a pod
//
// Filter asks Stowage to score. Only if no node can take the pod, it asks once more, for the reasons: kube-scheduler reads
// them only then. Prioritize for the same nodes is answered from what Filter found. Bind asks again only if the cluster has
// changed in between.
//
// # Failures
//
// An error of Filter or Bind comes back in the answer's Error, which kube-scheduler puts into the pod's event; Prioritize
// and Preempt have no such field and answer with a status other than 200. Nothing is decided before the informers have
// brought the whole cluster.
package extender
