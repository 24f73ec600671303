// Package storage has storage objects for tests, as an API server would return them: of the driver Driver, with volumes of 1 GiB.
package storage

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Driver is the CSI driver of all objects.
const Driver = "disk.example.com"

// The names of the classes.
const (
	Immediate = "immediate"
	Delayed   = "delayed"
)

// Class returns the StorageClass Immediate or Delayed.
func Class(name string) *storagev1.StorageClass {
	mode := storagev1.VolumeBindingImmediate
	if name == Delayed {
		mode = storagev1.VolumeBindingWaitForFirstConsumer
	}
	return &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("class-" + name)}, Provisioner: Driver, VolumeBindingMode: &mode}
}

// Volume returns a volume of the class Delayed in a zone. It is bound to a claim of the namespace default, or available if the claim
// is "".
func Volume(name, zone, claim string) *corev1.PersistentVolume {
	out := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("pv-" + name)},
		Spec: corev1.PersistentVolumeSpec{
			StorageClassName: Delayed, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Capacity:               corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: Driver, VolumeHandle: name}},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{
					Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{zone},
				}},
			}}}},
		},
		Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeAvailable},
	}
	if claim != "" {
		out.Spec.ClaimRef = &corev1.ObjectReference{Namespace: metav1.NamespaceDefault, Name: claim, UID: types.UID("pvc-" + claim)}
		out.Status.Phase = corev1.VolumeBound
	}
	return out
}

// Claim returns a claim of the class Delayed, bound to a volume unless that is "".
func Claim(name, volume string) *corev1.PersistentVolumeClaim {
	out := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name, UID: types.UID("pvc-" + name)},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: new(Delayed), AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, VolumeName: volume,
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
	if volume != "" {
		out.Annotations = map[string]string{"pv.kubernetes.io/bind-completed": "yes"}
	}
	return out
}

// SoleClaim returns a claim, as Claim, that only one pod may use.
func SoleClaim(name, volume string) *corev1.PersistentVolumeClaim {
	out := Claim(name, volume)
	out.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod}
	return out
}

// CSINode returns the CSINode of a node to which the driver can attach so many volumes.
func CSINode(name string, limit int32) *storagev1.CSINode {
	return &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("csi-" + name)}, Spec: storagev1.CSINodeSpec{
		Drivers: []storagev1.CSINodeDriver{{Name: Driver, NodeID: name, Allocatable: &storagev1.VolumeNodeResources{Count: &limit}}},
	}}
}

// Attachment returns the VolumeAttachment of a volume to a node.
func Attachment(name, node, volume string) *storagev1.VolumeAttachment {
	return &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("va-" + name)}, Spec: storagev1.VolumeAttachmentSpec{
		Attacher: Driver, NodeName: node, Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &volume},
	}}
}

// Use gives a pod claims, and returns it.
func Use(p *corev1.Pod, claims ...string) *corev1.Pod {
	for _, claim := range claims {
		p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: claim, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}})
	}
	return p
}
