package convert

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage-scheduler/stowage/clients/kube/object"
)

// boundBefore returns the volume to which the controller of volumes binds a new claim of a class before a pod is placed: the volume that the
// claim names, or a volume that names the claim (pkg/controller/volume/persistentvolume/pv_controller.go syncUnboundClaim, v1.37). It is nil
// if there is none.
func (s *Storage) boundBefore(p *corev1.PersistentVolumeClaim, class string) *corev1.PersistentVolume {
	if object.Admitted(p) || s.whole {
		return nil
	}
	if p.Spec.VolumeName != "" {
		v := s.volumes[p.Spec.VolumeName]
		if v == nil || !namesClaim(v, p) && (v.Spec.ClaimRef != nil || !satisfies(v, p, class)) {
			return nil
		}
		return v
	}
	var found *corev1.PersistentVolume
	for _, v := range s.reserved[object.Namespace(p)+"/"+p.Name] {
		if namesClaim(v, p) && fits(v, p) && (found == nil || v.Name < found.Name) {
			found = v
		}
	}
	return found
}

// namesClaim reports whether a volume names a new claim. A volume that has the uid of a claim is either bound to the claim, which the cluster has
// then, or was released by an earlier claim of the name.
func namesClaim(v *corev1.PersistentVolume, p *corev1.PersistentVolumeClaim) bool {
	r := v.Spec.ClaimRef
	return r != nil && claimKey(r) == object.Namespace(p)+"/"+p.Name && (r.UID == "" || v.Status.Phase == corev1.VolumeBound)
}

func claimKey(r *corev1.ObjectReference) string {
	return cmp.Or(r.Namespace, metav1.NamespaceDefault) + "/" + r.Name
}

// fits reports whether a volume has what a claim requires of a volume that names it (k8s.io/component-helpers/storage/volume/pv_helpers.go
// FindMatchingVolume, v0.37).
func fits(v *corev1.PersistentVolume, p *corev1.PersistentVolumeClaim) bool {
	has, wants := v.Spec.Capacity[corev1.ResourceStorage], p.Spec.Resources.Requests[corev1.ResourceStorage]
	return has.Cmp(wants) >= 0 && v.DeletionTimestamp == nil && isBlock(v.Spec.VolumeMode) == isBlock(p.Spec.VolumeMode) &&
		deref(v.Spec.VolumeAttributesClassName) == deref(p.Spec.VolumeAttributesClassName)
}

// satisfies reports whether a volume has what a claim of a class requires of a volume that it names (pv_controller.go
// checkVolumeSatisfyClaim, v1.37). A default class that is assumed is the class of the volume: the author of both expects the claim to be bound.
func satisfies(v *corev1.PersistentVolume, p *corev1.PersistentVolumeClaim, class string) bool {
	return fits(v, p) && (class == AssumedDefault || classOf(v, &v.Spec.StorageClassName) == class) &&
		!slices.ContainsFunc(p.Spec.AccessModes, func(m corev1.PersistentVolumeAccessMode) bool { return !slices.Contains(v.Spec.AccessModes, m) })
}

func isBlock(m *corev1.PersistentVolumeMode) bool {
	return m != nil && *m == corev1.PersistentVolumeBlock
}
