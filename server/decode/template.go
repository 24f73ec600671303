package decode

import (
	"bytes"
	"cmp"

	"github.com/stowage-scheduler/stowage/engine/api"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Field numbers of PodTemplate.
const (
	templateNamespace = 1 + iota
	templateLabels
)

// ownTemplate reads a template whose memory nothing else shares, and reports whether it is valid. form is its canonical form.
func (r *reader) ownTemplate(raw []byte) (_ *api.PodTemplate, form []byte, ok bool) {
	to, added, found := r.to, *r.added, r.found
	r.to = &r.kept
	defer func() { r.to = to }()
	out := new(api.PodTemplate)
	form = bytes.Clone(raw)
	if *out, ok = read(r, path{}, form, (*reader).template); !ok {
		if form = usual(raw, new(stowagev1.PodTemplate)); form == nil {
			return nil, nil, false
		}
		*r.added, r.found = added, found
		*out, ok = read(r, path{}, form, (*reader).template)
	}
	return out, form, ok && len(r.violations) == 0
}

func (r *reader) template(at *path, in *scan) (out api.PodTemplate) {
	out.Namespace = cmp.Or(in.text(templateNamespace), "default")
	r.length(at.field("namespace"), out.Namespace, MaxNamespaceBytes)
	out.Labels = r.labels(at, in, templateLabels, "labels")
	out.Controller = one(r, at, in, 3, "controller", (*reader).controller)
	out.Spec = one(r, at, in, 4, "spec", (*reader).podSpec)
	return out
}

// controller reads a controller reference. It has no name for kinds whose selectors kube-scheduler does not look up
// (pkg/scheduler/framework/plugins/helper/spread.go, v1.37). The controller of a mirror pod is its node.
func (r *reader) controller(at *path, in *scan) api.ControllerReference {
	apiVersion, kind, name, gone := in.text(1), in.text(2), in.text(3), in.bool(4)
	r.length(at.field("name"), name, MaxNameBytes)
	switch [2]string{apiVersion, kind} {
	case [2]string{"v1", "ReplicationController"}:
		return api.ControllerReference{Kind: api.ReplicationController, Name: name}
	case [2]string{"apps/v1", "ReplicaSet"}:
		return api.ControllerReference{Kind: api.ReplicaSet, Name: name}
	case [2]string{"apps/v1", "StatefulSet"}:
		return api.ControllerReference{Kind: api.StatefulSet, Name: name}
	case [2]string{"apps/v1", "DaemonSet"}:
		return api.ControllerReference{Kind: api.DaemonSet, Gone: gone}
	case [2]string{"v1", "Node"}:
		if gone {
			return api.ControllerReference{Kind: api.OtherController, Gone: true}
		}
		return api.ControllerReference{Kind: api.DaemonSet, Mirror: true}
	case [2]string{}:
		return api.ControllerReference{}
	}
	return api.ControllerReference{Kind: api.OtherController}
}

func (r *reader) podSpec(at *path, in *scan) (out api.PodSpec) {
	out.NodeSelector = r.labels(at, in, 1, "node_selector")
	a := one(r, at, in, 2, "affinity", (*reader).affinity)
	out.NodeAffinity, out.PodAffinity, out.PodAntiAffinity = a.node, a.pod, a.anti
	out.Tolerations = list(r, at, in, 3, "tolerations", MaxTolerations, (*reader).toleration)
	out.Spread = r.spreadConstraints(at, in, 4, "topology_spread_constraints")
	out.Containers = list(r, at, in, 5, "containers", MaxContainers, (*reader).container)
	out.InitContainers = list(r, at, in, 6, "init_containers", MaxContainers, (*reader).initContainer)
	out.Requests = one(r, at, in, 7, "requests", (*reader).resources)
	out.Overhead = one(r, at, in, 8, "overhead", (*reader).resources)
	for _, v := range list(r, at, in, 9, "volumes", MaxContainers, (*reader).volume) {
		if out.EmptyDir = out.EmptyDir || v.emptyDir; !v.emptyDir {
			out.ImageVolumes = append(out.ImageVolumes, v.image)
		}
	}
	out.NodeName = in.text(10)
	r.length(at.field("node_name"), out.NodeName, MaxNameBytes)
	out.SchedulingGates = r.texts(at, in, 11, "scheduling_gates", MaxTolerations)
	out.Priority = in.int32(12)
	if policy := stowagev1.PreemptionPolicy(in.int32(13)); policy != 0 {
		out.NeverPreempts, _ = enum(r.problems, at, "preemption_policy", policy, false, true)
		if isDefault(policy) && !r.asStated {
			in.fail() // the canonical form leaves it out
		}
	}
	out.SchedulerName = in.text(14)
	r.length(at.field("scheduler_name"), out.SchedulerName, MaxNameBytes)
	out.SchedulingGroup = in.text(15)
	r.length(at.field("scheduling_group"), out.SchedulingGroup, MaxNameBytes)
	return out
}

func isDefault(p stowagev1.PreemptionPolicy) bool {
	return p == stowagev1.PreemptionPolicy_PREEMPTION_POLICY_PREEMPT_LOWER_PRIORITY
}

// volume is a volume: an emptyDir, or the reference of an image.
type volume struct {
	emptyDir bool
	image    string
}

func (r *reader) volume(at *path, in *scan) (out volume) {
	out.emptyDir = in.nextIs(sized(2))
	r.require(out.emptyDir || in.nextIs(sized(1)), at.field("source"))
	if out.emptyDir {
		one(r, at, in, 2, "empty_dir", func(*reader, *path, *scan) (none struct{}) { return none })
		return out
	}
	out.image = one(r, at, in, 1, "image", func(_ *reader, _ *path, in *scan) string { return in.text(1) })
	return out
}

func (r *reader) container(at *path, in *scan) api.Container {
	out := r.initContainer(at, in)
	out.Sidecar = false // restart_policy has no effect
	return out
}

func (r *reader) initContainer(at *path, in *scan) (out api.Container) {
	out.Name = in.text(1)
	out.Image = in.text(2)
	out.Requests = one(r, at, in, 3, "requests", (*reader).resources)
	out.HostPorts = list(r, at, in, 4, "host_ports", MaxHostPorts, (*reader).hostPort)
	if policy := stowagev1.ContainerRestartPolicy(in.int32(5)); policy != 0 {
		out.Sidecar, _ = enum(r.problems, at, "restart_policy", policy, true, false, false)
	}
	return out
}

func (r *reader) hostPort(at *path, in *scan) (out api.HostPort) {
	out.Port = in.int32(1)
	protocol := cmp.Or(stowagev1.Protocol(in.int32(2)), stowagev1.Protocol_PROTOCOL_TCP)
	out.HostIP = in.text(3)
	r.between(at.field("port"), int64(out.Port), 1, 65535)
	out.Protocol, _ = enum(r.problems, at, "protocol", protocol, api.TCP, api.UDP, api.SCTP)
	return out
}
