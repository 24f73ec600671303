package batch

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage-scheduler/stowage/clients/live"
	stowagev1 "github.com/stowage-scheduler/stowage/proto/stowage/v1"
)

// errDevicesGone means that an object of devices has changed since the cluster was read.
var errDevicesGone = fmt.Errorf("%w: an object of its devices is gone", live.ErrChanged)

// allocatesNoDevices rejects a pod with resource claims (docs/0039-devices-in-clients.md).
func (s *Scheduler) allocatesNoDevices(p *corev1.Pod) error {
	if s.options.AllocateDevices || len(p.Spec.ResourceClaims) == 0 {
		return nil
	}
	var names []string
	for _, c := range p.Spec.ResourceClaims {
		names = append(names, c.Name)
	}
	return fmt.Errorf("this scheduler leaves the pod alone, because it allocates no devices (allocate-devices), and the pod has resource claims: %s",
		strings.Join(names, ", "))
}

// awaitsClaims keeps a pod pending until the controller of claims has created the ones of its templates, as kube-scheduler does
// (dynamicresources.go PreEnqueue, v1.37).
func awaitsClaims(p *corev1.Pod) error {
	for _, c := range p.Spec.ResourceClaims {
		if c.ResourceClaimTemplateName != nil && !slices.ContainsFunc(p.Status.ResourceClaimStatuses, func(s corev1.PodResourceClaimStatus) bool { return s.Name == c.Name }) {
			return because(gated, "pod %q: ResourceClaim not created yet", p.Namespace+"/"+p.Name)
		}
	}
	return nil
}

// claimNames returns the names of a pod's resource claims, in order, as far as they are created and needed.
func claimNames(p *corev1.Pod) (out []string) {
	for _, c := range p.Spec.ResourceClaims {
		name := c.ResourceClaimName
		if i := slices.IndexFunc(p.Status.ResourceClaimStatuses, func(s corev1.PodResourceClaimStatus) bool { return s.Name == c.Name }); name == nil && i >= 0 {
			name = p.Status.ResourceClaimStatuses[i].ResourceClaimName
		}
		if name != nil {
			out = append(out, *name)
		}
	}
	return out
}

// inventory finds devices by their ids, in the newest generation of their pools.
type inventory map[deviceID]foundDevice

type deviceID struct{ driver, pool, name string }

type foundDevice struct {
	slice  *resourcev1.ResourceSlice
	device *resourcev1.Device
}

// inventory reads all slices.
func (s *Scheduler) inventory() (inventory, error) {
	all, err := s.cluster.Informers().ResourceV1().ResourceSlices().Lister().List(labels.Everything())
	if err != nil {
		return nil, err
	}
	out := inventory{}
	for _, slice := range all {
		for i := range slice.Spec.Devices {
			id := deviceID{slice.Spec.Driver, slice.Spec.Pool.Name, slice.Spec.Devices[i].Name}
			if known, there := out[id]; !there || known.slice.Spec.Pool.Generation < slice.Spec.Pool.Generation {
				out[id] = foundDevice{slice, &slice.Spec.Devices[i]}
			}
		}
	}
	return out, nil
}

// claimsOf returns the claims of the placed pods, allocated and reserved as they have to be written. It also returns the
// pods with devices that have to be prepared before the pod is bound: they are for kube-scheduler, which waits for that.
func (s *Scheduler) claimsOf(q *question, answer *stowagev1.PlaceResponse, nodeName func(uint32) string) (map[types.UID][]*resourcev1.ResourceClaim, []verdict, error) {
	if !s.options.AllocateDevices || !slices.ContainsFunc(q.pods, func(of []candidate) bool { return len(of[0].pod.Spec.ResourceClaims) > 0 }) {
		return nil, nil, nil
	}
	devices, err := s.inventory()
	if err != nil {
		return nil, nil, err
	}
	claims := map[types.NamespacedName]*resourcev1.ResourceClaim{}
	refused := map[int]string{}
	for _, got := range answer.ClaimDevices {
		key := types.NamespacedName{Namespace: got.Namespace, Name: got.Name}
		now := s.cluster.ResourceClaim(key.Namespace, key.Name)
		if now == nil || now.Status.Allocation != nil {
			return nil, nil, errDevicesGone
		}
		allocation, err := s.allocation(now, got.Devices, nodeName(got.NodeIndex), devices)
		if err != nil {
			return nil, nil, err
		}
		if slices.ContainsFunc(allocation.Devices.Results, func(r resourcev1.DeviceRequestAllocationResult) bool { return len(r.BindingConditions) > 0 }) {
			entry := int(got.QueueIndex)
			q.reject(refused, entry, q.queue[entry].PodGroup, fmt.Sprintf("this scheduler leaves the pod alone, because devices of the claim %s have binding "+
				"conditions, for which it does not wait", key))
		}
		now = now.DeepCopy()
		now.Status.Allocation = allocation
		claims[key] = now
	}
	if len(refused) > 0 {
		return nil, q.rejected(refused), nil
	}
	out := map[types.UID][]*resourcev1.ResourceClaim{}
	for i, placed := range answer.Placements {
		if len(placed.GetNodes().GetIndexes()) == 0 {
			continue
		}
		p := q.pods[i][0].pod // pods with claims share no entry
		for _, name := range claimNames(p) {
			key := types.NamespacedName{Namespace: p.Namespace, Name: name}
			now := claims[key]
			if now == nil {
				now = s.cluster.ResourceClaim(key.Namespace, key.Name)
			}
			if now == nil || now.Status.Allocation == nil {
				return nil, nil, errDevicesGone
			}
			if claims[key] != nil || !isReserved(now, p) {
				now = now.DeepCopy()
				reserveFor(now, p)
				out[p.UID] = append(out[p.UID], now)
			}
		}
	}
	return out, nil, nil
}

// isReserved reports whether a claim is reserved for a pod.
func isReserved(c *resourcev1.ResourceClaim, p *corev1.Pod) bool {
	return slices.ContainsFunc(c.Status.ReservedFor, func(r resourcev1.ResourceClaimConsumerReference) bool { return r.UID == p.UID })
}

// reserveFor reserves a claim for a pod.
func reserveFor(c *resourcev1.ResourceClaim, p *corev1.Pod) {
	if !isReserved(c, p) {
		c.Status.ReservedFor = append(slices.Clone(c.Status.ReservedFor), resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: p.Name, UID: p.UID})
	}
}
