package kube

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	resourcehelper "k8s.io/component-helpers/resource"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

var protocols = map[corev1.Protocol]stowagev1.Protocol{
	"":                  stowagev1.Protocol_PROTOCOL_TCP,
	corev1.ProtocolTCP:  stowagev1.Protocol_PROTOCOL_TCP,
	corev1.ProtocolUDP:  stowagev1.Protocol_PROTOCOL_UDP,
	corev1.ProtocolSCTP: stowagev1.Protocol_PROTOCOL_SCTP,
}

var containerRestartPolicies = map[corev1.ContainerRestartPolicy]stowagev1.ContainerRestartPolicy{
	corev1.ContainerRestartPolicyAlways:    stowagev1.ContainerRestartPolicy_CONTAINER_RESTART_POLICY_ALWAYS,
	corev1.ContainerRestartPolicyOnFailure: stowagev1.ContainerRestartPolicy_CONTAINER_RESTART_POLICY_ON_FAILURE,
	corev1.ContainerRestartPolicyNever:     stowagev1.ContainerRestartPolicy_CONTAINER_RESTART_POLICY_NEVER,
}

// ownLabels are the labels whose values differ for each pod of a controller. They stay out of templates, so that the pods
// of a StatefulSet or an indexed Job share one.
var ownLabels = []string{
	"apps.kubernetes.io/pod-index",
	"batch.kubernetes.io/job-completion-index",
	"statefulset.kubernetes.io/pod-name",
}

// PendingPod converts a pending pod, with a template of its own. If spec.nodeName is set, only that node is feasible.
//
// Its unread fields are those of the pod itself. A Builder adds those that depend on other objects: DeviceClasses, and
// unread fields of pods on nodes and of PodGroups.
func PendingPod(p *corev1.Pod) (*stowagev1.Pod, error) {
	return (&admission{}).pendingPod(factsOf(podOrigin(p), specPath, stamp{pod: p}))
}

func podOrigin(p *corev1.Pod) Origin {
	return Origin{Kind: "Pod", Namespace: namespaceOf(p), Name: cmp.Or(p.Name, p.GenerateName+"*")}
}

// pendingPod converts a pod as the API server would store it.
func (a *admission) pendingPod(f facts) (*stowagev1.Pod, error) {
	pod, err := a.stored(f.stamp.pod)
	if err != nil {
		return nil, fmt.Errorf("the API server rejects the pod: %w", err)
	}
	c := &converter{}
	out := c.pod(pod, f.path, resourcehelper.PodResourcesOptions{})
	spec := out.GetTemplate().Spec
	spec.NodeName = pod.Spec.NodeName
	out.NominatedNodeName = pod.Status.NominatedNodeName
	out.Unread = a.unreadIn(f, pod, spec)
	return out, c.err()
}

// pod converts the common part of pending and running pods; path is the path of the pod's spec in the object, and o is how
// kube-scheduler sums the pod's requests.
func (c *converter) pod(p *corev1.Pod, path *field.Path, o resourcehelper.PodResourcesOptions) *stowagev1.Pod {
	t := &stowagev1.PodTemplate{
		Namespace:  namespaceOf(p),
		Labels:     maps.Clone(p.Labels),
		Controller: controller(p),
		Spec:       c.podSpec(&p.Spec, admitted(p), path),
	}
	if len(p.Spec.Overhead) > 0 {
		o.ExcludeOverhead = true
		t.Spec.Overhead = c.requests(p.Spec.Overhead, path.Child("overhead"), excess(nil).plus(resourcehelper.PodRequests(p, o)))
	}
	out := &stowagev1.Pod{
		Name:        p.Name,
		Source:      &stowagev1.Pod_Template{Template: t},
		Terminating: p.DeletionTimestamp != nil,
	}
	for _, key := range ownLabels {
		if value, ok := t.Labels[key]; ok {
			if out.Labels == nil {
				out.Labels = map[string]string{}
			}
			out.Labels[key] = value
			delete(t.Labels, key)
		}
	}
	return out
}

// controller returns the pod's controller. Decisions read the names of some kinds alone; other names would only divide
// templates that are otherwise equal.
func controller(p *corev1.Pod) *stowagev1.ControllerReference {
	if _, mirror := p.Annotations[corev1.MirrorPodAnnotationKey]; mirror {
		return &stowagev1.ControllerReference{ApiVersion: "v1", Kind: "Node"}
	}
	owner := metav1.GetControllerOfNoCopy(p)
	if owner == nil {
		return nil
	}
	switch owner.APIVersion + " " + owner.Kind {
	case "v1 Node":
		return &stowagev1.ControllerReference{ApiVersion: owner.APIVersion, Kind: owner.Kind, Gone: true}
	case "v1 ReplicationController", "apps/v1 ReplicaSet", "apps/v1 StatefulSet":
		return &stowagev1.ControllerReference{ApiVersion: owner.APIVersion, Kind: owner.Kind, Name: owner.Name}
	}
	return &stowagev1.ControllerReference{ApiVersion: owner.APIVersion, Kind: owner.Kind}
}

func (c *converter) podSpec(s *corev1.PodSpec, merged bool, path *field.Path) *stowagev1.PodSpec {
	out := &stowagev1.PodSpec{
		NodeSelector:              maps.Clone(s.NodeSelector),
		Affinity:                  c.affinity(s.Affinity, merged, path.Child("affinity")),
		Tolerations:               c.tolerations(s.Tolerations, path.Child("tolerations")),
		TopologySpreadConstraints: c.spread(s.TopologySpreadConstraints, path.Child("topologySpreadConstraints")),
	}
	for container, before := range sums(s, requested) {
		if i := len(out.InitContainers); i < len(s.InitContainers) {
			out.InitContainers = append(out.InitContainers, c.container(container, before, path.Child("initContainers").Index(i)))
		} else {
			i := len(out.Containers)
			out.Containers = append(out.Containers, c.container(container, before, path.Child("containers").Index(i)))
		}
	}
	if s.Resources != nil {
		out.Requests = c.requests(podLevel(s.Resources.Requests), path.Child("resources", "requests"), nil)
	}
	for _, v := range s.Volumes {
		if v.Image != nil {
			image := &stowagev1.ImageVolumeSource{Reference: v.Image.Reference}
			out.Volumes = append(out.Volumes, &stowagev1.Volume{Source: &stowagev1.Volume_Image{Image: image}})
		}
	}
	if slices.ContainsFunc(s.Volumes, func(v corev1.Volume) bool { return v.EmptyDir != nil }) { // their number changes nothing
		out.Volumes = append(out.Volumes, &stowagev1.Volume{Source: &stowagev1.Volume_EmptyDir{EmptyDir: &stowagev1.EmptyDirVolumeSource{}}})
	}
	for _, g := range s.SchedulingGates {
		out.SchedulingGates = append(out.SchedulingGates, g.Name)
	}
	if s.Priority != nil {
		out.Priority = *s.Priority
	}
	out.PreemptionPolicy = preemptionPolicy(s)
	if s.SchedulerName != corev1.DefaultSchedulerName {
		out.SchedulerName = s.SchedulerName
	}
	if g := s.SchedulingGroup; g != nil && g.PodGroupName != nil {
		out.SchedulingGroup = *g.PodGroupName
	}
	return out
}

// container converts a container, and adds its requests to a sum.
func (c *converter) container(in *corev1.Container, before excess, at *field.Path) *stowagev1.Container {
	out := &stowagev1.Container{
		Name:     in.Name,
		Image:    in.Image,
		Requests: c.requests(in.Resources.Requests, at.Child("resources", "requests"), before),
	}
	for j, p := range in.Ports {
		if p.HostPort == 0 {
			continue
		}
		out.HostPorts = append(out.HostPorts, &stowagev1.HostPort{
			Port:     p.HostPort,
			Protocol: enum(c, protocols, p.Protocol, at.Child("ports").Index(j).Child("protocol")),
			HostIp:   p.HostIP,
		})
	}
	if in.RestartPolicy != nil {
		out.RestartPolicy = enum(c, containerRestartPolicies, *in.RestartPolicy, at.Child("restartPolicy"))
	}
	return out
}

// podLevel returns the resources that a pod can request at pod level.
func podLevel(list corev1.ResourceList) corev1.ResourceList {
	out := corev1.ResourceList{}
	for name, q := range list {
		if resourcehelper.IsSupportedPodLevelResource(name) {
			out[name] = q
		}
	}
	return out
}
