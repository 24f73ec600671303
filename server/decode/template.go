package decode

import (
	"github.com/stowage-scheduler/stowage/engine/api"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// template decodes a pod template.
func (d *decoder) template(at *path, in *stowagev1.PodTemplate) api.PodTemplate {
	out := api.PodTemplate{
		Namespace:  d.namespace(at, in.GetNamespace()),
		Labels:     d.labels(at, "labels", in.GetLabels()),
		Controller: d.controller(at, in.GetController()),
	}
	spec := at.field("spec")
	d.podSpec(&spec, in.GetSpec(), &out.Spec)
	return out
}

// controller decodes a controller reference. Kinds whose selectors kube-scheduler does not look up become none
// (pkg/scheduler/framework/plugins/helper/spread.go, v1.37).
func (d *decoder) controller(parent *path, in *stowagev1.ControllerReference) api.ControllerReference {
	at := parent.field("controller")
	d.length(at.field("name"), in.GetName(), MaxNameBytes)
	return controllerOf(in.GetApiVersion(), in.GetKind(), in.GetName())
}

func controllerOf(apiVersion, kindName, name string) api.ControllerReference {
	kind := api.NoWorkload
	switch [2]string{apiVersion, kindName} {
	case [2]string{"v1", "ReplicationController"}:
		kind = api.ReplicationController
	case [2]string{"apps/v1", "ReplicaSet"}:
		kind = api.ReplicaSet
	case [2]string{"apps/v1", "StatefulSet"}:
		kind = api.StatefulSet
	default:
		return api.ControllerReference{}
	}
	return api.ControllerReference{Kind: kind, Name: name}
}

func (d *decoder) podSpec(at *path, in *stowagev1.PodSpec, out *api.PodSpec) {
	out.NodeSelector = d.labels(at, "node_selector", in.GetNodeSelector())
	d.affinity(at, in.GetAffinity(), out)
	out.Tolerations = d.tolerations(at, in.GetTolerations())
	out.Spread = d.spread(at, in.GetTopologySpreadConstraints())
	out.Containers = d.containers(at, "containers", in.GetContainers())
	out.InitContainers = d.containers(at, "init_containers", in.GetInitContainers())
	out.Requests = d.resources(at, "requests", in.GetRequests(), false)
	out.Overhead = d.resources(at, "overhead", in.GetOverhead(), false)
	if d.within(at, "image_volumes", len(in.GetImageVolumes()), MaxContainers) {
		out.ImageVolumes = in.GetImageVolumes()
	}
	d.length(at.field("node_name"), in.GetNodeName(), MaxNameBytes)
	out.NodeName = in.GetNodeName()
	if d.within(at, "scheduling_gates", len(in.GetSchedulingGates()), MaxTolerations) {
		out.SchedulingGates = in.GetSchedulingGates()
	}
	out.Priority = in.GetPriority()
}

func (d *decoder) containers(at *path, field string, in []*stowagev1.Container) []api.Container {
	if len(in) == 0 || !d.within(at, field, len(in), MaxContainers) {
		return nil
	}
	out := make([]api.Container, len(in))
	for i, c := range in {
		at := at.item(field, i)
		if _, ok := stowagev1.ContainerRestartPolicy_name[int32(c.GetRestartPolicy())]; !ok {
			d.refuse(at.field("restart_policy"), "must be CONTAINER_RESTART_POLICY_ALWAYS, CONTAINER_RESTART_POLICY_ON_FAILURE or CONTAINER_RESTART_POLICY_NEVER")
		}
		out[i] = api.Container{
			Name:      c.GetName(),
			Image:     c.GetImage(),
			Requests:  d.resources(&at, "requests", c.GetRequests(), false),
			HostPorts: d.hostPorts(&at, c.GetHostPorts()),
			Sidecar: field == "init_containers" &&
				c.GetRestartPolicy() == stowagev1.ContainerRestartPolicy_CONTAINER_RESTART_POLICY_ALWAYS,
		}
	}
	return out
}

func (d *decoder) hostPorts(at *path, in []*stowagev1.HostPort) []api.HostPort {
	if len(in) == 0 || !d.within(at, "host_ports", len(in), MaxHostPorts) {
		return nil
	}
	out := make([]api.HostPort, len(in))
	for i, p := range in {
		at := at.item("host_ports", i)
		out[i] = d.hostPort(&at, p.GetPort(), p.GetProtocol(), p.GetHostIp())
	}
	return out
}

func (d *decoder) hostPort(at *path, port int32, protocol stowagev1.Protocol, hostIP string) api.HostPort {
	out := api.HostPort{Port: port, HostIP: hostIP}
	if port < 1 || port > 65535 {
		d.refuse(at.field("port"), "is %d, 1 to 65535 are allowed", port)
	}
	switch protocol {
	case stowagev1.Protocol_PROTOCOL_UNSPECIFIED, stowagev1.Protocol_PROTOCOL_TCP:
		out.Protocol = api.TCP
	case stowagev1.Protocol_PROTOCOL_UDP:
		out.Protocol = api.UDP
	case stowagev1.Protocol_PROTOCOL_SCTP:
		out.Protocol = api.SCTP
	default:
		d.refuse(at.field("protocol"), "must be PROTOCOL_TCP, PROTOCOL_UDP or PROTOCOL_SCTP")
	}
	return out
}
