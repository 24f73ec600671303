package decode

import (
	"bytes"

	"github.com/stowage-scheduler/stowage/engine/api"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// ownTemplate reads a template that is an item of its own, with its canonical form, and reports whether it is sound.
func (r *reader) ownTemplate(raw []byte) (_ *api.PodTemplate, form []byte, ok bool) {
	to, scalars, keys, found := r.to, len(r.scalars), len(r.keys), r.found
	r.to = &r.kept
	defer func() { r.to = to }()
	out := new(api.PodTemplate)
	form = bytes.Clone(raw)
	if *out, ok = read(r, path{}, form, (*reader).template); !ok {
		if form = usual(raw, new(stowagev1.PodTemplate)); form == nil {
			return nil, nil, false
		}
		r.scalars, r.keys, r.found = r.scalars[:scalars], r.keys[:keys], found
		*out, ok = read(r, path{}, form, (*reader).template)
	}
	return out, form, ok && len(r.violations) == 0 && r.meet(scalars, keys)
}

func (r *reader) template(at *path, in *scan) api.PodTemplate {
	out := api.PodTemplate{Namespace: "default"}
	for in.more() {
		switch in.next() {
		case sized(1):
			out.Namespace = in.text()
			r.length(at.field("namespace"), out.Namespace, MaxNamespaceBytes)
		case sized(2):
			out.Labels = r.labels(at, in, "labels")
		case sized(3):
			out.Controller = one(r, at, in, "controller", (*reader).controller)
		case sized(4):
			out.Spec = one(r, at, in, "spec", (*reader).podSpec)
		default:
			in.fail()
		}
	}
	return out
}

// controller reads a controller reference. Kinds whose selectors kube-scheduler does not look up become none
// (pkg/scheduler/framework/plugins/helper/spread.go, v1.37).
func (r *reader) controller(at *path, in *scan) api.ControllerReference {
	var apiVersion, kind, name string
	for in.more() {
		switch in.next() {
		case sized(1):
			apiVersion = in.text()
		case sized(2):
			kind = in.text()
		case sized(3):
			name = in.text()
			r.length(at.field("name"), name, MaxNameBytes)
		default:
			in.fail()
		}
	}
	return controllerOf(apiVersion, kind, name)
}

func controllerOf(apiVersion, kindName, name string) api.ControllerReference {
	var kind api.WorkloadKind
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

func (r *reader) podSpec(at *path, in *scan) (out api.PodSpec) {
	for in.more() {
		switch in.next() {
		case sized(1):
			out.NodeSelector = r.labels(at, in, "node_selector")
		case sized(2):
			a := one(r, at, in, "affinity", (*reader).affinity)
			out.NodeAffinity, out.PodAffinity, out.PodAntiAffinity = a.node, a.pod, a.anti
		case sized(3):
			out.Tolerations = list(r, at, in, "tolerations", MaxTolerations, (*reader).toleration)
		case sized(4):
			out.Spread = r.spreadConstraints(at, in)
		case sized(5):
			out.Containers = list(r, at, in, "containers", MaxContainers, (*reader).container)
		case sized(6):
			out.InitContainers = list(r, at, in, "init_containers", MaxContainers, (*reader).initContainer)
		case sized(7):
			out.Requests = one(r, at, in, "requests", (*reader).resources)
		case sized(8):
			out.Overhead = one(r, at, in, "overhead", (*reader).resources)
		case sized(9):
			out.ImageVolumes = r.texts(at, in, "image_volumes", MaxContainers)
		case sized(10):
			out.NodeName = in.text()
			r.length(at.field("node_name"), out.NodeName, MaxNameBytes)
		case sized(11):
			out.SchedulingGates = r.texts(at, in, "scheduling_gates", MaxTolerations)
		case number(12):
			out.Priority = in.nonzero()
		default:
			in.fail()
		}
	}
	return out
}

// initContainer reads an init container, which is a sidecar if it always restarts.
func (r *reader) initContainer(at *path, in *scan) api.Container {
	out, policy := r.restarting(at, in)
	out.Sidecar = policy == stowagev1.ContainerRestartPolicy_CONTAINER_RESTART_POLICY_ALWAYS
	return out
}

func (r *reader) container(at *path, in *scan) api.Container {
	out, _ := r.restarting(at, in)
	return out
}

func (r *reader) restarting(at *path, in *scan) (out api.Container, policy stowagev1.ContainerRestartPolicy) {
	for in.more() {
		switch in.next() {
		case sized(1):
			out.Name = in.text()
		case sized(2):
			out.Image = in.text()
		case sized(3):
			out.Requests = one(r, at, in, "requests", (*reader).resources)
		case sized(4):
			out.HostPorts = list(r, at, in, "host_ports", MaxHostPorts, (*reader).hostPort)
		case number(5):
			policy = stowagev1.ContainerRestartPolicy(in.nonzero())
			if _, ok := stowagev1.ContainerRestartPolicy_name[int32(policy)]; !ok {
				r.refuse(at.field("restart_policy"), "must be CONTAINER_RESTART_POLICY_ALWAYS, CONTAINER_RESTART_POLICY_ON_FAILURE or CONTAINER_RESTART_POLICY_NEVER")
			}
		default:
			in.fail()
		}
	}
	return out, policy
}

func (r *reader) hostPort(at *path, in *scan) (out api.HostPort) {
	protocol := stowagev1.Protocol_PROTOCOL_UNSPECIFIED
	for in.more() {
		switch in.next() {
		case number(1):
			out.Port = in.nonzero()
		case number(2):
			protocol = stowagev1.Protocol(in.nonzero())
		case sized(3):
			out.HostIP = in.text()
		default:
			in.fail()
		}
	}
	if out.Port < 1 || out.Port > 65535 {
		r.refuse(at.field("port"), "is %d, 1 to 65535 are allowed", out.Port)
	}
	switch protocol {
	case stowagev1.Protocol_PROTOCOL_UNSPECIFIED, stowagev1.Protocol_PROTOCOL_TCP:
		out.Protocol = api.TCP
	case stowagev1.Protocol_PROTOCOL_UDP:
		out.Protocol = api.UDP
	case stowagev1.Protocol_PROTOCOL_SCTP:
		out.Protocol = api.SCTP
	default:
		r.refuse(at.field("protocol"), "must be PROTOCOL_TCP, PROTOCOL_UDP or PROTOCOL_SCTP")
	}
	return out
}
