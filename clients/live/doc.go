// Package live keeps a live Kubernetes cluster as a Stowage snapshot.
//
// A Cluster watches nodes, pods, namespaces, PodDisruptionBudgets, and the Services, ReplicaSets, StatefulSets and
// ReplicationControllers whose selectors default spreading reads. Where the API server has resource.k8s.io/v1, it also watches
// DeviceClasses, and if asked to, PodGroups, where it has scheduling.k8s.io/v1beta1. It keeps a base snapshot on the server
// and a delta, so that one request carries the current cluster as a reference and the latest changes. Once the delta is
// large, it becomes part of a new base. Events that change no field that decisions read, and repeated or late events, change
// nothing.
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
// A base is uploaded once, in parallel with requests, which wait for it within their deadlines.
//
// # Assumed pods
//
// A decision counts at once: an assumed pod is on its node in every later view. An informer event that shows the pod there
// confirms the assumption, one that shows it on another node corrects it, and one that still shows it pending is late. If
// no event has resolved the assumption after Options.AssumeFor, the Cluster reads the pod from the API server: a bound pod
// stays where it is, and a pending or deleted pod is forgotten. While the API server does not answer, the pod stays
// assumed. A held assumption is not resolved this way: it counts until its holder calls Extend or Forget.
//
// # Objects that Stowage refuses
//
// One object that does not convert, or that the server rejects, does not stop the others. A rejected node is replaced by an
// unschedulable one with its name and labels alone, so that the pods on it count for topology and no pod goes there. A
// rejected namespace or workload selector is left out. Each is logged with the reason, counted in stowage.live.refused, and
// retried when it changes.
//
// A pod on a node always counts with what it occupies. The snapshot has only those of its fields that decisions about other
// pods read (kube.OccupyingPod). A rejected list of affinity terms is left out, and the rest counts. If requests, host
// ports, labels, a resize or required anti-affinity are rejected, the pod's node takes no further pods; View.Refused names
// the pod and the reason.
//
// # Preemption
//
// PodDisruptionBudgets, start times (Options.StartTimes) and the victims of kube-scheduler that still terminate are in the
// snapshot. Their changes are in the next view. But no decision about nodes reads budgets and start times, which change
// whenever a pod becomes ready: such a change neither closes Changed nor increases View.Version.
//
// # Nominated pods
//
// A pending pod with a status.nominatedNodeName is a nominated pod of that node until an event shows it without, on a node,
// finished or deleted, and while it is not assumed. It counts whatever scheduler it belongs to. If what it would occupy is not
// known, its node takes no pods. A nomination by the caller counts at once (Cluster.Nominate): events that do not show it are
// older, until one does.
//
// A Cluster is safe for concurrent use. A View never changes.
package live
