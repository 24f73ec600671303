package decode

import (
	"github.com/stowage-scheduler/stowage/engine/api"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// workload is the identity of a workload selector.
type workload struct {
	kind            api.WorkloadKind
	namespace, name string
}

func (d *decoder) workloadSelector(at *path, in *stowagev1.WorkloadSelector) api.WorkloadSelector {
	out := api.WorkloadSelector{
		Namespace: d.namespace(at, in.GetNamespace()),
		Name:      in.GetName(),
		Selector:  d.labelSelector(at, "selector", in.GetSelector(), lenientValues),
	}
	d.name(at, "name", out.Name, MaxNameBytes)
	switch in.GetKind() {
	case stowagev1.WorkloadKind_WORKLOAD_KIND_SERVICE:
		out.Kind = api.Service
	case stowagev1.WorkloadKind_WORKLOAD_KIND_REPLICATION_CONTROLLER:
		out.Kind = api.ReplicationController
	case stowagev1.WorkloadKind_WORKLOAD_KIND_REPLICA_SET:
		out.Kind = api.ReplicaSet
	case stowagev1.WorkloadKind_WORKLOAD_KIND_STATEFUL_SET:
		out.Kind = api.StatefulSet
	default:
		d.refuse(at.field("kind"), "must be WORKLOAD_KIND_SERVICE, WORKLOAD_KIND_REPLICATION_CONTROLLER, WORKLOAD_KIND_REPLICA_SET or WORKLOAD_KIND_STATEFUL_SET")
	}
	mapOnly := out.Kind == api.Service || out.Kind == api.ReplicationController
	if mapOnly && len(in.GetSelector().GetMatchExpressions()) > 0 {
		selector := at.field("selector")
		d.refuse(selector.field("match_expressions"), "must be empty with WORKLOAD_KIND_SERVICE and WORKLOAD_KIND_REPLICATION_CONTROLLER")
	}
	return out
}
