package oracle

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"

	"github.com/stowage-scheduler/stowage/bench/parity/scenario"
)

// Granted is the devices that a claim of a pod of the queue got.
type Granted struct {
	// Entry is the pod's entry of the queue.
	Entry            int
	Namespace, Claim string
	// PodClaim is the entry of the pod's claims, empty for extended resources.
	PodClaim string
	Results  []resourcev1.DeviceRequestAllocationResult
	Node     uint32
}

// usesDevices reports whether a pod may get devices.
func usesDevices(pod *corev1.Pod, d *scenario.Devices) bool {
	return len(pod.Spec.ResourceClaims) > 0 || len(d.DeviceClasses) > 0
}

// grant has DynamicResources reserve what the pod gets on a node, stores the claims as its PreBind does, and returns the new devices.
func (s *Scheduler) grant(pod *corev1.Pod, entry int, node uint32) ([]Granted, error) {
	if s.dynamic == nil || !usesDevices(pod, &s.Devices) {
		return nil, nil
	}
	if reserved, err := s.reserveBy(s.dynamic, pod, node); err != nil || !reserved {
		return nil, err
	}
	var out []Granted
	for i := range pod.Spec.ResourceClaims {
		of := &pod.Spec.ResourceClaims[i]
		granted, err := s.store(pod, of.Name, claimName(pod, of))
		if err != nil {
			return nil, err
		}
		out = append(out, granted...)
	}
	// What is left is the claim of extended resources.
	for uid, claim := range s.inFlight() {
		created := claim.DeepCopy()
		created.Name, created.GenerateName = fmt.Sprintf("%s-extended-%d", pod.Name, s.assumed), ""
		created.UID = types.UID("claim " + created.Namespace + "/" + created.Name)
		created.OwnerReferences[0].UID = s.assumedUID(pod)
		s.framework.SharedDRAManager().ResourceClaims().MaybeRemoveClaimPendingAllocation(uid, true)
		if err := s.devices.add(s.devices.claims, created); err != nil {
			return nil, err
		}
		out = append(out, Granted{Namespace: created.Namespace, Results: created.Status.Allocation.Devices.Results})
	}
	for i := range out {
		out[i].Entry, out[i].Node = entry, node
	}
	return out, nil
}

// assumedUID returns the uid of the pod that is assumed next.
func (s *Scheduler) assumedUID(pod *corev1.Pod) types.UID {
	return types.UID(fmt.Sprintf("%s-%d", pod.UID, s.assumed))
}

// store stores the allocation of a claim that is in flight, and its reservation.
func (s *Scheduler) store(pod *corev1.Pod, podClaim, name string) ([]Granted, error) {
	if name == "" {
		return nil, nil
	}
	found, ok, err := s.devices.claims.GetIndexer().GetByKey(pod.Namespace + "/" + name)
	if err != nil || !ok {
		return nil, errors.Join(err, fmt.Errorf("there is no claim %s", name))
	}
	old := found.(*resourcev1.ResourceClaim)
	claim := old.DeepCopy()
	var out []Granted
	if inFlight := s.inFlight()[old.UID]; inFlight != nil {
		claim.Status.Allocation = inFlight.Status.Allocation
		s.framework.SharedDRAManager().ResourceClaims().MaybeRemoveClaimPendingAllocation(old.UID, true)
		if old.GenerateName == created {
			return []Granted{{Namespace: claim.Namespace, PodClaim: podClaim, Results: claim.Status.Allocation.Devices.Results}}, s.createNext(old, claim)
		}
		out = []Granted{{Namespace: claim.Namespace, Claim: name, PodClaim: podClaim, Results: claim.Status.Allocation.Devices.Results}}
	}
	claim.Status.ReservedFor = append(claim.Status.ReservedFor, resourcev1.ResourceClaimConsumerReference{
		Resource: "pods", Name: pod.Name, UID: s.assumedUID(pod),
	})
	return out, s.devices.update(s.devices.claims, old, claim)
}

// created marks a claim that is created with its pod.
const created = "created-"

// CreatesClaims reports whether the pod of a case is not created yet, so that claims of templates are created with it.
func CreatesClaims(pod *corev1.Pod) bool {
	return pod.UID == "" && slices.ContainsFunc(pod.Spec.ResourceClaims, func(c corev1.PodResourceClaim) bool { return c.ResourceClaimTemplateName != nil })
}

// createClaims creates the claims of the templates of the queue's pods, named as their entries, which no other claim is.
func (s *Scheduler) createClaims(c *scenario.Case) error {
	for i, q := range c.Queue {
		if !CreatesClaims(q.Pod) {
			continue
		}
		pod := s.Queue[i]
		for _, of := range pod.Spec.ResourceClaims {
			if of.ResourceClaimTemplateName == nil {
				continue
			}
			at := slices.IndexFunc(s.Devices.ResourceClaimTemplates, func(t *resourcev1.ResourceClaimTemplate) bool {
				return t.Namespace == pod.Namespace && t.Name == *of.ResourceClaimTemplateName
			})
			if at < 0 {
				return fmt.Errorf("there is no template %s/%s", pod.Namespace, *of.ResourceClaimTemplateName)
			}
			controller := true
			claim := &resourcev1.ResourceClaim{Spec: *s.Devices.ResourceClaimTemplates[at].Spec.Spec.DeepCopy()}
			claim.Namespace, claim.Name, claim.GenerateName, claim.UID = pod.Namespace, of.Name, created, types.UID("claim "+pod.Namespace+"/"+of.Name)
			claim.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID, Controller: &controller}}
			pod.Status.ResourceClaimStatuses = append(pod.Status.ResourceClaimStatuses, corev1.PodResourceClaimStatus{Name: of.Name, ResourceClaimName: &claim.Name})
			if err := s.devices.add(s.devices.claims, claim); err != nil {
				return err
			}
		}
	}
	return nil
}

// createNext gives an allocated claim a name of its own, and creates the claim of the entry's next pod.
func (s *Scheduler) createNext(old, claim *resourcev1.ResourceClaim) error {
	claim.Name, claim.UID = fmt.Sprintf("%s-%d", old.Name, s.assumed), types.UID(fmt.Sprintf("%s-%d", old.UID, s.assumed))
	claim.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: "assumed", UID: "assumed"}}
	next := old.DeepCopy()
	next.UID = types.UID(fmt.Sprintf("%s-next-%d", old.UID, s.assumed))
	return errors.Join(s.devices.remove(s.devices.claims, old), s.devices.add(s.devices.claims, claim), s.devices.add(s.devices.claims, next))
}

// claimName returns the name of a pod's claim, empty if there is none.
func claimName(pod *corev1.Pod, of *corev1.PodResourceClaim) string {
	if of.ResourceClaimName != nil {
		return *of.ResourceClaimName
	}
	for _, s := range pod.Status.ResourceClaimStatuses {
		if s.Name == of.Name && s.ResourceClaimName != nil {
			return *s.ResourceClaimName
		}
	}
	return ""
}

// inFlight returns the claims whose allocation is not stored yet. The tracker has no other access to them.
func (s *Scheduler) inFlight() map[types.UID]*resourcev1.ResourceClaim {
	out := map[types.UID]*resourcev1.ResourceClaim{}
	tracker := reflect.ValueOf(s.framework.SharedDRAManager().ResourceClaims()).Elem()
	for iter := tracker.FieldByName("inFlightAllocations").MapRange(); iter.Next(); {
		claim := (*resourcev1.ResourceClaim)(iter.Value().FieldByName("claim").UnsafePointer())
		out[types.UID(iter.Key().String())] = claim
	}
	return out
}

// findDynamic finds the profile's DynamicResources, which cannot be made twice on the same informers.
func (s *Scheduler) findDynamic() {
	at := slices.IndexFunc(s.framework.EnqueueExtensions(), func(p fwk.EnqueueExtensions) bool { return p.Name() == names.DynamicResources })
	if at >= 0 {
		s.dynamic, _ = s.framework.EnqueueExtensions()[at].(reserver)
	}
}
