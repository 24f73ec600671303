package kube

import (
	"errors"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// Occupant is a pod on a node, with the fields that decisions about other pods read.
type Occupant struct {
	Pod *stowagev1.Pod
	// Terms is why lists of affinity terms are left out, nil if none is. kube-scheduler, too, treats a list of a pod on a
	// node as empty if it cannot parse one of its selectors (pkg/scheduler/framework/types.go NewPodInfo, v1.37).
	Terms error
	// Amounts is why Pod occupies less of its node than the object does, nil if it occupies the same.
	Amounts error
}

func (o Occupant) err() error { return errors.Join(o.Terms, o.Amounts) }

// running converts a pod on a node completely, so that it shares its template with pending pods. If that fails, it converts
// as OccupyingPod does. A pod without a uid is on its node even if admission plugins would reject it.
func (a *admission) running(p *corev1.Pod) Occupant {
	p, _ = a.stored(p)
	if out, err := onNode(p); err == nil {
		return Occupant{Pod: out}
	}
	return occupying(p)
}

// onNode converts a stored pod on a node, with what its status says about its resources and about preemption.
func onNode(p *corev1.Pod) (*stowagev1.Pod, error) {
	c := &converter{}
	out := c.pod(p, specPath, runningRequests)
	out.ResourceStatus = c.resourceStatus(p)
	setVictim(out, p)
	return out, c.err()
}

// OccupyingPod converts a pod on a node, with a template of its own and without its node. It leaves out the fields of pods
// on nodes that kube-scheduler does not read: node selector and affinity, tolerations, spread constraints, images,
// scheduling gates, the controller. So errors in these have no effect, and more pods share a template. What would come back for
// the pod is lost: PreemptRequest.safe needs pods that are converted completely.
func OccupyingPod(p *corev1.Pod) Occupant {
	p, _ = (&admission{}).stored(p)
	return occupying(p)
}

func occupying(p *corev1.Pod) Occupant {
	read := *p
	read.OwnerReferences = nil
	read.Spec = corev1.PodSpec{
		Containers: p.Spec.Containers, InitContainers: p.Spec.InitContainers, Overhead: p.Spec.Overhead,
		Resources: p.Spec.Resources, HostNetwork: p.Spec.HostNetwork, Priority: p.Spec.Priority, NodeName: p.Spec.NodeName,
	}
	if g := p.Spec.SchedulingGroup; g != nil && g.PodGroupName != nil { // preemption and the pods of the group read these
		read.Spec.SchedulingGroup, read.Spec.PreemptionPolicy = g, p.Spec.PreemptionPolicy
	}
	var out Occupant
	out.Pod, out.Amounts = onNode(&read)
	spec := out.Pod.GetTemplate().Spec
	withoutImages(spec)
	spec.Affinity, out.Terms = readableTerms(p)
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
		out := c.podAffinity(required, preferred, admitted(p), path)
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
