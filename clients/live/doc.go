// Package live keeps a live Kubernetes cluster as a Stowage snapshot.
//
// A Cluster watches nodes, pods, namespaces, PodDisruptionBudgets, and the Services, ReplicaSets, StatefulSets and
// ReplicationControllers whose selectors default spreading reads. It also watches DeviceClasses if the API server serves
// resource.k8s.io/v1, with Options.PodGroups the PodGroups of scheduling.k8s.io/v1beta1, the storage objects that
// StorageResources lists, and with Options.Selectors the objects that DeviceResources lists, of either if the process may read all of them:
// otherwise PendingPod lists claims and disks as unread fields. It keeps a base snapshot on the
// server and a delta, so that one request carries the current cluster as a reference and the latest changes. A large delta
// becomes part of a new base. Events that change no field that decisions read, and repeated or late events, change nothing.
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
// confirms the assumption, an event with another node corrects it, and an event of a still pending pod is late. If no event
// has resolved the assumption after Options.AssumeFor, the Cluster reads the pod from the API server: a bound pod stays on its
// node, and a pending or deleted pod is forgotten. While the API server does not answer, the pod stays assumed. A held
// assumption is not resolved this way: it counts until its holder calls Extend or Forget.
//
// Resource claims of an assumed pod count as Assumption.Claims has them. A claim that was written (ClaimWritten) counts so until an event
// shows that version, also if its pod is forgotten: events may be older than the write, and may show the devices free.
//
// # Objects that Stowage refuses
//
// One object that does not convert, or that the server rejects, does not affect the others. A rejected node is replaced by an
// unschedulable node with its name and labels alone, so that its pods count for topology and no pod is placed there. A
// rejected namespace or workload selector is left out. Each rejection is logged with the reason, counted in
// stowage.live.refused, and retried when the object changes.
//
// A pod on a node always counts with its resources and ports. The snapshot has only the fields that decisions about other pods
// read (kube.OccupyingPod). A rejected list of affinity terms is left out, and the rest counts. If requests, host ports,
// labels, a resize or required anti-affinity are rejected, the pod's node accepts no further pods; View.Refused names the pod
// and the reason.
//
// # Preemption
//
// The snapshot contains PodDisruptionBudgets, start times (Options.StartTimes) and kube-scheduler's terminating victims. Their
// changes are in the next view. Budgets and start times change whenever a pod becomes ready, and no decision about nodes reads
// them, so these changes neither close Changed nor increase View.Version.
//
// # Nominated pods
//
// A pending pod with a status.nominatedNodeName is a nominated pod of that node, whatever its scheduler, until it is assumed or
// an event shows it without the nomination, on a node, finished or deleted. If its requests are unknown, its node accepts no
// pods. A nomination by the caller counts at once (Cluster.Nominate): until an event shows it, events without it are older.
//
// A Cluster is safe for concurrent use. A View never changes.
package live
