// Package extender is an HTTP extender for kube-scheduler that answers with Stowage's decisions
// (k8s.io/kube-scheduler/extender/v1, pkg/scheduler/extender.go of v1.37): filter, prioritize, bind and preempt.
//
// Requests refer to the cluster that a live.Cluster keeps, so kube-scheduler must send node names only: nodeCacheCapable
// must be true, and a request with nodes in it is rejected. (In v1.37.1 an extender without nodeCacheCapable makes
// kube-scheduler score nodes as if they were empty; kubernetes/kubernetes#141781.)
//
// # No decision rests on outdated state
//
// kube-scheduler schedules one pod after the other, and binds in the background. Each decision must count for the next pod, but
// kube-scheduler does not report the chosen node to an extender until it binds the pod. There are two modes:
//
//   - AtBind, with bindVerb: Filter returns every feasible node. The next Filter waits for the bind of
//     the last pod, up to Options.OutcomeWait. Bind evaluates the pod again if the cluster has changed since Filter, and rejects a
//     node that is no longer feasible, whereupon kube-scheduler retries the pod. Otherwise Bind assumes the pod and binds it.
//     Checks and assumptions are serialized, so two binds cannot contradict each other however late kube-scheduler's calls and
//     the API server's events arrive. A decision older than a second is always checked.
//   - AtFilter, for configurations without bindVerb: Filter returns only the best node, and assumes the pod there at once.
//     kube-scheduler has no choice left and does not call Prioritize: the decision is Stowage's, to the last point of the score.
//     kube-scheduler binds. A binding that it considers failed, and that the API server carries out later, may collide with
//     another pod on the node, as without an extender.
//
// A process that was suspended, with or without its kube-scheduler, reads all bound pods before it decides again, because another
// kube-scheduler may have taken over meanwhile (live.Cluster.CatchUp). With Options.Lease, Bind completes a request only if
// kube-scheduler holds its lease, and the same process has held it since the pod was committed. This is checked once the request
// has a connection, which belongs to one term as well.
//
// Package live resolves an assumed pod that is not bound in time. A pod that kube-scheduler filters again is forgotten.
//
// kube-scheduler may also be ahead: if Filter rejects all nodes, and some by rules that kube-scheduler's own plugins have just evaluated, it
// waits for events, up to Options.EventWait, and evaluates again.
//
// Devices are kube-scheduler's alone: it allocates them in memory, and writes a claim between Filter and Bind. So this process reads no slices and no
// claims, evaluates no DynamicResources, and its scores lack that plugin's, for prioritised lists (docs/0039-devices-in-clients.md).
//
// # One call a pod
//
// Filter calls Score. If no node is feasible, it calls again for the reasons, which kube-scheduler reads only in this case.
// Prioritize for the same nodes uses the response of Filter. Bind calls again only if the cluster has changed since.
//
// # Failures
//
// Filter and Bind return errors in the result's Error, which kube-scheduler puts into the pod's event. Prioritize and Preempt have no
// such field, and return a status other than 200. No verb decides before the informers have synced.
package extender
