package convert

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/stowage-scheduler/stowage/clients/kube/object"
	"github.com/stowage-scheduler/stowage/clients/kube/skew"
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

// The path of a pod's spec in a pod and in a workload.
var (
	SpecPath         = field.NewPath("spec")
	TemplateSpecPath = field.NewPath("spec", "template", "spec")
)

// PendingPod converts a pending pod, with a template of its own. If spec.nodeName is set, only that node is feasible. Its unread fields do
// not depend on other objects: an Environment adds the rest. Claims and disks are among them, as they depend on storage objects.
func PendingPod(p *corev1.Pod) (*stowagev1.Pod, error) {
	return new(Environment).PodWithClaims(p)
}

// pod converts the common part of pending and running pods; path is the path of the pod's spec in the object, and o is how
// kube-scheduler sums the pod's requests.
func (c *converter) pod(p *corev1.Pod, path *field.Path, o skew.RequestOptions) *stowagev1.Pod {
	t := &stowagev1.PodTemplate{
		Namespace:  object.Namespace(p),
		Labels:     maps.Clone(p.Labels),
		Controller: controller(p),
		Spec:       c.podSpec(&p.Spec, object.Admitted(p), path),
	}
	if len(p.Spec.Overhead) > 0 {
		o.ExcludeOverhead = true
		t.Spec.Overhead = c.requests(p.Spec.Overhead, path.Child("overhead"), excess(nil).plus(skew.PodRequests(p, o)))
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
	if object.MadeByKubelet(p) {
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
	if name := skew.PodGroupName(s); name != nil {
		out.SchedulingGroup = *name
	}
	if skew.HasDeclaredFeatures() {
		out.RequiredNodeFeatures = skew.RequiredFeatures(s)
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
		if skew.IsPodLevelResource(name) {
			out[name] = q
		}
	}
	return out
}

// Occupant is a pod on a node, with the fields that decisions about other pods read.
type Occupant struct {
	Pod *stowagev1.Pod
	// Terms is why lists of affinity terms are left out, nil if none is. kube-scheduler, too, treats a list of a pod on a
	// node as empty if it cannot parse one of its selectors (pkg/scheduler/framework/types.go NewPodInfo, v1.37).
	Terms error
	// Amounts is why Pod occupies less of its node than the object does, nil if it occupies the same.
	Amounts error
}

// Err is why the pod does not convert completely, nil if it does.
func (o Occupant) Err() error { return errors.Join(o.Terms, o.Amounts) }

// onNode converts a stored pod on a node, with what its status says about its resources and about preemption.
func onNode(p *corev1.Pod) (*stowagev1.Pod, error) {
	if len(p.Spec.EphemeralContainers) > 0 { // the pod that replaces this one has none, and so requires no features for them
		without := *p
		without.Spec.EphemeralContainers = nil
		p = &without
	}
	c := &converter{}
	out := c.pod(p, SpecPath, runningRequests)
	out.ResourceStatus = c.resourceStatus(p)
	setVictim(out, p)
	return out, c.err()
}

// OccupyingPod converts a pod on a node, with a template of its own and without its node. It leaves out the fields of pods
// on nodes that kube-scheduler does not read: node selector and affinity, tolerations, spread constraints, images,
// scheduling gates, the controller. So errors in these have no effect, and more pods share a template. What would come back for
// the pod is lost: PreemptRequest.safe needs pods that are converted completely.
func OccupyingPod(p *corev1.Pod) Occupant { return new(Environment).OccupyingPod(p) }

// OccupyingPod is the function of that name, with the pod's claims and disks if storage objects are read.
func (e *Environment) OccupyingPod(p *corev1.Pod) Occupant {
	stored, _ := e.Stored(p)
	out := occupying(stored)
	if e.storage != nil || e.devices != nil {
		e.SetClaims(out.Pod, podSource(p))
	}
	return out
}

func occupying(p *corev1.Pod) Occupant {
	read := *p
	read.OwnerReferences = nil
	read.Spec = corev1.PodSpec{
		Containers: p.Spec.Containers, InitContainers: p.Spec.InitContainers, Overhead: p.Spec.Overhead,
		Resources: p.Spec.Resources, HostNetwork: p.Spec.HostNetwork, Priority: p.Spec.Priority, NodeName: p.Spec.NodeName,
	}
	if name := skew.PodGroupName(&p.Spec); name != nil { // preemption and the pods of the group read these
		skew.SetPodGroupName(&read.Spec, name)
		read.Spec.PreemptionPolicy = p.Spec.PreemptionPolicy
	}
	var out Occupant
	out.Pod, out.Amounts = onNode(&read)
	spec := out.Pod.GetTemplate().Spec
	withoutImages(spec)
	spec.RequiredNodeFeatures = nil
	spec.Affinity, out.Terms = readableTerms(p)
	return out
}

// OccupyingTemplate returns a template without the fields that OccupyingPod leaves out.
func OccupyingTemplate(t *stowagev1.PodTemplate) *stowagev1.PodTemplate {
	out := proto.Clone(t).(*stowagev1.PodTemplate)
	out.Controller = nil
	if from := out.GetSpec(); from != nil {
		out.Spec = &stowagev1.PodSpec{
			Containers: from.Containers, InitContainers: from.InitContainers, Overhead: from.Overhead, Requests: from.Requests,
			Priority: from.Priority, Volumes: slices.DeleteFunc(slices.Clone(from.Volumes), func(v *stowagev1.Volume) bool { return !isStorage(v) }),
			ResourceClaims: from.ResourceClaims,
		}
		withoutImages(out.Spec)
		if from.SchedulingGroup != "" {
			out.Spec.SchedulingGroup, out.Spec.PreemptionPolicy = from.SchedulingGroup, from.PreemptionPolicy
		}
		if a := from.Affinity; a.GetPodAffinity() != nil || a.GetPodAntiAffinity() != nil {
			out.Spec.Affinity = &stowagev1.Affinity{PodAffinity: a.PodAffinity, PodAntiAffinity: a.PodAntiAffinity}
		}
	}
	return out
}

func withoutImages(s *stowagev1.PodSpec) {
	for _, containers := range [][]*stowagev1.Container{s.Containers, s.InitContainers} {
		for _, c := range containers {
			c.Image = ""
		}
	}
}

// readableTerms converts a pod's affinity to pods list by list, and leaves out lists that do not convert.
func readableTerms(p *corev1.Pod) (*stowagev1.Affinity, error) {
	a := p.Spec.Affinity
	if a == nil {
		return nil, nil
	}
	var errs field.ErrorList
	list := func(required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm, path *field.Path) *stowagev1.PodAffinity {
		c := &converter{}
		out := c.podAffinity(required, preferred, object.Admitted(p), path)
		if len(c.errs) > 0 {
			errs = append(errs, c.errs...)
			return nil
		}
		return out
	}
	lists := func(required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm, path *field.Path) *stowagev1.PodAffinity {
		out := &stowagev1.PodAffinity{Required: list(required, nil, path).GetRequired(), Preferred: list(nil, preferred, path).GetPreferred()}
		if out.Required == nil && out.Preferred == nil {
			return nil
		}
		return out
	}
	out, path := &stowagev1.Affinity{}, field.NewPath("spec", "affinity")
	if to := a.PodAffinity; to != nil {
		out.PodAffinity = lists(to.RequiredDuringSchedulingIgnoredDuringExecution,
			to.PreferredDuringSchedulingIgnoredDuringExecution, path.Child("podAffinity"))
	}
	if to := a.PodAntiAffinity; to != nil {
		out.PodAntiAffinity = lists(to.RequiredDuringSchedulingIgnoredDuringExecution,
			to.PreferredDuringSchedulingIgnoredDuringExecution, path.Child("podAntiAffinity"))
	}
	if out.PodAffinity == nil && out.PodAntiAffinity == nil {
		out = nil
	}
	return out, errs.ToAggregate()
}

// Less returns a template of pods on nodes without the smallest part that holds a rejected field: a list of affinity terms,
// the pods' volumes, resources, or labels. It is not ok if nothing can be left out. kube-scheduler enforces every term that it
// can parse, so a missing required anti-affinity term leaves it unclear where other pods may go; other terms only affect
// scores.
func Less(t *stowagev1.PodTemplate, field string) (out *stowagev1.PodTemplate, unclear, ok bool) {
	without := func(change func(*stowagev1.PodTemplate)) bool {
		out = proto.Clone(t).(*stowagev1.PodTemplate)
		change(out)
		return !proto.Equal(out, t)
	}
	for list, empty := range termLists {
		if strings.HasPrefix(field, "spec.affinity."+list) && without(func(t *stowagev1.PodTemplate) {
			if a := t.GetSpec().GetAffinity(); a != nil {
				empty(a)
			}
		}) {
			return out, list == requiredAntiAffinity, true
		}
	}
	if slices.ContainsFunc([]func(*stowagev1.PodTemplate){
		func(t *stowagev1.PodTemplate) {
			if strings.HasPrefix(field, "labels") {
				t.Labels = nil
			}
		},
		func(t *stowagev1.PodTemplate) {
			if t.Spec != nil && strings.HasPrefix(field, "spec.volumes") {
				t.Spec.Volumes = nil
			}
		},
		func(t *stowagev1.PodTemplate) {
			if t.Spec != nil {
				t.Spec = &stowagev1.PodSpec{
					Affinity: t.Spec.Affinity, Priority: t.Spec.Priority, SchedulingGroup: t.Spec.SchedulingGroup, Volumes: t.Spec.Volumes,
					ResourceClaims: t.Spec.ResourceClaims,
				}
			}
		},
		func(t *stowagev1.PodTemplate) { t.Spec = nil },
		func(t *stowagev1.PodTemplate) { t.Labels = nil },
	}, without) {
		return out, true, true
	}
	return nil, false, false
}

const requiredAntiAffinity = "pod_anti_affinity.required"

// termLists clear the lists of terms, by path.
var termLists = map[string]func(*stowagev1.Affinity){
	"pod_affinity.required":       func(a *stowagev1.Affinity) { noTerms(a.PodAffinity, true) },
	"pod_affinity.preferred":      func(a *stowagev1.Affinity) { noTerms(a.PodAffinity, false) },
	requiredAntiAffinity:          func(a *stowagev1.Affinity) { noTerms(a.PodAntiAffinity, true) },
	"pod_anti_affinity.preferred": func(a *stowagev1.Affinity) { noTerms(a.PodAntiAffinity, false) },
}

func noTerms(a *stowagev1.PodAffinity, required bool) {
	switch {
	case a == nil:
	case required:
		a.Required = nil
	default:
		a.Preferred = nil
	}
}
