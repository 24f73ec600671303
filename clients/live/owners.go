package live

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage-scheduler/stowage/clients/kube/compact"
)

// owned are the claims that a pod controls, with the pod's uid, by the pod.
type owned map[objectKey]map[objectKey]types.UID

// put records that a pod controls a claim, and returns the name of the pod, "" if the cluster has another pod of that name.
func (o owned) put(m *model, claim objectKey, owner *metav1.OwnerReference) string {
	pod := objectKey{Namespace: claim.Namespace, Name: owner.Name}
	put(o, pod, claim, owner.UID)
	return m.controller(pod, owner.UID)
}

// drop forgets a claim, and the pod that controls it if that is not nil.
func (o owned) drop(claim objectKey, owner *metav1.OwnerReference) {
	if owner != nil {
		drop(o, objectKey{Namespace: claim.Namespace, Name: owner.Name}, claim)
	}
}

// controller is the name of the pod that controls a claim, "" if the cluster has another pod of that name.
func (m *model) controller(pod objectKey, uid types.UID) string {
	if now, there := m.owners[pod]; there && now != uid {
		return ""
	}
	return pod.Name
}

// mayOwn reports whether a controller or kube-scheduler may create claims for a pod.
func mayOwn(p *corev1.Pod) bool {
	if len(p.Spec.ResourceClaims) > 0 {
		return true
	}
	for _, v := range p.Spec.Volumes {
		if v.Ephemeral != nil {
			return true
		}
	}
	return p.Status.ExtendedResourceClaimStatus != nil
}

// ownerSet applies an event about a pod to the claims that pods control.
func (m *model) ownerSet(o *corev1.Pod) {
	pod := keyOf(o)
	if m.owners[pod] != o.UID && (mayOwn(o) || m.storage.owned[pod] != nil || m.devices.owned[pod] != nil) {
		m.owners[pod] = o.UID
		m.reown(pod)
	}
}

func (m *model) ownerGone(o *corev1.Pod) {
	if pod := keyOf(o); m.owners[pod] == o.UID {
		delete(m.owners, pod)
		m.reown(pod)
	}
}

// reown sets again which claims a pod controls.
func (m *model) reown(pod objectKey) {
	for claim, uid := range m.storage.owned[pod] {
		if now := m.claims.now[claim]; now != nil {
			now = compact.Shallow(now)
			now.ControllerPod = m.controller(pod, uid)
			m.changed = m.claims.set(claim, now) || m.changed
		}
	}
	for claim, uid := range m.devices.owned[pod] {
		if now := m.resourceClaims.now[claim]; now != nil {
			now = compact.Shallow(now)
			now.ControllerPod = m.controller(pod, uid)
			m.changed = m.resourceClaims.set(claim, now) || m.changed
		}
	}
}
