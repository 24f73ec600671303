package oracle

import (
	"context"
	"errors"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/storage/volume"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/volumebinding"
)

// Binding is a claim that a pod of the queue bound: to a volume, or to its node alone, where a volume is provisioned.
type Binding struct {
	// Entry is the pod's entry of the queue.
	Entry            int
	Namespace, Claim string
	Volume           string
	Node             uint32
}

// observeBinding has both instances of VolumeBinding, the profile's and the second one, assume volumes together, and notes what they
// assume.
func (s *Scheduler) observeBinding(second *volumebinding.VolumeBinding) {
	for _, p := range s.framework.EnqueueExtensions() {
		if own, ok := p.(*volumebinding.VolumeBinding); ok {
			own.Binder = &notingBinder{own.Binder, s, map[*volumebinding.PodVolumes][]Binding{}}
			second.Binder, s.volumes, s.bound = own.Binder, own, map[types.UID][]Binding{}
		}
	}
}

// reserve has VolumeBinding assume what the pod gets on a node, and returns what it binds.
func (s *Scheduler) reserve(pod *corev1.Pod, entry int, node uint32) ([]Binding, error) {
	if !Claims(pod) || s.volumes == nil {
		return nil, nil
	}
	if _, err := s.reserveBy(s.volumes, pod, node); err != nil {
		return nil, err
	}
	return s.boundBy(pod.UID, entry), nil
}

// boundBy returns what a pod has last assumed.
func (s *Scheduler) boundBy(pod types.UID, entry int) []Binding {
	bound := slices.Clone(s.bound[pod])
	delete(s.bound, pod)
	for i := range bound {
		bound[i].Entry = entry
	}
	return bound
}

// NamesClaims reports whether a pod's claims have the name of the pod, so that it has to keep its name.
func NamesClaims(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Ephemeral != nil })
}

// Claims reports whether a pod uses claims.
func Claims(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.PersistentVolumeClaim != nil || v.Ephemeral != nil })
}

// notingBinder notes what is assumed to be bound.
type notingBinder struct {
	volumebinding.SchedulerVolumeBinder
	s     *Scheduler
	noted map[*volumebinding.PodVolumes][]Binding
}

// AssumePodVolumes is of the interface.
func (b *notingBinder) AssumePodVolumes(
	logger klog.Logger, pod *corev1.Pod, node string, volumes *volumebinding.PodVolumes,
) (bool, error) {
	if b.noted[volumes] == nil { // what is assumed again is changed already
		b.noted[volumes] = b.bindings(node, volumes)
	}
	b.s.bound[pod.UID] = b.noted[volumes]
	return b.SchedulerVolumeBinder.AssumePodVolumes(logger, pod, node, volumes)
}

// bindings returns what a pod binds on a node that was not bound before.
func (b *notingBinder) bindings(node string, volumes *volumebinding.PodVolumes) []Binding {
	at, bound := b.s.index[node], []Binding{}
	for _, found := range volumes.StaticBindings {
		fields := reflect.ValueOf(found).Elem() // they have no other access
		claim, v := fields.FieldByName("pvc").Elem(), fields.FieldByName("pv").Elem()
		if v.FieldByName("Spec").FieldByName("ClaimRef").IsNil() {
			bound = append(bound, Binding{Namespace: text(claim, "Namespace"), Claim: text(claim, "Name"), Volume: text(v, "Name"), Node: at})
		}
	}
	for _, p := range volumes.DynamicProvisions {
		// A pod may use a claim twice.
		binding := Binding{Namespace: p.PVC.Namespace, Claim: p.PVC.Name, Node: at}
		if p.PVC.Annotations[volume.AnnSelectedNode] == "" && !slices.Contains(bound, binding) {
			bound = append(bound, binding)
		}
	}
	return bound
}

// BindPodVolumes stores what is assumed, as the API server would. No controller of volumes answers it, and nobody gets an event.
func (b *notingBinder) BindPodVolumes(_ context.Context, _ *corev1.Pod, volumes *volumebinding.PodVolumes) error {
	core := b.s.framework.SharedInformerFactory().Core().V1()
	var errs []error
	for _, found := range volumes.StaticBindings {
		v := reflect.ValueOf(found).Elem().FieldByName("pv")
		errs = append(errs, core.PersistentVolumes().Informer().GetIndexer().Update((*corev1.PersistentVolume)(v.UnsafePointer())))
	}
	for _, p := range volumes.DynamicProvisions {
		errs = append(errs, core.PersistentVolumeClaims().Informer().GetIndexer().Update(p.PVC))
	}
	return errors.Join(errs...)
}

func text(object reflect.Value, field string) string { return object.FieldByName(field).String() }
