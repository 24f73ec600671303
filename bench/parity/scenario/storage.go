package scenario

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/storage/volume"
)

// Storage is the storage objects of a case.
type Storage struct {
	StorageClasses         []*storagev1.StorageClass       `json:"storageClasses,omitempty"`
	CSIDrivers             []*storagev1.CSIDriver          `json:"csiDrivers,omitempty"`
	CSINodes               []*storagev1.CSINode            `json:"csiNodes,omitempty"`
	CSIStorageCapacities   []*storagev1.CSIStorageCapacity `json:"csiStorageCapacities,omitempty"`
	VolumeAttachments      []*storagev1.VolumeAttachment   `json:"volumeAttachments,omitempty"`
	PersistentVolumes      []*corev1.PersistentVolume      `json:"persistentVolumes,omitempty"`
	PersistentVolumeClaims []*corev1.PersistentVolumeClaim `json:"persistentVolumeClaims,omitempty"`
}

// Bind returns the storage objects after a pod has bound a claim to a volume, or to its node if a volume is provisioned.
func (s *Storage) Bind(namespace, name, volumeName, node string) Storage {
	out := *s
	at := slices.IndexFunc(s.PersistentVolumeClaims, func(c *corev1.PersistentVolumeClaim) bool {
		return cmp.Or(c.Namespace, corev1.NamespaceDefault) == namespace && c.Name == name
	})
	claim := s.PersistentVolumeClaims[at].DeepCopy()
	if volumeName == "" {
		out.PersistentVolumeClaims = slices.Clone(s.PersistentVolumeClaims)
		metav1.SetMetaDataAnnotation(&claim.ObjectMeta, volume.AnnSelectedNode, node)
		out.PersistentVolumeClaims[at] = claim
		return out
	}
	out.PersistentVolumes = slices.Clone(s.PersistentVolumes)
	for i, v := range s.PersistentVolumes {
		if v.Name == volumeName {
			v = v.DeepCopy()
			v.Spec.ClaimRef = &corev1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: namespace, Name: name, UID: claim.UID}
			out.PersistentVolumes[i] = v
		}
	}
	return out
}
