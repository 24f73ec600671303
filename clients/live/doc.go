// Package live keeps a live Kubernetes cluster as a Stowage snapshot.
//
// A Cluster watches nodes, pods, namespaces, and the Services, ReplicaSets, StatefulSets and ReplicationControllers whose
// selectors default spreading reads. What it has seen, it states as a base snapshot and the difference to it, so that a
// question about the cluster as it is now is one call that carries what changed lately; once that is much, the difference
// becomes part of a new base. Events that change nothing that a decision reads, and events that come twice or late, change
// nothing here.
//
//	cluster, err := live.New(api, client, live.Options{})
//	go cluster.Run(ctx)
//	err = cluster.WaitReady(ctx)
//	err = cluster.Ask(ctx, func(ctx context.Context, v *live.View) error {
//		view = v
//		answer, err = client.Place(ctx, &stowagev1.PlaceRequest{Snapshot: v.Reference(), Queue: queue})
//		return err
//	})
//	err = cluster.Assume(view, live.Assumption{Pod: pod, Node: node})
//
// A base is put once, beside the questions, which wait for it as long as their contexts let them.
//
// # Assumed pods
//
// What was decided counts at once: an assumed pod is on its node for every later view. The informer's event that shows the
// pod there confirms the assumption; one that shows it elsewhere corrects it; one that still shows it pending is late. If
// nothing has settled it after Options.AssumeFor, the API server is asked: a pod that is bound stays where it is, and one
// that is pending or gone stops counting. While the API server cannot be asked, the pod goes on counting. One
// that is held is not asked about: it counts until whoever holds it says what has become of the pod.
//
// # Objects that Stowage refuses
//
// One object that does not convert, or that the server refuses, does not stop the others. A node is stated with its name
// and labels alone and as unschedulable, so that the pods on it count for topology and no pod goes there; a namespace or
// workload selector is left out. Each is logged with the reason and counted in stowage.live.refused, and tried again when it
// changes.
//
// What a pod on a node occupies counts, whatever else of it cannot be read: of such pods only that is stated which decisions
// about other pods read (kube.OccupyingPod). A list of affinity terms that is refused is left out, and the rest counts. Where
// requests, host ports, labels, a resize or required anti-affinity are refused, the node of the pod is stated as one that
// takes no pods; View.Refused names the pod and the reason.
//
// A Cluster is safe for concurrent use. A View never changes.
package live
